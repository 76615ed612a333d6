"""AtPattern says what Python's regular expressions say of the string of elements."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_dataflow_provider import AtPattern, Repeat, column, one_or_more, optional, zero_or_more
from airflow_dataflow_provider.model.triggers.pattern import Step
from tests.model.situations import Watched, at

LETTERS = "abc"
SETS = st.sets(st.sampled_from(LETTERS), min_size=1).map(lambda letters: "".join(sorted(letters)))
STEPS = st.tuples(SETS, st.sampled_from(["", "?", "+", "*"]))
PATTERNS = st.lists(STEPS, min_size=1, max_size=5).filter(lambda steps: any(kind in ("", "+") for _, kind in steps))
TEXTS = st.text(st.sampled_from(LETTERS + "-"), max_size=16)
MAKE = {"": Step, "?": optional, "+": one_or_more, "*": zero_or_more}


def pattern(steps: list[tuple[str, str]], *, gaps: bool = False) -> AtPattern:
    return AtPattern(*(MAKE[kind](column("is").is_in(list(letters))) for letters, kind in steps), gaps=gaps)


def expression(steps: list[tuple[str, str]], *, gaps: bool = False) -> str:
    """The same as a regular expression, each element a letter.

    With gaps anything may lie between two elements of a match: an element is skipped where the match can do without it.
    """
    if not gaps:
        return "".join(f"[{letters}]{kind}" for letters, kind in steps)
    parts = []
    for letters, kind in steps:
        one = f"[{letters}]" if not parts else f".*[{letters}]"
        several = f"(?:.*[{letters}])"
        parts.append({"": one, "?": f"(?:{one})?", "+": f"{one}{several}*", "*": f"(?:{one}{several}*)?"}[kind])
    return "".join(parts)


def fires(steps: list[tuple[str, str]], text: str, *, gaps: bool = False) -> list[int]:
    """Where an expression completes: the shortest prefix of what is left that ends with a match, again and again."""
    compiled = re.compile(f"(?:{expression(steps, gaps=gaps)})\\Z")
    fired, begin = [], 0
    for end in range(1, len(text) + 1):
        if any(compiled.match(text, start, end) for start in range(begin, end)):
            fired.append(end)
            begin = end
    return fired


def watched(trigger: AtPattern, text: str) -> list[int]:
    return Watched(Repeat(trigger)).add(*({"is": letter} for letter in text)).fired


@given(PATTERNS, TEXTS)
@example([("a", ""), ("b", "+"), ("c", "")], "aabbcabc")
@example([("a", "*"), ("a", ""), ("a", "?")], "aaaa")
def test_a_pattern_fires_where_the_regular_expression_first_completes(steps: list[tuple[str, str]], text: str) -> None:
    assert watched(pattern(steps), text) == fires(steps, text)


@given(PATTERNS, TEXTS)
@example([("a", ""), ("b", "")], "a--b-ab")
@example([("a", "?"), ("b", "")], "a-b")
def test_with_gaps_other_elements_may_lie_in_between(steps: list[tuple[str, str]], text: str) -> None:
    assert watched(pattern(steps, gaps=True), text) == fires(steps, text, gaps=True)


def test_every_short_text_agrees_with_the_expression() -> None:
    """All texts of up to six letters, for patterns whose parts compete for the same element."""
    for steps in (
        [("a", ""), ("ab", "*"), ("b", "")],
        [("ab", "+"), ("a", ""), ("b", "?"), ("a", "")],
        [("a", "?"), ("a", "?"), ("b", ""), ("ab", "?"), ("a", "+")],
    ):
        for length in range(7):
            for letters in product("ab-", repeat=length):
                text = "".join(letters)
                assert watched(pattern(steps), text) == fires(steps, text), (steps, text)


@pytest.mark.parametrize(
    ("text", "gaps", "fired"),
    [
        ("vvb", False, [3]),
        ("v-b", False, []),
        ("v-b", True, [3]),
        ("vb-vb", False, [2, 5]),
        ("vbb", False, [2]),
    ],
)
def test_a_view_and_a_purchase(text: str, gaps: bool, fired: list[int]) -> None:
    assert watched(AtPattern(column("is") == "v", column("is") == "b", gaps=gaps), text) == fired


def test_one_element_may_fit_several_steps_and_every_match_in_progress_goes_on() -> None:
    trigger = AtPattern(column("is").is_in(["a", "b"]), column("is").is_in(["b", "c"]), column("is") == "c")
    assert watched(trigger, "abbc") == [4]


def test_a_match_in_progress_in_one_of_the_windows_that_merge_goes_on() -> None:
    trigger = AtPattern(column("is") == "a", column("is") == "b", column("is") == "c")
    one, two = 0b001, 0b010
    assert trigger.on_merge([one, two], at()) == 0b011
    assert trigger.on_merge([0, trigger.complete], at()) == trigger.complete
    assert trigger.should_fire(trigger.complete, at(boundary=False))


@given(PATTERNS, st.booleans())
def test_a_pattern_prints_as_the_code_that_makes_it(steps: list[tuple[str, str]], gaps: bool) -> None:
    trigger = pattern(steps, gaps=gaps)
    names = {
        "AtPattern": AtPattern,
        "column": column,
        "optional": optional,
        "one_or_more": one_or_more,
        "zero_or_more": zero_or_more,
    }
    assert eval(repr(trigger), names) == trigger
    assert trigger.columns() == ("is",)

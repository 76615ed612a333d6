"""Words for everything: none of the public classes is left to its code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import airflow_dataflow_provider as package
from airflow_dataflow_provider import (
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    CalendarWindows,
    Combiner,
    CountDistinct,
    FixedWindows,
    GlobalWindows,
    Mean,
    Min,
    ParDo,
    Predicate,
    Quantiles,
    Repeat,
    RepeatUntil,
    SequenceOf,
    SessionWindows,
    SlidingWindows,
    Sum,
    Trigger,
    Variance,
    WindowStrategy,
    column,
    one_or_more,
    optional,
)
from airflow_dataflow_provider.cli.words.combiners import computed, kept, kept_under_retraction
from airflow_dataflow_provider.cli.words.par_dos import step_lines
from airflow_dataflow_provider.cli.words.plain import ordinal, series
from airflow_dataflow_provider.cli.words.predicates import condition
from airflow_dataflow_provider.cli.words.triggers import clause, trigger_lines, trigger_words
from airflow_dataflow_provider.cli.words.windows import window_lines
from airflow_dataflow_provider.model import combiners, par_do, predicates, triggers, windows
from tests.cli.explained import Never, Validity

END = "when W_100 reaches the end of the window"


def public(kind: type) -> set[type]:
    """The classes of a kind that the package, or its model, gives to users; without bases that are only that."""
    values = (
        value
        for module in (package, combiners, triggers, windows, par_do, predicates)
        for value in vars(module).values()
    )
    # A base with methods of the user's is one of the ways to write one's own; it has words, too.
    found = {value for value in values if isinstance(value, type) and issubclass(value, kind) and value is not kind}
    return {each for each in found if not inspect.isabstract(each) or each is combiners.VectorisedCombiner}


WORDS: list[tuple[type, Any]] = [
    (Trigger, clause),
    (WindowStrategy, window_lines),
    (Combiner, computed),
    (ParDo, step_lines),
    (Predicate, condition),
]


@pytest.mark.parametrize(
    ("found", "words"),
    [pytest.param(each, words, id=each.__name__) for kind, words in WORDS for each in sorted(public(kind), key=repr)],
)
def test_every_public_class_has_words_of_its_own(found: type, words: Any) -> None:
    assert found in words.registry


@pytest.mark.parametrize("found", sorted(public(Combiner), key=repr), ids=lambda found: found.__name__)
def test_what_every_combiner_keeps_has_words(found: type) -> None:
    assert kept.dispatch(found) is not kept.dispatch(Combiner)


def test_there_are_as_many_of_each_kind_as_we_know_of() -> None:
    # Should `public` ever find nothing, the tests above would be quiet.
    counts = {kind.__name__: len(public(kind)) for kind, _ in WORDS}
    assert counts == {"Trigger": 14, "WindowStrategy": 5, "Combiner": 16, "ParDo": 4, "Predicate": 7}


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (AtWatermark(97), "once, when W_97 reaches the end of the window"),
        (Repeat(AtWatermark()), f"{END}, and from then on in every epoch that brings the window something new"),
        (SequenceOf(AtWatermark(90), AtWatermark()), f"first when W_90 reaches the end of the window; then {END}"),
        (
            Repeat(SequenceOf(AtWatermark(90))),
            "again and again: first when W_90 reaches the end of the window",
        ),
        (AtPeriod("5m"), "once, on the first multiple of 5m of processing time that finds something new"),
        (Repeat(AtPeriod("5m")), "on every multiple of 5m of processing time that finds something new"),
        (
            Repeat(AfterDelay("10s")),
            "10s of processing time after the first element that no pane has yet arrived",
        ),
        (Repeat(AtEpoch()), "in every epoch that brings something new"),
        (Repeat(AtSignal("go")), "each time that the signal 'go' is raised and finds something new"),
        (Repeat(AtCount(1)), "with every element"),
        (Repeat(AtCount(100)), "with every 100th element"),
        (
            Repeat(AtBytes(1000, "a", "b")),
            "with the element that brings the bytes of a and b to 1,000, counted anew after each firing",
        ),
        (Repeat(AtPunctuation(column("kind") == "END")), "with every element where kind is 'END'"),
        (
            AtPattern(column("kind") == "a", optional(column("kind") == "b"), one_or_more(column("level") > 2)),
            (
                "once, with the first element that completes this sequence (directly one after the other): "
                "[kind is 'a'] > [one or none where kind is 'b'] > [one or more where level > 2]"
            ),
        ),
        (
            RepeatUntil(AtCount(2), AtWatermark()),
            f"with every 2nd element, until it fires for the last time {END}",
        ),
        (
            Repeat(AnyOf(AtCount(2), AtWatermark())),
            f"again and again, each time anew: with the 2nd element or {END}, whichever is first",
        ),
        (
            AnyOf(Repeat(AtCount(2)), Repeat(AtEpoch())),
            "with every 2nd element or in every epoch that brings something new, whenever one of them is due",
        ),
        (AllOf(AtCount(2), AtWatermark()), f"with the 2nd element and {END}, whichever is last"),
        (
            AllOf(Repeat(AtCount(2)), AtWatermark()),
            f"with every 2nd element and {END}, whenever all of them are due",
        ),
        (Never(), "once, when Never() says so (the user's own trigger, asked at the end of an epoch)"),
    ],
)
def test_a_trigger_reads_as_a_clause(trigger: Trigger, words: str) -> None:
    assert trigger_words(trigger) == words
    assert len(trigger_lines(trigger)) == 1


def test_what_a_clause_cannot_say_is_an_outline() -> None:
    trigger = RepeatUntil(AnyOf(SequenceOf(AtCount(1), AtCount(2)), AtEpoch()), AllOf(AtCount(9), AtWatermark()))
    assert trigger_lines(trigger) == [
        "until something else is due, which then is the last firing:",
        "  again and again, when one of these is due:",
        "    first with the 1st element; then with the 2nd element",
        "    in the first epoch that brings something new",
        f"  the last: with the 9th element and {END}, whichever is last",
    ]


def test_an_outline_goes_as_deep_as_its_trigger() -> None:
    trigger: Trigger = AtCount(2)
    for _ in range(6):
        trigger = AnyOf(SequenceOf(trigger, AtEpoch()), AtWatermark())
    deepest = max(len(line) - len(line.lstrip()) for line in trigger_lines(trigger))
    assert deepest >= 12
    assert trigger_words(trigger).count("W_100") == 6


def test_repeating_twice_is_repeating() -> None:
    assert trigger_words(Repeat(Repeat(AtWatermark()))) == trigger_words(Repeat(AtWatermark()))


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (FixedWindows("1h", "5m"), "; borders lie 5m after multiples of that: "),
        (FixedWindows("1h", shifted_by_key=True), "Every key has borders of its own"),
        (SlidingWindows("5m", "1m"), "In windows of 5m that start every 1m"),
        (SlidingWindows("1m", "5m"), "Between two of them lies 4m"),
        (SessionWindows("30m"), "less than 30m between them"),
        (CalendarWindows("month", "Europe/Berlin"), "In calendar months of Europe/Berlin"),
        (GlobalWindows(), "In one window over all of time"),
        (Validity(), "In Validity(), the user's own way"),
    ],
)
def test_windows_say_what_makes_them_different(window: WindowStrategy, words: str) -> None:
    assert words in " ".join(window_lines(window))


def test_a_calendar_without_summer_time_has_no_odd_days() -> None:
    assert len(window_lines(CalendarWindows("day"))) == 1


@pytest.mark.parametrize(
    ("predicate", "words"),
    [
        (column("a") != 1, "a is not 1"),
        (column("a").is_in((1, 2)), "a is one of 1 or 2"),
        ((column("a") == 1) & (column("b") == 2) & (column("c") == 3), "a is 1 and b is 2 and c is 3"),
        ((column("a") == 1) & ((column("b") == 2) | (column("c") == 3)), "a is 1 and (b is 2 or c is 3)"),
        (~(column("a") == 1), "it is not so that a is 1"),
        (~((column("a") == 1) | column("b").is_null()), "it is not so that (a is 1 or b is null)"),
    ],
)
def test_a_predicate_reads_as_a_condition(predicate: Predicate, words: str) -> None:
    assert condition(predicate) == words


@pytest.mark.parametrize(
    ("combiner", "plainly", "under_retraction"),
    [
        (Sum("x"), "a sum", "an exact sum"),
        (Mean("x"), "a sum and a count", "an exact sum and a count"),
        (Min("x"), "a value", "every value with its count"),
        (Variance("x"), "a count, a mean and a sum of squares", "every value with its count"),
        (CountDistinct("x", exact=False), "a HyperLogLog sketch", "every value with its count"),
        (Quantiles("x", (0.5,)), "a KLL sketch", "every value with its count"),
    ],
)
def test_what_is_kept_depends_on_whether_it_may_be_taken_back(
    combiner: Combiner, plainly: str, under_retraction: str
) -> None:
    assert (kept(combiner), kept_under_retraction(combiner)) == (plainly, under_retraction)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: series([]), "nothing"),
        (lambda: series(["a"]), "a"),
        (lambda: series("abc"), "a, b and c"),
        (
            lambda: [ordinal(number) for number in (1, 2, 3, 4, 11, 22, 113)],
            ["1st", "2nd", "3rd", "4th", "11th", "22nd", "113th"],
        ),
    ],
)
def test_small_words(call: Callable[[], object], words: object) -> None:
    assert call() == words


@pytest.mark.parametrize(
    ("combiner", "words"),
    [
        (combiners.Last(("price", "url")), "the row of price and url with the greatest event time, with its nulls"),
        (combiners.Collect(("price", "url")), "all rows of price and url as a list, by event time, with their nulls"),
        (
            combiners.TopK(("a", "b"), 1, by="c"),
            "the row of a and b of the 1 element with the greatest c, greatest first; left out where c is null",
        ),
        (combiners.TopK(("price", "url"), 2), "the 2 greatest rows of price and url, greatest first, nulls least"),
    ],
)
def test_rows_of_several_columns_are_said_to_be_rows(combiner: combiners.Combiner, words: str) -> None:
    assert computed(combiner) == words

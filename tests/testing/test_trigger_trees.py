"""The random trees of triggers: what is drawn, measured under a fixed seed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider import (
    AllOf,
    AnyOf,
    AtWatermark,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
)
from airflow_dataflow_provider.model import triggers as model
from airflow_dataflow_provider.model.triggers.composites import Composite
from airflow_dataflow_provider.testing.strategies import triggers

COMPOSITES = (Repeat, RepeatUntil, SequenceOf, AnyOf, AllOf)
LEAVES = [
    each
    for each in map(vars(model).get, model.__all__)
    if isinstance(each, type) and issubclass(each, Trigger) and each is not Trigger and not issubclass(each, Composite)
]
ELEMENTS = tuple(leaf for leaf in LEAVES if leaf.looks_at_elements)
CLOCKS = tuple(leaf for leaf in LEAVES if not leaf.looks_at_elements)
DRAWN = 1_000
LEAST = 0.5
"""Of an even share: hypothesis draws by its own lights, but no kind may be rare."""


def drawn(strategy: SearchStrategy[Trigger]) -> list[Trigger]:
    """As many trees as :data:`DRAWN`, always the same.

    Each has a number beside it, as a case has elements: hypothesis shows nothing twice, so alone a leaf would be rare.
    """
    found: list[Trigger] = []

    @seed(2015)
    @settings(
        max_examples=DRAWN, database=None, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy, st.integers(0, 2**64))
    def collect(tree: Trigger, _: int) -> None:
        found.append(tree)

    collect()
    return found


def check_none_is_rare(of: Counter[str], kinds: tuple[type[Trigger], ...]) -> None:
    """Each kind has at least :data:`LEAST` of an even share; the distribution is printed where one has not."""
    names, total = [kind.__name__ for kind in kinds], of.total()
    print("\n".join(f"{name:16} {of[name]:6} {of[name] / total:7.1%}" for name in names))
    even = total / len(names)
    assert {name: of[name] for name in names if of[name] < LEAST * even} == {}


@pytest.mark.parametrize(
    ("family", "leaves"),
    [
        pytest.param("clocks", CLOCKS, id="clocks"),
        pytest.param("elements", ELEMENTS, id="elements"),
        pytest.param("mixed", ELEMENTS + CLOCKS, id="mixed"),
    ],
)
def test_every_root_and_every_leaf_under_each_of_them_is_drawn_often(
    family: str, leaves: tuple[type[Trigger], ...]
) -> None:
    trees = drawn(triggers(family))
    roots = Counter(type(tree).__name__ if isinstance(tree, COMPOSITES) else "Trigger" for tree in trees)
    check_none_is_rare(roots, (*COMPOSITES, Trigger))
    below = Counter(type(node).__name__ for tree in trees for node in tree.walk() if not node.children())
    check_none_is_rare(below, leaves)
    repeated = Counter(type(tree.trigger).__name__ for tree in trees if isinstance(tree, Repeat))
    print({name: repeated[name] for name in sorted(repeated)})
    alone = [repeated[leaf.__name__] for leaf in leaves]
    assert min(alone) > 0
    assert sum(alone) > LEAST * DRAWN / 6 / 2  # a composite at the root, and a leaf right below it


def test_simple_trees_have_every_root_as_often() -> None:
    trees = drawn(triggers("watermarks"))
    check_none_is_rare(Counter(type(tree).__name__ for tree in trees), (Repeat, SequenceOf, AtWatermark))

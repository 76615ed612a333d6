from __future__ import annotations

from dataclasses import dataclass

from airflow_dataflow_provider import AtSignal, AtWatermark, Refinement, RuntimeMode


def test_a_value_says_the_first_line_of_its_docstring() -> None:
    assert (
        AtSignal("x").describe()
        == "Fires when a signal of this name is raised from outside: by a DAG, a call, or a file."
    )


def test_a_class_of_ones_own_says_its_own_line_or_what_it_overrides() -> None:
    class Noon(AtWatermark):
        """At noon, by ``W_100``.

        More than one line."""

    class Late(Noon):
        def describe(self) -> str:
            return f"After {self.percentile} %."

    assert Noon().describe() == "At noon, by `W_100`."
    assert Late().describe() == "After 100.0 %."


def test_a_class_without_a_docstring_says_nothing() -> None:
    @dataclass(frozen=True)
    class Never(AtSignal):
        name: str = "never"

    class Silent(AtSignal): ...

    assert Never().describe() == ""
    assert Silent("x").describe() == ""


def test_modes_and_refinements_have_a_sentence_and_keep_their_values() -> None:
    for member in (*RuntimeMode, *Refinement):
        assert member.describe().endswith(".")
        assert type(member)(member.value) is member
    assert RuntimeMode("batch") == "batch"

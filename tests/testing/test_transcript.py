"""Transcript files: what is written is what is run, a wrong one fails at its step, one that cannot be read says why."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_dataflow_provider import DataflowError, DefinitionError, PerElement
from airflow_dataflow_provider.reference.interpreter import Counts
from airflow_dataflow_provider.testing.notation import value
from airflow_dataflow_provider.testing.transcript import Transcript

GOOD = """\
title: A sum of each minute.
shows: Late elements are an output of their own.
pipeline: |
  events.group_by_key_and_window(key="key", window=FixedWindows("1m")).combine(total=Sum("value"))
steps:
  - add: [[a, 1, 12:00:10], [b, 2, 12:00:20]]
  - at: 12:05
    watermark: 12:01
    panes: |
      + a [12:00, 12:01) total=1 ON_TIME #0 last
      + b [12:00, 12:01) total=2 ON_TIME #0 last
  - add: [[a, 4, 12:00:30]]
    expired: |
      a 4 12:00:30 in [12:00, 12:01)
counts: {read: 3, late: 0, expired: 1}
batch: |
  + a [12:00, 12:01) total=5 ON_TIME last
  + b [12:00, 12:01) total=2 ON_TIME last
"""
REFUSED = """\
title: A key needs a name.
shows: None is given.
pipeline: events.group_by_key_and_window(key="", window=FixedWindows("1m")).combine(n=Count())
refused: DEFINITION_KEY
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Transcript]:
    def read(text: str, **names: object) -> Transcript:
        path = tmp_path / "example.yaml"
        path.write_text(text)
        return Transcript.read(path, names)

    return read


Read = Callable[..., Transcript]


def test_a_right_transcript_holds(read: Read) -> None:
    transcript = read(GOOD)
    assert (transcript.name, transcript.title) == ("example", "A sum of each minute.")
    assert transcript.counts == Counts(3, 0, 1)
    transcript.check()


def test_each_step_is_epochs_of_its_own_and_so_is_each_clock_that_it_moves(read: Read) -> None:
    steps = (
        "steps:\n  - add: [[a, 1, 12:00]]\n  - add: [[a, 2, 12:00], [a, 3, 12:00]]\n  - {at: 12:05, watermark: 12:01}\n"
    )
    text = GOOD[: GOOD.index("steps:")] + steps
    assert [len(scene.epochs) for scene in read(text).scenes()] == [1, 1, 2]
    assert [len(epoch.elements) for epoch in read(text).stream().epochs()] == [1, 2, 0, 0]


@pytest.mark.parametrize(
    ("right", "wrong", "step"),
    [
        ("total=1 ON_TIME", "total=9 ON_TIME", "step 2"),
        ("total=1 ON_TIME", "total=1 LATE", "step 2"),
        ("total=1 ON_TIME #0 last", "total=1 ON_TIME #1 last", "step 2"),
        ("total=1 ON_TIME #0 last", "total=1 ON_TIME #0", "step 2"),
        ("total=1 ON_TIME #0", "total=1 ON_TIME 97% #0", "step 2"),
        ("+ a [12:00, 12:01) total=1", "- a [12:00, 12:01) total=1", "step 2"),
        ("+ a [12:00, 12:01) total=1", "+ a [12:01, 12:02) total=1", "step 2"),
        ("      + b [12:00, 12:01) total=2 ON_TIME #0 last\n", "", "step 2"),
        ("a 4 12:00:30 in [12:00, 12:01)", "a 4 12:00:31 in [12:00, 12:01)", "step 3"),
        ("a 4 12:00:30 in [12:00, 12:01)", "a 4 12:00:30 in [12:00, 12:02)", "step 3"),
        ("    expired: |\n      a 4 12:00:30 in [12:00, 12:01)\n", "", "step 3"),
        ("total=5 ON_TIME last", "total=1 ON_TIME last", "as a batch"),
    ],
)
def test_a_wrong_one_fails_and_says_at_which_step(read: Read, right: str, wrong: str, step: str) -> None:
    assert right in GOOD
    with pytest.raises(AssertionError) as caught:
        read(GOOD.replace(right, wrong)).check()
    assert any(step in note for note in caught.value.__notes__)


def test_panes_in_another_order_than_they_were_published_fail(read: Read) -> None:
    first, second = (line for line in GOOD.splitlines() if "#0 last" in line)
    with pytest.raises(AssertionError, match="another order of panes"):
        read(GOOD.replace(first, "X").replace(second, first).replace("X", second)).check()


def test_wrong_counts_fail(read: Read) -> None:
    with pytest.raises(AssertionError, match="another counts"):
        read(GOOD.replace("late: 0", "late: 1")).check()


def test_a_pipeline_that_must_be_refused_holds_by_its_code_alone(read: Read) -> None:
    read(REFUSED).check()
    with pytest.raises(DefinitionError, match="DEFINITION_KEY"):
        read(REFUSED.replace("DEFINITION_KEY", "DEFINITION_WINDOW")).check()
    with pytest.raises(AssertionError, match="must be refused with DEFINITION_KEY"):
        read(REFUSED.replace('key=""', 'key="key"')).check()


def test_a_pipeline_may_use_names_that_its_reader_gives_and_no_others(read: Read) -> None:
    text = GOOD.replace("events.group", "events.par_do(PerElement(again, makes={'key': str, 'value': int})).group")
    assert read(text, again=dict).pipeline().grouping.par_dos == (PerElement(dict, {"key": str, "value": int}),)
    with pytest.raises(NameError):
        read(text).pipeline()
    with pytest.raises(NameError):
        read(GOOD.replace("events.", "open.")).pipeline()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (GOOD, "a sentence"),
        (GOOD, "title: ["),
        ("title: ", "titel: "),
        ("shows: Late elements are an output of their own.\n", ""),
        ("counts:", "refused: DEFINITION_KEY\ncounts:"),
        ("counts:", "title: Another one.\ncounts:"),
        ("  - at: 12:05\n    watermark: 12:01\n", "  - watermark: 12:01\n    at: 12:05\n"),
        ("  - at: 12:05\n    watermark: 12:01\n", "  - wait: 5m\n"),
        ("  - add: [[a, 4, 12:00:30]]\n    expired", "  - expired"),
        ("[a, 4, 12:00:30]", "[a, 4]"),
        ("[[a, 4, 12:00:30]]", "[a, 4, 12:00:30]"),
        ("+ a [12:00, 12:01) total=1", "a [12:00, 12:01) total=1"),
        ("total=1 ON_TIME #0", "total=1 #0"),
        ("total=1 ON_TIME #0", "ON_TIME #0"),
        ("total=1 ON_TIME #0", "total=1 SOON #0"),
        ("a 4 12:00:30 in", "a 12:00:30 in"),
        ("a 4 12:00:30 in [12:00, 12:01)", "a 4 12:00:30"),
        ("    panes: |\n      + a", "    panes:\n      - a"),
        ('events.group_by_key_and_window(key="key", window=FixedWindows("1m")).combine(total=Sum("value"))', "7"),
    ],
)
def test_what_is_no_transcript_is_refused_with_its_code(read: Read, right: str, wrong: str) -> None:
    assert right in GOOD
    with pytest.raises(DefinitionError) as caught:
        read(GOOD.replace(right, wrong)).check()
    assert caught.value.code == "DEFINITION_TRANSCRIPT"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("12:05", "12:05"), ("no", "no"), ("on", "on"), ("2013-03-10", "2013-03-10"), ("0x10", "0x10"),
        ("1_000", "1_000"), ("5", 5), ("-5", -5), ("2.5", 2.5), ("1e3", "1e3"), ("null", None), ("~", None),
        ("true", True), ("[1,null]", [1, None]),
    ],
)  # fmt: skip
def test_a_value_is_what_it_looks_like(text: str, meant: object) -> None:
    assert value(text) == meant
    assert type(value(text)) is type(meant)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(GOOD.replace("title", "titel"))
    with pytest.raises(DataflowError) as caught:
        Transcript.read(path)
    assert str(path) in caught.value.__notes__[0]


def test_the_example_of_the_documentation_holds(read: Read) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "transcripts.md").read_text()
    [example] = re.findall(r"^```yaml\n(.+?)^```", page, re.MULTILINE | re.DOTALL)
    read(example).check()

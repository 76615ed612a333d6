"""Makes a script that fails smaller, as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulate.script import Change, Offer, Script, Start
from tests.simulate.world import Outcome, play

SIMPLER = (
    "Pipeline('generated', Files('source/*.parquet', event_time='happened'))"
    ".group_by_key_and_window(key='key', window=FixedWindows('1m'), trigger=Repeat(AtWatermark()),"
    " refinement=ACCUMULATING, allowed_lateness='1d').combine(aggregate_0=Count())"
)
"""Most failures have nothing to do with what the pipeline is."""


def shrink(script: Script, failure: str, *, seconds: float = 120.0, run: Callable[[Script], Outcome] = play) -> Script:
    """The smallest script found in a time that fails as this one does.

    Args:
        script: fails.
        failure: how.
        seconds: how long to search.
        run: plays a script.
    """
    kind, until = kind_of(failure), time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < until:
        smaller = False
        for candidate in _smaller(script):
            found = run(candidate).failure
            if found is not None and kind_of(found) == kind:
                script, smaller = candidate, True
                break
            if time.monotonic() > until:
                break
    return script


def kind_of(failure: str) -> str:
    """What failures have in common that have the same cause: the words, without names and numbers."""
    words = failure.split("\n", maxsplit=1)[0].split(":")
    return ":".join("".join(char for char in part if not char.isdigit())[:40] for part in words[:2])


def _smaller(script: Script) -> Iterator[Script]:
    """Scripts that say less, those that say much less first."""
    steps = script.steps
    if script.pipeline != SIMPLER:
        yield replace(script, pipeline=SIMPLER)
    size = len(steps) // 2
    while size >= 1:
        for start in range(0, len(steps), size):
            yield replace(script, steps=steps[:start] + steps[start + size :])
        size //= 2
    for number, step in enumerate(steps):
        for simpler in _simpler(step):
            yield replace(script, steps=(*steps[:number], simpler, *steps[number + 1 :]))
    if script.schedule:
        yield replace(script, schedule=0)


def _simpler(step: object) -> Iterator[object]:
    match step:
        case Start():
            for number in range(len(step.faults)):
                yield replace(step, faults=step.faults[:number] + step.faults[number + 1 :])
            if step.skew:
                yield replace(step, skew=0.0)
            if step.take_over:
                yield replace(step, take_over=False)
            if step.input_share is not None:
                yield replace(step, input_share=None)
        case Offer() | Change() if len(step.rows) > 1:
            yield replace(step, rows=step.rows[: len(step.rows) // 2])
            yield replace(step, rows=step.rows[1:])

"""A generated case as a transcript: the same pipeline and elements, with one thing happening at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.predicates import PythonPredicate
from airflow_dataflow_provider.model.time import MAX_TIME, Micros, iso
from airflow_dataflow_provider.model.watermarks import WatermarkCurve, percentile_text
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.reference.interpreter import Epoch, ExpiredElement, Interpreter
from airflow_dataflow_provider.testing import transcript
from airflow_dataflow_provider.testing.strategies import par_do_steps, trigger_trees, window_kinds
from airflow_dataflow_provider.testing.stream import TestStream

NAMES: dict[str, Any] = {
    each.__name__: each
    for each in (
        PythonPredicate, window_kinds.LongerWhenOdd, window_kinds.Validity, trigger_trees.is_odd,
        par_do_steps.without_unknown, par_do_steps.as_often_as_said, par_do_steps.doubled, par_do_steps.earlier,
        par_do_steps.twice, par_do_steps.positive, par_do_steps.odd_ones, par_do_steps.as_often_as_counted,
        par_do_steps.above_one, par_do_steps.tripled, par_do_steps.with_value,
    )
}  # fmt: skip
"""What generated pipelines are written with beside the package's names."""

Action = tuple[str, Callable[[TestStream], TestStream]]
"""What happens in a step: as a line of it, and to the stream."""

COLUMNS = ("key", "site", "whole", "part", "happened")
_MODULES = re.compile(r"airflow_dataflow_provider\.testing\.strategies\.\w+\.")


def write(pipeline: Pipeline, epochs: Sequence[Epoch], title: str) -> str:
    """The transcript of a case, with the panes that the reference gives for it.

    It cannot say all that an epoch can: clocks move before elements come, each in an epoch of its own, all elements
    arrive at the clock, and what a batch's end fires early is left out.
    """
    play = _Play(pipeline, iso(epochs[0].clock.processing_time)[:10])
    steps = [line for epoch in epochs if _is_stream(epoch) for line in play.epoch(epoch)]
    return "\n".join(
        [
            f"title: {title}",
            "shows: What a random search found, shrunk.",
            "pipeline: |",
            f"  {code_of(pipeline)}",
            f"day: {play.day}",
            f"columns: [{', '.join(COLUMNS)}]",
            "steps:",
            *steps,
            "",
        ]
    )


def code_of(pipeline: Pipeline) -> str:
    """The pipeline as a transcript writes it, accepting no risk that it does not have."""
    code = _MODULES.sub("", "events" + repr(pipeline).removeprefix(repr(Pipeline(pipeline.name, pipeline.source))))
    for number in range(code.count("Risk."), 0, -1):
        without = _without_risk(code, number)
        with suppress(DefinitionError):
            eval(without, {**transcript.NAMES, **NAMES})
            code = without
    return code


def _without_risk(code: str, number: int) -> str:
    """The code without the risk that is named as the ``number``-th."""
    found = list(re.finditer(r"Risk\.\w+,? ?", code))[number - 1]
    shorter = code[: found.start()] + code[found.end() :]
    return re.sub(r"(Risk\.\w+), \)", r"\1,)", shorter.replace(", accept=()", ""))


def _is_stream(epoch: Epoch) -> bool:
    """Whether it is no end of a batch's input after which the stream goes on."""
    return epoch.horizon == epoch.clock.watermark


class _Play:
    """The case as it is played: a stream so far, and the reference beside it."""

    def __init__(self, pipeline: Pipeline, day: str) -> None:
        self.day = day
        self.stream = TestStream(pipeline, day=day)
        self.reference = Interpreter(pipeline)

    def epoch(self, epoch: Epoch) -> Iterator[str]:
        """The steps for one epoch: first the clocks, then the elements, then signals."""
        yield from self._step(self._clocks(epoch.clock))
        if epoch.elements:
            rows = [{**element.row, "happened": iso(element.event_time)} for element in epoch.elements]
            written = ", ".join(f"[{self._row(element)}]" for element in epoch.elements)
            yield from self._step([(f"add: [{written}]", lambda stream: stream.add(*rows))])
        for name in sorted(epoch.clock.signals):
            yield from self._step([(f"signal: {name}", lambda stream, name=name: stream.raise_signal(name))])

    def _clocks(self, clock: Clock) -> list[Action]:
        before = self.stream.clock
        actions: list[Action] = []
        if clock.processing_time > before.processing_time:
            time = iso(clock.processing_time)
            line = f"at: {self.time(clock.processing_time)}"
            actions.append((line, lambda stream: stream.advance_processing_time(time)))
        if clock.watermark == MAX_TIME > before.watermark:
            actions.append(("end_of_input: true", TestStream.end_of_input))
        elif advances := _advances(before.watermarks, clock.watermarks):
            written = ", ".join(f"{percentile_text(share)}: {self.time(time)}" for share, time in advances)
            actions.append((f"watermark: {{{written}}}", lambda stream: _advanced(stream, advances)))
        return actions

    def _step(self, actions: Sequence[Action]) -> Iterator[str]:
        """The lines of one step, after it has been played."""
        if not actions:
            return
        gone = len(self.reference.expired)
        # Begun anew: what two steps add is not one epoch.
        self.stream = replace(self.stream, script=(Epoch(self.stream.clock),)) if self.stream.script else self.stream
        before = len(self.stream.script)
        for _, play in actions:
            self.stream = play(self.stream)
        panes = [pane for epoch in self.stream.script[before:] for pane in self.reference.epoch(epoch)]
        yield f"  - {actions[0][0]}"
        yield from (f"    {line}" for line, _ in actions[1:])
        yield from _block("panes", map(self._pane, panes))
        yield from _block("expired", map(self._expired, self.reference.expired[gone:]))

    def time(self, time: Micros) -> str:
        """A time of the day, or the whole of it."""
        text = iso(time)
        return text[11:-1] if text.startswith(self.day) else text

    def _window(self, window: Window) -> str:
        return f"[{self.time(window.start)}, {self.time(window.end)})"

    def _row(self, element: Element) -> str:
        values = [_text(element.row.get(column)) for column in COLUMNS[:-1]]
        return ", ".join([*values, self.time(element.event_time)])

    def _expired(self, expired: ExpiredElement) -> str:
        return f"{self._row(expired.element).replace(',', '')} in {self._window(expired.window)}"

    def _pane(self, pane: Pane) -> str:
        key = ",".join(map(_text, pane.key))
        values = " ".join(f"{name}={_text(value)}" for name, value in pane.values.items())
        last = " last" if pane.is_last else ""
        sign = "-" if pane.is_retraction else "+"
        return f"{sign} {key} {self._window(pane.window)} {values} {pane.timing} #{pane.index}{last}"


def _advances(before: WatermarkCurve, after: WatermarkCurve) -> list[tuple[float, Micros]]:
    """The percentiles that must be said, the highest first: it takes those below along."""
    said: list[tuple[float, Micros]] = []
    for share, time in reversed(after.points):
        if time > before.at(share) and (not said or time > said[-1][1]):
            said.append((share, time))
    return said


def _advanced(stream: TestStream, advances: Sequence[tuple[float, Micros]]) -> TestStream:
    for share, time in advances:
        stream = stream.advance_watermark(iso(time), share)
    return stream


def _block(name: str, lines: Iterable[str]) -> list[str]:
    found = [f"      {line}" for line in lines]
    return [f"    {name}: |", *found] if found else []


def _text(value: object) -> str:
    """A value as YAML reads it, without blanks; a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

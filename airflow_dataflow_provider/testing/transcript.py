"""Transcripts: readable files with a pipeline, a script of steps, and the expected panes.

A transcript must pass on the reference interpreter and on every engine. ``docs/reference/transcripts.md`` describes its
format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

import airflow_dataflow_provider
from airflow_dataflow_provider.model import combiners
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, NOTHING_KNOWN
from airflow_dataflow_provider.reference.interpreter import Counts, Epoch, ExpiredElement, Interpreter
from airflow_dataflow_provider.testing.expressions import evaluator
from airflow_dataflow_provider.testing.notation import (
    ExpectedExpired,
    PlainLoader,
    expired_of,
    lines,
    malformed,
    pane_of,
)
from airflow_dataflow_provider.testing.panes import ExpectedPane, assert_panes
from airflow_dataflow_provider.testing.stream import TestStream
from airflow_dataflow_provider.testing.times import DEFAULT_DAY, moment

EVENTS = Pipeline("transcript", Files("events/*.parquet", event_time="happened"))
"""The name ``events`` in a transcript: a pipeline with a source and no steps yet."""
NAMES: Mapping[str, Any] = MappingProxyType(
    {
        name: getattr(airflow_dataflow_provider, name)
        for name in airflow_dataflow_provider.__all__
        if name not in airflow_dataflow_provider.LOADED_WHEN_USED
    }
    | {name: getattr(combiners, name) for name in combiners.__all__}
    | {kind.__name__: kind for kind in (str, int, float, bool)}
    | {"events": EVENTS}
)
"""The names that the pipeline of a transcript can use, besides those that the caller adds."""

_ACTIONS = ("at", "add", "signal", "watermark", "end_of_input")
_FIELDS = ("title", "shows", "pipeline", "refused", "engines", "day", "columns", "steps", "counts", "batch")

StepByStep = Callable[[Epoch], Iterable[Pane]]
"""An engine that returns the panes of one epoch after the other."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A step of a transcript as epochs, with the expected results.

    Attributes:
        name: the step, for messages.
        epochs: the epochs of the step.
        panes: the panes that these epochs must publish.
        expired: the elements that must expire.
    """

    name: str
    epochs: tuple[Epoch, ...]
    panes: tuple[ExpectedPane, ...]
    expired: tuple[ExpectedExpired, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file, read by :meth:`read`.

    Attributes:
        name: the file's, without its ending.
        title: what holds, in a sentence.
        shows: what a reader should see in it.
        code: the pipeline, as a Python expression.
        refused: the code of the error with which the pipeline is refused; None where it is not.
        engines: those that a quick test run asks, beside the reference.
        day: of times of day.
        columns: what the values of an added row are, in their order.
        steps: what happens, as written.
        counts: elements read, late and expired in the end, where it is said.
        batch: the panes of a batch over the same elements, where it is said.
        names: what the pipeline may be written with.
    """

    name: str
    title: str
    shows: str
    code: str
    refused: str | None = None
    engines: tuple[str, ...] = ()
    day: str = DEFAULT_DAY
    columns: tuple[str, ...] = ("key", "value", "happened")
    steps: tuple[Mapping[str, Any], ...] = ()
    counts: Counts | None = None
    batch: str | None = None
    names: Mapping[str, Any] = field(default_factory=lambda: NAMES, repr=False)

    @classmethod
    def read(cls, path: str | Path, names: Mapping[str, Any] = MappingProxyType({})) -> Transcript:
        """Read a file.

        Its pipeline is Python, which runs when it is asked for: read only files that you trust.

        Args:
            path: of the file.
            names: what its pipeline may use beside the names of this package: functions and windows of your own.

        Raises:
            DefinitionError: ``DEFINITION_TRANSCRIPT`` for a file that is no transcript.
        """
        path = Path(path)
        try:
            return _transcript(path.stem, yaml.load(path.read_text(), PlainLoader), {**NAMES, **names})  # noqa: S506
        except yaml.YAMLError as error:
            raise malformed(f"{path} is not YAML: {error}", "see docs/reference/transcripts.md") from error
        except DataflowError as error:
            error.add_note(f"in the transcript {path}")
            raise

    def pipeline(self) -> Pipeline:
        """The pipeline that is written.

        Raises:
            DataflowError: whatever it is refused with.
        """
        made = eval(self.code, {"__builtins__": {}, **self.names})  # noqa: S307 - as read() says
        if not isinstance(made, Pipeline):
            raise malformed(f"{self.code!r} is no pipeline", "write events.group_by_key_and_window(...).combine(...)")
        return made

    def scenes(self) -> tuple[Scene, ...]:
        """Every step: what happens in one is an epoch of its own, and so is each clock that it moves."""
        stream = TestStream(self.pipeline(), day=self.day)
        scenes: list[Scene] = []
        for number, step in enumerate(self.steps, 1):
            # Begun anew: what two steps add is not one epoch.
            began = replace(stream, script=(Epoch(stream.clock),))
            stream = self._played(began, step)
            now = stream.clock.processing_time
            scenes.append(
                Scene(
                    name=f"step {number}: {', '.join(f'{key} {step[key]}' for key in _ACTIONS if key in step)}",
                    epochs=stream.epochs()[1:],
                    panes=self._panes(step.get("panes", ""), now),
                    expired=tuple(map(self._expired, lines(step.get("expired", ""), "expired"))),
                )
            )
        return tuple(scenes)

    def stream(self) -> TestStream:
        """All that happens, to be run on an engine."""
        epochs = tuple(epoch for scene in self.scenes() for epoch in scene.epochs)
        return TestStream(self.pipeline(), day=self.day, script=epochs)

    def batch_scene(self) -> Scene:
        """The same elements as one batch: all at once, then the end of input, at the time of the last step.

        Windows stay open by the watermark of the last step.
        """
        last = self.stream().clock
        elements = [
            replace(element, arrival_time=last.processing_time)
            for scene in self.scenes()
            for epoch in scene.epochs
            for element in epoch.elements
        ]
        epochs = (
            Epoch(Clock(last.processing_time, NOTHING_KNOWN), elements),
            Epoch(Clock(last.processing_time, END_OF_INPUT), horizon=last.watermark),
        )
        return Scene("as a batch", epochs, self._panes(self.batch or "", last.processing_time))

    def check(self, engine: str = "reference") -> None:
        """Check that the transcript holds.

        Args:
            engine: the reference is asked step by step, other engines for all at once.

        Raises:
            AssertionError: with what is different.
            DataflowError: whatever the pipeline or the engine refuses.
        """
        if self.refused is not None:
            self._check_refused()
        elif engine == "reference":
            self._check_reference()
        else:
            self._check_at_once(engine)

    def check_step_by_step(self, run: StepByStep, scenes: Sequence[Scene] | None = None) -> None:
        """Check what an engine publishes in each step.

        Args:
            run: the engine, with an empty state.
            scenes: by default, those of :meth:`scenes`.

        Raises:
            AssertionError: with the step, and what is different.
        """
        for scene in self.scenes() if scenes is None else scenes:
            with _named(scene):
                assert_panes(_published(run, scene), scene.panes)

    def _check_refused(self) -> None:
        try:
            self.pipeline()
        except DataflowError as error:
            if error.code == self.refused:
                return
            raise
        raise AssertionError(f"the pipeline must be refused with {self.refused}, and is not")

    def _check_reference(self) -> None:
        pipeline = self.pipeline()
        interpreter = Interpreter(pipeline, evaluator(pipeline))
        for scene in self.scenes():
            before = len(interpreter.expired)
            with _named(scene):
                came = _published(interpreter.epoch, scene)
                assert_panes(came, scene.panes)
                _check_equal("order of panes", _order(came), _order(scene.panes))
                self._check_expired(interpreter.expired[before:], scene.expired)
        if self.counts is not None:
            _check_equal("counts", interpreter.counts, self.counts)
        if self.batch is not None:
            self.check_step_by_step(Interpreter(pipeline, evaluator(pipeline)).epoch, [self.batch_scene()])

    def _check_at_once(self, engine: str) -> None:
        if engine == "spark-batch":
            assert_panes(self.stream().run(engine), self.batch_scene().panes)
            return
        outcome, scenes = self.stream().outcome(engine), self.scenes()
        assert_panes(outcome.panes, [pane for scene in scenes for pane in scene.panes])
        self._check_expired(outcome.expired, [each for scene in scenes for each in scene.expired])
        if self.counts is not None:
            _check_equal("counts", outcome.counts, self.counts)

    def _check_expired(self, came: Iterable[ExpiredElement], wanted: Iterable[ExpectedExpired]) -> None:
        gone = sorted(map(self._as_expected, came), key=repr)
        _check_equal("list of expired elements", gone, sorted(wanted, key=repr))

    def _as_expected(self, expired: ExpiredElement) -> ExpectedExpired:
        element, event_time = expired.element, self.pipeline().source.event_time
        row = (element.event_time if name == event_time else element.row.get(name) for name in self.columns)
        return ExpectedExpired(tuple(row), expired.window)

    def _expired(self, line: str) -> ExpectedExpired:
        found = expired_of(line, self.columns, day=self.day)
        event_time = self.pipeline().source.event_time
        row = (
            moment(value, day=self.day) if name == event_time else value
            for name, value in zip(self.columns, found.row, strict=True)
        )
        return replace(found, row=tuple(row))

    def _panes(self, text: object, now: Micros) -> tuple[ExpectedPane, ...]:
        return tuple(pane_of(line, day=self.day, processing_time=now) for line in lines(text, "panes"))

    def _played(self, stream: TestStream, step: Mapping[str, Any]) -> TestStream:
        for action in _ACTIONS:
            match action, step.get(action):
                case _, None:
                    pass
                case "at", time:
                    stream = stream.advance_processing_time(time)
                case "add", rows:
                    stream = stream.add(*(self._row(row) for row in rows))
                case "signal", name:
                    stream = stream.raise_signal(name)
                case "watermark", time:
                    for percentile, of_it in time.items() if isinstance(time, dict) else [(100, time)]:
                        stream = stream.advance_watermark(of_it, percentile)
                case "end_of_input", _:
                    stream = stream.end_of_input()
        return stream

    def _row(self, row: object) -> Mapping[str, Any]:
        if not isinstance(row, list) or len(row) != len(self.columns):
            raise malformed(f"{row!r} is no row", f"write [{', '.join(self.columns)}], or other columns")
        return dict(zip(self.columns, row, strict=True))


@contextmanager
def _named(scene: Scene) -> Iterator[None]:
    """Let a failure say at which step it came."""
    try:
        yield
    except (AssertionError, DataflowError) as error:
        error.add_note(f"at {scene.name}")
        raise


def _check_equal(what: str, came: object, wanted: object) -> None:
    if came != wanted:
        raise AssertionError(f"another {what} than expected\n  came:     {came}\n  expected: {wanted}")


def _order(panes: Sequence[Pane | ExpectedPane]) -> list[str]:
    return [f"{'-' if pane.is_retraction else '+'} {pane.key} {pane.window}" for pane in panes]


def _published(run: StepByStep, scene: Scene) -> list[Pane]:
    return [pane for epoch in scene.epochs for pane in run(epoch)]


def _transcript(name: str, document: object, names: Mapping[str, Any]) -> Transcript:
    if not isinstance(document, dict):
        raise malformed(f"{name} is no mapping", f"give the fields {', '.join(_FIELDS)}")
    _check_fields(document, _FIELDS, "a transcript")
    missing = [field for field in ("title", "shows", "pipeline") if not isinstance(document.get(field), str)]
    if missing or ("refused" in document) == ("steps" in document):
        raise malformed(
            f"{name} lacks {missing[0]}" if missing else f"{name} has both steps and refused, or neither",
            "give title, shows and pipeline as text, and either steps or the code with which it is refused",
        )
    steps = document.get("steps", [])
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise malformed(f"the steps of {name} are no list of mappings", "begin each with '- ', then at, add, ...")
    for step in steps:
        _check_step(step)
    counts = document.get("counts")
    default = Transcript(name, "", "", "")
    return Transcript(
        name=name,
        title=document["title"],
        shows=document["shows"].strip(),
        code=document["pipeline"].strip(),
        refused=document.get("refused"),
        engines=tuple(document.get("engines", ())),
        day=document.get("day", default.day),
        columns=tuple(document.get("columns", default.columns)),
        steps=tuple(steps),
        counts=None if counts is None else Counts(**counts),
        batch=document.get("batch"),
        names=names,
    )


def _check_step(step: Mapping[str, Any]) -> None:
    _check_fields(step, (*_ACTIONS, "panes", "expired"), "a step")
    actions = [action for action in step if action in _ACTIONS]
    if not actions or any(_ACTIONS.index(one) > _ACTIONS.index(next_one) for one, next_one in pairwise(actions)):
        raise malformed(
            f"the step {dict(step)!r} does nothing, or not in order",
            f"within a step things happen in the order {', '.join(_ACTIONS)}; for another order write two steps",
        )


def _check_fields(document: Mapping[Any, Any], known: Sequence[str], what: str) -> None:
    unknown = [name for name in document if name not in known]
    if unknown:
        raise malformed(f"{what} has no field {unknown[0]!r}", f"use {', '.join(known)}")

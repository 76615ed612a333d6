"""The notation of panes, elements and times in a transcript: one line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from airflow_dataflow_provider.model.elements import PaneTiming
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.windows import Window
from airflow_dataflow_provider.testing.panes import ExpectedPane
from airflow_dataflow_provider.testing.times import moment


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """YAML 1.2's core schema, in which ``12:05`` and ``no`` are text. A duplicate key is refused."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as the base has it

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys are all different.

        Raises:
            DefinitionError: ``DEFINITION_TRANSCRIPT``.
        """
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        for name in {name for name in names if names.count(name) > 1}:
            raise malformed(f"{name!r} occurs twice", "keep one of them")
        made: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return made


for _tag, _pattern, _first in (
    ("null", r"null|~|", ["n", "~", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", list("-+.0123456789")),
):
    PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def malformed(what: str, hint: str) -> DefinitionError:
    """The error of a transcript that cannot be read."""
    return DefinitionError(what, hint=hint, code="DEFINITION_TRANSCRIPT")


def value(text: str) -> Any:  # noqa: ANN401 - whatever YAML makes of it
    """One value: ``5``, ``2.5``, ``text``, ``null``, ``[1,2]``."""
    return yaml.load(text, PlainLoader)  # noqa: S506 - a SafeLoader


_WINDOW = r"\[(?P<start>[^\s,]+), *(?P<end>[^\s)]+)\)"
_PANE = re.compile(rf"(?P<sign>[+-]) +(?P<key>\S+) +{_WINDOW} +(?P<rest>.+)")
_EXPIRED = re.compile(rf"(?P<row>.+?) +in +{_WINDOW}")


def _window(found: re.Match[str], day: str) -> Window:
    return Window(moment(found["start"], day=day), moment(found["end"], day=day))


def lines(text: object, what: str) -> list[str]:
    """The lines of a block of text, without empty ones.

    Raises:
        DefinitionError: ``DEFINITION_TRANSCRIPT``.
    """
    if not isinstance(text, str):
        raise malformed(f"{what}={text!r} is no text", f"write '{what}: |' and a line for each")
    return [line.strip() for line in text.splitlines() if line.strip()]


def pane_of(line: str, *, day: str, processing_time: Micros) -> ExpectedPane:
    """Read ``+ key [12:00, 12:02) total=5 ON_TIME #0 last``.

    Raises:
        DefinitionError: ``DEFINITION_TRANSCRIPT``.
    """
    found = _PANE.fullmatch(line)
    if found is None:
        raise malformed(f"{line!r} is no pane", "write '+ key [12:00, 12:02) total=5 ON_TIME', '-' for a retraction")
    values: dict[str, Any] = {}
    said: dict[str, Any] = {"is_last": False}
    for word in found["rest"].split():
        name, equals, text = word.partition("=")
        if equals:
            values[name] = value(text)
        elif word in PaneTiming.__members__:
            said["timing"] = PaneTiming(word)
        elif word == "last":
            said["is_last"] = True
        elif re.fullmatch(r"#\d+", word):
            said["index"] = int(word[1:])
        elif re.fullmatch(r"[\d.]+%", word):
            said["completeness"] = float(word[:-1]) / 100
        else:
            raise malformed(f"{word!r} says nothing of the pane {line!r}", "name=value, EARLY, #0, 97% or last")
    if not values or "timing" not in said:
        raise malformed(f"the pane {line!r} lacks values or timing", "name each aggregate, and EARLY, ON_TIME or LATE")
    return ExpectedPane(
        key=tuple(value(part) for part in found["key"].split(",")),
        window=_window(found, day),
        values=values,
        is_retraction=found["sign"] == "-",
        processing_time=processing_time,
        **said,
    )


@dataclass(frozen=True, slots=True)
class ExpectedExpired:
    """An expired element, and its window."""

    row: tuple[Any, ...]
    window: Window


def expired_of(line: str, columns: Sequence[str], *, day: str) -> ExpectedExpired:
    """Read ``key 4 12:00:30 in [12:00, 12:01)``.

    Raises:
        DefinitionError: ``DEFINITION_TRANSCRIPT``.
    """
    found = _EXPIRED.fullmatch(line)
    row = () if found is None else tuple(map(value, found["row"].split()))
    if found is None or len(row) != len(columns):
        raise malformed(f"{line!r} is no expired element", f"write '{' '.join(columns)} in [12:00, 12:01)'")
    return ExpectedExpired(row, _window(found, day))

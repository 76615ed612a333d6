"""File formats: Parquet, CSV and JSON lines, and how a path says which of them its files have."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_dataflow_provider.model.column_types import leaves
from airflow_dataflow_provider.model.errors import DefinitionError

COMPRESSIONS = {"gz": "gzip", "zst": "zstd"}
"""Endings of compressed files, each with the codec's name."""
_NOT_READ = {"7z", "br", "bz2", "lz4", "lzma", "rar", "snappy", "tar", "tgz", "xlsx", "xz", "z", "zip"}
"""Endings that no format here can have, whatever ``format=`` says."""
_IN_JSON = {"int64", "uint64", "float64", "string", "boolean"}
_BRACES = re.compile(r"\{([^{}]*)\}")
_WILDCARD = re.compile(r"[*?\[\]{}]")


class FileFormat(ABC):
    """A file format. Its fields are what the files themselves do not say."""

    __slots__ = ()

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    """Of a file's name; the first one is that of the files in a folder."""
    can_be_compressed: ClassVar[bool] = True

    def lacks(self, name: str) -> str:  # noqa: ARG002 - whatever the type
        """Why values of a type cannot stand in these files; empty where they can."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@dataclass(frozen=True, slots=True, repr=False)
class Parquet(FileFormat):
    """Parquet files."""

    name: ClassVar[str] = "parquet"
    endings: ClassVar[tuple[str, ...]] = ("parquet",)
    can_be_compressed: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, repr=False)
class JsonLines(FileFormat):
    """A JSON object on each line, in UTF-8."""

    name: ClassVar[str] = "jsonl"
    endings: ClassVar[tuple[str, ...]] = ("jsonl", "ndjson")

    def lacks(self, name: str) -> str:
        """Times and decimals are written as text, and read as what they are only where they stand by themselves."""
        others = {*leaves(name)} - _IN_JSON
        if "binary" in others:
            return "JSON has no bytes"
        return "" if others <= {name} else f"inside of lists and objects {min(others)} stays text"


@dataclass(frozen=True, slots=True, repr=False)
class Csv(FileFormat):
    """Text in UTF-8 with separated fields.

    Args:
        separator: the character between two fields.
        quote: the character around fields that hold separators, line breaks or quotes; None: there is none.
        null_values: words that stand for null where they are not in quotes. An empty field always does.
        columns: the names of the columns, for files without a header. With none the first line of each file has them.
    """

    name: ClassVar[str] = "csv"
    endings: ClassVar[tuple[str, ...]] = ("csv",)

    separator: str = ","
    quote: str | None = '"'
    null_values: Sequence[str] = ()
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("quote", self.quote)):
            if not (name == "quote" and value is None) and not _is_delimiter(value):
                raise DefinitionError(
                    f"Csv {name}={value!r} is not one ASCII character",
                    hint="write a character that is no line break; a tab is '\\t'",
                    code="DEFINITION_SOURCE",
                )
        if self.separator == self.quote:
            raise DefinitionError(
                f"Csv separator and quote are both {self.quote!r}",
                hint="choose different characters, or quote=None for files without quotes",
                code="DEFINITION_SOURCE",
            )
        object.__setattr__(self, "null_values", _words("null_values", self.null_values))
        object.__setattr__(self, "columns", _words("columns", self.columns))
        if len({*self.columns}) < len(self.columns):
            raise DefinitionError(f"Csv columns={self.columns!r} names one twice", code="DEFINITION_SOURCE")
        never = [word for word in self.null_values if {*word} & {self.separator, self.quote, "\n", "\r"}]
        if never:
            raise DefinitionError(
                f"Csv null_values has {never[0]!r}, which no field without quotes can be",
                hint="leave it out: a value in quotes is never null",
                code="DEFINITION_SOURCE",
            )

    def lacks(self, name: str) -> str:
        """A field is one value."""
        return "" if {*leaves(name)} == {name} else "a field of CSV is one value"

    def __repr__(self) -> str:
        default = Csv()
        parts = [
            f"{name}={getattr(self, name)!r}"
            for name in self.__slots__
            if getattr(self, name) != getattr(default, name)
        ]
        return f"Csv({', '.join(parts)})"


FORMATS: tuple[type[FileFormat], ...] = (Parquet, Csv, JsonLines)
_NAMED = {kind.name: kind for kind in FORMATS}
_BY_ENDING = {ending: kind for kind in FORMATS for ending in kind.endings}


def format_of(path: str, asked: FileFormat | str) -> FileFormat:
    """The format of a source's files.

    Args:
        path: of the source: a file, a folder or a pattern.
        asked: what its ``format=`` says; an empty text leaves it to the path. A folder is one of Parquet files then.

    Raises:
        DefinitionError: ``DEFINITION_SOURCE`` where it is not known, or the path says something else.
    """
    chosen = asked if isinstance(asked, FileFormat) else None
    if chosen is None and asked != "":
        if asked not in _NAMED:
            raise _unknown(f"format={asked!r} is not known", _hint(str(asked)))
        chosen = _NAMED[str(asked)]()
    kinds: set[type[FileFormat]] = set()
    for ending, compression in _endings(path):
        kind = _BY_ENDING.get(ending) or (type(chosen) if chosen else None if ending else Parquet)
        name = f".{ending}.{compression}".replace("..", ".").rstrip(".")
        if kind is None:
            raise _unknown(f"path ends in {name!r}, which says no format", _hint(ending))
        if ending in _NOT_READ or (compression and not kind.can_be_compressed):
            raise _unknown(f"path ends in {name!r}, which is not read", _hint(""))
        if chosen and not isinstance(chosen, kind):
            raise _unknown(f"path ends in {name!r}, and format= says {chosen.name!r}", "make both say the same")
        kinds.add(kind)
    if chosen is None and len(kinds) > 1:
        raise _unknown(f"path {path!r} means files of several formats", "use a source for each format")
    return chosen or kinds.pop()()


def compression_of(file: str) -> str:
    """The codec of a file by its name's ending; empty for none."""
    return COMPRESSIONS.get(file.rpartition(".")[2].lower(), "")


def written(path: str, chosen: FileFormat) -> str:
    """``format=`` as the code that makes it; empty where the path says it."""
    try:
        if format_of(path, "") == chosen:
            return ""
    except DefinitionError:
        pass
    return repr(chosen.name if chosen == type(chosen)() else chosen)


def _endings(path: str) -> Iterator[tuple[str, str]]:
    """The endings of each name that the path can mean: the format's and the compression's; none of a folder."""
    for each in alternatives(path):
        name = each.rpartition("/")[2]
        stem, _, last = name.rpartition(".")
        compression = last.lower() if stem and last.lower() in COMPRESSIONS else ""
        if compression:
            stem, _, last = stem.rpartition(".")
        is_open = _WILDCARD.search(last) is not None
        yield last.lower() if stem or is_open else "", compression


def alternatives(pattern: str) -> Iterator[str]:
    """The patterns without braces that a pattern with braces means."""
    braces = _BRACES.search(pattern)
    if braces is None:
        yield pattern
        return
    for choice in braces[1].split(","):
        yield from alternatives(pattern[: braces.start()] + choice + pattern[braces.end() :])


def _hint(ending: str) -> str:
    known = f"choose format={', '.join(repr(name) for name in _NAMED)}; CSV and JSON lines may end in .gz or .zst"
    match ending.rpartition(".")[2]:
        case "json":
            return "if each line is an object of its own, say format='jsonl'; else write the files as JSON lines"
        case "tsv" | "tab":
            return f"say format=Csv(separator={chr(9)!r})"
        case "gz" | "zst":
            return f"name the row format only, and the compression in the path: 'folder/*.{ending}'"
        case _:
            return known


def _unknown(what: str, hint: str) -> DefinitionError:
    return DefinitionError(f"Files {what}", hint=hint, code="DEFINITION_SOURCE")


def _is_delimiter(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and text not in "\r\n\0"


def _words(name: str, words: object) -> tuple[str, ...]:
    found = (words,) if isinstance(words, str) else tuple(words) if isinstance(words, list | tuple) else None
    if found is None or not all(isinstance(word, str) and word for word in found):
        raise DefinitionError(
            f"Csv {name}={words!r} is not a list of words", hint=f'write {name}=("a", "b")', code="DEFINITION_SOURCE"
        )
    return found

"""Where a pipeline is found: ``module:attribute``, or ``/path/file.py:attribute``."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import DefinitionError, SubmissionError

if TYPE_CHECKING:
    from collections.abc import Iterable

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class PipelineReference:
    """A pipeline by name. The driver loads it; Airflow does not.

    Attributes:
        module: a dotted module name, or the path of a ``.py`` file.
        attribute: the name of the pipeline in it.
    """

    module: str
    attribute: str

    def __post_init__(self) -> None:
        if not (self.file or _DOTTED.fullmatch(self.module)) or not _DOTTED.fullmatch(self.attribute):
            raise DefinitionError(
                f"pipeline={str(self)!r} does not name a pipeline",
                hint='write "module:attribute" or "/path/file.py:attribute", for example "flights:departures"',
                code="SUBMIT_PIPELINE",
            )

    @classmethod
    def parse(cls, text: str) -> PipelineReference:
        """Read ``module:attribute``.

        Raises:
            DefinitionError: ``SUBMIT_PIPELINE`` for anything else.
        """
        module, _, attribute = text.strip().rpartition(":")
        return cls(module, attribute)

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"

    @property
    def file(self) -> Path | None:
        """The path of the module, if it is a ``.py`` file."""
        return Path(self.module) if self.module.endswith(".py") else None

    @property
    def name(self) -> str:
        """The name of the pipeline's state under a state root."""
        return self.attribute.rpartition(".")[2]

    def found_in(self, folders: Iterable[Path]) -> PipelineReference:
        """The same pipeline by the absolute path of its file; a relative path is searched for in ``folders``.

        Raises:
            SubmissionError: ``SUBMIT_PIPELINE_FILE`` if the file does not exist.
        """
        if self.file is None:
            return self
        # The task's working directory comes last.
        candidates = [folder / self.file for folder in (*folders, Path())]
        for candidate in candidates:
            if candidate.is_file():
                return PipelineReference(str(candidate.resolve()), self.attribute)
        raise SubmissionError(
            f"pipeline file {self.module!r} does not exist",
            reason=f"looked at {', '.join(str(candidate.absolute()) for candidate in candidates)}",
            hint="give the absolute path, or a path relative to the folder of the DAG file",
            code="SUBMIT_PIPELINE_FILE",
        )

    def as_module(self) -> PipelineReference:
        """The reference on a machine to which the file was shipped with ``--py-files``.

        Raises:
            SubmissionError: ``SUBMIT_PIPELINE_FILE`` if the file has the name of a module of the standard library.
        """
        if self.file and self.file.stem in sys.stdlib_module_names:
            raise SubmissionError(
                f"the pipeline file {self.file.name!r} has the name of a module of the standard library",
                reason="on the cluster it would be imported in place of that module",
                hint="give the file another name",
                code="SUBMIT_PIPELINE_FILE",
            )
        return PipelineReference(self.file.stem, self.attribute) if self.file else self

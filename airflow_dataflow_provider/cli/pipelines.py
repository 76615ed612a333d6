"""Finding the pipeline that the user names."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from airflow_dataflow_provider.model.errors import DataflowError, DefinitionError, SubmissionError
from airflow_dataflow_provider.model.pipeline import Grouped, Pipeline
from airflow_dataflow_provider.user_modules import look_in

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def load_pipeline(reference: str) -> Pipeline:
    """The pipeline at ``module:attribute`` or ``path/to/file.py:attribute``.

    Raises:
        DefinitionError: ``DEFINITION_NOT_FOUND``, or whatever making the pipeline raises.
    """
    module_name, _, attribute = reference.rpartition(":")
    if not module_name or not attribute:
        raise _not_found(reference, "it is not of the form MODULE:ATTRIBUTE", "write for example flights:departures")
    if module_name.startswith("."):
        raise _not_found(reference, "a relative name is relative to nothing here", "give the whole name, or a path")
    try:
        if module_name.endswith(".py"):
            module = _from_file(Path(module_name), reference)
        else:
            module = _by_name(module_name, reference)
    except DataflowError as error:
        error.where = error.where or _where(error, reference)
        raise
    except (Exception, SystemExit) as error:
        raise _does_not_load(module_name, error, reference) from error
    found = getattr(module, attribute, None)
    if isinstance(found, Pipeline):
        return found
    if isinstance(found, Grouped):
        raise _not_found(reference, "the pipeline groups, but computes nothing", "end it with .combine(...)")
    names = [name for name, value in vars(module).items() if isinstance(value, Pipeline)]
    has = f"it has {', '.join(names)}" if names else "it has no pipeline"
    raise _not_found(reference, f"{module_name} has no pipeline {attribute!r} ({has})", "name one that is there")


def _by_name(name: str, reference: str) -> ModuleType:
    if "" not in sys.path:
        look_in([str(Path.cwd())])
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            hint = "run from the folder it is in, set PYTHONPATH, or give the path of the file"
            raise _not_found(reference, f"there is no module {error.name!r}", hint) from error
        raise


def _from_file(path: Path, reference: str) -> ModuleType:
    if not path.is_file():
        raise _not_found(reference, f"there is no file {path}", "correct the path")
    path = path.resolve()
    # What the file imports from beside itself must be found.
    look_in([str(path.parent)])
    name = _name_of_file(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _not_found(reference, f"{path} is not a Python file", "give a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _name_of_file(path: Path) -> str:
    """A module name of its own: a file called json.py must not be taken for the library's."""
    return f"dataflow_pipeline_{''.join(letter if letter.isalnum() else '_' for letter in path.stem)}"


@contextmanager
def defined_at(reference: str) -> Iterator[None]:
    """Say of every refusal within where the pipeline is defined, unless the refusal says where it comes from."""
    try:
        yield
    except (DefinitionError, SubmissionError) as error:
        error.where = error.where or _definition(reference)
        raise


def _definition(reference: str) -> str:
    """The line of the module that gives the pipeline its name."""
    module_name, _, attribute = reference.rpartition(":")
    module = sys.modules.get(_name_of_file(Path(module_name)) if module_name.endswith(".py") else module_name)
    file = getattr(module, "__file__", None)
    try:
        lines = ast.parse(Path(file).read_bytes()).body if file else []
    except (OSError, SyntaxError):
        lines = []
    for line in reversed(lines):
        targets = (
            line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == attribute for target in targets):
            return f"{file}:{line.lineno}, the pipeline {attribute!r}"
    return reference


def _does_not_load(name: str, error: BaseException, reference: str) -> DefinitionError:
    text = " ".join(str(error).split())
    return DefinitionError(
        f"{name} cannot be loaded: {type(error).__name__}{f': {text}' if text else ''}",
        reason="the pipeline is made by running its module",
        hint="correct it; the command `python FILE` shows the same with all its lines",
        where=_where(error, reference),
        code="DEFINITION_LOAD",
    )


def _where(error: BaseException, reference: str) -> str:
    """The last line of the user's own code that an error went through, and the pipeline that was being made there."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    place, name = "", ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith("<") and not _is_installed(file):
            place = f"{file}:{line}"
        maker = frame.f_locals.get("self")
        if isinstance(maker, Pipeline | Grouped):
            name = maker.name if isinstance(maker, Pipeline) else maker.pipeline.name
    pipeline = f"the pipeline {name!r}" if name else f"on the way to {reference}"
    return f"{place}, {pipeline}" if place else pipeline


def _is_installed(file: str) -> bool:
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in (_PACKAGE, *_INSTALLED))


def _not_found(reference: str, reason: str, hint: str) -> DefinitionError:
    return DefinitionError(f"no pipeline at {reference!r}", reason=reason, hint=hint, code="DEFINITION_NOT_FOUND")

"""Finding the pipeline that the user names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from airflow_dataflow_provider.model.errors import DataflowError, DefinitionError
from airflow_dataflow_provider.model.pipeline import Grouped, Pipeline


def load_pipeline(reference: str) -> Pipeline:
    """The pipeline at ``module:attribute`` or ``path/to/file.py:attribute``.

    Raises:
        DefinitionError: ``DEFINITION_NOT_FOUND``, or whatever making the pipeline raises.
    """
    module_name, _, attribute = reference.rpartition(":")
    if not module_name or not attribute:
        raise _not_found(reference, "it is not of the form MODULE:ATTRIBUTE", "write for example flights:departures")
    module = (
        _from_file(Path(module_name), reference) if module_name.endswith(".py") else _by_name(module_name, reference)
    )
    found = getattr(module, attribute, None)
    if isinstance(found, Pipeline):
        return found
    if isinstance(found, Grouped):
        raise _not_found(reference, "the pipeline groups, but computes nothing", "end it with .combine(...)")
    names = [name for name, value in vars(module).items() if isinstance(value, Pipeline)]
    has = f"it has {', '.join(names)}" if names else "it has no pipeline"
    raise _not_found(reference, f"{module_name} has no pipeline {attribute!r} ({has})", "name one that is there")


def _by_name(name: str, reference: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except DataflowError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            todo = "run from the folder it is in, set PYTHONPATH, or give the path of the file"
            raise _not_found(reference, f"there is no module {error.name!r}", todo) from error
        raise


def _from_file(path: Path, reference: str) -> ModuleType:
    if not path.is_file():
        raise _not_found(reference, f"there is no file {path}", "correct the path")
    path = path.resolve()
    if str(path.parent) not in sys.path:
        # What the file imports from beside itself must be found, as it is when the file is run.
        sys.path.insert(0, str(path.parent))
    # A name of its own: a file called json.py must not be taken for the library's.
    name = f"dataflow_pipeline_{''.join(letter if letter.isalnum() else '_' for letter in path.stem)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _not_found(reference, f"{path} is not a Python file", "give a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _not_found(reference: str, why: str, todo: str) -> DefinitionError:
    return DefinitionError(f"no pipeline at {reference!r}", why=why, todo=todo, code="DEFINITION_NOT_FOUND")

"""The name of a user's function or class in a definition. It does not depend on how its module was loaded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def code_name(code: Any) -> str:  # noqa: ANN401 - anything that is written in Python
    """Module and qualified name.

    Definitions are compared as text. One file can be loaded as a module, by its path, or as the program, and Python
    names its module differently each time. So the name of the file stands for the module, after the names of its
    packages.
    """
    name = getattr(code, "__module__", None) or "?"
    return f"{_of_file(name) or name}.{getattr(code, '__qualname__', repr(code))}"


def _of_file(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file)
    if not path.is_file():
        return None  # it is in an archive, and cannot be loaded by a path
    names = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)

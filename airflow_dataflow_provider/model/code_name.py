"""What a user's function or class is called in a definition, however its module was loaded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def code_name(code: Any) -> str:  # noqa: ANN401 - anything that is written in Python
    """Module and qualified name.

    A definition is compared as text, and one file is loaded in several ways: as a module, by its path, as the program.
    Python calls it something else each time. So the module is called as its file is: by the file's name, after the
    names of the packages that it is in.
    """
    name = getattr(code, "__module__", None) or "?"
    return f"{_of_file(name) or name}.{getattr(code, '__qualname__', repr(code))}"


def _of_file(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file)
    if not path.is_file():
        return None  # in an archive; nothing there can be loaded by its path
    names = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names)

"""An extension of griffe: what docstrings write for Sphinx becomes Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|mod|data|attr|exc):`(~?)([\w.]+)`")
_LITERAL = re.compile(r"::(\n\n +)")


class Roles(griffe.Extension):
    """Turns ``:class:`~package.module.Name``` into `Name`, and a double colon before an indented block into one."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - what griffe passes besides
        """Rewrite a docstring before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = _LITERAL.sub(r":\1", _ROLE.sub(_as_code, obj.docstring.value))


def _as_code(role: re.Match[str]) -> str:
    short, name = role.groups()
    return f"`{name.rpartition('.')[2] if short else name}`"

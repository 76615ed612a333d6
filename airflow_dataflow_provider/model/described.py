"""Values that explain themselves, as the command ``explain`` prints them."""

from __future__ import annotations


class Described:
    """A value with a sentence about it."""

    __slots__ = ()

    def describe(self) -> str:
        """One sentence for people: by default the first line of the class's docstring, "" where there is none."""
        doc = type(self).__doc__ or ""
        if doc.startswith(f"{type(self).__name__}("):
            return ""  # a dataclass without a docstring gets its signature as one
        return doc.strip().partition("\n")[0].replace("``", "`")

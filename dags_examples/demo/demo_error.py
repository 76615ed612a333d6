"""The error that ends the demo early."""

from __future__ import annotations


class DemoError(Exception):
    """Something did not work; the message is for the person at the screen.

    Args:
        what: what did not work, in a sentence.
        log: the last lines of the log that says why.
    """

    def __init__(self, what: str, log: str = "") -> None:
        super().__init__(what)
        self.what, self.log = what, log

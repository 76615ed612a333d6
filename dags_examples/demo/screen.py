"""The demo's output: one line a step, and below it the present activity."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_EVERY_SECONDS = 5.0
"""How often news are printed where there is no terminal to overwrite a line on."""


class Screen:
    """Progress, on a terminal and in a log file alike."""

    def __init__(self) -> None:
        # A log file is not folded at the width of a terminal that is not there.
        self.console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
        self._started = time.monotonic()
        self._status = self.console.status("")
        self._title = ""
        self._told: tuple[float, str] = (0.0, "")
        self.durations: dict[str, float] = {}

    @contextmanager
    def step(self, title: str) -> Iterator[list[str]]:
        """One step. What is put in the list is said beside it when it is done."""
        self._title, self._told = title, (time.monotonic(), "")
        began, results = time.monotonic(), list[str]()
        if self.console.is_terminal:
            self._status.update(f"[bold]{title}[/bold]")
            self._status.start()
        else:
            self.say(f"[dim]{self._clock()}[/dim]  … {title}")
        try:
            yield results
        except BaseException:
            self._status.stop()
            self.say(f"[dim]{self._clock()}[/dim]  [red]✗[/red] [bold]{title}[/bold]")
            raise
        self._status.stop()
        self.durations[title] = time.monotonic() - began
        said = "".join(f"\n          [dim]{escape(line)}[/dim]" for line in results)
        self.say(
            f"[dim]{self._clock()}[/dim]  [green]✓[/green] [bold]{title}[/bold] "
            f"[dim]({self.durations[title]:.1f} s)[/dim]{said}"
        )

    def news(self, text: str) -> None:
        """Show the present activity of the step."""
        if self.console.is_terminal:
            self._status.update(f"[bold]{self._title}[/bold]  [dim]{escape(text)}[/dim]")
            return
        last, before = self._told
        if text != before and time.monotonic() - last >= _EVERY_SECONDS:
            self._told = time.monotonic(), text
            self.say(f"[dim]{self._clock()}      {escape(text)}[/dim]")

    def say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    def show(self, table: Table) -> None:
        """A table, with some air around it."""
        self.console.print()
        self.console.print(table)
        self.console.print()

    def _clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        return f"{minutes:>2}:{seconds:02}"

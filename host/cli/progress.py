"""Progress of long work, shown on a terminal only and on standard error, so that it is in no one's output.

Mostly there is nothing to do: the bar appears with the first report, and until then the terminal is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["image_progress", "indexing_progress"]


class _Bar:
    def __init__(self, what: str, ending: ExitStack) -> None:
        self._what, self._ending = what, ending
        self._bar: Progress | None = None
        # rich itself would also take a wish for colours (FORCE_COLOR) for a terminal
        self._shown = sys.stderr.isatty()

    def show(self, done: float, total: float, detail: str) -> None:
        if not self._shown:
            return
        if self._bar is None:
            self._bar = self._ending.enter_context(_bar())
            self._bar.add_task(self._what, total=total, detail="")
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, detail=detail)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[detail]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def image_progress(what: str = "Building the sandbox image (once)") -> Iterator[Callable[[str, float], None]]:
    """A callback (stage, fraction done)."""
    with ExitStack() as ending:
        bar = _Bar(what, ending)
        yield lambda stage, fraction: bar.show(fraction, 1.0, stage)


@contextmanager
def indexing_progress() -> Iterator[Callable[[int, int, str], None]]:
    """A callback (files done, files in all, the next one)."""
    with ExitStack() as ending:
        yield _Bar("Indexing files", ending).show

"""Progress of long work, shown on a terminal only and on standard error, so that it is in no one's output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["image_progress", "indexing_progress"]


@contextmanager
def _bar() -> Iterator[Progress]:
    console = Console(stderr=True)
    terminal = sys.stderr.isatty()  # rich itself would also take a wish for colours (FORCE_COLOR) for one
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not terminal) as progress:
        yield progress


@contextmanager
def image_progress() -> Iterator[Callable[[str, float], None]]:
    """A callback (stage, fraction done). The bar appears with the first call: mostly there is nothing to build."""
    with _bar() as bar:
        task: TaskID | None = None

        def show(stage: str, fraction: float) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task("Building the sandbox image (once)", total=1.0, detail="")
            bar.update(task, completed=fraction, detail=stage)

        yield show


@contextmanager
def indexing_progress() -> Iterator[Callable[[int, int, str], None]]:
    """A callback (files done, files in all, the next one)."""
    with _bar() as bar:
        task: TaskID | None = None

        def show(done: int, total: int, path: str) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task("Indexing files", total=total, detail="")
            bar.update(task, completed=done, total=total, detail=path)

        yield show

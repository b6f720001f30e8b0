"""Recorded runs that commands are given."""

from __future__ import annotations

from pathlib import Path

from host.cli.inputs import BadInput, clear_errors
from host.cli.recordings import find_run
from host.record.foreign import Trace, read_trace

__all__ = ["read_runs"]


def read_runs(paths: tuple[Path, ...]) -> list[tuple[Path, Trace]]:
    """The runs in these files, all of them read before anything is said about one. What is no file may be the name of a
    run that was recorded, or "last".
    """
    runs = []
    for said in paths:
        path = said if said.exists() else find_run(str(said))
        if path.is_dir():
            raise BadInput(f"{path} is a folder, not a recorded run.")
        with clear_errors(about=path):
            runs.append((path, read_trace(path)))
    return runs

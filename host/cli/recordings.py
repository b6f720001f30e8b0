"""Records of runs that commands make: where they are kept, how they are begun, and how one is found again.

Every run of `chat` and `run` leaves one, unless `--no-record` says otherwise: a file that only its owner can read, in
the user's state folder or where `--record` says. Beside it stand the interpreters that waited on a delegating call, so
that the run can be repeated from there (`rerun`); at most `MOST_STATES` of them, since each takes half a megabyte.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click
import platformdirs

from host.cli.inputs import BadInput
from host.events import Event, Observe, RunBegan, StateKept
from host.loop import BranchPoint, BranchPoints
from host.loop.script import Keep

__all__ = ["MOST_STATES", "Kept", "find_run", "record_options", "recording", "runs_folder", "states_of"]

MOST_STATES: Final = 64
_ENDING: Final = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A record under way: give `observe` and `points` to loops that run, `observe` and `keep` to a script."""

    observe: Observe
    points: BranchPoints | None
    keep: Keep | None = None


def runs_folder() -> Path:
    """Where records are kept unless a place is given."""
    return platformdirs.user_state_path("branchpoint") / "runs"


def record_options[F: Callable[..., Any]](command: F) -> F:
    """The options `--record FILE` and `--no-record` of a command that runs something."""
    record = click.option(
        "--record",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Where the record is written, for inspect, lint, report and rerun (by default in the state folder).",
    )
    return record(click.option("--no-record", is_flag=True, help="Keep no record of the run.")(command))


@contextmanager
def recording(
    command: str, options: Mapping[str, object], *, file: Path | None = None, wanted: bool = True
) -> Iterator[Kept]:
    """A new record for this command, begun with the options that were given, when the first thing happens.

    Raises BadInput if it cannot be written where it was asked for. One that nobody asked for is no reason to fail:
    where the state folder cannot be written, there is none.
    """
    if not wanted:
        yield Kept(observe=_ignore, points=None)
        return
    if file is not None and file.exists():
        raise BadInput(f"{file} exists: a record is written to a new file.")
    if file is not None and not file.absolute().parent.is_dir():
        raise BadInput(f"{file} cannot be written: its folder does not exist.")
    given = tuple((name, str(value)) for name, value in options.items() if value not in (None, False))
    began = RunBegan(command=command, options=given, version=version("branchpoint"))
    written = _Written(lambda: file or _new_place(command), began)
    try:
        yield Kept(observe=written, points=BranchPoints(written.keep_point), keep=written.keep)
    finally:
        if (trouble := written.close()) is not None and file is not None:
            click.echo(f"branchpoint: the record is not complete: {trouble}", err=True)


class _Written:
    """A record that is begun with the first event: a command that was misused leaves none."""

    def __init__(self, place: Callable[[], Path], began: RunBegan) -> None:
        self._find, self._began = place, began
        self._place: Path | None = None
        self._open = ExitStack()
        self._record: Observe | None = None
        self._trouble: Exception | None = None
        self._states = 0

    def __call__(self, event: Event) -> None:
        if self._record is None and self._trouble is None:
            self._begin()
        if self._record is not None:
            self._record(event)

    def _begin(self) -> None:
        from host.record import RecordError, open_record

        try:
            self._place = self._find()
            self._record = self._open.enter_context(open_record(self._place))
        except (OSError, RecordError) as error:
            self._trouble = error
            return
        self._record(self._began)

    def keep_point(self, point: BranchPoint) -> None:
        """Keep the interpreter that waits at a branch point."""
        if point.state is not None and point.number is not None:
            self.keep(point.delegated.id, point.number, point.state)

    def keep(self, delegation: str, number: int, state: bytes) -> None:
        """Keep an interpreter that waits on a delegating call, beside the record."""
        if self._place is None or self._states >= MOST_STATES:
            return
        self._states += 1
        folder, name = states_of(self._place), f"{delegation}.session"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / name).write_bytes(state)
        except OSError as error:
            self._trouble = error  # the run goes on; it just cannot be repeated from here
            return
        self(StateKept(delegation=delegation, number=number, file=name))

    def close(self) -> Exception | None:
        """Close the file. What went wrong on the way, if anything did."""
        from host.record import RecordError

        try:
            self._open.close()
        except RecordError as error:
            return error
        return self._trouble


def _new_place(command: str) -> Path:
    folder = runs_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stem = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{command}"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(place for name in names if not (place := folder / f"{name}{_ENDING}").exists())


def states_of(record: Path) -> Path:
    """The folder with the interpreters that were kept with a record."""
    return record.with_name(f"{record.stem}.states")


def find_run(said: str | None) -> Path:
    """The record that is meant: a file, a name in the state folder or the beginning of one, or "last".

    Raises BadInput, with the newest ones.
    """
    if said is not None and Path(said).is_file():
        return Path(said)
    known = sorted(runs_folder().glob(f"*{_ENDING}")) if runs_folder().is_dir() else []
    if not known:
        where = "" if said is None else f"{said}: No such file, and "
        raise BadInput(f"{where}no run has been recorded yet: `chat` and `run` leave records.")
    if said in (None, "last"):
        return known[-1]
    found = [place for place in known if place.stem.startswith(said or "")]
    if len(found) == 1:
        return found[0]
    newest = ", ".join(place.stem for place in known[-3:])
    raise BadInput(
        f"{said}: No such file, and it names {'no' if not found else 'more than one'} run; the newest: {newest}."
    )


def _ignore(_event: Event) -> None:
    """Where nothing is recorded."""

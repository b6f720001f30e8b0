"""The record of a run: its durable events in order, in memory and, if wanted, in a file at once.

A record is an observer: give it to whatever runs, and it keeps what is told. Rules:

- It is append-only. What has happened is never rewritten, neither here nor in the file.
- It holds what the events hold and nothing else. Requests and replies are in it whole, so it is as private as the
  conversations are (the file is readable by its owner alone); of the models' clients it knows a name, so no key can get
  in.
- The file is JSON Lines in UTF-8: a line that names the format, then a line for each event, written in one piece as the
  event is told. A run that dies leaves a file that reads up to its last whole line.
- Whoever observes must not raise. So a file that cannot be written any more (a full disk) is noted in `trouble`, memory
  goes on, and the error comes when the file is closed.
- What stands in a file was not necessarily written by us: anything else than a record is a `RecordError` that says
  where.

Lone surrogates, which a model may write, are kept as three bytes each, as Python's "surrogatepass" has it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Final, Self

from host.conversation import ConversationError
from host.events import Event
from host.record.errors import RecordError
from host.record.forms import Durable, entry_of, event_of, is_durable
from host.record.once import Damaged, Known, Written

__all__ = ["Record", "open_record"]

_FORMAT: Final = "branchpoint record 1"
_HEAD: Final = json.dumps({"format": _FORMAT}).encode() + b"\n"
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Record:
    """The durable events of a run, in order: those given, then those it is called with.

    `torn` says that the file it was read from ended in the middle of an entry, which is left out: the run, or the
    machine, died while it was written. `trouble` is the error that keeps the file from being written, if there is one.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: list[Durable] = [event for event in events if is_durable(event)]
        self._written = Written()
        self._file: BinaryIO | None = None
        self.torn = False
        self.trouble: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Keep an event. Never raises, and waits for nothing but the file."""
        if not is_durable(event):
            return
        self._events.append(event)
        if self._file is not None and self.trouble is None:
            try:
                self._file.write(_line(event, self._written))
                self._file.flush()
            except OSError as error:
                self.trouble = error

    def __iter__(self) -> Iterator[Durable]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    @property
    def events(self) -> tuple[Durable, ...]:
        """The events so far."""
        return tuple(self._events)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a record. Raises `RecordError` for what the file says, `OSError` if it cannot be read.

        A last line that was not written whole is left out; `torn` then says so.
        """
        file = Path(path)
        record, _ = cls._read(file.read_bytes(), file.name)
        return record

    @classmethod
    def _read(cls, content: bytes, source: str) -> tuple[Self, bytes]:
        """The record, and the part of the content that was written whole."""
        if not content.startswith(_HEAD):
            raise RecordError(f"{source} is no record of a run: its first line should be {_HEAD.decode().strip()}")
        record = cls()
        known = Known()
        end = len(_HEAD)
        lines = content[end:].split(b"\n")
        for number, line in enumerate(lines, start=2):
            is_last = number == len(lines) + 1
            if is_last and not line:
                break
            try:
                entry = json.loads(line.decode("utf-8", "surrogatepass"))
            except (ValueError, RecursionError) as error:
                if is_last:
                    record.torn = True
                    break
                raise RecordError(f"{source}, line {number}: it is not JSON ({error})") from None
            try:
                record._events.append(event_of(entry, known))
            except (Damaged, ConversationError, RecursionError) as damage:
                raise RecordError(f"{source}, line {number}: {damage}") from None
            end += len(line) + 1
        return record, content[:end]

    @classmethod
    def _new(cls, path: Path) -> Self:
        """Write to a new file."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise RecordError(f"{path.name} exists: choose another name, or continue the record in it") from None
        record = cls()
        record._file = os.fdopen(descriptor, "wb")
        record._file.write(_HEAD)
        record._file.flush()
        return record

    @classmethod
    def _resumed(cls, path: Path) -> Self:
        """Go on writing where an earlier run, or an earlier part of this one, ended."""
        record, whole = cls._read(path.read_bytes(), path.name)
        again = b"".join([_line(event, record._written) for event in record._events])
        if _HEAD + again != (whole if whole.endswith(b"\n") else whole + b"\n"):
            raise RecordError(f"{path.name} can be read, but not continued: another version of this program wrote it")
        file = path.open("r+b")
        file.truncate(len(whole))
        file.seek(0, os.SEEK_END)
        if not whole.endswith(b"\n"):
            file.write(b"\n")
        record._file = file
        return record

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written is in `trouble`
                self._file.close()
            self._file = None


@contextmanager
def open_record(path: str | PathLike[str], *, resume: bool = False) -> Iterator[Record]:
    """A record that is also written to a file, each event at once.

    The file must not exist yet. With `resume` it may: then its events are in the record, further ones are added behind
    them, and what was torn is cut off. Raises `RecordError` if it is no record, or, at the end, if not everything could
    be written; `OSError` if it cannot be opened.
    """
    file = Path(path)
    record = Record._resumed(file) if resume and file.exists() else Record._new(file)
    try:
        yield record
    finally:
        record._close()
    if record.trouble is not None:
        raise RecordError(f"{file.name} does not hold the whole run: {record.trouble.strerror}") from record.trouble


def _line(event: Durable, written: Written) -> bytes:
    return _ENCODER.encode(entry_of(event, written)).encode("utf-8", "surrogatepass") + b"\n"

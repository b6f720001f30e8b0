"""One guest's open files: what its handles stand for.

Rules:

- A handle is a number until it has been looked up; one that stands for nothing is EBADF, never a fault. So a guest that
  goes on elsewhere (a copy, a moment, a resumed session) meets an error where it kept a file open, and never another
  file: numbers are not used twice, and go on counting in whatever is made of this.
- The root has a number of its own, the same for all guests, with a workspace or without one: libc asks for it once and
  keeps it. Without a workspace nothing is there (ENOENT), and nothing else can be opened.
- A file has no position here (libc keeps it, in the guest's memory), and no streams: libc asks for one with each
  reading and writing, because the one that it is given is called 0, which to libc means that it has none yet. So the
  table is all there is, a copy of it opens the same files at the same places, and a full workspace is an error of the
  asking, which has a code, and not of the stream, whose error is EIO whatever it was.
- A folder that is open is a path, walked from the root each time.
- Files are opened, written and removed at once, and stay so: nothing here is put back.

What fails raises `OSError`; `imports.py` says how the guest learns of it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Self

from .shared import OpenFile, Workspace, WorkspaceFull
from .tree import Entry, Parts

__all__ = ["ROOT", "Files", "Opening"]

ROOT: Final = 1
U32: Final = 0xFFFF_FFFF
WRITE: Final = 1 << 20  # bytes in one writing
NOTED: Final = 10  # names of changed files that are kept for the notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How something is opened: the flags of open-at."""

    create: bool = False
    folder: bool = False
    exclusive: bool = False
    truncate: bool = False
    reads: bool = False
    writes: bool = False


@dataclass(frozen=True, slots=True)
class _Folder:
    parts: Parts


@dataclass(frozen=True, slots=True)
class _File:
    parts: Parts
    file: OpenFile
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class _Listing:
    parts: Parts
    entries: tuple[Entry, ...]
    at: int = 0


class Files:
    """The files of one guest. `latest` is the last number that was given away."""

    __slots__ = ("_open", "_reading", "_writing", "changed", "latest", "refusal", "workspace")

    def __init__(self, workspace: Workspace | None, *, latest: int = ROOT) -> None:
        self.workspace = workspace
        self.latest = latest
        self.changed: dict[Parts, None] = {}
        self.refusal: tuple[int, str] | None = None  # the last limit that was reached: errno, and the sentence
        self._open: dict[int, _Folder | _File | _Listing] = {}
        self._reading: tuple[int, int] = (0, 0)
        self._writing: tuple[int, int | None, int] = (0, 0, 0)

    # As a value

    def within(self, workspace: Workspace | None) -> Self:
        """A copy. The same files are open in it, if it has the same workspace; with another, none are."""
        made = type(self)(workspace, latest=self.latest)
        if workspace is self.workspace:
            made._open = dict(self._open)
            made.changed = dict(self.changed)
        return made

    @property
    def opened(self) -> tuple[str, ...]:
        """The paths of what is open, as the guest sees them."""
        return tuple(shown(item.parts) for item in self._open.values())

    @property
    def changes(self) -> tuple[str, ...]:
        """The paths of what the cell has changed; of many, the first ones and "..."."""
        names = [shown(parts) for parts in self.changed]
        return (*names[:NOTED], *(["..."] if len(names) > NOTED else []))

    def close(self) -> None:
        """Close all of them. Files that copies of this share stay open for those."""
        self._open.clear()

    def new_cell(self) -> None:
        """From here on, what is changed is another cell's doing."""
        self.changed.clear()
        self.refusal = None

    # Handles

    def _there(self) -> Workspace:
        if self.workspace is None:
            raise FileNotFoundError(errno.ENOENT, "There is no workspace")
        return self.workspace

    def _take_room(self) -> None:
        most = self._there().limits.open_files
        if len(self._open) >= most:
            raise WorkspaceFull(errno.EDQUOT, f"a session may have {most:,} files open at once")

    def _keep(self, item: _Folder | _File | _Listing) -> int:
        self.latest = self.latest % U32 + 1
        while self.latest in self._open or self.latest == ROOT:
            self.latest = self.latest % U32 + 1
        self._open[self.latest] = item
        return self.latest

    def drop(self, handle: int) -> None:
        """The guest needs it no more."""
        self._open.pop(handle, None)

    def _file(self, handle: int, *, reads: bool = False, writes: bool = False) -> _File:
        item = self._open.get(handle)
        if isinstance(item, _Folder) or (handle == ROOT and self.workspace is not None):
            raise IsADirectoryError(errno.EISDIR, "This is a folder")
        if not isinstance(item, _File) or (reads and not item.reads) or (writes and not item.writes):
            raise OSError(errno.EBADF, "No such open file")
        return item

    def _parts(self, handle: int) -> Parts:
        if handle == ROOT and self.workspace is not None:
            return ()
        item = self._open.get(handle)
        if not isinstance(item, (_Folder, _File)):
            raise OSError(errno.EBADF, "No such open file")
        return item.parts

    def _path(self, handle: int, path: str) -> Parts:
        """Where a path leads, from an open folder. There are no links, so `..` is taken off the text; what it leaves
        must be there, though.
        """
        workspace = self._there()
        if handle == ROOT:
            parts: list[str] = []
        else:
            item = self._open.get(handle)
            if isinstance(item, _File):
                raise NotADirectoryError(errno.ENOTDIR, "This is no folder")
            parts = list(self._parts(handle))
        if path.startswith("/"):
            raise PermissionError(errno.EPERM, "This leads out of the workspace")
        if not path:
            raise FileNotFoundError(errno.ENOENT, "An empty path")
        for name in path.split("/"):
            if name == "..":
                if not parts:
                    raise PermissionError(errno.EPERM, "This leads out of the workspace")
                if not stat.S_ISDIR(workspace.stat(tuple(parts)).st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, "This is no folder")
                parts.pop()
            elif name not in ("", "."):
                parts.append(name)
                workspace.check(tuple(parts))
        if path.endswith(("/", "/.")):
            with suppress(FileNotFoundError):  # that is up to whoever asks
                if not stat.S_ISDIR(workspace.stat(tuple(parts)).st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, "This is no folder")
        return tuple(parts)

    def _named(self, handle: int, path: str) -> Parts:
        """The same, for what cannot be done to the root."""
        parts = self._path(handle, path)
        if not parts:
            raise OSError(errno.EBUSY, "This is the workspace itself")
        return parts

    def _change(self, parts: Parts) -> None:
        if len(self.changed) <= NOTED:
            self.changed[parts] = None

    # Paths

    def open(self, handle: int, path: str, how: Opening) -> int:
        """A handle for a file or a folder."""
        workspace = self._there()
        if how.create and path.endswith("/"):
            raise IsADirectoryError(errno.EISDIR, "This can only be a folder")
        parts = self._path(handle, path)
        changes = how.writes or how.truncate or how.create
        self._take_room()  # before anything is done to the file
        if how.folder or not parts:
            if not stat.S_ISDIR(workspace.stat(parts).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "This is no folder")
            if changes:
                raise IsADirectoryError(errno.EISDIR, "This is a folder")
            return self._keep(_Folder(parts))
        try:
            file = workspace.open(
                parts,
                writes=how.writes or how.truncate,
                create=how.create,
                exclusive=how.exclusive,
                truncate=how.truncate,
            )
        except IsADirectoryError:
            if changes:
                raise
            return self._keep(_Folder(parts))
        if changes:
            self._change(parts)
        return self._keep(_File(parts, file, how.reads, how.writes))

    def stat_at(self, handle: int, path: str) -> os.stat_result:
        """What is there."""
        return self._there().stat(self._path(handle, path))

    def make_folder(self, handle: int, path: str) -> None:
        """A new folder."""
        parts = self._path(handle, path.rstrip("/") or path)
        if not parts:
            raise FileExistsError(errno.EEXIST, "This is the workspace itself")
        self._there().make_folder(parts)
        self._change(parts)

    def remove_folder(self, handle: int, path: str) -> None:
        """Remove an empty folder."""
        parts = self._named(handle, path)
        self._there().remove_folder(parts)
        self._change(parts)

    def remove_file(self, handle: int, path: str) -> None:
        """Remove a file."""
        if not (parts := self._path(handle, path)):
            raise IsADirectoryError(errno.EISDIR, "This is the workspace itself")
        self._there().remove_file(parts)
        self._change(parts)

    def rename(self, handle: int, path: str, new_handle: int, new_path: str) -> None:
        """Give it another name, in place of what has that name."""
        old, new = self._named(handle, path), self._named(new_handle, new_path)
        if new_path.endswith("/") and not stat.S_ISDIR(self._there().stat(old).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "Only a folder can have this name")
        self._there().rename(old, new)
        self._change(old)
        self._change(new)

    def set_times_at(self, handle: int, path: str, access: int | None, modification: int | None) -> None:
        """Set times in ns since 1970; None stays as it is."""
        parts = self._path(handle, path)
        self._there().set_times(parts, *_times(self._there().stat(parts), access, modification))
        self._change(parts)

    # What is open

    def stat(self, handle: int) -> os.stat_result:
        """What it is."""
        item = self._open.get(handle)
        if isinstance(item, _File):
            return item.file.stat()
        parts = self._parts(handle)
        return self._there().stat(parts)

    def access(self, handle: int) -> tuple[bool, bool]:
        """Whether it is open for reading, and for writing."""
        item = self._open.get(handle)
        if isinstance(item, _File):
            return item.reads, item.writes
        self._parts(handle)
        return True, True

    def read(self, handle: int, size: int, offset: int) -> bytes:
        """What is there: b"" at the end."""
        return self._file(handle, reads=True).file.read(size, offset)

    def write(self, handle: int, data: bytes, offset: int | None) -> int:
        """Write at `offset` (None: at the end); how many bytes of it there was room for."""
        item = self._file(handle, writes=True)
        self._change(item.parts)
        return item.file.write(data, offset)

    def resize(self, handle: int, size: int) -> None:
        """Cut it off, or lengthen it with zeros."""
        item = self._file(handle, writes=True)
        item.file.resize(size)
        self._change(item.parts)

    def set_times(self, handle: int, access: int | None, modification: int | None) -> None:
        """Set times in ns since 1970; None stays as it is."""
        item = self._file(handle, writes=True)
        item.file.set_times(*_times(item.file.stat(), access, modification))
        self._change(item.parts)

    def list(self, handle: int) -> int:
        """A handle for the names in a folder, as they are now."""
        parts = self._parts(handle)
        if isinstance(self._open.get(handle), _File):
            raise NotADirectoryError(errno.ENOTDIR, "This is no folder")
        self._take_room()
        workspace = self._there()
        entries = tuple(workspace.list(parts))
        kept = sum(len(item.entries) for item in self._open.values() if isinstance(item, _Listing))
        if kept + len(entries) > 2 * workspace.limits.entries:
            raise WorkspaceFull(errno.EDQUOT, "too many folders are being listed at once")
        return self._keep(_Listing(parts, entries))

    def next_entry(self, handle: int) -> Entry | None:
        """The next name, None after the last."""
        listing = self._open.get(handle)
        if not isinstance(listing, _Listing):
            raise OSError(errno.EBADF, "No such listing")
        if listing.at >= len(listing.entries):
            return None
        self._open[handle] = replace(listing, at=listing.at + 1)
        return listing.entries[listing.at]

    # Streams

    def read_from(self, handle: int, offset: int) -> None:
        """What is read next comes from there."""
        self._file(handle, reads=True)
        self._reading = handle, offset

    def write_to(self, handle: int, offset: int | None) -> None:
        """What is written next goes there (None: to the end). WorkspaceFull if there is no room for one byte."""
        room = self._file(handle, writes=True).file.room(offset, WRITE)
        self._writing = handle, offset, room

    def read_next(self, size: int) -> bytes:
        """Read on: b"" at the end."""
        handle, offset = self._reading
        data = self.read(handle, size, offset)
        self._reading = handle, offset + len(data)
        return data

    @property
    def room(self) -> int:
        """How many bytes could be written on when that was asked for."""
        return self._writing[2]

    def write_next(self, data: bytes) -> None:
        """Write on. OSError if there is no room by now: another session was faster."""
        handle, offset, room = self._writing
        written = self.write(handle, data, offset)
        self._writing = handle, None if offset is None else offset + written, max(room - written, 0)
        if written < len(data):
            raise WorkspaceFull(errno.ENOSPC, "the workspace became full meanwhile")


def shown(parts: Parts) -> str:
    """A path as the guest sees it."""
    return "/".join(("/workspace", *parts))


def _times(found: os.stat_result, access: int | None, modification: int | None) -> Iterator[int]:
    yield found.st_atime_ns if access is None else access
    yield found.st_mtime_ns if modification is None else modification

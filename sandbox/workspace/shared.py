"""A workspace: a folder of the host that sessions share, with limits over all of them.

Rules:

- Files are the one thing that a session shares: they outlive it, and no rollback undoes them.
- Sessions run on threads of their own, so whatever looks and then acts does so under one lock, and whatever walks a
  path does, since closing the workspace frees the number of its folder. No call waits for anything but the disk.
- What is used is counted along, not measured each time. Before something is refused it is measured, since the host's
  side may have removed files; but once a second at most, or a guest could keep all others waiting. What the host's side
  adds counts from the next measuring on.
- A file that was removed while it is open still takes room, until the last one closes it.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from .limits import WorkspaceLimits
from .tree import Count, Entry, Parts, Tree, is_name

__all__ = ["OpenFile", "Workspace", "WorkspaceFull"]

type _Identity = tuple[int, int]

READ: Final = 1 << 20  # bytes in one reading
AGAIN: Final = 1.0  # seconds until it may be measured again
SHARE: Final = 20  # and as many times as long as measuring took


class WorkspaceFull(OSError):
    """A limit of the workspace is reached. `number` is the errno."""

    def __init__(self, number: int, sentence: str) -> None:
        super().__init__(number, sentence)
        self.number, self.sentence = number, sentence


def _identity(found: os.stat_result) -> _Identity:
    return found.st_dev, found.st_ino


class Workspace:
    """The folder `folder`, which must be there, as sessions see it at /workspace.

    Give it to `open_sandbox`; several sessions may have it at once. Whoever has made it closes it, after the last of
    them. OSError if there is no such folder, or if the system cannot open files safely (Windows).

    What sessions leave in it was written by code that nobody trusts: whoever reads it treats it so, and runs none of
    it. Permissions of files stay as they are; new ones cannot be executed.
    """

    def __init__(self, folder: str | os.PathLike[str], *, limits: WorkspaceLimits | None = None) -> None:
        self.folder = os.fspath(folder)
        self.limits = limits or WorkspaceLimits()
        self._tree = Tree(folder)
        self._lock = threading.Lock()
        self._left: deque[tuple[int, _Identity]] = deque()  # descriptors that nobody has any more, to be closed
        self._opened: dict[_Identity, int] = {}
        self._orphans: dict[_Identity, int] = {}  # removed but still open, and their sizes
        self._used = Count(0, 0)
        self._measure()

    @classmethod
    @contextmanager
    def temporary(cls, *, limits: WorkspaceLimits | None = None) -> Iterator[Self]:
        """A workspace of its own, in a temporary folder that is removed with all in it at the end of the block."""
        with tempfile.TemporaryDirectory(prefix="branchpoint-workspace-") as folder, cls(folder, limits=limits) as made:
            yield made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the folder go. Sessions that still have it find nothing there any more."""
        with self._locked():
            self._tree.close()

    @property
    def used(self) -> Count:
        """What it holds, measured now."""
        with self._locked():
            self._measure()
            return self._used

    # Paths, for `Files`

    def check(self, parts: Parts) -> None:
        """Refuse a path that can be nowhere here."""
        if len(parts) > self.limits.depth + 1:
            raise OSError(errno.ENAMETOOLONG, "The path is too deep")
        for name in parts:
            if not is_name(name, self.limits.name_bytes):
                long = len(name.encode(errors="replace")) > self.limits.name_bytes
                raise OSError(errno.ENAMETOOLONG if long else errno.EILSEQ, "This can be no name of a file")

    def stat(self, parts: Parts) -> os.stat_result:
        """What is there."""
        with self._locked():
            return self._tree.stat(parts)

    def list(self, parts: Parts) -> list[Entry]:
        """What a folder holds."""
        with self._locked():
            return self._tree.list(parts, most=self.limits.entries + 1, name_bytes=self.limits.name_bytes)

    def open(self, parts: Parts, *, writes: bool, create: bool, exclusive: bool, truncate: bool) -> OpenFile:
        """A file."""
        with self._locked():
            if not (create and exclusive):
                try:
                    opened = OpenFile(self, *self._tree.open(parts, writes=writes))
                except FileNotFoundError:
                    if not create:
                        raise
                else:
                    if truncate:
                        opened._resize(0)
                    return opened
            self._take_entry()
            opened = OpenFile(self, *self._tree.create(parts))
            self._count(0, 1)
            return opened

    def make_folder(self, parts: Parts) -> None:
        """A new folder."""
        with self._locked():
            self._take_entry()
            self._tree.make_folder(parts)
            self._count(0, 1)

    def remove_folder(self, parts: Parts) -> None:
        """Remove an empty folder."""
        with self._locked():
            self._tree.remove_folder(parts)
            self._count(0, -1)

    def remove_file(self, parts: Parts) -> None:
        """Remove a file."""
        with self._locked():
            self._gone(self._tree.remove_file(parts))

    def rename(self, old: Parts, new: Parts) -> None:
        """Give it another name, in place of what has that name."""
        with self._locked():
            if len(new) > len(old) and len(new) + self._tree.height(old) > self.limits.depth + 1:
                raise OSError(errno.ENAMETOOLONG, "What is in it would be too deep")
            if (replaced := self._tree.rename(old, new)) is not None:
                self._gone(replaced)

    def set_times(self, parts: Parts, access: int, modification: int) -> None:
        """Set both times, in ns since 1970."""
        with self._locked():
            self._tree.set_times(parts, access, modification)

    # Counting, under the lock

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            self._close_left()
            yield

    def forget(self, descriptor: int, identity: _Identity) -> None:
        """Nobody has this file open any more. Called by the garbage collector, perhaps in the middle of something else
        on the same thread: so this never waits for the lock.
        """
        self._left.append((descriptor, identity))
        if self._lock.acquire(blocking=False):
            try:
                self._close_left()
            finally:
                self._lock.release()

    def _close_left(self) -> None:
        while self._left:
            descriptor, identity = self._left.popleft()
            os.close(descriptor)
            self._opened[identity] -= 1
            if not self._opened[identity]:
                del self._opened[identity]
                self._count(-self._orphans.pop(identity, 0))

    def _measure_again(self) -> None:
        """Measure before something is refused, if the last time is long enough ago."""
        if time.monotonic() >= self._measurable:
            self._measure()

    def _measure(self) -> None:
        started = time.monotonic()
        size, entries = self._tree.count(most=self.limits.entries + 1)
        self._used = Count(size + sum(self._orphans.values()), entries)
        ended = time.monotonic()
        self._measurable = ended + max(AGAIN, SHARE * (ended - started))

    def _count(self, size: int, entries: int = 0) -> None:
        self._used = Count(max(self._used.bytes + size, 0), max(self._used.entries + entries, 0))

    def _take_entry(self) -> None:
        if self._used.entries >= self.limits.entries:
            self._measure_again()
        if self._used.entries >= self.limits.entries:
            raise WorkspaceFull(errno.ENOSPC, f"the workspace may hold {self.limits.entries:,} files and folders")

    def _gone(self, found: os.stat_result) -> None:
        """A name is no more. Its room is free once nobody has the file open."""
        size = found.st_size if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 else 0
        if _identity(found) in self._opened:
            self._orphans[_identity(found)] = size
            size = 0
        self._count(-size, -1)

    def reach(self, size: int, offset: int, wanted: int) -> int:
        """How far a file of `size` bytes may be written to now: `wanted` at most, and more than `offset`, or it raises
        WorkspaceFull.
        """
        limits = self.limits
        most = max(limits.file_bytes, size)
        if wanted > size + limits.total_bytes - self._used.bytes:
            self._measure_again()
        room = size + max(limits.total_bytes - self._used.bytes, 0)
        if (reached := min(wanted, most, room)) > offset:
            return reached
        if room <= most:
            raise WorkspaceFull(errno.ENOSPC, f"the workspace may hold {limits.total_bytes:,} bytes")
        raise WorkspaceFull(errno.EFBIG, f"a file in the workspace may have {limits.file_bytes:,} bytes")

    def grown(self, identity: _Identity, by: int) -> None:
        """A file has another size now."""
        self._count(by)
        if identity in self._orphans:
            self._orphans[identity] += by

    def take(self, identity: _Identity) -> None:
        """Someone has the file open."""
        self._opened[identity] = self._opened.get(identity, 0) + 1


class OpenFile:
    """A regular file. Has no position: whoever reads or writes says where. Several descriptors may share it, so that it
    is closed when the last of them has forgotten it.
    """

    __slots__ = ("__weakref__", "_descriptor", "_identity", "_workspace")

    def __init__(self, workspace: Workspace, descriptor: int, found: os.stat_result) -> None:
        self._workspace, self._descriptor = workspace, descriptor
        self._identity = _identity(found)
        workspace.take(self._identity)

    def __del__(self) -> None:
        self._workspace.forget(self._descriptor, self._identity)

    def stat(self) -> os.stat_result:
        """What it is."""
        return os.fstat(self._descriptor)

    def read(self, size: int, offset: int) -> bytes:
        """What is there; less than `size` at the end, or if that is very much."""
        return os.pread(self._descriptor, min(size, READ), offset) if offset < 1 << 62 else b""

    def room(self, offset: int | None, wanted: int) -> int:
        """How many bytes can be written at `offset` (None: at the end): one to `wanted`, or it raises WorkspaceFull."""
        with self._workspace._locked():
            size = self.stat().st_size
            at = size if offset is None else offset
            return self._workspace.reach(size, at, at + wanted) - at

    def write(self, data: bytes, offset: int | None) -> int:
        """Write at `offset` (None: at the end). The number of bytes for which there was room; WorkspaceFull if none."""
        if not data:
            return 0
        with self._workspace._locked():
            size = self.stat().st_size
            at = size if offset is None else offset
            room = self._workspace.reach(size, at, at + len(data)) - at
            written = os.pwrite(self._descriptor, data[:room], at)
            self._workspace.grown(self._identity, max(at + written - size, 0))
            return written

    def resize(self, size: int) -> None:
        """Cut it off, or lengthen it with zeros."""
        with self._workspace._locked():
            self._resize(size)

    def _resize(self, size: int) -> None:
        before = reached = self.stat().st_size
        while reached < size:  # once if there is room; the second time this raises, with the limit's own sentence
            reached = self._workspace.reach(before, reached, size)
        os.ftruncate(self._descriptor, size)
        self._workspace.grown(self._identity, size - before)

    def set_times(self, access: int, modification: int) -> None:
        """Set both times, in ns since 1970."""
        os.utime(self._descriptor, ns=(access, modification))

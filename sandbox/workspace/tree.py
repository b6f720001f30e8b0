"""A folder of the host, from which no name leads out.

Rules, each with a test:

- There are regular files and folders, nothing else. A link, a device, a pipe or a socket that lies in the folder is not
  listed, and whatever names it is refused. It is never opened, so it cannot block or act.
- A path is walked name by name, each opened in the folder before it and never through a link, so what the host's side
  renames or plants meanwhile changes nothing. No name is empty, `.` or `..`, or has a slash in it.
- Another file system that is mounted inside is not entered.
- A file that has a second name (a hard link) may be outside, too: it is only read.
- Nothing is cut off by opening it: size and kind are looked at first.

What fails raises `OSError`. It knows no limits and no guests (see `shared.py`).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

__all__ = ["Count", "Entry", "Parts", "Tree", "is_name"]

type Parts = tuple[str, ...]

DEEPEST: Final = 100  # folders in one another that are looked into; guests make fewer
AVAILABLE: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_CLOSED: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSED
_KNOWN: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _CLOSED  # a pipe put there meanwhile must not block
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOSED
_CONTROL: Final = re.compile(r"[\0-\x1f\x7f]")


class Entry(NamedTuple):
    """One name in a folder."""

    name: str
    folder: bool


class Count(NamedTuple):
    """What a tree holds: the sizes of all files together, and how many files and folders there are."""

    bytes: int
    entries: int


def is_name(name: str, most: int) -> bool:
    """Whether this may be the name of a file: `most` bytes of UTF-8 at most, and no control characters."""
    if name in ("", ".", "..") or "/" in name or _CONTROL.search(name):
        return False
    try:
        return len(name.encode()) <= most
    except UnicodeEncodeError:
        return False


class Tree:
    """The folder. Paths are tuples of names, () the folder itself. Made of a path that is trusted; links in that one
    are followed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not AVAILABLE:
            raise OSError(errno.ENOTSUP, "A workspace needs a system that can open a file in an open folder")
        self._opened: int | None = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._device = os.fstat(self._root).st_dev

    def close(self) -> None:
        """Let the folder go. Every path fails from then on."""
        root, self._opened = self._opened, None
        if root is not None:
            os.close(root)

    @property
    def _root(self) -> int:
        # Never -1 for none: Python's scandir would list the process's own folder then.
        if self._opened is None:
            raise OSError(errno.EBADF, "The workspace is closed")
        return self._opened

    @contextmanager
    def _folder(self, parts: Parts) -> Iterator[int]:
        """The folder, opened; closed after the block."""
        here = root = self._root
        try:
            for name in parts:
                below = os.open(name, _FOLDER, dir_fd=here)
                if here != root:
                    os.close(here)
                here = below
                if os.fstat(here).st_dev != self._device:
                    raise OSError(errno.EPERM, "This is another file system")
            yield here
        finally:
            if here != root:
                os.close(here)

    def _look(self, name: str, folder: int, *, changes: bool = False) -> os.stat_result:
        return self._ordinary(os.stat(name, dir_fd=folder, follow_symlinks=False), changes=changes)

    def _ordinary(self, found: os.stat_result, *, changes: bool) -> os.stat_result:
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)) or found.st_dev != self._device:
            raise OSError(errno.EPERM, "This is neither a file nor a folder")
        if changes and stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            raise OSError(errno.EPERM, "This file has a second name elsewhere, so it can only be read")
        return found

    def _file(self, found: os.stat_result, *, changes: bool) -> os.stat_result:
        if stat.S_ISDIR(self._ordinary(found, changes=changes).st_mode):
            raise IsADirectoryError(errno.EISDIR, "This is a folder")
        return found

    def stat(self, parts: Parts) -> os.stat_result:
        """What is there."""
        if not parts:
            return os.fstat(self._root)
        with self._folder(parts[:-1]) as folder:
            return self._look(parts[-1], folder)

    def create(self, parts: Parts) -> tuple[int, os.stat_result]:
        """A new, empty file, opened for reading and writing, and what it is."""
        with self._folder(parts[:-1]) as folder:
            opened = os.open(parts[-1], _NEW, 0o666, dir_fd=folder)
        return opened, os.fstat(opened)

    def open(self, parts: Parts, *, writes: bool) -> tuple[int, os.stat_result]:
        """A file that is there, opened, and what it is; not changed by it."""
        with self._folder(parts[:-1]) as folder:
            self._file(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), changes=writes)
            opened = os.open(parts[-1], _KNOWN | (os.O_RDWR if writes else 0), dir_fd=folder)
        try:
            found = self._file(os.fstat(opened), changes=writes)
        except BaseException:
            os.close(opened)
            raise
        return opened, found

    def list(self, parts: Parts, *, most: int, name_bytes: int) -> list[Entry]:
        """What the folder holds, sorted by name. OSError (EOVERFLOW) if that is more than `most`."""
        entries: list[Entry] = []
        with self._folder(parts) as folder, os.scandir(folder) as found:
            for seen, entry in enumerate(found):
                if seen >= most:
                    raise OSError(errno.EOVERFLOW, "This folder holds more than can be listed")
                kept = entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
                if kept and is_name(entry.name, name_bytes):
                    entries.append(Entry(entry.name, entry.is_dir(follow_symlinks=False)))
        return sorted(entries)

    def make_folder(self, parts: Parts) -> None:
        """A new folder."""
        with self._folder(parts[:-1]) as folder:
            os.mkdir(parts[-1], 0o777, dir_fd=folder)

    def remove_folder(self, parts: Parts) -> None:
        """Remove an empty folder."""
        with self._folder(parts[:-1]) as folder:
            self._look(parts[-1], folder)
            os.rmdir(parts[-1], dir_fd=folder)

    def remove_file(self, parts: Parts) -> os.stat_result:
        """Remove a file; what it was."""
        with self._folder(parts[:-1]) as folder:
            found = self._file(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), changes=False)
            os.unlink(parts[-1], dir_fd=folder)
            return found

    def rename(self, old: Parts, new: Parts) -> os.stat_result | None:
        """Give it another name. What had that name before, if anything, is replaced and returned."""
        with self._folder(old[:-1]) as source, self._folder(new[:-1]) as target:
            moved = self._look(old[-1], source)
            try:
                replaced = self._look(new[-1], target)
            except FileNotFoundError:
                replaced = None
            os.rename(old[-1], new[-1], src_dir_fd=source, dst_dir_fd=target)
        same = replaced is not None and (moved.st_dev, moved.st_ino) == (replaced.st_dev, replaced.st_ino)
        return None if same else replaced

    def set_times(self, parts: Parts, access: int, modification: int) -> None:
        """Set both times, in ns since 1970."""
        if not parts:
            os.utime(self._root, ns=(access, modification))
            return
        with self._folder(parts[:-1]) as folder:
            self._look(parts[-1], folder, changes=True)
            os.utime(parts[-1], ns=(access, modification), dir_fd=folder, follow_symlinks=False)

    def count(self, *, most: int) -> Count:
        """All that is in it. Of entries, `most` are counted at most."""
        size = entries = 0
        for entry, _ in self._below(self._root, 1):
            entries += 1
            if entries >= most:
                break
            if entry.is_file(follow_symlinks=False):
                size += entry.stat(follow_symlinks=False).st_size
        return Count(size, entries)

    def height(self, parts: Parts) -> int:
        """How many names the longest path below a folder has; 0 if it is empty, or a file."""
        if not stat.S_ISDIR(self.stat(parts).st_mode):
            return 0
        with self._folder(parts) as folder:
            return max((depth for _, depth in self._below(folder, 1)), default=0)

    def _below(self, folder: int, depth: int) -> Iterator[tuple[os.DirEntry[str], int]]:
        """All entries, and how deep they lie. To be looked at before the next one is asked for."""
        with os.scandir(folder) as found:
            for entry in found:
                yield entry, depth
                if depth < DEEPEST and entry.is_dir(follow_symlinks=False):
                    try:
                        below = os.open(entry.name, _FOLDER, dir_fd=folder)
                    except OSError:
                        continue  # it is not what it was, or not for us
                    try:
                        if os.fstat(below).st_dev == self._device:
                            yield from self._below(below, depth + 1)
                    finally:
                        os.close(below)

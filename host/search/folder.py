"""A folder of files as agents may see it: which files count, and which paths may be read.

Rules:

- A path from outside is relative to the folder, written with "/", and stays inside of it, also where a link in the
  middle leads elsewhere. What fails this is answered as a file that is not there, with the nearest names: whoever
  guesses paths learns nothing about the rest of the disk.
- Hidden files and folders (a leading dot) are not part of it, in a listing or by name.
- A listing follows no links. A file that a link inside the folder leads to is listed where it lies.
- Only regular files are opened: a named pipe would wait for ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from host.spelling import fold

__all__ = ["Found", "Left", "located", "nearest", "walk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file of the folder: its path there with "/", its size in bytes, and when it was changed, in ns since 1970."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A file that was left out of the index, and why, as a short phrase."""

    path: str
    reason: str


def walk(folder: Path) -> Iterator[Found | Left]:
    """Every file of a folder, in the order of the paths. Folders that cannot be read are reported, not raised."""
    left: list[Left] = []

    def unreadable(error: OSError) -> None:
        where = Path(str(error.filename))
        left.append(Left(path=where.relative_to(folder).as_posix(), reason="the folder cannot be read"))

    for here, folders, names in os.walk(folder, onerror=unreadable):
        # os.walk gives links to folders as folders, and does not enter them.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield _file(folder, Path(here, name))
        yield from left
        left.clear()
    yield from left


def _file(folder: Path, path: Path) -> Found | Left:
    shown = path.relative_to(folder).as_posix()
    try:
        status = path.lstat()
    except OSError:
        return Left(path=_printable(shown), reason="it cannot be read")
    if _printable(shown) != shown:
        return Left(path=_printable(shown), reason="its name is not text")
    if stat.S_ISLNK(status.st_mode):
        return Left(path=shown, reason="it is a link")
    if not stat.S_ISREG(status.st_mode):
        return Left(path=shown, reason="it is no regular file")
    return Found(path=shown, size=status.st_size, mtime_ns=status.st_mtime_ns)


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode()


def located(folder: Path, path: str) -> Path:
    """Where a file of the folder lies, given its path there. `folder` is resolved.

    Raises FileNotFoundError if there is no such file that an agent may see.
    """
    refused = FileNotFoundError(f"There is no file {path!r} here.")
    if not path or "\0" in path or not _is_text(path):
        raise refused
    pure = PurePosixPath(path)
    if pure.is_absolute() or any(part.startswith(".") for part in pure.parts):
        raise refused
    try:
        place = (folder / pure).resolve(strict=True)
        inside = place.relative_to(folder)
        regular = stat.S_ISREG(place.stat().st_mode)
    except (OSError, ValueError, RuntimeError):
        raise refused from None
    if not regular or any(part.startswith(".") for part in inside.parts):
        raise refused
    return place


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def nearest(path: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known paths that look most like this one, the most alike first."""
    by_spelling = {fold(each): each for each in known}
    by_name: dict[str, str] = {}
    for each in by_spelling.values():
        by_name.setdefault(fold(PurePosixPath(each).name), each)
    wanted = fold(path)
    name = PurePosixPath(wanted).name
    close = [by_spelling[each] for each in get_close_matches(wanted, by_spelling, n=limit, cutoff=0.6)]
    close += [by_name[each] for each in get_close_matches(name, by_name, n=limit, cutoff=0.6)]
    return list(dict.fromkeys(close))[:limit]

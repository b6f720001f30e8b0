"""Image files on disk: written whole or not at all, and read only if they are what was written.

Loading compiled code from a file is running that file. So nothing is loaded but what this user wrote here:

- The folder, and each file, belongs to the user and can be written by nobody else.
- A file must have the hash that was noted when it was written. Hashing 50 MB takes longer than starting a guest, so
  after each full check the file's identity is noted in `checked.json`: device, inode, size, time of last change of
  content and of status. The last of these (ctime) is set by the kernel at every write, rename and change of
  permissions, and by nothing else; whoever could forge it owns the machine. As long as the identity is the same, so is
  the content.
- What is damaged or foreign is not loaded, and not repaired in place: it is made again and put over the old file at
  once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .errors import CacheError

__all__ = ["digest", "private_folder", "read_json", "verified", "write"]

CHECKED: Final = "checked.json"
OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def private_folder(path: Path) -> Path:
    """Make the folder if it is not there. Raises `CacheError` if others than this user could have written in it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        raise CacheError(f"The cache folder {path} cannot be made: {error.strerror}.") from error
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError(f"The cache folder {path} is no folder of its own, but a link.")
    if status.st_uid != os.getuid():
        raise CacheError(f"The cache folder {path} is another user's. Set BRANCHPOINT_CACHE to a folder of your own.")
    if status.st_mode & OTHERS_WRITE:
        raise CacheError(
            f"The cache folder {path} can be written by other users, and what it holds is run as code. "
            f"Take that away (chmod go-w {path}), or set BRANCHPOINT_CACHE to another folder."
        )
    return path


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, content: bytes) -> None:
    """Write the file whole: under another name first, then, once it is on the disk, under its own."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, object] | None:
    """The object in a file; None if there is no such file, or no object in it."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def verified(folder: Path, hashes: Mapping[str, str]) -> set[str]:
    """Those of the folder's files that are what was written: {file name: SHA-256 that it must have}."""
    noted = read_json(folder / CHECKED) or {}
    good = dict[str, object]()
    for name, expected in hashes.items():
        identity = _identity(folder / name)
        if identity is None:
            continue
        entry = [*identity, expected]
        if noted.get(name) == entry or (digest(folder / name) == expected and _identity(folder / name) == identity):
            good[name] = entry
    if any(noted.get(name) != entry for name, entry in good.items()):
        with contextlib.suppress(OSError):  # only a note: a cache on a read-only file system works without
            write(folder / CHECKED, json.dumps({**noted, **good}).encode())
    return set(good)


def _identity(path: Path) -> list[object] | None:
    """What changes when the file does; None if it is none of ours."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & OTHERS_WRITE:
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]

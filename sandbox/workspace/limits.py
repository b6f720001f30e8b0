"""What a workspace may hold. All limits are on by default; each has its own sentence when it is reached."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

__all__ = ["WorkspaceLimits"]

LARGEST: Final = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLimits:
    """Limits of one workspace, over all sessions that share it, unless said otherwise.

    total_bytes   the sizes of all files together; a hole in a file counts as if it were written
    file_bytes    the size of one file
    entries       files and folders together
    depth         folders in one another
    name_bytes    one name, in UTF-8
    open_files    files and folders open at once, per session
    """

    total_bytes: int = 256 << 20
    file_bytes: int = 64 << 20
    entries: int = 10_000
    depth: int = 32
    name_bytes: int = 200
    open_files: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or not 0 < value <= LARGEST:
                raise ValueError(f"{field.name} is a positive whole number up to {LARGEST:,}, not {value!r}")

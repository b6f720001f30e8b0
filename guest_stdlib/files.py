"""The files of a session: those below /workspace, if it has a workspace, and no others.

Python's functions for files stand behind signposts (`barriers`), since most sessions have no files. Where there is a
workspace they are let through, and only a path that leads elsewhere still meets a sentence. These are no walls: the
world outside has nothing but what is in the workspace.

One thing is put right on the way. In libc a file that is opened to append is at its end as soon as it is asked where it
is, and Python asks before it reads to the end. So a file for appending *and* reading (mode "a+") is one of ours.

libc asks once where files are, at the first path that it looks up, and keeps the answer in its memory; the world gives
everybody the same one. So nothing in the image depends on whether a session has a workspace.
"""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["WORKSPACE", "Files", "reading_where_it_appends"]

WORKSPACE: Final = "/workspace"
_ELSEWHERE: Final = "The only files here are those in /workspace"
_PATHS: Final = ("file", "path", "src", "dst")  # what paths are called where they are given by name

_change_folder: Final = os.chdir  # before there are signposts
_open_file: Final = os.open


class Files:
    """Whether this guest has files. One per interpreter: the functions behind signposts are the interpreter's."""

    __slots__ = ("there",)

    def __init__(self) -> None:
        self.there = False

    def open(self, *, workspace: bool) -> None:
        """A session begins, with a workspace or without. With one, relative paths start there."""
        self.there = workspace
        if workspace:
            with contextlib.suppress(OSError):  # it was closed outside; each use of it says so
                _change_folder(WORKSPACE)

    def gate(self, refusal: Callable[..., object], original: Callable[..., object]) -> Callable[..., object]:
        """The function `original` where there are files, and `refusal` where there are none."""

        def through(*args: Any, **kwargs: Any) -> object:
            if not self.there:
                return refusal(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            except OSError:
                if not _leads_elsewhere([*args[:2], *(kwargs[name] for name in _PATHS if name in kwargs)]):
                    raise
            try:
                return refusal(*args, **kwargs)
            except OSError as error:
                sentence = type(error)(error.errno, _ELSEWHERE, error.filename)
            raise sentence

        return through


class _Appending(io.FileIO):
    """A file that is read anywhere and written at its end."""

    def __init__(self, file: Any, opener: Callable[[str, int], int] | None, *, closefd: bool) -> None:
        by = opener or _open_file
        super().__init__(file, "r+", closefd, lambda path, flags: by(path, flags | os.O_CREAT | os.O_CLOEXEC))
        self.seek(0, io.SEEK_END)

    def write(self, data: Any, /) -> Any:
        """Write at the end, and stay there."""
        self.seek(0, io.SEEK_END)
        return super().write(data)


def reading_where_it_appends(original: Callable[..., object]) -> Callable[..., object]:
    """`open`, with a file of ours for mode "a+"."""

    def opened(  # noqa: PLR0917 - the arguments of open
        file: Any,
        mode: Any = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[str, int], int] | None = None,
    ) -> object:
        kind = "".join(sorted(mode)) if isinstance(mode, str) else ""
        text = kind != "+ab"
        if kind not in ("+a", "+ab", "+at") or (text and buffering == 0) or isinstance(file, int):
            return original(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _Appending(file, opener, closefd=closefd)
        try:
            if buffering == 0:
                return raw
            buffer = io.BufferedRandom(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
            if not text:
                return buffer
            wrapper = io.TextIOWrapper(buffer, encoding, errors, newline, buffering == 1)
            wrapper.mode = mode  # type: ignore[misc]  # as open does it
        except BaseException:
            raw.close()
            raise
        return wrapper

    return opened


def _leads_elsewhere(paths: Iterable[object]) -> bool:
    """Whether one of them is a path that is not in the workspace. What is no path leads nowhere."""
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike):
            whole = posixpath.normpath(posixpath.join(os.getcwd(), os.fsdecode(path)))  # noqa: PTH109
            if whole != WORKSPACE and not whole.startswith(WORKSPACE + "/"):
                return True
    return False

"""stdout and stderr of the guest: text goes to the host while the cell runs.

Rules:

- What was written is with the host before anything else is: before a call, before the guest rests, before a cell ends.
- Each crossing costs more than a print. So the first lines of a cell cross one by one, later ones in batches that grow
  with what was printed: a slow loop is watched live, a fast one is not slowed down. No clock is needed for that.
- The two streams keep their order among each other.
- Every road leads here: print, `sys.__stdout__`, `.buffer`, `os.write`, logging and warnings. Text is always valid:
  half a surrogate pair, or bytes that are no UTF-8, are written as escapes.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Buffer, Callable, Iterable
from typing import Any, Final, Literal, Protocol

__all__ = ["Console", "Stream"]

_CHUNK: Final = 8192  # characters that are not kept back any longer
_LARGEST: Final = 1 << 16  # characters that cross at once
_SINGLE: Final = 64  # lines of a cell that cross one by one

type Send = Callable[[Literal["stdout", "stderr"], str], None]


class Late(Protocol):
    """What knows of an interrupt that fell into a write, and raises it when the write is complete."""

    late: bool

    def catch_up(self) -> None:
        """Raise it."""


class Stream(io.TextIOBase):
    """A text stream as `sys.stdout` is one. `buffer` takes bytes."""

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    mode = "w"
    line_buffering = True
    write_through = False

    def __init__(self, name: Literal["stdout", "stderr"], descriptor: int, send: Send, late: Late) -> None:
        self.name = f"<{name}>"
        self.buffer = Bytes(self)
        self.other: Stream | None = None
        self._stream = name
        self._descriptor = descriptor
        self._send = send
        self._late = late
        self._parts: list[str] = []
        self._size = 0
        self._lines = 0  # kept back
        self._sent = 0  # lines, in this cell

    def write(self, text: str, /) -> int:
        """Take text; it crosses at the latest when the cell rests or ends."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        other = self.other
        if other is not None and other._parts:
            other.flush()
        self._parts.append(text)
        self._size += len(text)
        if "\n" in text:
            self._lines += text.count("\n")
            if self._lines * _SINGLE > self._sent or self._size >= _CHUNK:
                self.flush()
        elif self._size >= _CHUNK:
            self.flush()
        if self._late.late:
            self._late.catch_up()
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:  # type: ignore[override]
        """Write each of the lines."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Send what was kept back."""
        if not self._parts:
            return
        parts, self._parts = self._parts, []
        self._sent += self._lines
        self._size = self._lines = 0
        try:
            text = "".join(parts)
            if not text.isascii():
                text = text.encode("utf-8", "backslashreplace").decode("utf-8")
            for start in range(0, len(text), _LARGEST):
                self._send(self._stream, text[start : start + _LARGEST])
        except BaseException:  # the stack is too deep, say: what was written is not lost
            self._parts[:0] = parts
            raise

    def new_cell(self) -> None:
        """The lines of the next cell cross one by one again."""
        self._sent = 0

    def reconfigure(self, **_: Any) -> None:
        """Nothing: there is one encoding, and nothing to buffer otherwise."""

    def close(self) -> None:
        """Nothing: the stream belongs to the session."""

    def isatty(self) -> bool:
        """No."""
        return False

    def fileno(self) -> int:
        """1 or 2; `os.write` to it is a write here."""
        return self._descriptor

    def writable(self) -> bool:
        """Yes."""
        return True

    def __repr__(self) -> str:
        return f"<Stream name={self.name!r} mode='w' encoding='utf-8'>"


class Bytes(io.BufferedIOBase):
    """The bytes side of a stream. A character may be split over two writes."""

    mode = "wb"

    def __init__(self, stream: Stream) -> None:
        self.name = stream.name
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode

    def write(self, data: Buffer, /) -> int:
        """Take bytes of UTF-8 text."""
        taken = bytes(data)
        if text := self._decode(taken):
            self._stream.write(text)
        return len(taken)

    def flush(self) -> None:
        """Send what was kept back."""
        self._stream.flush()

    def finish(self) -> None:
        """Send half a character, which nobody will complete."""
        if text := self._decode(b"", True):  # the argument has no name in C
            self._stream.write(text)

    def close(self) -> None:
        """Nothing: the stream belongs to the session."""

    def fileno(self) -> int:
        """1 or 2."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """Yes."""
        return True


class Console:
    """Both streams of a session. `send` takes the name of a stream and text to the host."""

    def __init__(self, send: Send, late: Late) -> None:
        self.stdout = Stream("stdout", 1, send, late)
        self.stderr = Stream("stderr", 2, send, late)
        self.stdout.other, self.stderr.other = self.stderr, self.stdout
        self._previous: dict[str, object] = {}
        self._write = os.write

    def flush(self) -> None:
        """Send what was kept back. At most one of the streams has something."""
        if self.stdout._parts:
            self.stdout.flush()
        elif self.stderr._parts:
            self.stderr.flush()

    def end_cell(self) -> None:
        """Send all that is left of a cell."""
        for stream in (self.stdout, self.stderr):
            stream.buffer.finish()
            stream.flush()
            stream.new_cell()

    def install(self) -> None:
        """Become the streams of the interpreter."""
        for name, stream in (("stdout", self.stdout), ("stderr", self.stderr)):
            for attribute in (name, f"__{name}__"):
                self._previous[attribute] = getattr(sys, attribute)
                setattr(sys, attribute, stream)
        os.write = self._os_write

    def uninstall(self) -> None:
        """Put back what was before."""
        for attribute, stream in self._previous.items():
            setattr(sys, attribute, stream)
        os.write = self._write

    def _os_write(self, fd: int, data: Buffer, /) -> int:
        if fd == 1:
            return self.stdout.buffer.write(data)
        if fd == 2:
            return self.stderr.buffer.write(data)
        return self._write(fd, data)

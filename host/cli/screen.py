"""Text onto a terminal or into a pipe.

What agent code writes is not to be trusted on a terminal: there it may colour its text, but not move the cursor, rename
the window or fill the clipboard. Into a pipe or a file it goes as it is. Characters that the stream's encoding lacks
are written as escapes: output never fails.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Final

import click

__all__ = ["Screen", "visible"]

# Everything that a terminal could take for a command, but tabs, line ends, carriage returns and colours.
_COMMANDS: Final = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """A text in which nothing but colours can command a terminal: what could is written as an escape."""
    return _COMMANDS.sub(lambda found: found[1] or f"\\x{ord(found[0]):02x}", text)


class Screen:
    """Standard output and standard error. Remembers where a line was left open, so that what follows begins a new
    one.
    """

    def __init__(self) -> None:
        self._open: set[str] = set()
        self.shown = {"stdout": 0, "stderr": 0}  # bytes of a script's output

    def show(self, stream: str, text: str) -> None:
        """A piece of a script's output."""
        self.shown[stream] += len(text.encode("utf-8", "surrogatepass"))
        self._write(stream, text)

    def say(self, text: str, *, err: bool = False, color: str | None = None, bold: bool = False) -> None:
        """A line of our own."""
        stream = "stderr" if err else "stdout"
        together = sys.stdout.isatty() and sys.stderr.isatty()
        if stream in self._open or (together and self._open):
            self._write(stream, "\n")
            self._open.clear()
        if _colors(stream) and (color or bold):
            text = click.style(visible(text), fg=color, bold=bold or None)
        self._write(stream, f"{text}\n")

    def _write(self, stream: str, text: str) -> None:
        if not text:
            return
        file = sys.stderr if stream == "stderr" else sys.stdout
        if file.isatty():
            text = visible(text)
        encoding = file.encoding or "utf-8"
        file.write(text.encode(encoding, "backslashreplace").decode(encoding))
        file.flush()
        if text.endswith("\n"):
            self._open.discard(stream)
        else:
            self._open.add(stream)


def _colors(stream: str) -> bool:
    file = sys.stderr if stream == "stderr" else sys.stdout
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

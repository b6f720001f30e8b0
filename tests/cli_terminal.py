"""A command on a terminal that a test types into, waiting for what appears and never for time to pass."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli_command import Command

PATIENCE = 60  # seconds; only a test that fails waits so long
WHERE, HERE = "\x1b[6n", "\x1b[1;1R"  # a program asks where the cursor is, and a terminal answers
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")


def _plain(text: str) -> str:
    """What of this can be read: an escape sequence, or a line's end, that has come in part is left for later."""
    return ANSI.sub("", text).replace("\r\n", "\n")


class Typing:
    """One process on a terminal: all that appeared, what was read of it, and the keys to press."""

    def __init__(self, process: subprocess.Popen[str], descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor
        self._read = 0
        self._tail = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def type(self, text: str) -> None:
        """Type a line."""
        self.press(f"{text}\r")

    def press(self, keys: str) -> None:
        """Press keys: "\\x03" is ctrl-C, "\\x04" ctrl-D."""
        os.write(self._descriptor, keys.encode())

    def until(self, text: str) -> str:
        """Wait until this appears, behind what was waited for before; all that appeared up to then."""
        while (at := self.shown.find(text, self._read)) < 0:
            piece = self._piece()
            assert piece is not None, f"{text!r} did not appear in {self.shown[self._read :]!r}"
            self.shown = _plain(self.shown + piece)
        before, self._read = self._read, at + len(text)
        return self.shown[before : self._read]

    def end(self) -> int:
        """Wait for the end; the exit code."""
        while (piece := self._piece()) is not None:
            self.shown = _plain(self.shown + piece)
        return self.process.wait()

    def _piece(self) -> str | None:
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
        assert ready, f"nothing more appears behind {self.shown!r}"
        try:
            piece = self._decoder.decode(os.read(self._descriptor, 65536))
        except OSError as error:  # how Linux says that nobody has the other end any more
            if error.errno != errno.EIO:
                raise
            return None
        asked = self._tail + piece
        for _ in range(asked.count(WHERE)):
            self.press(HERE)
        self._tail = asked.rpartition(WHERE)[2][1 - len(WHERE) :]
        return piece

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed by itself, as it does when no program has taken it over."""
        return bool(termios.tcgetattr(self._descriptor)[3] & termios.ECHO)


def _take_terminal() -> None:
    """In the new process: be on the terminal, so that its ctrl-C is a signal where no program reads it as a key."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def typing(command: Command, *arguments: str) -> Iterator[Typing]:
    """The command on a terminal of 100 columns. Killed at the end, if it still runs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    env = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    with command.start(
        *arguments,
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_take_terminal,
    ) as process:
        os.close(theirs)
        try:
            yield Typing(process, ours)
        finally:
            process.kill()
            os.close(ours)

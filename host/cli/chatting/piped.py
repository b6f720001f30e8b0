"""The front for pipes and files: lines in, answers out, nothing else.

A line is said when the one before it has been answered. At the end of the input the running tasks are waited for.
Answers go to standard output; what went wrong goes to standard error.
"""

from __future__ import annotations

import io
import os
import sys
from collections import deque
from typing import Final

import trio

from host.cli.chatting.orders import Leave
from host.cli.chatting.talking import Talk
from host.cli.chatting.telling import Style
from host.cli.screen import Screen

__all__ = ["Piped"]

_PIECE: Final = 65_536


class Piped:
    """Reads standard input line by line."""

    def __init__(self) -> None:
        self._screen = Screen()

    def line(self, text: str, style: Style) -> None:
        """A line beside the answer."""
        if style == "wrong" and not text.startswith(" "):
            self._screen.say(f"branchpoint: {text}", err=True)

    def piece(self, text: str) -> None:
        """A piece of an answer."""
        self._screen.show("stdout", text)

    async def lead(self, talk: Talk) -> bool:
        """Lead the conversation to its end; whether all orders could be followed."""
        followed = True
        lines = _Lines()
        while (line := await lines.next()) is not None:
            if not line.startswith("/"):
                await talk.say(line)
                continue
            try:
                shown, well = await talk.orders.follow(line)
            except Leave:
                return followed
            followed = followed and well
            self._screen.say(shown if well else f"branchpoint: {shown}", err=not well)
        await talk.dialogue.settled()
        return followed


class _Lines:
    """The lines of standard input that hold anything."""

    def __init__(self) -> None:
        self._whole: deque[bytes] = deque()
        self._left = b""
        self._ended = False

    async def next(self) -> str | None:
        """The next line; None at the end."""
        while True:
            while self._whole:
                if text := self._whole.popleft().decode("utf-8", "replace").strip():
                    return text
            if self._ended:
                return None
            piece = await self._piece()
            self._ended = not piece
            *whole, self._left = (self._left + piece).split(b"\n")
            self._whole += whole
            if self._ended:
                self._whole.append(self._left)

    async def _piece(self) -> bytes:
        try:
            descriptor = sys.stdin.fileno()
        except (io.UnsupportedOperation, AttributeError):  # not a file, where somebody embeds us
            return sys.stdin.buffer.read()
        # `os.read` and not the stream: a thread that is left behind in it must hold no lock when Python shuts down.
        return await trio.to_thread.run_sync(os.read, descriptor, _PIECE, abandon_on_cancel=True)

"""The front for a terminal: an answer that grows above a prompt that can always be typed into.

prompt_toolkit runs on asyncio, so it runs in a thread of its own and is talked to through trio. Rules:

- The thread only reads: lines and keys come from it, each by one call into trio. Everything else happens in trio.
- Whole lines scroll away above the prompt. The line that is being written is part of the prompt itself, until it is
  whole; so the prompt stays in its place while text streams.
- Ctrl-C is a key while the prompt is there and a signal between two prompts. Both mean the same.
- However the conversation ends, the terminal is given back as it was.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Final

import trio
from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style as Sheet

from host.cli.chatting.above import Above
from host.cli.chatting.orders import Leave
from host.cli.chatting.talking import Talk
from host.cli.chatting.telling import Style
from host.cli.screen import visible

__all__ = ["Terminal"]

_CODES: Final[dict[Style, str]] = {"answer": "", "dim": "2", "news": "36", "wrong": "33"}
_SHEET: Final = Sheet.from_dict({"bottom-toolbar": "noreverse ansibrightblack", "prompt": "bold"})
_LEAVE: Final = "Ctrl-D or /quit leaves."


class Terminal:
    """Leads a conversation on the terminal."""

    def __init__(self) -> None:
        self._open = ""  # the line that is being written
        self._out: Above | None = None
        self._session: PromptSession[str] | None = None
        self._over = False
        self._colors = not os.environ.get("NO_COLOR")

    # -- what is shown

    def line(self, text: str, style: Style) -> None:
        """A line beside the answer."""
        for each in text.split("\n"):
            self._print(each, style)
        self._redraw()

    def piece(self, text: str) -> None:
        """A piece of an answer."""
        *whole, self._open = (self._open + text).split("\n")
        for line in whole:
            self._print(line, "answer")
        width = max(20, shutil.get_terminal_size().columns - 1)
        while len(self._open) > width:
            at = self._open.rfind(" ", 0, width) + 1 or width
            self._print(self._open[:at].rstrip(), "answer")
            self._open = self._open[at:]
        self._redraw()

    def _print(self, text: str, style: Style) -> None:
        code = _CODES[style] if self._colors else ""
        text = visible(text)
        line = f"\x1b[{code}m{text}\x1b[0m\n" if code else f"{text}\n"
        if self._out is not None:
            self._out.write(line)
        else:
            print(line, end="")  # noqa: T201  # before the prompt is there

    def _redraw(self) -> None:
        if self._session is not None:
            self._session.app.invalidate()

    # -- what is typed

    async def lead(self, talk: Talk) -> bool:
        """Lead the conversation until the person leaves."""
        async with trio.open_nursery() as nursery:
            with self._prompting(talk, lambda: self._interrupt(talk)) as read:
                nursery.start_soon(self._heed_signals, talk)
                try:
                    await self._read(read, lambda line: self._accept(line, talk, nursery))
                finally:
                    nursery.cancel_scope.cancel()
        return True

    def _accept(self, line: str, talk: Talk, nursery: trio.Nursery) -> bool:
        """Take a line that was typed; whether to go on reading."""
        text = line.strip()
        if not text:
            return True
        self.line(f"> {text}", "answer")
        if text.split()[0] in ("/quit", "/exit"):
            return False
        if text.startswith("/"):
            nursery.start_soon(self._follow, text, talk)
        else:
            nursery.start_soon(talk.say, text)
        return True

    async def _follow(self, line: str, talk: Talk) -> None:
        try:
            shown, well = await talk.orders.follow(line)
        except Leave:
            return
        self.line(shown, "answer" if well else "wrong")

    def _interrupt(self, talk: Talk) -> None:
        if not talk.dialogue.interrupt():
            self.line(_LEAVE, "dim")

    async def _heed_signals(self, talk: Talk) -> None:
        with trio.open_signal_receiver(signal.SIGINT) as interrupts:
            async for _ in interrupts:
                self._interrupt(talk)

    async def _read(self, read: Callable[[], str | None], accept: Callable[[str], bool]) -> None:
        """Hand on lines until one of them is the last."""
        ended = trio.Event()

        def reading() -> None:
            try:
                while (line := read()) is not None and trio.from_thread.run_sync(accept, line):
                    pass
            finally:
                trio.from_thread.run_sync(ended.set)

        async def in_thread() -> None:
            await trio.to_thread.run_sync(reading)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(in_thread)
            try:
                await ended.wait()
            finally:
                self._end_prompt()

    def _end_prompt(self) -> None:
        """Let the thread come back, if it still waits for a line or is about to."""
        self._over = True
        app = self._session.app if self._session is not None else None
        if app is not None and app.loop is not None:
            app.loop.call_soon_threadsafe(lambda: app.exit(exception=EOFError) if app.is_running else None)

    @contextmanager
    def _prompting(self, talk: Talk, interrupt: Callable[[], None]) -> Iterator[Callable[[], str | None]]:
        """A function that reads a line: None at the end. All other output goes above the prompt meanwhile."""
        keys = KeyBindings()

        @keys.add("c-c")
        def _interrupted(event: KeyPressEvent) -> None:
            if event.current_buffer.text and not talk.dialogue.is_busy:
                event.current_buffer.reset()
            else:
                trio.from_thread.run_sync(interrupt)

        def prompt() -> StyleAndTextTuples:
            above = f"{visible(self._open)}\n" if self._open else ""
            return [("", above), ("class:prompt", "> ")]

        session: PromptSession[str] = PromptSession(
            message=prompt,
            bottom_toolbar=lambda: talk.running or None,
            key_bindings=keys,
            style=_SHEET,
            erase_when_done=True,  # what was typed is printed as a line of its own
        )

        def ended_meanwhile() -> None:
            if self._over:
                session.app.exit(exception=EOFError)

        def read() -> str | None:
            try:
                return None if self._over else session.prompt(handle_sigint=False, pre_run=ended_meanwhile)
            except EOFError:
                return None
            finally:
                out.drain()

        out = Above(session.app)
        with redirect_stdout(out), redirect_stderr(out):
            self._out, self._session = out, session
            try:
                yield read
            finally:
                self._out = self._session = None

"""Text that appears above a prompt, whether the prompt is there at the moment or not.

What is written waits in a queue until it can be put on the terminal: by the prompt's own event loop, which takes the
prompt away, writes, and draws it again; or at once, where there is no prompt. The queue is emptied under a lock, so
nothing is lost between two prompts, and everything stays in order. (prompt_toolkit's own `patch_stdout` gives the
terminal back for each piece, so that keys pressed at that moment are echoed and ctrl-C is a signal.)
"""

from __future__ import annotations

import io
import sys
import threading
from typing import Any, Final, override

from prompt_toolkit.application import Application

__all__ = ["Above"]


class Above(io.TextIOBase):
    """A text stream that writes whole lines above the prompt of an application."""

    def __init__(self, app: Application[Any]) -> None:
        self._app: Final = app
        self._terminal: Final = sys.stdout
        self._lock: Final = threading.RLock()
        self._waiting = ""

    @override
    def write(self, text: str, /) -> int:
        """Let text appear. What is behind the last line's end waits for the rest of its line."""
        with self._lock:
            self._waiting += text
            loop = self._app.loop if self._app.is_running else None
            if loop is None:
                self.drain()
            else:
                try:
                    loop.call_soon_threadsafe(self._draw)
                except RuntimeError:  # it was closed this very moment
                    self.drain()
        return len(text)

    def _draw(self) -> None:
        """On the event loop of the prompt."""
        with self._lock:
            if "\n" in self._waiting:
                if self._app.is_running:
                    self._app.renderer.erase()
                self.drain()
                # Erasing forgets where the cursor is, and nothing is drawn below the prompt until that is known.
                self._app.renderer.request_absolute_cursor_position()
                self._app.invalidate()

    def drain(self) -> None:
        """Write what waits, where no prompt is in the way."""
        with self._lock:
            whole, end, self._waiting = self._waiting.rpartition("\n")
            if end:
                encoding = self._terminal.encoding or "utf-8"
                self._terminal.write(f"{whole}\n".encode(encoding, "backslashreplace").decode(encoding))
                self._terminal.flush()

    @override
    def isatty(self) -> bool:
        return True

    @property
    @override
    def encoding(self) -> str:  # type: ignore[override]  # typeshed has an attribute
        return self._terminal.encoding or "utf-8"

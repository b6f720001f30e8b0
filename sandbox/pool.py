"""Spare sessions: opened ahead of need, so that the next one finds its interpreter started and warm.

A spare is never used twice. Who takes one pays nothing for its start; the next is started in the background.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import trio

__all__ = ["Closable", "Spares"]

PAUSE: Final = 0.05  # seconds, so that starting the next spare does not slow the first steps of the one just taken


class Closable(Protocol):
    """What a spare must be."""

    async def aclose(self) -> None:
        """Give everything back."""


class Spares[Spare: Closable]:
    """Keeps `count` spares ready; `make` starts one. Run `keep` in a nursery: when it ends, the spares left are
    closed.
    """

    def __init__(self, make: Callable[[], Awaitable[Spare]], count: int) -> None:
        if count < 0:
            raise ValueError(f"the number of spares is not negative, as {count} is")
        self._make, self._count = make, count
        self._ready: deque[Spare] = deque()
        self._taken = trio.Event()
        self._made = trio.Event()

    async def keep(self) -> None:
        """Fill up whenever one was taken, until cancelled."""
        try:
            while True:
                while len(self._ready) < self._count:
                    self._ready.append(await self._make())
                    self._made.set()
                self._taken = trio.Event()
                await self._taken.wait()
                await trio.sleep(PAUSE)
        finally:
            with trio.CancelScope(shield=True):
                while self._ready:
                    await self._ready.popleft().aclose()

    def take_nowait(self) -> Spare | None:
        """A spare, now the caller's to close; None if none is ready."""
        if not self._ready:
            return None
        spare = self._ready.popleft()
        self._taken.set()
        return spare

    async def ready(self) -> None:
        """Come back when a spare is ready."""
        while not self._ready and self._count:
            self._made = trio.Event()
            await self._made.wait()

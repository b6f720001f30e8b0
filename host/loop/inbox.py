"""What is to enter a loop at its next boundary, and whether the loop may go on from there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import trio

from host.context import Inherited
from host.conversation import Message, Text

__all__ = ["Inbox", "Item", "said"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that enters: what is new above, as of `above`, and then a message."""

    message: Message | None = None
    above: Inherited | None = None


class Inbox:
    """Items in the order in which they came, and a gate. Any number of tasks may wait for it to change."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._waiting = trio.lowlevel.ParkingLot()
        self._paused = False

    def post(self, item: Item) -> None:
        """Let something enter at the next boundary."""
        self._items.append(item)
        self.stir()

    def pause(self, paused: bool) -> None:
        """Close the gate, or open it."""
        self._paused = paused
        self.stir()

    def stir(self) -> None:
        """Let whoever waits look again: something changed that they wait for."""
        self._waiting.unpark_all()

    def __bool__(self) -> bool:
        return bool(self._items)

    def __contains__(self, item: object) -> bool:
        return any(each is item for each in self._items)

    def taken(self) -> Iterator[Item]:
        """Take the items, until there is none."""
        while self._items:
            yield self._items.popleft()

    async def filled(self, *, unless: Callable[[], bool] = lambda: False) -> None:
        """Come back when something waits to enter, or there is no reason to wait any more."""
        await self.until(lambda: bool(self._items) or unless())

    async def opened(self) -> None:
        """Come back when the gate is open."""
        await self.until(lambda: not self._paused)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Come back when this holds. It is looked at whenever something stirs."""
        while not holds():
            await self._waiting.park()


def said(text: str) -> Message:
    """A message of these words, by whoever speaks to a loop."""
    return Message(role="user", parts=(Text(text=text),))

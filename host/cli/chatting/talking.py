"""What the two fronts share: how a conversation is led, whatever the lines come from."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from host.cli.chatting.orders import Orders
from host.cli.chatting.telling import Style
from host.loop import Dialogue

__all__ = ["Front", "Talk"]


class Talk:
    """A conversation, as the fronts lead it."""

    def __init__(self, dialogue: Dialogue, orders: Orders) -> None:
        self.dialogue, self.orders = dialogue, orders

    async def say(self, text: str) -> None:
        """Say something, and come back when the turn that heard it is over. How that ended is told by its event."""
        with suppress(Exception):
            await self.dialogue.say(text)

    @property
    def running(self) -> str:
        """What runs now, in one line."""
        parts = ["answering (ctrl-C interrupts)"] if self.dialogue.is_busy else []
        tasks = self.dialogue.tasks.all
        parts += [f"{number} {task.label} {task.state}" for number, task in enumerate(tasks, 1) if not task.is_over]
        return " \u00b7 ".join(parts)


class Front(Protocol):
    """Where the lines come from, and where what happens is shown."""

    def line(self, text: str, style: Style) -> None:
        """Show lines beside the answer."""
        ...

    def piece(self, text: str) -> None:
        """Show a piece of the answer."""
        ...

    async def lead(self, talk: Talk) -> bool:
        """Lead the conversation until the person leaves; whether all that was typed could be followed."""
        ...

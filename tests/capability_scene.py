"""A dispatch over a capability that tells what it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from guest_stdlib.channel.events import Call
from host.capability import Capability, delegates
from host.context import Inherited
from host.errors import NeedsClarification

TOKEN = "a" * 22


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Note:
    text: str
    level: Level = Level.LOW

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("a note says something")


class Notes(Capability):
    """A capability that tells what it was given."""

    errors = (NeedsClarification,)

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []

    async def add(self, text: str, *tags: str, level: Level = Level.LOW, **marks: int) -> str:
        self.seen.append((text, tags, level, marks))
        return text

    async def keep(self, notes: Sequence[Note] | Note) -> int:
        self.seen.append(notes)
        return 1

    async def ask(self, question: str, *, inherited: Inherited) -> str:
        self.seen.append(inherited)
        return f"{question}: {len(inherited.layers)}"

    @delegates(context="cold")
    async def look(self, *, history: Inherited) -> str:
        self.seen.append(history)
        return "looked"

    async def loose(self, *, inherited: Inherited, **anything: Any) -> str:
        self.seen.append(anything)
        return "loose"

    async def wrong(self, value: Any) -> list[int]:
        return cast("list[int]", value)

    async def _secret(self) -> str:
        return "secret"

    @classmethod
    def opened(cls) -> str:
        return "opened"


def call(path: str, *args: object, context: Any = None, token: Any = None, **kwargs: object) -> Call:
    """A call as it comes from a guest. `context` is what it says by that argument, or by arguments named."""
    said = {} if context is None else context if isinstance(context, dict) else {"context": context}
    return Call(call=1, path=path, args=args, kwargs=kwargs, context=said, token=token)

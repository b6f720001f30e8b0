"""What the children of a run were sent: who asked whom for what, fork or cold, and the exact text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from host.context import Inherited
from host.conversation import Message, Text, ToolCall, ToolResult
from host.events import Delegated, Event, LoopBegan, Requested
from host.models.port import Request

__all__ = ["Child", "Children", "exact", "titled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What a child was sent first. `asker` is who delegated, `inherited` what was passed on."""

    began: LoopBegan
    asker: str
    inherited: Inherited | None
    request: Request


def titled(child: Child) -> str:
    """Who asked whom for what, fork or cold, in which rendering, and how much came along."""
    began, inherited = child.began, child.inherited
    how: str
    if began.rendering == "none" or inherited is None:
        how = "cold: nothing was passed on" if began.rendering == "none" else f"fork, {began.rendering}"
    elif inherited.nothing is not None:
        how = f"fork: {inherited.nothing}"
    else:
        count = sum(1 for layer in inherited.layers for _ in layer.passed())
        messages = f"{count} message{'' if count == 1 else 's'}"
        how = f"fork, {began.rendering}: {messages}, about {inherited.tokens:,} tokens"
    return f"{child.asker} asked {began.agent} for {began.request!r} ({how})"


def exact(child: Child) -> str:
    """The exact text of a child's first request: its instructions, then its messages."""
    said = [f"{message.role}: {part}" for message in child.request.messages for part in _parts(message)]
    return "\n".join([child.request.system, *said])


def _parts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text():
                yield part.text
            case ToolCall():
                yield f"calls {part.name} {part.arguments}"
            case ToolResult():
                yield f"{part.name or part.call} gave {''.join(t.text for t in part.parts if isinstance(t, Text))}"
            case _:
                yield type(part).__name__.lower()


class Children:
    """An observer that keeps the children of a run, the last `most` of them.

    `asker` and `inherited` are for those that no loop started: a script did.
    """

    def __init__(self, *, most: int | None = None, asker: str = "someone", inherited: Inherited | None = None) -> None:
        self._asker, self._inherited = asker, inherited
        self._loops: dict[str, LoopBegan] = {}
        self._delegated: dict[str, Delegated] = {}
        self._kept: deque[Child] = deque(maxlen=most)

    def __call__(self, event: Event) -> None:
        """Keep what an event says of a child."""
        match event:
            case LoopBegan():
                self._loops[event.loop] = event
            case Delegated():
                self._delegated[event.id] = event
            case Requested(number=1):
                began = self._loops.get(event.loop)
                if began is not None and began.kind != "conversation":
                    self._kept.append(self._child(began, event.request))
            case _:
                pass

    def _child(self, began: LoopBegan, request: Request) -> Child:
        parent = self._loops.get(began.parent or "")
        delegated = self._delegated.get(began.delegation or "")
        return Child(
            began=began,
            asker=self._asker if parent is None else parent.agent,
            inherited=self._inherited if delegated is None else delegated.inherited,
            request=request,
        )

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Child]:
        return iter(self._kept)

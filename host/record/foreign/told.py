"""Messages of a loop, told as the events of a run.

What was sent is what stands before a reply. A hand-off is a call of a tool that is named as one, and did not fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from host.conversation import Conversation, Message, ToolCall, ToolResult
from host.events import (
    CallBegan,
    CallEnded,
    Event,
    HandedOff,
    Kind,
    LoopBegan,
    LoopEnded,
    Replied,
    Requested,
    TurnEnded,
)
from host.models.port import Reply, Request, Usage
from host.record.foreign.trace import UNKNOWN, between

__all__ = ["NAMELESS", "Telling", "handoff_target"]

NAMELESS: Final = "assistant"
"""What an agent is called whom nobody names."""

_HANDING: Final = ("transfer_to_", "transfer_back_to_", "handoff_to_")


def handoff_target(call: ToolCall) -> str | None:
    """Whom a call hands the conversation to, by the name of its tool; None if it does not."""
    for prefix in _HANDING:
        if call.name.startswith(prefix) and len(call.name) > len(prefix):
            return call.name.removeprefix(prefix)
    return None


class Telling:
    """One loop's messages, given one after the other, as events at the end of a shared list.

    `at` is when a message came, in seconds since any moment; nan where that is not known.
    """

    def __init__(
        self,
        events: list[Event],
        loop: str,
        *,
        agent: str = NAMELESS,
        model: str = UNKNOWN,
        kind: Kind = "conversation",
        request: str = "",
        parent: str | None = None,
        delegation: str | None = None,
        at: float = math.nan,
    ) -> None:
        self.events = events
        self.loop = loop
        self.agent = agent
        self.usage = Usage()
        self.turns = 0
        self._began = self._last = at
        self._sent = Conversation()
        self._system: list[str] = []
        self._open: dict[str, tuple[ToolCall, float]] = {}
        self._answer: Message | None = None
        events.append(
            LoopBegan(
                loop=loop,
                agent=agent,
                model=model,
                kind=kind,
                depth=0 if parent is None else 1,
                request=request,
                parent=parent,
                delegation=delegation,
            )
        )

    def message(self, message: Message, *, usage: Usage | None = None, at: float = math.nan) -> None:
        """The next message."""
        if message.role in ("system", "developer") and not self._sent.length:
            self._system.append(message.text)
            return
        if message.role == "assistant":
            self._reply(message, usage or Usage(), at)
        else:
            for result in message.results:
                self._result(result, at)
            if message.role == "user" and message.text.strip():
                self._end_turn()
        self._sent = self._sent.append(message)
        self._last = at

    def _reply(self, message: Message, usage: Usage, at: float) -> None:
        self.turns += 1
        self.usage += usage
        request = Request(system="\n\n".join(self._system), messages=self._sent.messages)
        self.events.append(Requested(loop=self.loop, number=self.turns, request=request))
        reply = Reply(
            parts=message.parts,
            usage=usage,
            stop="tools" if message.calls else "end",
            shape=message.shape,
            original=message.original,
        )
        self.events.append(Replied(loop=self.loop, number=self.turns, reply=reply, seconds=between(self._last, at)))
        for call in message.calls:
            self._open[call.id] = (call, at)
            self.events.append(CallBegan(loop=self.loop, call=call))
        self._answer = None if message.calls else message

    def _result(self, result: ToolResult, at: float) -> None:
        made = self._open.pop(result.call, None)
        if made is None:
            return
        call, began = made
        target = None if result.is_error else handoff_target(call)
        if target is not None:
            reason = (call.parsed or {}).get("reason")
            self.events.append(
                HandedOff(
                    loop=self.loop,
                    call=call.id,
                    source=self.agent,
                    target=target,
                    reason=reason if isinstance(reason, str) else None,
                )
            )
            self.agent = target
        self.events.append(
            CallEnded(
                loop=self.loop,
                call=call,
                text=result.text,
                failed=result.is_error,
                seconds=between(began, at),
            )
        )

    def _end_turn(self) -> None:
        if self._answer is not None:
            self.events.append(
                TurnEnded(loop=self.loop, how="answered", text=self._answer.text, turns=self.turns, usage=self.usage)
            )
            self._answer = None

    def end(self) -> None:
        """Nothing comes any more: it has ended if the last message is an answer, and is unfinished if not."""
        if self._answer is not None:
            text, seconds = self._answer.text, between(self._began, self._last)
            self._end_turn()
            self.events.append(
                LoopEnded(
                    loop=self.loop, how="answered", text=text, turns=self.turns, usage=self.usage, seconds=seconds
                )
            )


def joined(pieces: Sequence[Message]) -> Message:
    """One message that was written down in pieces."""
    first = pieces[0]
    return first if len(pieces) == 1 else replace(first, parts=tuple([part for each in pieces for part in each.parts]))

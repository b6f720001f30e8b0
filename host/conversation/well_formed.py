"""A history as every provider accepts it, made anew for each request: the tree stays as it is.

What comes out:

- An assistant message with calls is followed at once by one tool message that holds exactly one result per call, in
  the order of the calls. A call that has no result yet gets one that says it is still running.
- A result that does not stand right behind its call (it came late, or before it, or is the second one, or nobody made
  that call) keeps its place, as a notice: a message of the user's role that names the tool and the call, with what the
  tool said behind ">" on every line, so that no result can pass for words of the person.
- Call ids occur once; one that is used again is made unique, with its result. Nothing is empty. Whoever speaks is
  "system", "user", "assistant" or "tool", and the first who is not the system is the user.
- Reasoning stays with its message. A message of reasoning alone belongs to the assistant message behind it, and goes
  where there is none. Volatile messages never occur.

Why a result is bound to its place: what was sent once is sent again as it was, or the provider's cache is lost. So
the form is monotonic: when a history grows, its form only gets longer, except that calls of the last assistant message
which were still running may have their results. "Right behind" means before anything else is said; that a call and its
result are then apart for good is the price, and the notice bridges it.

Items of OpenAI Responses give each call of one reply a message of its own; such a run of items counts as one reply.

A message that is right already comes out as the same object. One that had to be changed has lost its `original`, and
keeps its `shape`. Arguments that are no JSON, and parts that a provider has no form for, are the adapters' work.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from host.conversation.parts import (
    Elsewhere,
    Media,
    Message,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = ["STILL_RUNNING", "well_formed"]

STILL_RUNNING: Final = "Still running. The result will follow in a notice."
_OPENING: Final = "[notice] The conversation begins in the middle: what came before is not here."
_SYSTEM: Final = frozenset({"system", "developer"})
_ITEMS: Final = frozenset({"function_call", "custom_tool_call", "reasoning"})


def well_formed(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages as a provider accepts them, by the rules above. Linear in their number and size; never raises."""
    writer = _Writer()
    for message in messages:
        if not message.volatile:
            writer.take(message)
    return writer.finish()


@dataclass(slots=True)
class _Made:
    """A call that was made: its id in the form, its tool, and the turn and the result that it has."""

    id: str
    name: str
    turn: _Turn
    result: ToolResult | None = None
    answered: bool = False  # by a result, in its place or not


class _Turn:
    """An assistant message whose results may still come. `source` is the message as it was."""

    def __init__(self, message: Message, source: Message) -> None:
        self.message = message
        self.source = source
        self.calls: list[_Made] = []
        self.sources: list[Message] = []

    def results(self, *, alone: bool) -> Message:
        """The one message behind it. It is the message that held the results, where that was one and this turn's."""
        parts = tuple([call.result or _still_running(call) for call in self.calls])
        if alone and len(self.sources) == 1:
            return _changed(self.sources[0], role="tool", parts=parts)
        return Message(role="tool", id=f"{self.message.id}.results", parts=parts)


class _Writer:
    def __init__(self) -> None:
        self._out: list[Message] = []
        self._begun = False
        self._open: list[_Turn] = []
        self._held: list[Message] = []  # notices that came while the turn was open
        self._thoughts: list[Message] = []  # reasoning that waits for the message it belongs to
        self._ids = _Ids()
        self._waiting: dict[tuple[str, str], deque[_Made]] = {}
        self._latest: dict[tuple[str, str], _Made] = {}

    def take(self, message: Message) -> None:
        """Add what the message says."""
        if message.role == "assistant":
            for number, parts in enumerate(_stretches(message.parts)):
                if parts and isinstance(parts[0], ToolResult):
                    self._answered_within(message, parts, number)
                else:
                    self._assistant(message, parts, number)
        else:
            self._other(message)

    def finish(self) -> tuple[Message, ...]:
        """All of it. Reasoning that nothing followed is left out."""
        self._close()
        return tuple(self._out)

    def _assistant(self, message: Message, parts: tuple[Part, ...], number: int) -> None:
        spoken = [part for part in parts if _says(part)]
        if all(isinstance(part, Thinking) for part in spoken):
            if spoken:
                self._thoughts.append(_changed(message, role="assistant", parts=tuple(spoken), stretch=number))
            return
        while isinstance(spoken[-1], Thinking):  # about what was then not said
            spoken.pop()
        if not self._continues(message):
            self._close()
        for thought in self._thoughts:
            self._open.append(_Turn(thought, thought))
        self._thoughts = []
        made: list[_Made] = []
        written: list[Part] = []
        turn = _Turn(message, message)
        for part in spoken:
            if isinstance(part, ToolCall):
                id = self._ids.unique(part.id)  # noqa: A001
                call = _Made(id=id, name=part.name, turn=turn)
                made.append(call)
                self._waiting.setdefault(_key(part.id, part.name), deque()).append(call)
                self._latest[_key(part.id, part.name)] = call
                written.append(part if id == part.id else replace(part, id=id))
            else:
                written.append(part)
        turn.message = _changed(message, role="assistant", parts=tuple(written), stretch=number)
        turn.calls = made
        self._open.append(turn)

    def _continues(self, message: Message) -> bool:
        """Whether this is one more item of the reply that is open: of one that has no results yet."""
        if not self._open or self._held or any(call.result for turn in self._open[-1:] for call in turn.calls):
            return False
        return _is_item(message) and _is_item(self._open[-1].source)

    def _answered_within(self, message: Message, parts: tuple[Part, ...], number: int) -> None:
        """Results that stand in an assistant message: those of tools that the provider runs itself."""
        notices: list[Part] = []
        for part in parts:
            if isinstance(part, ToolResult) and not self._answer(part, None):
                notices += self._notice(part)
        if notices:
            self._hear(_changed(message, role="user", parts=tuple(notices), stretch=number), closes=False)

    def _other(self, message: Message) -> None:
        system = message.role in _SYSTEM
        said: list[Part] = []
        notices: list[Part] = [] if system else said
        closes = answers = False
        for part in message.parts:
            if isinstance(part, ToolResult):
                if self._answer(part, message):
                    answers = True
                else:
                    notices += self._notice(part)
            elif isinstance(part, Thinking) or not _says(part):
                continue
            elif message.role == "tool":
                notices += self._notice(ToolResult(call="", parts=(part,), name=message.name))
            else:
                said.append(_as_said(part))
                closes = True
        role = "system" if system else "user"
        if said:
            self._hear(_changed(message, role=role, parts=tuple(said), stretch=int(answers)), closes=closes)
        if system and notices:
            self._hear(Message(role="user", id=f"{message.id}.notice", parts=tuple(notices)), closes=False)

    def _answer(self, result: ToolResult, source: Message | None) -> bool:
        """Give a result to the open call that waits for it, if there is one."""
        waiting = self._waiting.get(_key(result.call, result.name or ""))
        if not waiting:
            return False
        call = waiting.popleft()
        call.answered = not _is_still_running(result)
        call.result = result if result.call == call.id else replace(result, call=call.id)
        sources = call.turn.sources
        if source is not None and (not sources or sources[-1] is not source):
            sources.append(source)
        return True

    def _notice(self, result: ToolResult) -> list[Part]:
        """A result that has no place behind its call, as words of ours and then its own."""
        call = self._latest.get(_key(result.call, result.name or ""))
        what = "error" if result.is_error else "result"
        if call is None:
            tool = "an unknown tool" if result.name is None else json.dumps(result.name)
            which = f"call {json.dumps(result.call)}, which" if result.call else "which"
            told = f"The {what} of {tool} ({which} was not called so far):"
        else:
            which = "Another" if call.answered else "The"
            told = f"{which} {what} of {json.dumps(call.name)} (call {json.dumps(call.id)}):"
            call.answered = True
        parts: list[Part] = []
        lines = [f"[notice] {told}"]
        for part in result.parts:
            if isinstance(part, (Media, Opaque, Summary, Elsewhere)):
                parts.append(part)
            else:
                lines += [f"> {line}" for line in _words(part).splitlines()]
        return [Text(text="\n".join(lines)), *parts]

    def _hear(self, message: Message, *, closes: bool) -> None:
        """Someone other than the assistant says something. Notices leave the turn open, and wait behind it."""
        self._thoughts = []
        if self._open and not closes:
            self._held.append(message)
            return
        self._close()
        self._put(message)

    def _close(self) -> None:
        turns, self._open = self._open, []
        held, self._held = self._held, []
        alone = sum(bool(turn.calls) for turn in turns) == 1
        for turn in turns:
            self._put(turn.message)
            if turn.calls:
                self._put(turn.results(alone=alone))
        for message in held:
            self._put(message)
        self._waiting.clear()

    def _put(self, message: Message) -> None:
        if not self._begun and message.role != "system":
            self._begun = True
            if message.role != "user":
                self._out.append(Message(role="user", id=f"{message.id}.opening", parts=(Text(text=_OPENING),)))
        self._out.append(message)


class _Ids:
    """Gives each call an id that no call before it has: its own, as long as that is new."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._times: dict[str, int] = {}

    def unique(self, id: str) -> str:
        made = id or "call"
        while made in self._used:
            self._times[id] = self._times.get(id, 1) + 1
            made = f"{id or 'call'}_{self._times[id]}"
        self._used.add(made)
        return made


def _stretches(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """An assistant's parts, cut where results begin and end."""
    if not any(isinstance(part, ToolResult) for part in parts):
        return [parts]
    found: list[list[Part]] = []
    for part in parts:
        if not found or isinstance(found[-1][0], ToolResult) != isinstance(part, ToolResult):
            found.append([])
        found[-1].append(part)
    return [tuple(stretch) for stretch in found]


def _key(id: str, name: str) -> tuple[str, str]:
    """What ties a result to its call: the id, or where there is none, as in the oldest form of calls, the name."""
    return (id, "") if id else ("", name)


def _changed(message: Message, *, role: str, parts: tuple[Part, ...], stretch: int = 0) -> Message:
    """The message with this role and these parts; itself, if it has them. `stretch` counts the messages that were made
    of it before this one.
    """
    same_role = role == message.role
    if same_role and not stretch and len(parts) == len(message.parts) and parts == message.parts:
        return message
    id = f"{message.id}.{stretch}" if stretch else message.id  # noqa: A001
    known = same_role or message.role in _SYSTEM or message.role == "tool"
    name = message.name if known or message.name else message.role or None
    original = message.original if message.role == "developer" and parts == message.parts else None
    return replace(message, role=role, parts=parts, id=id, name=None if role == "tool" else name, original=original)


def _still_running(call: _Made) -> ToolResult:
    return ToolResult(call=call.id, parts=(Text(text=STILL_RUNNING),))


def _is_still_running(result: ToolResult) -> bool:
    return result.parts == (Text(text=STILL_RUNNING),)


def _is_item(message: Message) -> bool:
    """Whether a message was one item of OpenAI Responses, which is less than a reply."""
    if message.shape != "openai-responses" or message.original is None:
        return False
    try:
        item = json.loads(message.original)
    except (ValueError, RecursionError):
        return False
    return isinstance(item, dict) and item.get("type") in _ITEMS


def _says(part: Part) -> bool:
    return not isinstance(part, (Text, Refusal)) or bool(part.text.strip())


def _as_said(part: Part) -> Part:
    """A part as someone who is no assistant can have it: only assistants call and decline."""
    if isinstance(part, (ToolCall, Refusal)):
        return Text(text=_words(part) or "[notice] A call without a name.")
    return part


def _words(part: Part) -> str:
    match part:
        case Text(text=text) | Refusal(text=text):
            return text
        case ToolCall():
            return f"{part.name} {part.arguments}".strip()
        case ToolResult():
            return "\n".join([_words(inner) for inner in part.parts])
        case _:
            return ""

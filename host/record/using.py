"""What a loop wrote that it cannot have from anywhere but what it inherited, or from nowhere at all.

A loop's requests say exactly what it had read whenever it wrote something: its request and instructions, its tools,
and their results so far. What it wrote beyond that, in words that tell, it had from what it inherited, if it stands
there. And if it settled on one of several records that it had found, something must have told it which.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.context.section import begin_line, end_line
from host.conversation import Conversation, Message, Opaque, Part, Refusal, Summary, Text, ToolCall, ToolResult
from host.events import CallEnded, Event, LoopBegan, Replied, Requested
from host.models.port import Request
from host.record.open_choice import OpenChoice, open_choice
from host.record.telling import telling, words_of

__all__ = ["Index", "Written", "written_by"]

_BEGIN: Final = re.compile(re.escape(begin_line("NONCE")).replace("NONCE", "([0-9a-z]{8,64})"))
_SHORTEST: Final = 3  # letters of a word that can tell records apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one loop wrote, as far as it has it from nothing that it read beside what it inherited.

    `own` are those words. `choice` is what it settled on, and `apart` the words that tell this from the candidates that
    are left open by its request, by what it was told later, and by the results of its other tools; None if nothing is
    left open. It can be empty: two candidates may differ in nothing that has words.
    """

    own: frozenset[str]
    choice: OpenChoice | None
    apart: frozenset[str] | None


def written_by(events: Iterable[Event], inherited: frozenset[str]) -> Written:
    """What a loop wrote, by its own events. `inherited` are the ids of the messages that it inherited."""
    said: set[str] = set()  # what it was told: by its caller, its instructions, its tools
    asked: set[str] = set()  # what its request says, and what it was told since
    own: set[str] = set()
    results: list[CallEnded] = []
    seen: set[str] = set()
    before: Request | None = None
    last: Replied | None = None
    for event in events:
        match event:
            case LoopBegan(request=request):
                asked |= words_of(request)
            case Requested(request=request):
                said |= words_of("\n".join(_standing(request, before)))
                before = request
                for message in request.messages:
                    if message.id not in inherited and message.id not in seen:
                        seen.add(message.id)
                        if message.role == "user":
                            asked |= words_of(_text(message))
                        elif message.role == "tool":
                            said |= words_of(_text(message))
            case Replied(reply=reply):
                own |= words_of("\n".join(_arguments(reply.calls))) - said - asked
                last = event
            case CallEnded(text=text):
                said |= words_of(text)
                results.append(event)
            case _:
                pass
    if last is None:
        return Written(own=frozenset(), choice=None, apart=None)
    own |= words_of(last.reply.text) - said - asked
    choice = open_choice(results, last.reply)
    return Written(own=frozenset(own), choice=choice, apart=_apart(choice, frozenset(asked), results))


def _apart(choice: OpenChoice | None, asked: frozenset[str], results: Sequence[CallEnded]) -> frozenset[str] | None:
    if choice is None:
        return None
    other = words_of("\n".join(each.text for each in results if each.call.name != choice.tool))
    left = choice.left_open_by(asked | (other & choice.all_apart))
    return frozenset(word for word in choice.tells_apart(left) if len(word) >= _SHORTEST) if left else None


def _standing(request: Request, before: Request | None) -> Iterator[str]:
    """What a request holds beside its messages, without what was inherited, where it is new."""
    if before is None or before.system != request.system:
        yield _without_section(request.system)
    if before is None or before.tools != request.tools:
        for tool in request.tools:
            yield f"{tool.name}\n{tool.description}\n{json.dumps(tool.parameters, ensure_ascii=False, default=str)}"
    if before is None or before.tail != request.tail:
        yield request.tail


def _without_section(system: str) -> str:
    begin = _BEGIN.search(system)
    if begin is None:
        return system
    ending = end_line(begin[1])
    end = system.find(ending, begin.end())
    return system if end < 0 else f"{system[: begin.start()]}\n{system[end + len(ending) :]}"


def _arguments(calls: Iterable[ToolCall]) -> Iterator[str]:
    """The values in the arguments of calls, or the arguments as they stand where they are no JSON."""
    for call in calls:
        waiting: list[object] = [call.arguments if call.parsed is None else call.parsed]
        while waiting:
            here = waiting.pop()
            match here:
                case Mapping():
                    waiting += here.values()
                case list():
                    waiting += here
                case None | bool():
                    pass
                case _:
                    yield str(here)


class Index:
    """Where certain words stand in messages, each message read once however many inherit it."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._places: dict[str, dict[str, int]] = {}
        self._read: set[str] = set()
        self._known: set[Conversation] = set()

    def learn(self, conversation: Conversation) -> None:
        """Read a conversation, as far as it is new."""
        point: Conversation | None = conversation
        while point is not None and point.last is not None and point not in self._known:
            self._known.add(point)
            self.learn_message(point.last)
            point = point.parent

    def learn_message(self, message: Message) -> None:
        """Read one message."""
        if message.id not in self._read:
            self._read.add(message.id)
            for word, strength in telling(_text(message)).items():
                if word in self._wanted:
                    self._places.setdefault(word, {})[message.id] = strength

    def strength(self, word: str, inherited: frozenset[str]) -> int | None:
        """How telling a word is where it stands in these messages; None if it stands in none of them."""
        places = self._places.get(word, {})
        return max((strength for id, strength in places.items() if id in inherited), default=None)  # noqa: A001


def _text(message: Message) -> str:
    return "\n".join(_words(message.parts))


def _words(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text=text) | Refusal(text=text) | Summary(text=str() as text):
                yield text
            case ToolCall():
                yield part.name
                yield from _arguments([part])
            case ToolResult():
                yield from _words(part.parts)
            case Opaque():
                yield part.json
            case _:
                pass

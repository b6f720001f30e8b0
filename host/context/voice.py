"""Puts messages into the entries of a section, under the names that their speakers have for the child.

What is left out, and nothing else: reasoning, and the bytes of images, recordings and documents, which are named with
type and size. The names of the tools that steered a layer's running tasks are written neutrally, wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Self

from host.context.layer import Layer
from host.context.section import Deed, Entry, media_description, readable
from host.context.steering import Steering
from host.conversation import (
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

__all__ = ["Telling", "Told", "is_reasoning"]

_SPEAKERS: Final = {"system": "system", "developer": "system", "user": "user", "assistant": "agent", "tool": "tool"}
_ENCODED: Final = re.compile(r'"[A-Za-z0-9+/_-]{256,}={0,2}"')


def is_reasoning(message: Message) -> bool:
    """Whether a message is nothing but reasoning, which has no place in a section."""
    return bool(message.parts) and all(isinstance(part, Thinking) for part in message.parts)


class Told:
    """What has been told of a layer, in numbers: how many messages, and which calls.

    It can be gone on with, and a continuation of it leaves it as it is: `after` costs nothing, however much was told.

    Ids of calls may be missing, used again, or answered before they occur: a result belongs to the latest call of its
    id so far, else to the first that follows. A result without an id, as in the oldest form of calls, goes by the
    tool's name.
    """

    def __init__(self, before: Told | None = None) -> None:
        self.count: int = before.count if before is not None else 0
        self._before = before
        self._first: dict[tuple[str, str], int] = {}
        self._latest: dict[tuple[str, str], int] = {}
        self._names: list[str] = []
        self._unnamed = before.expected if before is not None else 0
        self._made: int = before._made if before is not None else 0

    def after(self) -> Told:
        """One that goes on from here by itself."""
        return Told(self)

    def pass_over(self, messages: Iterable[Message]) -> Self:
        """Count these as told."""
        messages = list(messages)
        self.expect(messages)
        for message in messages:
            self.count += not is_reasoning(message)
            for call in message.calls:
                self.made(call)
        return self

    @property
    def expected(self) -> int:
        """How many calls are known, made or still to be told."""
        return self._unnamed + len(self._names)

    def expect(self, messages: list[Message]) -> None:
        """Know of the calls in these messages, which are told next."""
        for message in messages:
            for call in message.calls:
                self._names.append(call.name)
                self._first.setdefault(_key(call.id, call.name), self.expected)

    def made(self, call: ToolCall) -> int:
        """The number of the next call."""
        self._made += 1
        self._latest[_key(call.id, call.name)] = self._made
        return self._made

    def answered(self, result: ToolResult) -> tuple[int | None, str | None]:
        """The number of the call that a result answers, and the tool's name, as far as they can be told."""
        key = _key(result.call, result.name or "")
        number = self._latest_of(key) or self._first_of(key)
        return number, result.name or (self._name(number) if number else None)

    def _latest_of(self, key: tuple[str, str]) -> int | None:
        found = self._latest.get(key)
        return self._before._latest_of(key) if found is None and self._before is not None else found

    def _first_of(self, key: tuple[str, str]) -> int | None:
        found = self._before._first_of(key) if self._before is not None else None
        return self._first.get(key) if found is None else found

    def _name(self, number: int) -> str:
        if number <= self._unnamed and self._before is not None:
            return self._before._name(number)
        return self._names[number - 1 - self._unnamed]


class Telling:
    """Tells one layer, message by message: numbers them, and the calls in them, on from what was told before."""

    def __init__(self, layer: Layer, *, depth: int, steering: Steering, told: Told | None = None) -> None:
        self._layer = layer
        self._depth = depth
        self._steering = steering
        self._told = told or Told()

    @property
    def count(self) -> int:
        """How many messages have been told."""
        return self._told.count

    def tell(self, messages: Iterable[Message]) -> Iterator[tuple[Message, tuple[Entry, ...]]]:
        """Each message with its entries: at least one, but none for reasoning alone."""
        messages = list(messages)
        self._told.expect(messages)
        for message in messages:
            if is_reasoning(message):
                yield message, ()
                continue
            self._told.count += 1
            voice = _Voice(
                message, self._layer, depth=self._depth, number=self.count, calls=self._told, steering=self._steering
            )
            yield message, tuple(voice.entries())


def _key(id: str, name: str) -> tuple[str, str]:
    return (id, "") if id else ("", name)


class _Voice:
    """Puts one message into entries, under the name that its speaker has for the child."""

    def __init__(
        self, message: Message, layer: Layer, *, depth: int, number: int, calls: Told, steering: Steering
    ) -> None:
        self._message = message
        self._steering = steering
        self._depth = depth
        self._number = number
        self._calls = calls
        kind = _SPEAKERS.get(message.role, "participant")
        if kind == "user" and layer.agent is not None:
            kind = "caller"
        self._speaker = self._called(kind)
        self._name = message.name or (message.role if kind == "participant" else None)

    def entries(self) -> Iterator[Entry]:
        """At least one entry: also a message that says nothing has its place."""
        silent = True
        for part in self._message.parts:
            for entry in self._part(part):
                silent = False
                yield entry
        if silent:
            yield self._entry("nothing", name=self._name)

    def _part(self, part: Part) -> Iterator[Entry]:
        match part:
            case Text(text=text):
                if text and not text.isspace():
                    yield self._entry("said", text, name=self._name)
            case Refusal(text=text):
                yield self._entry("declines", text, name=self._name)
            case Media():
                yield self._shown(part, self._speaker, self._name)
            case ToolCall():
                yield self._entry("calls", part.arguments, name=part.name, call=self._calls.made(part))
            case ToolResult():
                yield from self._answer(part)
            case Summary(text=str() as text):
                yield self._entry("sums up", text, name=self._name)
            case Summary() | Elsewhere():
                yield self._entry("elsewhere", name=self._name)
            case Opaque():
                yield self._entry("records", _words(part), name=part.type)
            case _:
                pass

    def _answer(self, result: ToolResult) -> Iterator[Entry]:
        speaker = self._called("tool")
        number, name = self._calls.answered(result)
        deed: Deed = "fails" if result.is_error else "answers"
        only_media = all(isinstance(part, Media) for part in result.parts)
        if only_media and (result.is_error or not result.parts):
            yield self._entry(deed, name=name, call=number, speaker=speaker)
        for part in result.parts:
            if isinstance(part, Media):
                yield self._shown(part, speaker, name)
            else:
                yield self._entry(deed, _words(part), name=name, call=number, speaker=speaker)

    def _shown(self, media: Media, speaker: str, name: str | None) -> Entry:
        address = media.source if media.source is not None and not media.source.startswith(("data:", "file:")) else None
        text = "\n".join(line for line in (media.name, address) if line)
        return Entry(
            depth=self._depth,
            message=self._number,
            speaker=speaker,
            text=self._steering.neutral(readable(text)),
            deed="shows",
            name=None if name is None else self._steering.neutral(name),
            media=media_description(media.kind, media.media_type, media.size),
        )

    def _entry(
        self,
        deed: Deed,
        text: str = "",
        *,
        name: str | None = None,
        call: int | None = None,
        speaker: str | None = None,
    ) -> Entry:
        return Entry(
            depth=self._depth,
            message=self._number,
            speaker=speaker or self._speaker,
            text=self._steering.neutral(readable(text)),
            deed=deed,
            name=None if name is None else self._steering.neutral(name),
            call=call,
        )

    def _called(self, kind: str) -> str:
        return f"outer {kind}" if self._depth == 1 else f"outer {kind} {self._depth}"


def _words(part: Part) -> str:
    """What a part says, where it stands inside a result."""
    match part:
        case Text(text=text) | Refusal(text=text) | Summary(text=str() as text):
            return text
        case ToolCall():
            return f"{part.name} {part.arguments}"
        case Opaque():
            return _ENCODED.sub(lambda found: f'"({len(found[0]) - 2} characters, not shown)"', part.json)
        case _:
            return ""

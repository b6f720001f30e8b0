"""The port to a model: a request goes in, a reply comes out. Everything that a model sees stands in the request.

Rules:

- A request is a value. It holds the whole of what the model is given, so that a test, a record or a person can read
  exactly that, and the same request sent twice is the same request.
- Its messages are the conversation's own (`host.conversation`): what was received can be sent again as it was. Every
  adapter puts them through `well_formed` first, so that any history is valid for its provider.
- What is true only now (running tasks, the size of the history) is `tail`. It is rendered behind everything else, is in
  no conversation, and so changes no prefix that a provider may have cached.
- Arguments of tool calls are JSON text as the model wrote it. Whoever runs the tool parses it, because a model may
  write anything there.
- A model keeps no state between requests. What is remembered is in the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

from host.conversation import Message, Part, Shape, Text, ToolCall

__all__ = ["Delta", "Model", "Reply", "Request", "Stop", "Stream", "ToolSpec", "Usage"]

Stop = Literal["end", "tools", "length", "refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is a JSON schema of type "object"."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that a model is given for one reply: instructions, the exchange so far, the tools on offer, and the tail."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one or more requests cost, in tokens as the provider counts them.

    `input` is all that was sent, `output` all that was written. `cached` is the part of `input` that was read from the
    provider's cache, `written` the part that was put into it; None where the provider reported nothing, which is not 0.
    """

    input: int = 0
    output: int = 0
    cached: int | None = None
    written: int | None = None

    def __add__(self, other: Self) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=_sum(self.cached, other.cached),
            written=_sum(self.written, other.written),
        )

    def __sub__(self, before: Self) -> Usage:
        """What was used since."""
        return Usage(
            input=self.input - before.input,
            output=self.output - before.output,
            cached=None if self.cached is None else self.cached - (before.cached or 0),
            written=None if self.written is None else self.written - (before.written or 0),
        )

    @property
    def total(self) -> int:
        """All tokens, in and out."""
        return self.input + self.output


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered, in its order: text, calls, reasoning. It may be empty, and the loop has to cope with it.

    `stop` says why it ended; "length" means that the reply was cut off. `original` is the provider's own item as UTF-8
    JSON in the form called `shape`, so that reasoning can be sent again sealed as it came.
    """

    parts: tuple[Part, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stop: Stop = "end"
    shape: Shape | None = None
    original: bytes | None = None

    @classmethod
    def of(cls, text: str = "", *calls: ToolCall, usage: Usage | None = None, stop: Stop = "end") -> Reply:
        """A reply of text, then calls."""
        said = (Text(text=text),) if text else ()
        return cls(parts=(*said, *calls), usage=usage or Usage(), stop=stop)

    @property
    def text(self) -> str:
        """The words of its text parts."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that it makes, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    def message(self) -> Message:
        """The reply as a message of the conversation, with a new id."""
        return Message(role="assistant", parts=self.parts, shape=self.shape, original=self.original)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of a reply while it is being written. Pieces of one kind, joined, are what the reply then holds."""

    kind: Literal["text", "thinking", "call"]
    text: str


type Stream = Callable[[Delta], None]


class Model(Protocol):
    """Anything that replies to requests."""

    @property
    def name(self) -> str:
        """Which model this is, such as "openai:gpt-5". Two with one name are the same model to a cache."""
        ...

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """The reply to a request. `stream` is given the pieces as they come; it must not block.

        Raises ModelError if no reply could be had.
        """
        ...

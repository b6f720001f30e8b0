"""The port to a model: a request goes in, a reply comes out. Everything that a model sees stands in the request.

Rules:

- A request is a value. It holds the whole of what the model is given, so that a test, a record or a person can read
  exactly that, and the same request sent twice is the same request.
- Arguments of tool calls are JSON text as the model wrote it. Whoever runs the tool parses it, because a model may
  write anything there.
- A model keeps no state between requests. What is remembered is in the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

__all__ = ["Message", "Model", "Reply", "Request", "ToolCall", "ToolSpec", "Usage"]

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is a JSON schema of type "object"."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's call of a tool. `id` ties the result to it; `arguments` is JSON text, not yet checked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the exchange. `tool_calls` is for assistant messages, `call` (a call's id) and `failed` for tool
    results.
    """

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call: str | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"only an assistant message has tool calls, not one of role {self.role!r}")
        if (self.call is not None) != (self.role == "tool"):
            raise ValueError("a tool message, and no other, names the call that it answers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that a model is given for one reply: instructions, the exchange so far, and the tools on offer."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one or more requests cost, in tokens as the provider counts them. `cached` is the part of `input` read
    from a cache.
    """

    input: int = 0
    output: int = 0
    cached: int = 0

    def __add__(self, other: Self) -> Usage:
        return Usage(
            input=self.input + other.input, output=self.output + other.output, cached=self.cached + other.cached
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered: text, calls, or both. An empty reply is possible, and the loop has to cope with it."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)


class Model(Protocol):
    """Anything that replies to requests."""

    async def reply(self, request: Request) -> Reply:
        """The reply to a request."""
        ...

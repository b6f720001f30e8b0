"""What a loop runs: an agent with its tools, and how the loop may end.

Rules:

- A tool is a description that the model sees and an async function that the loop calls with checked arguments.
- A *terminal* tool ends the loop: what it returns is the loop's result. A terminal tool that fails does not end it.
- A tool says what the model did wrong by raising `ToolError`; the model reads the message and may try again. Any other
  exception is a fault of ours or of the world, and ends the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from host.errors import CapabilityError
from host.models.port import Model, ToolSpec, Usage

__all__ = ["Agent", "Ended", "NoAnswer", "Tool", "ToolError"]


class ToolError(Exception):
    """A tool could not do what the model asked of it. The message says what to do instead."""


class NoAnswer(CapabilityError):
    """An agent did not come to an answer within its turns. Ask again with a more exact request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool of an agent. `run` is given the checked arguments by name; its result reaches the model as text or
    JSON.
    """

    spec: ToolSpec
    run: Callable[[Mapping[str, object]], Awaitable[object]]
    terminal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent: who it is, what it may use, and which model thinks for it.

    `instructions` are its own; what it inherits is added behind them. With `must_end_by_tool` plain text is no
    answer, and the model is told so. `max_turns` bounds the number of requests to the model.
    """

    name: str
    instructions: str
    model: Model
    tools: tuple[Tool, ...] = ()
    max_turns: int = 8
    must_end_by_tool: bool = False

    def __post_init__(self) -> None:
        names = [tool.spec.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise ValueError(f"the agent {self.name!r} has two tools of one name: {', '.join(sorted(names))}")
        if self.max_turns < 1:
            raise ValueError(f"the agent {self.name!r} needs at least one turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a loop ended. `by` is the terminal tool's name, None for plain text; `value` is the tool's result, or that
    text.
    """

    by: str | None
    value: object
    turns: int
    usage: Usage = field(default_factory=Usage)

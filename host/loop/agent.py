"""What a loop runs: an agent with its tools, and how the loop may end.

Rules:

- A tool is a description that the model sees and an async function that the loop calls with checked arguments.
- A *terminal* tool ends the loop: what it returns is the loop's result. A terminal tool that fails does not end it.
- A tool says what the model did wrong by raising `ToolError`; the model reads the message and may try again. What a
  capability raises is told to the model in the words that agent code would read. Any other exception is a fault of ours
  or of the world, and ends the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from host.capability import POLICIES, Capability, Policy
from host.conversation import Message
from host.errors import CapabilityError
from host.models.port import Model, ToolSpec, Usage
from sandbox import Limits

__all__ = ["Agent", "Ended", "Forks", "NoAnswer", "TaskEnded", "TaskFailed", "Tool", "ToolError", "Trim"]


class ToolError(Exception):
    """A tool could not do what the model asked of it. The message says what to do instead."""


class NoAnswer(CapabilityError):
    """An agent did not come to an answer within its turns. Ask again with a more exact request."""


class TaskEnded(CapabilityError):
    """The task is over, so it can no longer be steered. The message says how it ended, and what is still running."""


class TaskFailed(CapabilityError):
    """The task came to no result. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool of an agent. `run` is given the checked arguments by name; its result reaches the model as text or
    JSON. With `loads` that is instructions for this agent, a skill say: no other agent inherits them.
    """

    spec: ToolSpec
    run: Callable[[Mapping[str, object]], Awaitable[object]]
    terminal: bool = False
    loads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forks:
    """Whether and how an agent forks: which agents of the crew a branch may run as (None for any), how many branches
    one fork may have (None for no bound).
    """

    agents: tuple[str, ...] | None = None
    max_branches: int | None = None

    def __post_init__(self) -> None:
        if self.agents is not None and not self.agents:
            raise ValueError("an agent that forks into no agent cannot fork: leave `agents` out for any")
        if self.max_branches is not None and self.max_branches < 1:
            raise ValueError(f"max_branches is at least 1, not {self.max_branches}")


type Trim = Callable[[Sequence[Message]], Iterable[Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent: who it is, what it may use, and which model thinks for it.

    `instructions` are its own; what it inherits is added behind them. `capabilities` are offered as tools and, if there
    is any, to the code that it writes (`run_code`). `tasks` says who does the tasks that it starts beside its own work:
    "self", another agent, or None, where it starts none; with `follow` a running task hears of new messages without
    being steered. `handoffs` names the agents of the crew that it can hand over to; `trim` filters the transcript that
    it is itself shown when it is handed one. `forks` says whether it can split into branches. `context_policy` says who
    decides what a delegated call starts from: the model, or always fork, or never.

    With `must_end_by_tool` plain text is no answer, and the model is told so. `max_turns` bounds the requests to the
    model for one answer. `limits` and `policy` are those of the sandbox that its code runs in.
    """

    name: str
    instructions: str
    model: Model
    description: str = ""
    tools: tuple[Tool, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    tasks: Agent | Literal["self"] | None = None
    follow: bool = False
    handoffs: tuple[str, ...] = ()
    forks: Forks | None = None
    trim: Trim | None = None
    context_policy: Policy = "model"
    max_turns: int = 24
    must_end_by_tool: bool = False
    limits: Limits | None = None
    policy: Literal["open", "restricted"] = "open"

    def __post_init__(self) -> None:
        names = [tool.spec.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise ValueError(f"the agent {self.name!r} has two tools of one name: {', '.join(sorted(names))}")
        if self.max_turns < 1:
            raise ValueError(f"the agent {self.name!r} needs at least one turn")
        if self.context_policy not in POLICIES:
            raise ValueError(f"context_policy is one of {', '.join(POLICIES)}, not {self.context_policy!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a loop ended. `by` is the terminal tool's name, None for plain text; `value` is the tool's result, or that
    text. `usage` is the loop's own, without that of its children.
    """

    by: str | None
    value: object
    turns: int
    usage: Usage = field(default_factory=Usage)

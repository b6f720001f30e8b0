"""What happens in a run, as values: one stream, told while it happens, that a screen can show and a record can keep.

Rules:

- Every loop has an id. `parent` and `delegation` tie it to the loop and the call that started it, so the tree of a run
  can be read off its events alone.
- Events are told in the order in which things happened, at once, on the loop's own task. Whoever listens must not block
  and must not raise.
- `at` is when: seconds since the first loop of the run began.
- `Spoke` and `Printed` are pieces of what a later event holds whole; a record leaves them out. All others are durable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from host.context import Inherited
from host.conversation import ToolCall
from host.models.port import Delta, Reply, Request, Usage

__all__ = [
    "Arm",
    "CallBegan",
    "CallEnded",
    "Chooser",
    "Delegated",
    "Delivered",
    "Event",
    "Forked",
    "HandedOff",
    "How",
    "Joined",
    "Kind",
    "LoopBegan",
    "LoopEnded",
    "Observe",
    "Printed",
    "Rendering",
    "Replied",
    "Requested",
    "RunBegan",
    "Spoke",
    "State",
    "StateKept",
    "Steered",
    "Steering",
    "TaskChanged",
    "TurnEnded",
]

Kind = Literal["conversation", "task", "call", "question", "branch"]
Rendering = Literal["none", "quoted", "replayed"]
Chooser = Literal["run", "policy", "call", "default"]
How = Literal["answered", "asked back", "failed", "cancelled", "stopped"]
Steering = Literal["ask", "interject", "pause", "resume", "stop", "follow"]
State = Literal["running", "paused", "finished", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegan:
    """What a run was begun with, so that it can be repeated: the command, and its options by name as they were given.
    The first event of a run that a command began.
    """

    command: str
    options: tuple[tuple[str, str], ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateKept:
    """The interpreter that waits on a delegating call of code was kept: in this file beside the record, waiting on the
    call of this number.
    """

    delegation: str
    number: int
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBegan:
    """A loop starts. `parent` is the caller's loop and `delegation` the id of the `Delegated` behind it, where there
    are such. `rendering` is how it was given what it inherited, `prefix` the hash of what a replayed fork shares,
    `branch` the name of the branch that it is.
    """

    loop: str
    agent: str
    model: str
    kind: Kind
    depth: int
    request: str
    parent: str | None = None
    delegation: str | None = None
    rendering: Rendering = "none"
    prefix: str | None = None
    branch: str | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """A request, exactly as the model gets it. `number` counts the loop's requests from 1."""

    loop: str
    number: int
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoke:
    """A piece of a reply that is being written."""

    loop: str
    delta: Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """The reply to the request of the same number, after `seconds`."""

    loop: str
    number: int
    reply: Reply
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegan:
    """A tool call starts."""

    loop: str
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """A tool call has its result, as the model will read it."""

    loop: str
    call: ToolCall
    text: str
    failed: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A loop's code printed something. `stream` is "stdout" or "stderr"."""

    loop: str
    stream: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegated:
    """A delegating call is about to be made.

    `call` is the id of the model's call that made it, or in whose code it was made; `path` names what was called.
    `requested` is the choice that the call stated, in the words of what was called ("cold", "inherit", "recent 3 turns,
    agents"), None where it stated none, and `offered` the choices that it had. `instructions` and `tools` are what the
    one who chose had before it: enough to rule out cheap causes of a bad choice.
    """

    id: str
    loop: str
    call: str | None
    path: str
    context: Literal["fork", "cold"]
    chooser: Chooser
    requested: str | None
    inherited: Inherited
    offered: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    instructions: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """A task is steered: by which means, and with which words."""

    task: str
    loop: str
    means: Steering
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A running child was given what is new: the messages by (depth of the layer from 0, id), and about how many
    tokens they take.
    """

    loop: str
    ids: tuple[tuple[int, str], ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChanged:
    """A task is in a new state. `task` is its label ("count_the_boats__1"), `loop` the id of its loop."""

    task: str
    loop: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One branch of a fork: its name and agent; once it has joined, its loop, its status ("ok" or "error") and what it
    ended with.
    """

    name: str
    agent: str
    loop: str | None = None
    status: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """A loop forks into branches, by this call, under one mode of context (inherit, compact or none)."""

    loop: str
    call: str
    mode: str
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """All branches of a fork have ended. The arms stand in the order in which they were declared."""

    loop: str
    call: str
    arms: tuple[Arm, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff:
    """Control of a loop moves to another agent, and stays there."""

    loop: str
    call: str
    source: str
    target: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A turn of a conversation is over, whoever began it: with its answer, or with what it failed by."""

    loop: str
    how: How
    text: str
    turns: int
    usage: Usage
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEnded:
    """A loop is over. `usage` is its own: what its children used is in their own events, so all of them add up."""

    loop: str
    how: How
    text: str
    turns: int
    usage: Usage
    seconds: float
    at: float = 0.0


type Event = (
    RunBegan
    | StateKept
    | LoopBegan
    | Requested
    | Spoke
    | Replied
    | CallBegan
    | CallEnded
    | Printed
    | Delegated
    | Steered
    | Delivered
    | TaskChanged
    | Forked
    | Joined
    | HandedOff
    | TurnEnded
    | LoopEnded
)
type Observe = Callable[[Event], None]

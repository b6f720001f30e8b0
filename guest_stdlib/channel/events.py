"""What can be said over the channel.

Two peers: the *host* opens the session, runs cells and settles calls; the *guest* makes calls, writes output and ends
cells. A frame is a batch of events; one frame goes in with each step and one comes out. Rules:

- An event is frozen, and valid once it exists: a value that cannot be sent cannot be made.
- Each `Run` ends in exactly one of `Done` and `Failed`. Each `Call` ends in exactly one of `Return`, `Throw` and
  `Abandon`. Only an `Open` in the middle of a cell closes both without a word.
- The last event of every frame from the guest is `Rest`: nothing can go on there without the host, or without its
  clock.
- "Nothing yet" is `NEED_DATA`, never None.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = [
    "NEED_DATA",
    "Abandon",
    "Call",
    "Cancel",
    "Done",
    "Event",
    "Failed",
    "Failure",
    "FromGuest",
    "FromHost",
    "Interrupted",
    "NeedData",
    "Open",
    "Output",
    "Rest",
    "Return",
    "Run",
    "Throw",
]

FailureKind = Literal["script", "policy", "limit", "cancelled", "crash"]
CancelReason = Literal["cancelled", "cpu", "wall", "memory", "calls"]
Stream = Literal["stdout", "stderr"]

FAILURE_KINDS: Final = ("script", "policy", "limit", "cancelled", "crash")
CANCEL_REASONS: Final = ("cancelled", "cpu", "wall", "memory", "calls")

MOST_SAID: Final = 16
LONGEST_SAID: Final = 200  # characters of a name or word


class NeedData(enum.Enum):
    """The type of `NEED_DATA`: all events received so far have been taken."""

    NEED_DATA = enum.auto()


NEED_DATA: Final = NeedData.NEED_DATA


def _identifier(number: object, what: str) -> None:
    if type(number) is not int or not 0 < number < 1 << 53:
        raise ValueError(f"{what} is a positive integer, not {number!r}")


def _choice(said: object) -> None:
    """Refuse what can be nobody's choice. What may be said is up to the method, so whoever has that checks it."""
    if not isinstance(said, Mapping) or len(said) > MOST_SAID:
        raise ValueError(f"a choice of context is {MOST_SAID} named words and numbers at most")
    for name, word in said.items():
        if type(name) is not str or len(name) > LONGEST_SAID:
            raise ValueError("a choice of context has a name that is none")
        fits = word.bit_length() <= 53 if type(word) is int else type(word) is str and len(word) <= LONGEST_SAID
        if not fits:
            raise ValueError(f"a choice of context has a part that is no word and no number ({type(word).__name__})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something did not end well, as data. It crosses in both directions and carries no live exception.

    `type` is the exception's class name, `traceback` holds only the agent's own lines, `line` and `column` count from 1
    in the agent's own source. `fields` are the plain attributes of an exception that has some (NeedsClarification:
    question, options).
    """

    kind: FailureKind
    type: str
    message: str
    traceback: str = ""
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in FAILURE_KINDS:
            raise ValueError(f"unknown kind of failure {self.kind!r}")


# From the host


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """The first event of a session: what is in scope, and under which rules. It may come again, to a copy of a guest
    that goes on as a session of somebody else: then these are its capabilities, and a cell that waits is left, unseen.

    `capabilities`, `errors` and `records` hold the plain form of `guest_stdlib.declared`. `token` names this run's
    branch point; the proxy adds it to the calls that take the inherited conversation, nobody else sees it. `cold` says
    that the run itself started cold. `seed` makes the guest's random numbers repeatable. `limits` are the guest's own,
    by name (tasks, depth, items, value_bytes, calls). `workspace` says that there are files.
    """

    capabilities: tuple[Mapping[str, object], ...] = ()
    errors: tuple[Mapping[str, object], ...] = ()
    records: tuple[Mapping[str, object], ...] = ()
    policy: Literal["open", "restricted"] = "open"
    token: str | None = None
    cold: bool = False
    seed: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    workspace: bool = False

    def __post_init__(self) -> None:
        if self.policy not in ("open", "restricted"):
            raise ValueError(f"unknown policy {self.policy!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Run one cell. `name` is the file name that tracebacks show. `notice`, if any, is what the session must know first
    (it was put back to before a cell, say): it becomes the hint of a NameError.
    """

    cell: int
    source: str
    name: str = "<cell>"
    notice: str | None = None

    def __post_init__(self) -> None:
        _identifier(self.cell, "a cell's number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """A call's answer."""

    call: int
    value: object = None

    def __post_init__(self) -> None:
        _identifier(self.call, "a call's number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Throw:
    """A call ended with an exception, which the guest raises at the await."""

    call: int
    failure: Failure

    def __post_init__(self) -> None:
        _identifier(self.call, "a call's number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """End the running cell: raise at its awaits. `reason` tells a limit from a cancellation; `message` is shown."""

    reason: CancelReason
    message: str

    def __post_init__(self) -> None:
        if self.reason not in CANCEL_REASONS:
            raise ValueError(f"unknown reason {self.reason!r}")


# From the guest


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A capability's method is called. `context` is what the caller said for the choice of context, by the names of
    that method's own arguments for it; nothing where it made none.
    """

    call: int
    path: str
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    context: Mapping[str, str | int] = field(default_factory=dict)
    token: str | None = None

    def __post_init__(self) -> None:
        _identifier(self.call, "a call's number")
        if self.context != {}:
            _choice(self.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandon:
    """The guest no longer waits for a call (its own timeout, a cancelled task). The host may stop the work."""

    call: int

    def __post_init__(self) -> None:
        _identifier(self.call, "a call's number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Text written to one of the two streams. Crosses by `emit`, while the cell runs."""

    stream: Stream
    text: str

    def __post_init__(self) -> None:
        if self.stream not in ("stdout", "stderr"):
            raise ValueError(f"unknown stream {self.stream!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The cell ended.

    `notices` are sentences for whoever wrote it; `rejected` counts calls refused before they crossed.
    """

    cell: int
    value: object = None
    notices: tuple[str, ...] = ()
    rejected: int = 0

    def __post_init__(self) -> None:
        _identifier(self.cell, "a cell's number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The cell ended with an exception."""

    cell: int
    failure: Failure
    notices: tuple[str, ...] = ()
    rejected: int = 0

    def __post_init__(self) -> None:
        _identifier(self.cell, "a cell's number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """The guest was interrupted and asks why. Crosses by `call`; the host answers at once with `Cancel`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Everything in the guest waits. `wake` is the time in seconds until its next timer, None if it has none."""

    wake: float | None = None

    def __post_init__(self) -> None:
        if self.wake is not None and not (type(self.wake) is float and self.wake >= 0):
            raise ValueError(f"a delay of {self.wake!r} seconds")


type FromHost = Open | Run | Return | Throw | Cancel
type FromGuest = Call | Abandon | Output | Done | Failed | Interrupted | Rest
type Event = FromHost | FromGuest

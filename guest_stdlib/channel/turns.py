"""Whose turn it is, and what may be said then.

Rules and reasons:

- The two ends speak in turns, and a frame is one turn: what the host says goes in with a step (or answers an exchange),
  what the guest says comes out of it. So at each moment one end may speak, and a frame at any other moment is an error
  of who sent it.
- Every legal transition is in `TRANSITIONS` below, by event, and by `Via` for the end of a frame. Both ends run the
  same table: they see the same events, so they are in the same phase whenever a frame has crossed. What may come by
  which way is in `ALLOWED`.
- Besides the table there is only book-keeping, all of it in `Ledger`: numbers of cells and calls grow, an answer
  answers an open call, the end of a cell is the end of the running cell. A cell that ends closes all its calls.
- A session may be opened anew, between two cells or while a cell waits: a copy of a guest goes on for somebody else.
  That closes the cell, which no `Done` or `Failed` ends then, and its calls, which no `Abandon` does. What the guest
  still does for the cell, it does while it opens the session, and can make no call from there.
- How many calls a cell may make, and how long anything may take, is not the channel's business.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from guest_stdlib.channel.events import (
    Abandon,
    Call,
    Cancel,
    Done,
    Event,
    Failed,
    Interrupted,
    Open,
    Output,
    Rest,
    Return,
    Run,
    Throw,
)

__all__ = ["ALLOWED", "TRANSITIONS", "Ledger", "Phase", "Via"]


class Via(enum.Enum):
    """The way by which a frame crosses. In the table it stands for the end of a frame."""

    __hash__ = object.__hash__  # that of Enum is Python code, and every event looks things up in the table

    INPUT = "what the host gives to a step or as the answer of an exchange"
    STEP = "what a step returned"
    EXCHANGE = "a blocking call"
    EMIT = "output"


class Phase(enum.Enum):
    """Where a session stands. The value completes the sentence "... while ..."."""

    __hash__ = object.__hash__

    NEW = "the session is not open"
    OPENED = "the session is being opened"
    OPENING = "the guest opens the session"
    IDLE = "no cell runs"
    STARTED = "a cell is being started"
    RUNNING = "the guest runs"
    ENDED = "the guest has ended the cell"
    RESTING = "the guest has said that it rests"
    READY = "the guest has said that it is ready"
    WAITING = "the cell waits"
    BLOCKED = "the cell waits inside a blocking call"
    ASKING = "the guest is asking why it was interrupted"
    ASKED = "the guest waits to hear why it was interrupted"
    ANSWERED = "the guest is being told why it was interrupted"
    BROKEN = "the channel is broken"


TRANSITIONS: Final[Mapping[Phase, Mapping[type | Via, Phase]]] = {
    # the host speaks
    Phase.NEW: {Open: Phase.OPENED},
    Phase.OPENED: {Run: Phase.STARTED, Via.INPUT: Phase.OPENING},
    Phase.IDLE: {Run: Phase.STARTED, Open: Phase.OPENED},
    Phase.STARTED: {Via.INPUT: Phase.RUNNING},
    Phase.WAITING: {
        Return: Phase.WAITING,
        Throw: Phase.WAITING,
        Cancel: Phase.WAITING,
        Open: Phase.OPENED,
        Via.INPUT: Phase.RUNNING,  # without any event: timers are due
    },
    Phase.BLOCKED: {
        Return: Phase.BLOCKED,
        Throw: Phase.BLOCKED,
        Cancel: Phase.BLOCKED,
        Via.INPUT: Phase.RUNNING,
    },
    Phase.ASKED: {Cancel: Phase.ANSWERED},
    Phase.ANSWERED: {Via.INPUT: Phase.RUNNING},
    # the guest speaks
    Phase.OPENING: {Output: Phase.OPENING, Via.EMIT: Phase.OPENING, Rest: Phase.READY},
    Phase.RUNNING: {
        Call: Phase.RUNNING,
        Abandon: Phase.RUNNING,
        Output: Phase.RUNNING,
        Via.EMIT: Phase.RUNNING,
        Interrupted: Phase.ASKING,
        Rest: Phase.RESTING,
        Done: Phase.ENDED,
        Failed: Phase.ENDED,
    },
    Phase.ASKING: {Via.EXCHANGE: Phase.ASKED},
    Phase.RESTING: {Via.STEP: Phase.WAITING, Via.EXCHANGE: Phase.BLOCKED},
    Phase.ENDED: {Output: Phase.ENDED, Via.EMIT: Phase.ENDED, Rest: Phase.READY},
    Phase.READY: {Via.STEP: Phase.IDLE},
    # nobody speaks
    Phase.BROKEN: {},
}

ALLOWED: Final[Mapping[Via, frozenset[type]]] = {
    Via.INPUT: frozenset((Open, Run, Return, Throw, Cancel)),
    Via.STEP: frozenset((Call, Abandon, Done, Failed, Rest)),
    Via.EXCHANGE: frozenset((Call, Abandon, Interrupted, Rest)),
    Via.EMIT: frozenset((Output,)),
}


@dataclass(slots=True, kw_only=True)
class Ledger:
    """What both ends know of a session. `calls` are open; the guest keeps only their numbers."""

    phase: Phase = Phase.NEW
    cell: int | None = None
    last_cell: int = 0
    last_call: int = 0
    calls: dict[int, Call | None] = field(default_factory=dict)

    def refusal(self, event: Event, via: Via) -> str | None:
        """Why `event` may not be said now, as the end of a sentence; None if it may."""
        if type(event) not in ALLOWED[via]:
            return f"by the wrong way ({via.value})"
        if type(event) not in TRANSITIONS[self.phase]:
            return f"while {self.phase.value}"
        if type(event) is Call:
            if event.call <= self.last_call:
                return f"with number {event.call}, but {self.last_call} was used already"
        elif type(event) is Return or type(event) is Throw or type(event) is Abandon:
            if event.call not in self.calls:
                return f"for call {event.call}, which is not open"
        elif type(event) is Done or type(event) is Failed:
            if event.cell != self.cell:
                return f"for cell {event.cell}, but cell {self.cell} runs"
        elif type(event) is Run and event.cell <= self.last_cell:
            return f"with number {event.cell}, but {self.last_cell} was used already"
        return None

    def enter(self, event: Event, *, keep: bool) -> None:
        """Write down an event that is not refused."""
        if type(event) is Call:
            self.last_call = event.call
            self.calls[event.call] = event if keep else None
        elif type(event) is Return or type(event) is Throw or type(event) is Abandon:
            del self.calls[event.call]
        elif type(event) is Done or type(event) is Failed or type(event) is Open:
            self.cell = None
            self.calls.clear()
        elif type(event) is Run:
            self.cell = self.last_cell = event.cell
        self.phase = TRANSITIONS[self.phase][type(event)]

    def copy(self) -> Ledger:
        """Another one that says the same."""
        return Ledger(
            phase=self.phase,
            cell=self.cell,
            last_cell=self.last_cell,
            last_call=self.last_call,
            calls=dict(self.calls),
        )

    def end(self, via: Via) -> bool:
        """End a frame; False if it may not end here."""
        after = TRANSITIONS[self.phase].get(via)
        if after is None:
            return False
        self.phase = after
        return True

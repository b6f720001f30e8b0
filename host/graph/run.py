"""A run as a graph: each loop with what it did in order, and what hangs below what.

A loop's nodes are its requests, its calls and what befell it. A call may have forked (its branches are loops), have
handed the conversation to another agent, or have delegated (to loops of other agents). A node belongs to the agent in
control when it came about: that of the loop, until a hand-off, then its target.

A number of seconds that is not known is nan, and so is everything that is computed from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from host.conversation import ToolCall
from host.events import (
    CallEnded,
    Delegated,
    Delivered,
    Event,
    HandedOff,
    Joined,
    Replied,
    Requested,
    Steered,
    TaskChanged,
    TurnEnded,
)
from host.record.runs import Loop, Loops

__all__ = ["Ask", "Branch", "Fork", "Node", "Note", "Run", "Strand", "Use", "name_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request to the model and its reply. `at` is the place of its first event among the run's, from 0; `turn` counts
    the turns of the conversation that had ended by then; `start` is when it began, in seconds from the run's begin.
    """

    at: int
    agent: str
    turn: int
    start: float
    number: int
    asked: Requested | None
    replied: Replied | None

    @property
    def seconds(self) -> float:
        """How long the model took; nan if that is not known."""
        return math.nan if self.replied is None else self.replied.seconds

    @property
    def tools(self) -> tuple[str, ...] | None:
        """The names of the tools on offer; None if the request is not known."""
        return None if self.asked is None else tuple([tool.name for tool in self.asked.request.tools])


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One branch of a fork. `loop` is the id of its loop, None where it has none; `status` is "ok", "error", "running"
    or whatever its join says; `seconds` is nan where it is not known.
    """

    name: str
    agent: str
    loop: str | None
    status: str
    seconds: float
    text: str
    instructions: str
    slowest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A fork: its mode of context and its branches in declared order. `joined` is there once all have ended."""

    mode: str
    branches: tuple[Branch, ...]
    joined: Joined | None
    joined_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A tool call. `number` is that of the request whose reply made it, 0 if that is not known: calls of one number
    were made at once. `started` are the delegations made in the course of it, in code perhaps, and `inside` the ids of
    loops that no delegation tells of and that began while this call alone was under way.
    """

    at: int
    agent: str
    turn: int
    start: float
    number: int
    call: ToolCall
    ended: CallEnded | None
    fork: Fork | None = None
    handoff: HandedOff | None = None
    started: tuple[Delegated, ...] = ()
    inside: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it took; nan if that is not known."""
        return math.nan if self.ended is None else self.ended.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What befell a loop: it was steered, given news, changed state, or a turn of it ended; or it delegated outside of
    any call.
    """

    at: int
    agent: str
    turn: int
    start: float
    event: Steered | Delivered | TaskChanged | TurnEnded | Delegated


type Node = Ask | Use | Note


def name_of(loop: str, node: Node) -> str:
    """The name of a node: its loop's id, and "r" and the number of the request, or a letter and the place of its first
    event in the record. Links to a node on the page and findings about it use this name.
    """
    match node:
        case Ask(number=number):
            return f"{loop}.r{number}"
        case Use(at=at):
            return f"{loop}.c{at}"
        case Note(at=at):
            return f"{loop}.n{at}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """One loop with its nodes in order. `agents` are those that had control, one after the other: the first is the one
    that it was started as, the last the one that it ended as. `choice` is the delegation that started it.
    """

    loop: Loop
    at: int
    start: float
    nodes: tuple[Node, ...]
    agents: tuple[str, ...]
    choice: Delegated | None

    @property
    def id(self) -> str:
        """The loop's id."""
        return self.loop.id

    @property
    def asks(self) -> tuple[Ask, ...]:
        """Its requests."""
        return tuple([node for node in self.nodes if isinstance(node, Ask)])

    @property
    def uses(self) -> tuple[Use, ...]:
        """Its tool calls."""
        return tuple([node for node in self.nodes if isinstance(node, Use)])

    @property
    def tools(self) -> Mapping[str, int]:
        """How often it called each tool, the most used first."""
        return dict(Counter(use.call.name for use in self.uses).most_common())

    @property
    def first(self) -> Ask | None:
        """Its first request."""
        return next(iter(self.asks), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The graph of a run. `strands` are its loops by id, in the order in which they began."""

    events: tuple[Event, ...]
    loops: Loops
    strands: Mapping[str, Strand]

    @property
    def roots(self) -> tuple[Strand, ...]:
        """The loops that no other one started."""
        return tuple([self.strands[loop.id] for loop in self.loops.roots])

    @property
    def tools(self) -> Mapping[str, int]:
        """How often each tool was called in the whole run, the most used first."""
        counts: Counter[str] = Counter()
        for strand in self.strands.values():
            counts.update(strand.tools)
        return dict(counts.most_common())

    @property
    def seconds(self) -> float:
        """How long the run took as far as its events say; nan if they do not."""
        ends: list[float] = []
        for strand in self.strands.values():
            if strand.loop.seconds is not None:
                ends.append(strand.start + strand.loop.seconds)
            ends += [node.start + node.seconds for node in strand.nodes if not isinstance(node, Note)]
        return max((end for end in ends if not math.isnan(end)), default=math.nan)

    def forks(self) -> Iterator[tuple[Strand, Use, Fork]]:
        """Every fork, with its call and the loop that made it."""
        for strand in self.strands.values():
            for use in strand.uses:
                if use.fork is not None:
                    yield strand, use, use.fork

    def below(self, loop: str | None) -> tuple[Strand, ...]:
        """A loop and all that it started, in the order in which they began; nothing for None."""
        if loop is None or loop not in self.strands:
            return ()
        waiting, found = [loop], []
        while waiting:
            here = self.strands[waiting.pop()]
            found.append(here)
            waiting += [child.id for child in here.loop.children]
        return tuple(sorted(found, key=lambda strand: strand.at))

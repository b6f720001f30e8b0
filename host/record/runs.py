"""A run, read off its events: the tree of its loops, and what each delegation was, from the choice to the outcome.

These are views: functions of the events alone, whether they come from a record in memory, from a file, or from a run
that is still going on. Rules:

- A loop's usage is its own: what `LoopEnded` says, or, as long as it has not ended, the sum of its replies. A
  subtree's is the sum over its loops, each counted once, so the roots add up to the total.
- A cache hit is what a provider reported. `cached` is None where none of those counted reported anything, and 0 only
  where one said so.
- Events may be missing, as after a crash. A loop whose parent did not begin before it in these events is a root; one
  that did not end has not ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from host.context import Passed
from host.conversation import ToolCall
from host.events import (
    CallBegan,
    CallEnded,
    Chooser,
    Delegated,
    Event,
    LoopBegan,
    LoopEnded,
    Rendering,
    Replied,
    Requested,
)
from host.models.port import Usage

__all__ = ["Delegation", "Loop", "Loops", "delegations", "loops"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One loop. `children` are the loops that it started, in order; `below` is the usage of its whole subtree, its own
    included. `calls` counts the tool calls that it made, `seconds` how long it took, None if it has not ended.
    """

    began: LoopBegan
    ended: LoopEnded | None
    children: tuple[Loop, ...]
    usage: Usage
    below: Usage
    requests: tuple[Requested, ...]
    replies: tuple[Replied, ...]
    calls: int

    @property
    def id(self) -> str:
        """The loop's id."""
        return self.began.loop

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return None if self.ended is None else self.ended.seconds

    @property
    def last_calls(self) -> tuple[ToolCall, ...]:
        """The calls of its last reply: where an agent ends by a tool, its answer."""
        return self.replies[-1].reply.calls if self.replies else ()

    @property
    def is_idle(self) -> bool:
        """Whether it ended with no work done: it called nothing, and there is no answer, or a blank one."""
        if self.ended is None or self.calls:
            return False
        return self.ended.how not in ("answered", "asked back") or not self.ended.text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """The loops of a run: those that no other one started, and all of them by id, in the order in which they began."""

    roots: tuple[Loop, ...]
    by_id: Mapping[str, Loop]

    @property
    def total(self) -> Usage:
        """What all loops used together."""
        return _sum(loop.below for loop in self.roots)


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What the events say about one loop."""

    began: LoopBegan
    ended: LoopEnded | None = None
    children: list[str] = field(default_factory=list)
    requests: list[Requested] = field(default_factory=list)
    replies: list[Replied] = field(default_factory=list)
    calls: int = 0

    @property
    def usage(self) -> Usage:
        return self.ended.usage if self.ended is not None else _sum(each.reply.usage for each in self.replies)


def loops(events: Iterable[Event]) -> Loops:
    """The tree of the loops. Linear in the events, and deep trees are no matter."""
    seen: dict[str, _Seen] = {}
    for event in events:
        if isinstance(event, LoopBegan):
            if event.loop not in seen:
                if event.parent in seen:
                    seen[event.parent].children.append(event.loop)
                seen[event.loop] = _Seen(began=event)
        elif (of := seen.get(getattr(event, "loop", ""))) is not None:
            match event:
                case Requested():
                    of.requests.append(event)
                case Replied():
                    of.replies.append(event)
                case CallBegan():
                    of.calls += 1
                case LoopEnded():
                    of.ended = event
                case _:
                    pass
    # A child begins after its parent, so whoever goes backwards has a loop's children before the loop.
    made: dict[str, Loop] = {}
    for name, one in reversed(seen.items()):
        children = tuple([made[child] for child in one.children])
        made[name] = Loop(
            began=one.began,
            ended=one.ended,
            children=children,
            usage=one.usage,
            below=_sum([one.usage, *(child.below for child in children)]),
            requests=tuple(one.requests),
            replies=tuple(one.replies),
            calls=one.calls,
        )
    by_id = {name: made[name] for name in seen}
    placed = {child for one in seen.values() for child in one.children}
    return Loops(roots=tuple([loop for name, loop in by_id.items() if name not in placed]), by_id=by_id)


type Outcome = Literal["answered", "asked back", "failed", "cancelled", "stopped", "running", "no loop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """One delegation: the choice, what was passed, and the loops that it started, as a rule one.

    `caller` is the id of the delegation that started the loop which delegates here, None where none did.
    `asked` is the request whose reply made the call, where the caller is a loop of ours: with `choice.tools`,
    `choice.offered` and `choice.instructions` it is all that the one who chose had before it. `result` is the result of
    the very call that started it, where there is one yet.
    """

    choice: Delegated
    loops: tuple[Loop, ...]
    caller: str | None
    asked: Requested | None
    result: CallEnded | None

    @property
    def passed(self) -> Passed:
        """What was passed: ids layer by layer, tokens, and why a fork got nothing."""
        return Passed(inherited=self.choice.inherited, chooser=self.choice.chooser, rendering=self.rendering)

    @property
    def chooser(self) -> Chooser:
        """By whose choice."""
        return self.choice.chooser

    @property
    def rendering(self) -> Rendering:
        """How the child was given what it inherited."""
        return next((loop.began.rendering for loop in self.loops), "none")

    @property
    def prefix(self) -> str | None:
        """The hash of what a replayed fork shares with its caller."""
        return next((loop.began.prefix for loop in self.loops if loop.began.prefix is not None), None)

    @property
    def usage(self) -> Usage:
        """What the loops that it started used, and all loops below them."""
        return _sum(loop.below for loop in self.loops)

    @property
    def outcome(self) -> Outcome:
        """How the loop that was started last ended; "no loop" where none was."""
        if not self.loops:
            return "no loop"
        ended = self.loops[-1].ended
        return "running" if ended is None else ended.how

    @property
    def text(self) -> str:
        """What it ended with."""
        ended = self.loops[-1].ended if self.loops else None
        return "" if ended is None else ended.text

    @property
    def is_idle(self) -> bool:
        """Whether its loops have ended and none did any work."""
        return bool(self.loops) and all(loop.is_idle for loop in self.loops)

    def as_plain(self) -> dict[str, object]:
        """The delegation as JSON data, for a report or another program. Texts are left out; tokens are estimates."""
        return {
            "id": self.choice.id,
            "loop": self.choice.loop,
            "call": self.choice.call,
            "path": self.choice.path,
            "context": self.choice.context,
            "requested": self.choice.requested,
            "offered": list(self.choice.offered),
            "tools": list(self.choice.tools),
            **self.passed.as_plain(),
            "prefix": self.prefix,
            "loops": [loop.id for loop in self.loops],
            "usage": _plain_usage(self.usage),
            "outcome": self.outcome,
            "idle": self.is_idle,
        }


def delegations(events: Iterable[Event]) -> tuple[Delegation, ...]:
    """All delegations, in order, each with the loops that it started."""
    events = tuple(events)
    by_id = loops(events).by_id
    started: dict[str, list[Loop]] = {}
    for loop in by_id.values():
        if loop.began.delegation is not None:
            started.setdefault(loop.began.delegation, []).append(loop)
    # Providers number calls anew for each reply, or at least some do. So a call's request is the latest one that had
    # such a call, and its result the first one after that.
    requests: dict[tuple[str, int], Requested] = {}
    asked: dict[tuple[str, str], Requested] = {}
    open_calls: dict[tuple[str, str], list[int]] = {}
    results: dict[int, CallEnded] = {}
    made: list[tuple[Delegated, Requested | None]] = []
    for event in events:
        match event:
            case Requested():
                requests[event.loop, event.number] = event
            case Replied():
                request = requests.get((event.loop, event.number))
                if request is not None:
                    asked |= {(event.loop, call.id): request for call in event.reply.calls}
            case Delegated(call=str(call)):
                open_calls.setdefault((event.loop, call), []).append(len(made))
                made.append((event, asked.get((event.loop, call))))
            case Delegated():
                made.append((event, None))
            case CallEnded():
                for number in open_calls.pop((event.loop, event.call.id), ()):
                    results[number] = event
            case _:
                pass
    return tuple(
        [
            Delegation(
                choice=choice,
                loops=tuple(started.get(choice.id, ())),
                caller=by_id[choice.loop].began.delegation if choice.loop in by_id else None,
                asked=request,
                result=results.get(number),
            )
            for number, (choice, request) in enumerate(made)
        ]
    )


def _sum(usages: Iterable[Usage]) -> Usage:
    total = Usage()
    for usage in usages:
        total += usage
    return total


def _plain_usage(usage: Usage) -> dict[str, int | None]:
    return {"input": usage.input, "output": usage.output, "cached": usage.cached, "written": usage.written}

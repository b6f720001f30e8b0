"""The graph of a run, read off its events, in one pass and without recursion. Rules:

- Events may be missing, as after a crash or in a trace of others. A call that only a fork or a hand-off tells of gets a
  node of its own, and a branch is found by its name where its join is not known.
- Events say how long something took, not when it began. When it began is put together from the order in which they
  were told: nothing begins before what was told before it had ended. It is for drawing, and only as good as that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from host.conversation import ToolCall
from host.events import (
    CallBegan,
    CallEnded,
    Delegated,
    Delivered,
    Event,
    Forked,
    HandedOff,
    Joined,
    LoopBegan,
    LoopEnded,
    Replied,
    Requested,
    Steered,
    TaskChanged,
    TurnEnded,
)
from host.graph.run import Ask, Branch, Fork, Note, Run, Strand, Use
from host.record.runs import Loop, Loops, loops

__all__ = ["read_run"]


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call as far as it has been told."""

    use: Use
    forked: Forked | None = None
    joined: Joined | None = None
    forked_at: int = 0
    joined_at: int | None = None
    started: list[Delegated] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Told:
    """One loop while its events are read."""

    at: int
    start: float
    agent: str
    nodes: list[Ask | Note | _Call] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    turn: int = 0
    requests: dict[int, int] = field(default_factory=dict)  # by number, the place among the nodes
    made: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)  # by call id, the request that made it
    calls: dict[str, _Call] = field(default_factory=dict)  # by call id, the latest one
    under_way: dict[str, _Call] = field(default_factory=dict)  # by call id


class _Reader:
    """Reads events into loops with nodes. `now` is the latest end that was told of."""

    def __init__(self) -> None:
        self.told: dict[str, _Told] = {}
        self.now = 0.0

    def read(self, at: int, event: Event) -> None:
        if isinstance(event, LoopBegan):
            if event.loop not in self.told:
                self.told[event.loop] = _Told(at=at, start=self.now, agent=event.agent, agents=[event.agent])
                above = self.told.get(event.parent or "")
                if above is not None and event.delegation is None and len(above.under_way) == 1:
                    next(iter(above.under_way.values())).inside.append(event.loop)
            return
        of = self.told.get(getattr(event, "loop", ""))
        if of is None:
            return
        match event:
            case Requested(number=number):
                of.requests[number] = len(of.nodes)
                of.nodes.append(self._ask(at, of, number, asked=event))
            case Replied(number=number):
                self._replied(at, of, event)
                of.made |= {call.id: (number, call) for call in event.reply.calls}
            case CallBegan(call=call):
                of.under_way[call.id] = self._call(at, of, call)
            case CallEnded(call=call):
                made = self._known(at, of, call.id, call.name)
                made.use = replace(made.use, ended=event)
                of.under_way.pop(call.id, None)
                self._pass(made.use.start, event.seconds)
            case Forked(call=id):
                made = self._known(at, of, id, "fork")
                made.forked, made.forked_at = event, at
            case Joined(call=id):
                made = self._known(at, of, id, "fork")
                made.joined, made.joined_at = event, at
                self._pass(made.use.start, event.seconds)
            case HandedOff(call=id, target=target):
                made = self._known(at, of, id, f"transfer_to_{target}")
                made.use = replace(made.use, handoff=event)
                of.agent = target
                of.agents.append(target)
            case Delegated(call=str(id)) if id in of.calls or id in of.made:
                self._known(at, of, id, "").started.append(event)
            case Steered() | Delivered() | TaskChanged() | TurnEnded() | Delegated():
                of.nodes.append(Note(at=at, agent=of.agent, turn=of.turn, start=self.now, event=event))
                of.turn += isinstance(event, TurnEnded)
            case LoopEnded(seconds=seconds):
                self._pass(of.start, seconds)
            case _:
                pass

    def _ask(self, at: int, of: _Told, number: int, *, asked: Requested | None) -> Ask:
        return Ask(at=at, agent=of.agent, turn=of.turn, start=self.now, number=number, asked=asked, replied=None)

    def _replied(self, at: int, of: _Told, event: Replied) -> None:
        place = of.requests.get(event.number)
        if place is None:
            place = of.requests[event.number] = len(of.nodes)
            of.nodes.append(self._ask(at, of, event.number, asked=None))
        ask = of.nodes[place]
        assert isinstance(ask, Ask)
        of.nodes[place] = replace(ask, replied=event)
        self._pass(ask.start, event.seconds)

    def _call(self, at: int, of: _Told, call: ToolCall) -> _Call:
        number, _ = of.made.get(call.id, (0, call))
        use = Use(at=at, agent=of.agent, turn=of.turn, start=self.now, number=number, call=call, ended=None)
        made = of.calls[call.id] = _Call(use=use)
        of.nodes.append(made)
        return made

    def _known(self, at: int, of: _Told, id: str, name: str) -> _Call:
        """The call of this id: the latest that began, unless a later reply has made another one of the same id."""
        number, call = of.made.get(id, (0, ToolCall(id=id, name=name)))
        made = of.calls.get(id)
        if made is None or made.use.number < number:
            return self._call(at, of, call)
        return made

    def _pass(self, start: float, seconds: float) -> None:
        if not math.isnan(end := start + seconds):
            self.now = max(self.now, end)


def read_run(events: Iterable[Event]) -> Run:
    """The graph of a run."""
    events = tuple(events)
    tree = loops(events)
    reader = _Reader()
    for at, event in enumerate(events):
        reader.read(at, event)
    chosen = {event.id: event for event in events if isinstance(event, Delegated)}
    branches = _Branches(tree, {id: told.at for id, told in reader.told.items()})  # noqa: A001
    strands = {
        id: Strand(
            loop=tree.by_id[id],
            at=told.at,
            start=told.start,
            nodes=tuple([branches.use(id, node) if isinstance(node, _Call) else node for node in told.nodes]),
            agents=tuple(told.agents),
            choice=chosen.get(tree.by_id[id].began.delegation or ""),
        )
        for id, told in reader.told.items()  # noqa: A001
    }
    return Run(events=events, loops=tree, strands=strands)


class _Branches:
    """Finds the loops of branches: by the join, else by name among the caller's children that began after the fork."""

    def __init__(self, tree: Loops, began: Mapping[str, int]) -> None:
        self._tree = tree
        self._began = began
        self._taken: set[str] = set()

    def use(self, loop: str, call: _Call) -> Use:
        """The call, with its fork."""
        fork = self._fork(loop, call)
        if fork is not None:
            return replace(call.use, fork=fork)
        return replace(call.use, started=tuple(call.started), inside=tuple(call.inside))

    def _fork(self, loop: str, call: _Call) -> Fork | None:
        told = call.forked or call.joined
        if told is None:
            return None
        joined = {arm.name: arm for arm in call.joined.arms} if call.joined is not None else {}
        asked = _instructions(call.use.call)
        branches = []
        for arm in told.arms:
            ended = joined.get(arm.name)
            id = (ended and ended.loop) or arm.loop or self._named(loop, arm.name, call.forked_at)  # noqa: A001
            child = self._tree.by_id.get(id or "")
            self._taken.add(id or "")
            seconds = math.nan if child is None or child.seconds is None else child.seconds
            branches.append(
                Branch(
                    name=arm.name,
                    agent=arm.agent,
                    loop=None if child is None else child.id,
                    status=_status(None if ended is None else ended.status, child),
                    seconds=seconds,
                    text=(ended.text if ended is not None else "") or _last(child),
                    instructions=asked.get(arm.name) or ("" if child is None else child.began.request),
                )
            )
        mode = call.forked.mode if call.forked is not None else "unknown"
        return Fork(mode=mode, branches=_slowest(branches), joined=call.joined, joined_at=call.joined_at)

    def _named(self, loop: str, name: str, since: int) -> str | None:
        caller = self._tree.by_id.get(loop)
        for child in () if caller is None else caller.children:
            if child.began.branch == name and child.id not in self._taken and self._began.get(child.id, 0) > since:
                return child.id
        return None


def _instructions(call: ToolCall) -> dict[str, str]:
    """The instructions that the call of a fork gives each branch, by name."""
    listed = (call.parsed or {}).get("branches")
    found = {}
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(name := each.get("name"), str):
            said = each.get("instructions")
            found[name] = said if isinstance(said, str) else ""
    return found


def _status(said: str | None, child: Loop | None) -> str:
    if said is not None:
        return said
    if child is None or child.ended is None:
        return "running"
    return "ok" if child.ended.how in ("answered", "asked back") else "error"


def _last(child: Loop | None) -> str:
    return "" if child is None or child.ended is None else child.ended.text


def _slowest(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """The branches, the slowest of several marked, where it is known how long each took."""
    seconds = [branch.seconds for branch in branches]
    if len(branches) < 2 or any(map(math.isnan, seconds)):
        return tuple(branches)
    slowest = seconds.index(max(seconds))
    return tuple([replace(branch, slowest=number == slowest) for number, branch in enumerate(branches)])

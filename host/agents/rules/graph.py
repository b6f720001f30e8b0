"""Who reaches whom in a project: the edges between its agents, by kind, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from host.agents.findings import KeyPath
from host.agents.settings import ForkSettings, ProjectSettings

__all__ = ["COLLEAGUE", "Edge", "branches_of", "colleague", "edges", "reachable"]

COLLEAGUE = "agent:"

Kind = Literal["handoff", "fork", "tasks", "capability"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One agent names another. The other need not exist; `path` is where it is named. An edge of `fork: true` is
    `named` nowhere: its path is that of the fork.
    """

    kind: Kind
    source: str
    target: str
    path: KeyPath
    named: bool = True


def edges(settings: ProjectSettings) -> Iterator[Edge]:
    """All edges, in the order of the file, those to agents that do not exist too."""
    for name, agent in settings.agents.items():
        at: KeyPath = ("agents", name)
        for number, target in enumerate(agent.capabilities):
            other = colleague(target)
            if other is not None:
                yield Edge(kind="capability", source=name, target=other, path=(*at, "capabilities", number))
        for number, target in enumerate(agent.handoffs):
            yield Edge(kind="handoff", source=name, target=target, path=(*at, "handoffs", number))
        if agent.fork is not None and agent.fork.agents is not None:
            for number, target in enumerate(agent.fork.agents):
                yield Edge(kind="fork", source=name, target=target, path=(*at, "fork", "agents", number))
        elif agent.fork is not None:
            for target in settings.agents:
                yield Edge(kind="fork", source=name, target=target, path=(*at, "fork"), named=False)
        if agent.tasks not in (None, "self"):
            assert agent.tasks is not None
            yield Edge(kind="tasks", source=name, target=agent.tasks, path=(*at, "tasks"))


def colleague(capability: str) -> str | None:
    """The agent that a capability's name means; None for a capability that is no agent."""
    return capability.removeprefix(COLLEAGUE) if capability.startswith(COLLEAGUE) else None


def branches_of(fork: ForkSettings | None, agents: Iterable[str]) -> tuple[str, ...]:
    """Whom branches may run as."""
    if fork is None:
        return ()
    return tuple(agents) if fork.agents is None else fork.agents


def reachable(start: str, among: Iterable[Edge], *, by: Callable[[Edge], bool] = lambda _edge: True) -> set[str]:
    """Whom work can get to from an agent, over any number of edges, that agent itself included."""
    ways: dict[str, set[str]] = {}
    for edge in among:
        if by(edge):
            ways.setdefault(edge.source, set()).add(edge.target)
    reached, left = {start}, [start]
    while left:
        new = ways.get(left.pop(), set()) - reached
        reached |= new
        left.extend(new)
    return reached

"""The agents that know each other by name: who can be handed to, who can be a branch, and how deep forks may go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from host.errors import HostError
from host.loop.agent import Agent

__all__ = ["Crew"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Agents by name, for one run. `max_fork_depth` counts forks within forks; at the cap no branch may fork."""

    agents: Mapping[str, Agent] = field(default_factory=lambda: MappingProxyType({}))
    max_fork_depth: int = 2

    @classmethod
    def of(cls, agents: Iterable[Agent], *, max_fork_depth: int = 2) -> Crew:
        """A crew of these agents. Raises HostError for two of one name, or a name that an agent names and none has."""
        known: dict[str, Agent] = {}
        for agent in agents:
            if known.setdefault(agent.name, agent) is not agent:
                raise HostError(f"two agents are called {agent.name!r}")
        for agent in known.values():
            named = (*agent.handoffs, *((agent.forks.agents or ()) if agent.forks is not None else ()))
            for name in named:
                if name not in known:
                    raise HostError(f"the agent {agent.name!r} names {name!r}, and there is no agent of that name")
            if agent.name in agent.handoffs:
                raise HostError(f"the agent {agent.name!r} hands off to itself")
        return cls(agents=known, max_fork_depth=max_fork_depth)

    def with_(self, agent: Agent) -> Crew:
        """The crew, with this agent in it whatever it is called."""
        if self.agents.get(agent.name) is agent:
            return self
        return Crew(agents={**self.agents, agent.name: agent}, max_fork_depth=self.max_fork_depth)

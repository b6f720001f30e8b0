"""An agent as a capability: other agents call it like anything else, by tool and from code, fork or cold."""

from __future__ import annotations

from host.capability import Capability
from host.context import Inherited
from host.errors import NeedsClarification
from host.loop.agent import Agent, NoAnswer
from host.loop.results import rendered
from host.loop.running import run_agent

__all__ = ["Colleague"]


class Colleague(Capability):
    """Another agent, who answers requests."""

    errors = (NeedsClarification, NoAnswer)

    def __init__(self, agent: Agent, *, name: str | None = None) -> None:
        super().__init__(name=name or agent.name)
        self.agent = agent

    async def ask(self, request: str, *, inherited: Inherited) -> str:
        """Hand a request to this agent, and get its answer."""
        ended = await run_agent(self.agent, request, inherited)
        if isinstance(ended.value, NeedsClarification):
            raise ended.value
        return rendered(ended.value)

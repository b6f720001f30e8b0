"""An agent as a capability: other agents call it like anything else, by tool and from code, fork or cold.

What its callers read of it is the agent's own description, so each described agent has a class of its own.
"""

from __future__ import annotations

import types
from typing import Self, cast

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

    def __new__(cls, agent: Agent, *, name: str | None = None) -> Self:
        """An instance of the class that bears the agent's description."""
        kind = _described(cls, agent.description) if agent.description else cls
        return cast("Self", super().__new__(kind, agent, name=name))

    def __init__(self, agent: Agent, *, name: str | None = None) -> None:
        super().__init__(name=name or agent.name)
        self.agent = agent

    async def ask(self, request: str, *, inherited: Inherited) -> str:
        """Hand a request to this agent, and get its answer."""
        ended = await run_agent(self.agent, request, inherited)
        if isinstance(ended.value, NeedsClarification):
            raise ended.value
        return rendered(ended.value)


def _described(cls: type[Colleague], description: str) -> type[Colleague]:
    """The class with this description, on itself and on its tool."""
    own = cls.ask
    ask = types.FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
    ask.__kwdefaults__ = own.__kwdefaults__
    ask.__annotations__ = dict(own.__annotations__)
    ask.__qualname__ = own.__qualname__
    ask.__doc__ = f"{description}\n\n{own.__doc__}"
    return types.new_class(
        cls.__name__,
        (cls,),
        exec_body=lambda namespace: namespace.update(ask=ask, __doc__=description, __module__=cls.__module__),
    )

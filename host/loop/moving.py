"""Hand-off: control of a loop moves to another agent of the crew, and stays there.

Rules:

- Each target is a tool of its own, `transfer_to_<name>`, described by the target's description.
- One reply moves control once; a second transfer in it is refused. The other calls of the reply are still made.
- The target goes on with the whole transcript, as it stands; a filter of the developer's may trim what it is shown. It
  has its own instructions and tools, and nothing of the previous agent's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from host.loop.agent import Agent, ToolError
from host.loop.arguments import checked
from host.loop.crew import Crew
from host.loop.offers import Offer, ready
from host.models.port import ToolSpec

__all__ = ["Move", "transfers"]

_GENERIC: Final = "Hand this conversation over to the agent {name}, who takes it on from here."


class Move:
    """The move that one reply makes, if it makes one: where to, by which call, and why."""

    def __init__(self) -> None:
        self.target: Agent | None = None
        self.call: str | None = None
        self.reason: str | None = None


def transfers(agent: Agent, crew: Crew, move: Move, current_call: Callable[[], str | None]) -> Iterator[Offer]:
    """The tools by which an agent hands off. What they decide is written into `move`."""
    for name in agent.handoffs:
        target = crew.agents[name]
        spec = ToolSpec(
            name=f"transfer_to_{name}",
            description=target.description or _GENERIC.format(name=name),
            parameters={
                "type": "object",
                "properties": {"reason": {"type": "string", "description": "Why, in a sentence."}},
                "required": [],
            },
        )
        yield Offer(spec=spec, call=_transfer(spec, target, move, current_call))


def _transfer(
    spec: ToolSpec, target: Agent, move: Move, current_call: Callable[[], str | None]
) -> Callable[[str], Awaitable[object]]:
    def call(text: str) -> Awaitable[object]:
        given = checked(spec.name, spec.parameters, text)
        if move.target is not None:
            raise ToolError(f"Control has gone to {move.target.name} already. One reply hands over once.")
        reason = given.get("reason")
        move.target, move.call = target, current_call()
        move.reason = None if reason is None else str(reason)
        return ready(f"Control is with {target.name} now.")

    return call

"""How a delegation is told: one event, whoever delegates."""

from __future__ import annotations

from host.capability import Delegation
from host.events import Delegated

__all__ = ["told"]


def told(
    delegation: Delegation,
    *,
    loop: str,
    call: str | None,
    at: float,
    tools: tuple[str, ...] = (),
    instructions: str = "",
) -> Delegated:
    """The event of a delegation that this loop is about to make, with what the one who chose had before it."""
    return Delegated(
        id=delegation.id,
        loop=loop,
        call=call,
        path=delegation.path,
        context=delegation.context,
        chooser=delegation.chooser,
        requested=delegation.requested,
        inherited=delegation.inherited,
        offered=delegation.offered,
        tools=tools,
        instructions=instructions,
        at=at,
    )

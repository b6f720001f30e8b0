"""One conversation of an inherited tree, and what the loop at work in it last sent to its model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from host.conversation import Conversation, Message
from host.models.port import Request

__all__ = ["Layer", "Sent", "backwards"]


def backwards(conversation: Conversation) -> Iterator[Message]:
    """The messages from the newest to the oldest; what is not asked for costs nothing."""
    point: Conversation | None = conversation
    while point is not None and point.last is not None:
        yield point.last
        point = point.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What the loop of a layer last sent to its model: what a child on the same agent and model can share byte for
    byte.

    `request` is without its tail. `call` is the id of the call that starts the child: it stands in the layer's last
    message, and is the one that a replay takes out.
    """

    agent: str
    model: str
    request: Request
    call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One conversation of the tree. `agent` names who was at work in it; None stands for the conversation with the
    person.

    `below` is the id of the message, in a layer above, that this exchange hangs below; None at the root. `sent` is
    there where a loop of ours was at work. `steering` names the tools that steered its running tasks: they stand in no
    rendering. `delegating` names the tools whose results are those of delegations, `loading` those by which the agent
    loads instructions for itself.

    Where a window was cut, `conversation` is what it left: `left_out` counts the messages that are missing, and
    `over_budget` those of them that did not fit into the tokens allowed; `until` is the id of the last message that
    there was.
    """

    conversation: Conversation
    agent: str | None = None
    below: str | None = None
    sent: Sent | None = None
    steering: frozenset[str] = frozenset()
    delegating: frozenset[str] = frozenset()
    loading: frozenset[str] = frozenset()
    left_out: int = 0
    over_budget: int = 0
    until: str | None = None

    @property
    def end(self) -> str | None:
        """The id of the last message when it was cut; None if there was none."""
        return self.until or self.conversation.id

    def passed(self) -> Iterator[Message]:
        """The messages that are passed on, in order: all but the volatile."""
        return (message for message in self.conversation if not message.volatile)

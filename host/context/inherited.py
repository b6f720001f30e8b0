"""What a delegating capability receives of the conversations above it: an immutable tree of layers.

The first layer is the root, as a rule the conversation with the person; each further one is the exchange of an agent
that was started from the layer above, and hangs below the message that started it. Since a fork is cut at the call,
that message is the last one inherited: the tree is a chain of branches. Rules:

- It is cut when it is made. Conversations are values, so what is said later does not arrive here.
- Who forks onward passes on what it inherited, with its own exchange below (`extend`). Who started cold inherited
  nothing: what it passes on begins with itself.
- A layer's conversation holds what was said in that layer alone. An agent's instructions, and with them the section
  that showed it what it inherited, are rendered for each request and are in no conversation; so nothing is passed on
  twice.
- Cold and empty are different. Cold passes nothing on purpose, and leaves no trace. A fork of a conversation that says
  nothing yet is a fork: the child is told, and the record says so.

- A choice of less than everything is applied when it is made: `layers` holds what is passed, and counts what is not.

Making one costs the same for any length of conversation; where a window is cut, it is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

from host.context.choice import COLD, FORK, ContextChoice
from host.context.layer import Layer, Sent
from host.context.window import windowed
from host.conversation import Conversation, Elsewhere, Summary

__all__ = ["Inherited", "Layer", "Passed", "Sent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """The history that comes with a call. It is true where there is something in it to read.

    Make one with `cold`, `of` and `extend`; a capability's method is given one. `layers` is empty where `choice` is
    cold.
    """

    layers: tuple[Layer, ...] = ()
    choice: ContextChoice = COLD

    def __post_init__(self) -> None:
        if self.choice.is_cold and self.layers:
            raise ValueError("a cold start inherits no layers")
        if not self.choice.is_cold and not self.layers:
            raise ValueError("a fork inherits at least one layer, if only an empty one")
        if not self.choice.is_whole:
            object.__setattr__(self, "layers", windowed(self.layers, self.choice))

    @classmethod
    def cold(cls) -> Inherited:
        """Nothing: the child starts from its request alone."""
        return _NOTHING

    @classmethod
    def of(cls, conversation: Conversation, *, agent: str | None = None, choice: ContextChoice = FORK) -> Inherited:
        """One conversation as it stands now: the person's, or that of the agent named."""
        return _NOTHING.extend(conversation, agent=agent, choice=choice)

    def extend(
        self,
        conversation: Conversation,
        *,
        agent: str | None,
        choice: ContextChoice = FORK,
        sent: Sent | None = None,
        steering: frozenset[str] = frozenset(),
        delegating: frozenset[str] = frozenset(),
        loading: frozenset[str] = frozenset(),
    ) -> Inherited:
        """What the receiver passes on when it forks: all that it inherited, and its own exchange below it."""
        if choice.is_cold:
            return _NOTHING
        below = next((layer.end for layer in reversed(self.layers) if layer.end is not None), None)
        layer = Layer(
            conversation=conversation,
            agent=agent,
            below=below,
            sent=sent,
            steering=steering,
            delegating=delegating,
            loading=loading,
        )
        return Inherited(layers=(*self.layers, layer), choice=choice)

    def choose(self, choice: ContextChoice) -> Inherited:
        """As much of this as the choice passes on."""
        return _NOTHING if choice.is_cold or self.is_cold else Inherited(layers=self.layers, choice=choice)

    @property
    def is_cold(self) -> bool:
        """Whether nothing was to be passed. A fork of an empty conversation is not cold, and is not true either."""
        return self.choice.is_cold

    def __bool__(self) -> bool:
        return any(layer.conversation.told for layer in self.layers)

    @property
    def tokens(self) -> int:
        """About how many tokens the messages take."""
        return sum(layer.conversation.tokens for layer in self.layers)

    @property
    def left_out(self) -> int:
        """How many messages a choice left out of it."""
        return sum(layer.left_out for layer in self.layers)

    @property
    def nothing(self) -> str | None:
        """Why a fork has nothing to inherit, as a sentence; None where it has something, or is cold."""
        if self.is_cold or self:
            return None
        messages = [message for layer in self.layers for message in layer.passed()]
        if any(isinstance(part, Elsewhere) for message in messages for part in message.parts):
            return "The parent conversation's history is held by its model provider's server and cannot be read here."
        if any(isinstance(part, Summary) for message in messages for part in message.parts):
            return "The parent conversation's history was compacted into a form that cannot be read here."
        if self.left_out:
            return "Everything in the parent conversation was left out by the choice of how much to pass on."
        if messages:
            return "No message of the parent conversation says anything yet."
        return "The parent conversation has no messages yet."

    def record(self, *, chooser: str = "default", rendering: str = "quoted") -> Passed:
        """What was passed, for the record of the delegation."""
        return Passed(inherited=self, chooser=chooser, rendering="none" if self.is_cold else rendering)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The record of what one child was given: by whose choice, in which rendering, which messages.

    It holds the tree itself, which cannot change, so making it costs nothing; counting and listing happen when asked
    for.
    """

    inherited: Inherited
    chooser: str
    rendering: str

    @property
    def ids(self) -> tuple[tuple[str, ...], ...]:
        """The ids of the messages, layer by layer."""
        return tuple(tuple(message.id for message in layer.passed()) for layer in self.inherited.layers)

    def as_plain(self) -> dict[str, object]:
        """The record as JSON data. `tokens` is an estimate; `nothing` says why a fork inherited nothing.

        Where messages were left out, `left_out` counts them layer by layer, and `over_budget` those that did not fit
        into the tokens that the choice allows.
        """
        ids = self.ids
        plain: dict[str, object] = {
            "choice": str(self.inherited.choice),
            "chooser": self.chooser,
            "rendering": self.rendering,
            "messages": sum(len(layer) for layer in ids),
            "tokens": self.inherited.tokens,
            "nothing": self.inherited.nothing,
            "layers": [
                {"agent": layer.agent, "below": layer.below, "ids": list(passed)}
                for layer, passed in zip(self.inherited.layers, ids, strict=True)
            ],
        }
        if self.inherited.left_out:
            plain["left_out"] = [layer.left_out for layer in self.inherited.layers]
        if over_budget := sum(layer.over_budget for layer in self.inherited.layers):
            plain["over_budget"] = over_budget
        return plain


_NOTHING = Inherited()

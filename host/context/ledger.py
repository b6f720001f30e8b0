"""What a child has been given of its caller's conversation: a ledger kept by the ids of messages, never by position.

A fork is a snapshot; what is said later does not arrive by itself. When a child is steered, it is given what its
caller's tree has and it has not:

- Ids decide. A history that was edited, shortened or compacted since is compared with what the child has, and what is
  new in it is given, in its order; nothing is given twice, in whatever layer it turns up again.
- All layers are looked at, since a caller that is itself a fork may have been given something meanwhile.
- A child that was started cold has nothing, and is never given anything.
- A child that was given a window is given of what is new the same kind of content, and never what was left out before.
- Looking changes nothing. What counts as given is what was delivered: `update` compares, `take` marks. Whoever does
  both without waiting in between cannot lose or repeat anything; an update that was made earlier is compared again by
  `rest`.

Looking costs as much as what is new, since histories share what they have in common; only one that was rewritten is
walked through.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from host.context.choice import FORK, ContextChoice
from host.context.inherited import Inherited
from host.context.layer import Layer
from host.context.stored import text, tree_from_plain, tree_to_plain
from host.context.voice import Told
from host.context.window import filtered
from host.conversation import Conversation, ConversationError, Message
from host.conversation.weight import weigh

__all__ = ["Received", "Update"]

_FORMAT: Final = "branchpoint received 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What is new for a child: messages by the depth of their layer from 0. It is true where there are any.

    `tree` is the caller's as it stood; it says whose the layers are.
    """

    messages: tuple[tuple[int, Message], ...] = ()
    tree: Inherited = field(default_factory=Inherited.cold)

    @property
    def ids(self) -> tuple[tuple[int, str], ...]:
        """The messages by depth and id."""
        return tuple([(depth, message.id) for depth, message in self.messages])

    @property
    def tokens(self) -> int:
        """About how many tokens the messages take."""
        return sum([weigh(message) for _, message in self.messages])

    def __bool__(self) -> bool:
        return bool(self.messages)


class Received:
    """What one child has been given, at its start and since. Make one with `of`, when the child starts."""

    def __init__(self, inherited: Inherited) -> None:
        self._inherited = inherited
        self._choice = inherited.choice
        # Where each layer of the caller's was compared last; all above it is known, if it is there still.
        self._seen: list[Conversation | None] = [layer.conversation for layer in inherited.layers]
        # The ends of windows: what stands at or above them was left out, or given.
        self._ends = {layer.until for layer in inherited.layers if layer.until is not None}
        self._known: set[str] | None = None
        self._told: dict[int, Told] = {}

    @classmethod
    def of(cls, inherited: Inherited) -> Received:
        """The ledger of a child that starts from this."""
        return cls(inherited)

    @property
    def inherited(self) -> Inherited:
        """What the child has, and can pass on: each layer with what was given of it since, in the order of giving."""
        return self._inherited

    def update(self, inherited: Inherited) -> Update:
        """What the caller's tree, as it stands now, has for the child. Nothing for a child that was started cold."""
        if self._inherited.is_cold:
            return Update()
        found: list[tuple[int, Message]] = []
        met: set[str] = set()
        for depth, layer in enumerate(inherited.layers):
            for message in self._new(depth, layer):
                if message.id not in met:
                    met.add(message.id)
                    found.append((depth, message))
        return Update(messages=tuple(found), tree=inherited)

    def told(self, depth: int) -> Told:
        """What the child has of a layer, in numbers. Counted once, and kept from then on."""
        if depth not in self._told:
            layers = self._inherited.layers
            self._told[depth] = Told().pass_over(layers[depth].passed() if depth < len(layers) else ())
        return self._told[depth]

    def rest(self, update: Update) -> Update:
        """What the child has still not been given of an update that was made earlier; nothing for a cold child."""
        if self._inherited.is_cold:
            return Update()
        known = self._ids()
        missing = tuple([each for each in update.messages if each[1].id not in known])
        return update if len(missing) == len(update.messages) else replace(update, messages=missing)

    def take(self, update: Update) -> None:
        """Mark an update as delivered. What the child had already is not marked again."""
        update = self.rest(update)
        if self._inherited.is_cold or update.tree.is_cold:
            return
        new: dict[int, list[Message]] = {}
        for depth, message in update.messages:
            new.setdefault(depth, []).append(message)
        layers = list(self._inherited.layers)
        for depth, theirs in enumerate(update.tree.layers):
            if depth == len(layers):
                layers.append(replace(theirs, conversation=Conversation(), left_out=0, over_budget=0, until=None))
                self._seen.append(None)
            layers[depth] = _grown(layers[depth], theirs, new.get(depth, []))
            self._seen[depth] = theirs.conversation
        for depth, messages in new.items():
            if depth in self._told:
                self._told[depth].pass_over(messages)
        if new:
            self._ids().update([message.id for _, message in update.messages])
            # The layers hold what was given and nothing else: no window is to be cut out of them again.
            choice = self._choice if self._choice.is_whole else FORK
            self._inherited = Inherited(layers=tuple(layers), choice=choice)

    def _new(self, depth: int, layer: Layer) -> Iterator[Message]:
        """The messages of a layer that are new to the child, in order."""
        known = self._ids()
        seen = self._seen[depth] if depth < len(self._seen) else None
        new: list[Message] = []
        point: Conversation | None = layer.conversation
        while point is not None and point.last is not None and point is not seen:
            if point.last.id not in known:
                if not point.last.volatile:
                    new.append(point.last)
            elif not self._choice.is_whole:
                break
            point = point.parent
        new.reverse()
        return filtered(new, self._choice.scope, layer)

    def _ids(self) -> set[str]:
        """The ids of all that the child has, and of where windows end."""
        if self._known is None:
            self._known = {message.id for layer in self._inherited.layers for message in layer.conversation}
            self._known |= self._ends
        return self._known

    def to_plain(self) -> dict[str, object]:
        """The ledger as dicts, lists, strings and bytes that msgpack can pack. Linear in what the child has."""
        return {
            "format": _FORMAT,
            "choice": json.dumps(asdict(self._choice)),
            "ends": json.dumps(sorted(self._ends)),
            **tree_to_plain(self._inherited),
        }

    @classmethod
    def from_plain(cls, plain: object) -> Received:
        """The inverse of `to_plain`. Raises `ConversationError` for anything else."""
        if not isinstance(plain, dict) or plain.get("format") != _FORMAT:
            raise ConversationError(f"stored ledger: expected {_FORMAT!r}")
        received = cls(tree_from_plain(plain))
        try:
            received._choice = ContextChoice(**json.loads(plain["choice"]))
            received._ends = {text(end) for end in json.loads(plain["ends"])}
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ConversationError(f"stored ledger: {error}") from None
        return received


def _grown(layer: Layer, theirs: Layer, new: list[Message]) -> Layer:
    """The child's layer with what is new in the caller's, and with the tools that came into use there meanwhile."""
    steering, delegating = layer.steering | theirs.steering, layer.delegating | theirs.delegating
    loading = layer.loading | theirs.loading
    if not new and (steering, delegating, loading) == (layer.steering, layer.delegating, layer.loading):
        return layer
    conversation = layer.conversation.extend(new)
    until = None if new else layer.until
    return replace(
        layer, conversation=conversation, until=until, steering=steering, delegating=delegating, loading=loading
    )

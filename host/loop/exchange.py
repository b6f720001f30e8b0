"""What a loop has, and what it can pass on: all that it inherited, and an exchange of its own below.

Rules:

- `conversation` holds what was said in this loop alone. Instructions, and the section with what was inherited, are part
  of each request and of no conversation; a continuation stands in the exchange, is marked volatile, and so is shown in
  this loop's requests and passed on by no one: the layers that it continued are passed on instead.
- What was sent is never changed: the messages of a request begin with those of the request before.
- It is plain state. `copy` gives another loop the same, to go on from there by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from host.context import Inherited, Received, Sent, Start, Update, render_update, without_loaded
from host.conversation import Conversation, Message, Text
from host.loop.agent import Trim
from host.models.port import Request

__all__ = ["Exchange"]


class Exchange:
    """The state of one loop's talk with its model. `name` is its agent's; `speaker` is None where the loop is the
    conversation with the person.
    """

    def __init__(
        self, *, name: str, speaker: str | None, system: str, inherited: Inherited, conversation: Conversation
    ) -> None:
        self.system = system
        self._section = ""  # what stands behind the agent's own instructions
        self.received = Received.of(inherited)
        self.conversation = conversation
        self.last: Sent | None = None
        self.below = inherited.layers[-1].conversation.id if inherited.layers else None
        self._name, self._speaker = name, speaker
        self._shown: list[Message] = list(conversation)

    @classmethod
    def restored(
        cls,
        *,
        name: str,
        speaker: str | None,
        instructions: str,
        inherited: Inherited,
        conversation: Conversation,
        last: Sent,
    ) -> Self:
        """An exchange as it stood when its model had replied to `last`: `conversation` ends with that reply."""
        made = cls(name=name, speaker=speaker, system=instructions, inherited=inherited, conversation=conversation)
        made._section = last.request.system.removeprefix(instructions)
        made.system = last.request.system
        made._shown = [*last.request.messages, *conversation.messages[-1:]]
        made.last = last
        return made

    def begin(self, start: Start) -> None:
        """Take over what the loop starts from: the caller's messages, where they are repeated, and its own."""
        self._section = start.system.removeprefix(self.system)
        self.system = start.system
        self._shown = list(start.messages[: start.shared])
        for message in start.own:
            self.append(message)

    def append(self, message: Message) -> None:
        """One more message of its own."""
        self.conversation = self.conversation.append(message)
        self._shown.append(replace(message, volatile=False) if message.volatile else message)

    def hear(self, above: Inherited) -> Update:
        """Take in what is new above, as a continuation of what was inherited; a cold loop never does."""
        update = self.received.update(without_loaded(above, self._name))
        if update:
            text = render_update(update, self.received)
            self.received.take(update)
            self.append(Message(role="system", parts=(Text(text=text),), volatile=True))
        return update

    def become(self, name: str, system: str, trim: Trim | None) -> None:
        """Another agent goes on with it: its instructions, before what was inherited, and the transcript as it stands,
        or as its filter leaves it.
        """
        self._name = name
        self.system = f"{system}{self._section}"
        if trim is not None:
            self._shown = list(trim(tuple(self._shown)))

    @property
    def shown(self) -> tuple[Message, ...]:
        """The messages of the next request."""
        return tuple(self._shown)

    def sent(self, agent: str, model: str, request: Request) -> None:
        """Remember what was sent last."""
        self.last = Sent(agent=agent, model=model, request=replace(request, tail=""))

    def snapshot(
        self,
        call: str | None,
        *,
        steering: frozenset[str],
        delegating: frozenset[str] = frozenset(),
        loading: frozenset[str] = frozenset(),
    ) -> Inherited:
        """What a child that is started by `call` inherits if it forks: all that is known here, as it stands now."""
        inherited = self.received.inherited.extend(
            self.conversation,
            agent=self._speaker,
            sent=None if self.last is None else replace(self.last, call=call),
            steering=steering,
            delegating=delegating,
            loading=loading,
        )
        own = replace(inherited.layers[-1], below=self.below)
        return replace(inherited, layers=(*inherited.layers[:-1], own))

    def copy(self) -> Self:
        """The same state, for another loop."""
        made = object.__new__(type(self))
        made.__dict__ = self.__dict__ | {"_shown": list(self._shown), "received": Received.of(self.received.inherited)}
        return made

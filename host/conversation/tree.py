"""A conversation: an immutable tree of messages, seen from one of its branch points.

- A `Conversation` is a branch point: its last message and the branch point before it. To append is to make one small
  object, to fork is to do nothing: two appends to the same value are two branches, and they share all that lies above.
  Both cost the same for ten messages as for a million.
- What was handed to someone never changes under their hands. Whoever adds a message has a new value; whoever holds the
  old one has a snapshot.
- Messages are found by id, never by position: positions change when history is edited or compacted, ids do not. Finding
  walks up from the end, so asking what is new since a recent message costs as much as what is new.
- Chains are long. Nothing here recurses: not iteration, comparison, copying or pickling. When a chain is dropped, the
  interpreter itself bounds how deep it goes; in CPython 3.13 that takes up to 1 MB of stack, of the 8 MB a thread has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Self

from host.conversation.errors import UnknownMessage
from host.conversation.parts import Message, Part, Role, Shape, Text
from host.conversation.weight import says_something, weigh

__all__ = ["Conversation"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False, weakref_slot=True)
class Conversation:
    """One branch of a tree of messages. `Conversation()` is empty; `last` is the newest message and `parent` what
    came before.

    `length` counts messages; `told` counts those that say something that could be passed on; `tokens` estimates their
    size as text. All three are kept with each branch point, so reading them costs nothing.
    """

    last: Message | None = None
    parent: Conversation | None = None
    length: int = 0
    told: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, *said: str | Message) -> Conversation:
        """A conversation of these messages; a plain string is something the user said."""
        conversation = cls()
        for item in said:
            conversation = conversation.user(item) if isinstance(item, str) else conversation.append(item)
        return conversation

    @classmethod
    def load(cls, path: str | PathLike[str], *, shape: Shape | None = None) -> Conversation:
        """Read a conversation from a file: OpenAI chat or Responses, Anthropic or LangChain, as JSON or JSON Lines.

        `ConversationError` says in one sentence what is wrong with the file; `OSError` that it cannot be read at all.
        """
        from host.conversation.reading import load

        return load(path, shape=shape)

    @classmethod
    def from_json(cls, data: object, *, shape: Shape | None = None, source: str = "the data") -> Conversation:
        """Read a conversation from JSON data that has been parsed already. `source` is its name in error messages."""
        from host.conversation.reading import from_json

        return from_json(data, shape=shape, source=source)

    @classmethod
    def from_plain(cls, plain: object) -> Conversation:
        """The inverse of `to_plain`. What no `to_plain` made is refused with a `ConversationError`."""
        from host.conversation.plain import from_plain

        return from_plain(plain)

    def to_plain(self) -> dict[str, object]:
        """The branch as dicts, lists, strings, bytes and numbers that msgpack can pack. Linear in its length."""
        from host.conversation.plain import to_plain

        return to_plain(self)

    def append(self, message: Message) -> Conversation:
        """The conversation with one more message. This value stays as it is."""
        return Conversation(
            last=message,
            parent=self,
            length=self.length + 1,
            told=self.told + says_something(message),
            tokens=self.tokens + weigh(message),
        )

    def extend(self, messages: Iterable[Message]) -> Conversation:
        """The conversation with more messages."""
        conversation = self
        for message in messages:
            conversation = conversation.append(message)
        return conversation

    def say(self, role: Role, said: str | Iterable[Part], *, name: str | None = None) -> Conversation:
        """The conversation with one more message, of words or of parts."""
        parts = (Text(text=said),) if isinstance(said, str) else tuple(said)
        return self.append(Message(role=role, parts=parts, name=name))

    def user(self, said: str | Iterable[Part], *, name: str | None = None) -> Conversation:
        """The conversation after the user has said this."""
        return self.say("user", said, name=name)

    def assistant(self, said: str | Iterable[Part], *, name: str | None = None) -> Conversation:
        """The conversation after the assistant has said this."""
        return self.say("assistant", said, name=name)

    @property
    def id(self) -> str | None:
        """The id of the branch point: of the last message; None where there is none."""
        return None if self.last is None else self.last.id

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages in order. Built anew each time it is asked for."""
        return tuple(self)

    def find(self, id: str) -> Message:
        """The message with this id. Raises `UnknownMessage`."""
        message = self.branch(at=id).last
        assert message is not None
        return message

    def branch(self, *, at: str) -> Conversation:
        """The branch point just after the message with this id: what is appended to it is another branch.

        Raises `UnknownMessage`.
        """
        for point in self._points():
            if point.last is not None and point.last.id == at:
                return point
        raise UnknownMessage(f"no message {at!r} in this conversation of {self.length} messages")

    def since(self, id: str | None) -> tuple[Message, ...]:
        """The messages after the one with this id, in order; all of them after None. Raises `UnknownMessage`."""
        later: list[Message] = []
        for point in self._points():
            if point.last is None:
                break
            if point.last.id == id:
                return tuple(reversed(later))
            later.append(point.last)
        if id is None:
            return tuple(reversed(later))
        raise UnknownMessage(f"no message {id!r} in this conversation of {self.length} messages")

    def _points(self) -> Iterator[Conversation]:
        point: Conversation | None = self
        while point is not None:
            yield point
            point = point.parent

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Message]:
        upwards = [point.last for point in self._points() if point.last is not None]
        return reversed(upwards)

    def __contains__(self, id: object) -> bool:
        return any(point.last is not None and point.last.id == id for point in self._points())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        if self.length != other.length:
            return False
        for mine, theirs in zip(self._points(), other._points(), strict=True):
            if mine is theirs:
                return True
            if mine.last != theirs.last:
                return False
        return True

    def __hash__(self) -> int:
        return hash((self.id, self.length))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _joined, (self.messages,)

    def __repr__(self) -> str:
        return f"<Conversation of {self.length} messages, at {self.id!r}>"


def _joined(messages: tuple[Message, ...]) -> Conversation:
    return Conversation().extend(messages)

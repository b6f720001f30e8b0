"""A conversation is an immutable tree of messages; a value of it is a branch point."""

import copy
import gc
import pickle
import sys
from collections.abc import Callable

import pytest

from host.conversation import Conversation, ConversationError, Message, Text, ToolCall, UnknownMessage
from tests.counting import steps

MANY = 1_000_000


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation]


def test_appending_leaves_the_old_value_as_it_was() -> None:
    """Whoever holds a conversation holds a snapshot: what is appended makes a new value."""
    before = Conversation.of("one", "two")
    after = before.user("three")
    assert texts(before) == ["one", "two"]
    assert texts(after) == ["one", "two", "three"]


def test_two_appends_to_one_value_are_two_branches_that_share_what_lies_above() -> None:
    """A fork copies nothing: both branches hold the very same branch point."""
    root = Conversation.of("one", "two")
    left, right = root.user("left"), root.user("right")
    assert texts(left)[:2] == texts(right)[:2]
    assert left.parent is root
    assert right.parent is root


def test_appending_does_the_same_work_at_any_length() -> None:
    """To append to ten thousand messages takes the very steps that it takes to append to ten."""
    message = Message(role="user", parts=(Text(text="x"),))
    short, long = (Conversation().extend([message] * length) for length in (10, 10_000))
    assert 0 < steps(lambda: short.append(message)) == steps(lambda: long.append(message)) < 100


def test_the_branch_point_is_the_last_message() -> None:
    """The id of a conversation is the id of its newest message, and an empty one has none."""
    message = Message(role="user", parts=(Text(text="x"),))
    assert Conversation().id is None
    assert Conversation().append(message).id == message.id
    assert Conversation().append(message).last is message


def test_a_branch_is_cut_at_a_message_by_its_id() -> None:
    """`branch(at=...)` gives the conversation as it stood just after that message, without copying it."""
    message = Message(role="user", parts=(Text(text="one"),), id="first")
    first = Conversation.of(message)
    whole = first.user("two").assistant("three")
    assert whole.branch(at="first") is first
    assert texts(whole.branch(at="first").user("other")) == ["one", "other"]


def test_messages_are_found_by_id_and_what_is_new_since_one_is_listed_in_order() -> None:
    """`find`, `since` and `in` go by id; since None is everything."""
    one = Conversation.of(Message(role="user", parts=(Text(text="one"),), id="first"))
    whole = one.user("two").user("three")
    assert whole.find("first").text == "one"
    assert [message.text for message in whole.since(one.id)] == ["two", "three"]
    assert [message.text for message in whole.since(None)] == ["one", "two", "three"]
    assert whole.since(whole.id) == ()
    assert one.id in whole
    assert "nowhere" not in whole


@pytest.mark.parametrize("ask", [lambda c: c.find("m"), lambda c: c.branch(at="m"), lambda c: c.since("m")])
def test_an_unknown_id_is_an_error_that_names_it(ask: Callable[[Conversation], object]) -> None:
    """A message of another branch is not found, and the error is both ours and a LookupError."""
    with pytest.raises(UnknownMessage, match="no message 'm' in this conversation of 1 messages") as caught:
        ask(Conversation.of("x"))
    assert isinstance(caught.value, ConversationError)
    assert isinstance(caught.value, LookupError)


def test_looking_for_what_is_new_walks_only_over_what_is_new() -> None:
    """Asking what came since a recent message costs as much as what came, however long the history before it is."""

    class Watched(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other: object) -> bool:
            Watched.compared += 1
            return str(self) == str(other)

        __hash__ = str.__hash__

    recent = Conversation().extend(Message(role="user") for _ in range(10_000))
    now = recent.user("one").user("two")
    assert len(now.since(Watched(recent.id))) == 2
    assert Watched.compared == 3


def test_a_million_messages_are_read_compared_copied_and_freed() -> None:
    """No depth of the tree meets the interpreter's recursion limit, not even when the last reference goes."""
    message = Message(role="user", parts=(Text(text="x"),))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        conversation = Conversation().extend(message for _ in range(MANY))
        assert len(conversation) == MANY
        assert sum(1 for _ in conversation) == MANY
        other = Conversation().extend(message for _ in range(1000))
        assert conversation != other
        assert conversation.parent is not None
        assert conversation == conversation.parent.append(message)
        assert copy.deepcopy(conversation) is conversation
        repr(conversation)
        hash(conversation)
        del conversation, other
        gc.collect()
    finally:
        sys.setrecursionlimit(limit)


def test_long_conversations_survive_pickling() -> None:
    """Pickling writes the messages as a list; the chain is built anew."""
    conversation = Conversation().extend(Message(role="user", id=str(number)) for number in range(50_000))
    assert pickle.loads(pickle.dumps(conversation)) == conversation


def test_conversations_are_equal_if_their_messages_are() -> None:
    """Equality is by messages in order, ids included; equal conversations have equal hashes."""
    messages = [Message(role="user", id=str(number)) for number in range(3)]
    one, two = Conversation().extend(messages), Conversation.of(*messages)
    assert one == two
    assert hash(one) == hash(two)
    assert one != two.parent
    assert one != Conversation.of("x", "y", "z")
    assert one != "x"


def test_nothing_of_a_conversation_or_message_can_be_changed() -> None:
    """Conversations, messages and parts are frozen."""
    conversation = Conversation.of("x")
    for thing, name in (
        (conversation, "last"),
        (conversation.last, "role"),
        (conversation.messages[0].parts[0], "text"),
    ):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)


def test_messages_are_made_from_words_or_parts() -> None:
    """The builders take a string or parts, and an author's name."""
    call = ToolCall(id="c", name="look", arguments="{}")
    conversation = (
        Conversation.of("hello").assistant([Text(text="a"), call, Text(text="b")], name="planner").say("tool", "x")
    )
    assert [message.role for message in conversation] == ["user", "assistant", "tool"]
    assert conversation.messages[1].calls == (call,)
    assert conversation.messages[1].text == "a\nb"
    assert conversation.messages[1].name == "planner"


def test_every_new_message_has_an_id_of_its_own() -> None:
    """Equal messages are still two messages."""
    assert len({Message(role="user").id for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ('{"a": ', None),
        ("[1]", None),
        ("{'a': 1}", None),
        ("[" * 100_000, None),
        ("9" * 5000, None),
    ],
)
def test_arguments_are_kept_as_written_and_read_if_they_can_be(arguments: str, parsed: object) -> None:
    """Arguments that are no JSON object parse to None; nothing at all means no arguments."""
    call = ToolCall(id="c", name="look", arguments=arguments)
    assert call.arguments == arguments
    assert call.parsed == parsed

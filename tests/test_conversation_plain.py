"""A conversation can be written as plain data, packed, moved and read again; damaged data is refused."""

import contextlib
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.conversation import (
    Conversation,
    ConversationError,
    Elsewhere,
    Media,
    Message,
    Opaque,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

DATA = Path(__file__).parent / "data"

EVERYTHING = Message(
    id="m\ud800",
    role="assistant",
    name="ü",
    shape="anthropic",
    volatile=True,
    original=b'{"role":"assistant"}',
    parts=(
        Text(text="half \udcff of a pair, NUL \0, \u2028"),
        Media(kind="image", media_type="image/png", size=5, source="file:1", name="a.png"),
        Media(kind="audio"),
        ToolCall(id="c", name="f", arguments='{"a": '),
        ToolResult(call="c", parts=(Text(text="r"), Media(kind="file")), is_error=True, name="f"),
        Thinking(text="hm", signature="s", redacted="r"),
        Refusal(text="no"),
        Summary(text=None),
        Summary(text="so far"),
        Elsewhere(reference="resp_1"),
        Opaque(type="x", json="{}"),
    ),
)


def moved(conversation: Conversation) -> Conversation:
    return Conversation.from_plain(msgpack.unpackb(msgpack.packb(conversation.to_plain())))


def test_every_kind_of_part_survives_packing() -> None:
    """Half surrogates, NUL, missing values and nested results arrive as they were, ids included."""
    conversation = Conversation.of(EVERYTHING, Message(role="user"))
    assert moved(conversation) == conversation


@pytest.mark.parametrize("file", sorted(DATA.glob("thread_*")), ids=lambda file: file.name)
def test_saved_histories_survive_packing(file: Path) -> None:
    """What was read from a file can be stored with a session, with the providers' own items."""
    conversation = Conversation.load(file)
    assert moved(conversation) == conversation


def test_an_empty_conversation_survives_packing() -> None:
    """No messages are a conversation too."""
    assert moved(Conversation()) == Conversation()


def test_long_conversations_are_packed_without_recursion() -> None:
    """A hundred thousand messages are a list, not a chain, while they travel."""
    conversation = Conversation().extend(Message(role="user", id=str(number)) for number in range(100_000))
    assert moved(conversation) == conversation


def damaged(change: Callable[[Any], object]) -> object:
    plain: Any = copy.deepcopy(Conversation.of(EVERYTHING).to_plain())
    change(plain)
    return plain


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda plain: plain.clear(), "expected 'branchpoint conversation 1'"),
        (lambda plain: plain.update(format="branchpoint conversation 2"), "expected 'branchpoint conversation 1'"),
        (lambda plain: plain.update(messages=None), "expected a list of messages"),
        (lambda plain: plain.update(messages=[None]), "message 1: expected seven fields"),
        (lambda plain: plain["messages"][0].pop(), "message 1: expected seven fields"),
        (lambda plain: plain["messages"][0].__setitem__(0, 5), "message 1: id should be text"),
        (lambda plain: plain["messages"][0].__setitem__(1, None), "message 1: role should be text"),
        (lambda plain: plain["messages"][0].__setitem__(3, "gpt"), "message 1: unknown shape 'gpt'"),
        (lambda plain: plain["messages"][0].__setitem__(4, 1), "message 1: volatile should be true or false"),
        (lambda plain: plain["messages"][0].__setitem__(5, "x"), "message 1: the original item should be bytes"),
        (lambda plain: plain["messages"][0].__setitem__(6, "x"), "message 1: expected a list of parts"),
        (lambda plain: plain["messages"][0][6].append(["brand new"]), "message 1: expected a part of a known kind"),
        (lambda plain: plain["messages"][0][6].append([["text"], "x"]), "message 1: expected a part of a known kind"),
        (lambda plain: plain["messages"][0][6].append(["text"]), "message 1: a part 'text' has 1 fields, found 0"),
        (lambda plain: plain["messages"][0][6].append(["text", b"\xff"]), "message 1: text is not UTF-8"),
        (lambda plain: plain["messages"][0][6][1].__setitem__(1, "smell"), "message 1: kind should be one of image"),
        (lambda plain: plain["messages"][0][6][1].__setitem__(3, -1), "message 1: size should be a number of bytes"),
        (lambda plain: plain["messages"][0][6][4].__setitem__(2, [["text", 1]]), "message 1: text should be text"),
    ],
)
def test_damaged_data_is_refused_with_its_place(change: Callable[[Any], object], sentence: str) -> None:
    """One defect each: the error says which message and what is wrong with it."""
    with pytest.raises(ConversationError) as caught:
        Conversation.from_plain(damaged(change))
    assert str(caught.value).startswith(f"stored conversation: {sentence}")


def test_results_nested_beyond_reason_are_refused_both_ways() -> None:
    """Nothing that is written could not be read, and what nests without end is not followed."""
    result = ToolResult(call="c")
    nested: list[object] = ["result", "c", [], False, None]
    for _ in range(100):
        result = ToolResult(call="c", parts=(result,))
        nested = ["result", "c", [nested], False, None]
    with pytest.raises(ConversationError, match="nested"):
        Conversation.of(Message(role="tool", parts=(result,))).to_plain()
    with pytest.raises(ConversationError, match="expected a list of parts"):
        Conversation.from_plain(damaged(lambda plain: plain["messages"][0].__setitem__(6, [nested])))


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.floats(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=12,
)


@given(value=PLAIN, place=st.integers(0, 6), part=st.integers(0, 10))
@settings(max_examples=150, deadline=None)
def test_no_data_whatever_raises_anything_but_a_conversation_error(value: object, place: int, part: int) -> None:
    """Any value in any place is read or refused."""
    for change in (
        lambda plain: plain.update(format=value),
        lambda plain: plain.update(messages=value),
        lambda plain: plain["messages"][0].__setitem__(place, value),
        lambda plain: plain["messages"][0][6].__setitem__(part, value),
    ):
        with contextlib.suppress(ConversationError):
            Conversation.from_plain(damaged(change))
    with contextlib.suppress(ConversationError):
        Conversation.from_plain(value)

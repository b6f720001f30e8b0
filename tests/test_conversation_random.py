"""Whatever JSON a file holds, it is read as a conversation or refused with a ConversationError; and what was read can be passed on."""

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.context import Inherited, read_section, render
from host.conversation import SHAPES, Conversation, ConversationError, Shape

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("thread_*.json"))

TEXT = st.text(st.characters(codec=None, categories=None), max_size=12)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
KEYS = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "input",
        "output",
        "messages",
        "system",
        "instructions",
        "data",
        "kwargs",
        "lc",
        "source",
        "url",
        "file",
        "image_url",
        "audio",
        "refusal",
        "summary",
        "status",
        "is_error",
        "tool_use_id",
        "call_id",
        "args",
        "additional_kwargs",
        "choices",
        "message",
        "request",
        "response",
        "values",
        "previous_response_id",
        "conversation",
        "encrypted_content",
        "format",
        "transcript",
        "function_call",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "developer",
        "tool",
        "function",
        "human",
        "ai",
        "chat",
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "item_reference",
        "compaction",
        "text",
        "image",
        "document",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "input_text",
        "file",
        "constructor",
        "web_search_tool_result",
        "input_audio",
        "video",
        "refusal",
        "custom_tool_call",
        "AIMessage",
        "invalid_tool_call",
    ]
)
JSON = st.recursive(
    SCALAR | WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
ITEM = st.dictionaries(KEYS, JSON, max_size=4).flatmap(
    lambda item: st.builds(
        lambda role, extra: {**item, **extra, **role},
        st.fixed_dictionaries({"role": WORDS}) | st.fixed_dictionaries({"type": WORDS}),
        st.fixed_dictionaries({}, optional={"content": JSON}),
    )
)


type Place = tuple[Any, ...]


def check(read: Callable[[], Conversation]) -> None:
    """Read; if that is refused, it is with one line; if not, the conversation can be passed on, and stored, whole."""
    refusal = ""
    try:
        conversation = read()
    except ConversationError as error:
        refusal, conversation = str(error), Conversation()
    assert "\n" not in refusal
    assert read_section(render(Inherited.of(conversation))) is not None
    assert Conversation.from_plain(msgpack.unpackb(msgpack.packb(conversation.to_plain()))) == conversation
    ids = [message.id for message in conversation]
    assert len(set(ids)) == len(ids)
    for message in conversation:
        assert message.original is not None
        assert isinstance(json.loads(message.original), dict)


@given(data=JSON, shape=st.none() | st.sampled_from(SHAPES))
@settings(max_examples=200, deadline=None)
def test_any_json_is_a_conversation_or_a_conversation_error(data: object, shape: Shape | None) -> None:
    """JSON made of the words that providers use, in any arrangement."""
    check(lambda: Conversation.from_json(data, shape=shape))


@given(items=st.lists(ITEM, max_size=6))
@settings(max_examples=250, deadline=None)
def test_any_items_are_read(items: list[dict[str, object]]) -> None:
    """An item with a role or a type is never refused, whatever else is in it or not."""
    if not any("messages" in item for item in items):
        assert len(Conversation.from_json(items)) == len(items)
    check(lambda: Conversation.from_json(items))


def places(value: object, path: Place = ()) -> Iterator[Place]:
    yield path
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
@given(choice=st.data())
@settings(max_examples=120, deadline=None)
def test_a_history_with_anything_changed_in_it_is_read_or_refused(file: Path, choice: st.DataObject) -> None:
    """One or more places of a real history are replaced by other JSON, dropped, or doubled."""
    data: Any = json.loads(file.read_text())
    for _ in range(choice.draw(st.integers(1, 3))):
        path = choice.draw(st.sampled_from(list(places(data))))
        if not path:
            continue
        holder = data
        for key in path[:-1]:
            holder = holder[key]
        match choice.draw(st.sampled_from(["replace", "drop", "double"])):
            case "replace":
                holder[path[-1]] = choice.draw(JSON)
            case "drop":
                del holder[path[-1]]
            case "double" if isinstance(holder, list):
                holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
    check(lambda: Conversation.from_json(data))


@pytest.mark.parametrize("file", sorted(DATA.glob("thread_*")), ids=lambda file: file.name)
@given(choice=st.data())
@settings(max_examples=60, deadline=None)
def test_a_file_with_any_bytes_changed_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, file: Path, choice: st.DataObject
) -> None:
    """Cut off, overwritten, or with bytes put in between."""
    content = file.read_bytes()
    start, end = sorted(choice.draw(st.tuples(st.integers(0, len(content)), st.integers(0, len(content)))))
    damaged = (
        content[:start] + choice.draw(st.binary(max_size=8)) + content[choice.draw(st.sampled_from([start, end])) :]
    )
    changed = tmp_path_factory.getbasetemp() / f"changed_{file.name}"
    changed.write_bytes(damaged)
    check(lambda: Conversation.load(changed))


@given(content=st.binary(max_size=40))
@settings(max_examples=150, deadline=None)
def test_a_file_of_any_bytes_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Most bytes are no conversation."""
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_bytes(content)
    with contextlib.suppress(ConversationError):
        Conversation.load(file)

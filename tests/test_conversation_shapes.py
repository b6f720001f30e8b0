"""Saved histories of four providers are recognised by themselves and read into the same parts."""

import json
from pathlib import Path

import pytest

from host.conversation import (
    Conversation,
    Media,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

DATA = Path(__file__).parent / "data"
FILES = {
    "thread_openai_chat.json": "openai-chat",
    "thread_lines.jsonl": "openai-chat",
    "thread_openai_responses.json": "openai-responses",
    "thread_anthropic.json": "anthropic",
    "thread_langchain_plain.json": "langchain",
    "thread_langchain_dicts.json": "langchain",
    "thread_langchain_constructors.json": "langchain",
}


def words(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation if message.text]


def parts[P: Part](conversation: Conversation, kind: type[P]) -> list[P]:
    found: list[P] = []
    for message in conversation:
        for part in message.parts:
            inner = part.parts if isinstance(part, ToolResult) else ()
            found += [each for each in (part, *inner) if isinstance(each, kind)]
    return found


@pytest.mark.parametrize(("name", "shape"), FILES.items())
def test_the_shape_of_a_file_is_recognised(name: str, shape: str) -> None:
    """No flag says whose form a file has; each message knows it afterwards."""
    assert {message.shape for message in Conversation.load(DATA / name)} == {shape}


@pytest.mark.parametrize("name", FILES)
def test_every_item_is_kept_as_it_was_received(name: str) -> None:
    """The provider's own item stays beside the parts, so that it can be sent again: nothing in it is lost or reordered."""
    data = [json.loads(line) for line in (DATA / name).read_text().splitlines()] if name.endswith("l") else None
    data = data or json.loads((DATA / name).read_text())
    items = data if isinstance(data, list) else data.get("messages") or [*data["input"], *data["output"]]
    kept = [(message.original or b"").decode() for message in Conversation.load(DATA / name)]
    assert kept[-len(items) :] == [json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items]


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_the_same_ids_each_time_and_each_of_them_once(name: str) -> None:
    """Ids are stable over readings, so records of different runs can be compared."""
    ids = [message.id for message in Conversation.load(DATA / name)]
    assert ids == [message.id for message in Conversation.load(DATA / name)]
    assert len(set(ids)) == len(ids)


def test_ids_survive_when_a_history_grows_and_when_others_of_its_messages_are_removed() -> None:
    """An id comes from the message and not from its position; equal messages are told apart by their order."""
    messages = [{"role": "user", "content": text} for text in ("a", "b", "ok", "c", "ok")]
    ids = [message.id for message in Conversation.from_json(messages)]
    assert len(set(ids)) == 5
    assert [m.id for m in Conversation.from_json([*messages, {"role": "user", "content": "d"}])][:5] == ids
    assert [m.id for m in Conversation.from_json(messages[1:])] == ids[1:]


def test_a_providers_own_id_is_kept_unless_it_is_used_again() -> None:
    """LangChain and Responses name their messages; the second of a name gets another."""
    items = [{"type": "human", "content": str(number), "id": "same"} for number in range(3)]
    ids = [message.id for message in Conversation.from_json(items)]
    assert ids[0] == "same"
    assert len(set(ids)) == 3


def test_openai_chat_is_read() -> None:
    """Developer and tool roles, author names, content as null, text and parts, calls with JSON text, images by data URL."""
    conversation = Conversation.load(DATA / "thread_openai_chat.json")
    roles = [message.role for message in conversation]
    assert roles == ["developer", "user", "assistant", "tool", "tool", "assistant", "user"]
    assert conversation.messages[1].name == "Maren"
    assert parts(conversation, ToolCall) == [
        ToolCall(id="call_h1", name="find_hall", arguments='{"date": "2025-06-14"}'),
        ToolCall(id="call_h2", name="find_hall", arguments='{"date": "2025-06-15"}'),
    ]
    assert [result.call for result in parts(conversation, ToolResult)] == ["call_h2", "call_h1"]
    (image,) = parts(conversation, Media)
    assert (image.kind, image.media_type, image.size) == ("image", "image/png", 70)
    assert (image.source or "").startswith("data:image/png;base64,iVBOR")


def test_openai_responses_is_read_with_its_response() -> None:
    """Instructions, input items and output items are one history; calls and results are items of their own."""
    conversation = Conversation.load(DATA / "thread_openai_responses.json")
    assert words(conversation) == [
        ("system", "You plan concerts for the Lindenhof choir."),
        ("user", "Is the old town hall free on 14 June?"),
        ("assistant", "It is free until ten; it seats 220."),
    ]
    assert parts(conversation, Thinking) == [Thinking(text="Look the date up.", signature="gAAAAABo")]
    assert parts(conversation, ToolCall) == [
        ToolCall(id="call_h1", name="find_hall", arguments='{"date":"2025-06-14"}')
    ]
    (result,) = parts(conversation, ToolResult)
    assert result.call == "call_h1"
    assert [type(part) for part in result.parts] == [Text, Media]
    assert Media(kind="file", name="statutes.pdf", source="file:file-9a") in parts(conversation, Media)
    (search,) = parts(conversation, Opaque)
    assert (search.type, json.loads(search.json)["action"]["query"]) == ("web_search_call", "old town hall seats")


def test_anthropic_is_read_with_its_system_prompt() -> None:
    """The system prompt that stands apart comes first; thinking keeps its signature; results and words of one message both stay."""
    conversation = Conversation.load(DATA / "thread_anthropic.json")
    assert conversation.messages[0].role == "system"
    assert conversation.messages[0].text == "You plan concerts for the Lindenhof choir."
    assert parts(conversation, Thinking) == [
        Thinking(text="The date needs looking up.", signature="EqQBCkYIBhgC"),
        Thinking(redacted="EmwKAhgB"),
    ]
    assert [(call.id, call.parsed) for call in parts(conversation, ToolCall)] == [
        ("toolu_1", {"date": "2025-06-14"}),
        ("toolu_2", {}),
        ("srvtoolu_1", {"query": "old town hall seats"}),
    ]
    assert [(result.call, result.is_error) for result in parts(conversation, ToolResult)] == [
        ("toolu_2", True),
        ("toolu_1", False),
        ("srvtoolu_1", False),
    ]
    assert conversation.messages[3].text == "And how many seats?"
    document, image = parts(conversation, Media)
    assert (document.kind, document.media_type, document.size, document.name) == (
        "document",
        "application/pdf",
        18,
        "programme",
    )
    assert (image.kind, image.size) == ("image", 70)


@pytest.mark.parametrize("name", [name for name in FILES if "langchain" in name])
def test_langchains_three_forms_say_the_same(name: str) -> None:
    """Plain dumps, type and data, and serialised constructors are one history; a call that stands in two places counts once."""
    conversation = Conversation.load(DATA / name)
    assert [message.role for message in conversation] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert conversation.messages[1].name == "Maren"
    assert parts(conversation, ToolCall) == [
        ToolCall(id="toolu_1", name="find_hall", arguments='{"date":"2025-06-14"}'),
        ToolCall(id="toolu_2", name="find_hall", arguments='{"date": "2025-'),
    ]
    assert [(r.call, r.is_error, r.name) for r in parts(conversation, ToolResult)] == [
        ("toolu_1", False, "find_hall"),
        ("toolu_2", True, "find_hall"),
    ]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"role": "user", "content": {"type": "text", "text": "x"}}, Text(text="x")),
        ({"role": "user", "content": ["x"]}, Text(text="x")),
        ({"type": "chat", "role": "critic", "content": "x"}, Text(text="x")),
        ({"type": "ChatMessageChunk", "content": "x"}, Text(text="x")),
        (
            {"lc": 1, "type": "not_implemented", "id": ["a", "B"], "repr": "B()"},
            Opaque(type="not_implemented", json='{"lc":1,"type":"not_implemented","id":["a","B"],"repr":"B()"}'),
        ),
        ({"role": "assistant", "content": None, "refusal": "no"}, Refusal(text="no")),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, Refusal(text="no")),
        ({"role": "assistant", "reasoning_content": "hm", "content": ""}, Thinking(text="hm")),
        ({"role": "assistant", "content": [{"type": "compaction", "content": "so far"}]}, Summary(text="so far")),
        ({"type": "compaction", "encrypted_content": "gAAA"}, Summary(text=None)),
        ({"role": "function", "name": "f", "content": "r"}, ToolResult(call="", parts=(Text(text="r"),), name="f")),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            ToolCall(id="", name="f", arguments="{}"),
        ),
        (
            {"role": "user", "content": [{"type": "brand_new", "a": 1}]},
            Opaque(type="brand_new", json='{"type":"brand_new","a":1}'),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"},
            ToolCall(id="c", name="sh", arguments="ls"),
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
            Media(kind="audio", media_type="audio/wav", size=3, source="data:audio/wav;base64,AAAA"),
        ),
        (
            {"role": "user", "content": [{"type": "image", "source_type": "url", "url": "https://example.org/a.png"}]},
            Media(kind="image", source="https://example.org/a.png"),
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}}
                ],
            },
            Media(
                kind="file",
                media_type="application/pdf",
                size=1,
                source="data:application/pdf;base64,AA==",
                name="a.pdf",
            ),
        ),
        ({"role": "user", "content": [{"type": "image_url"}]}, Opaque(type="image_url", json='{"type":"image_url"}')),
    ],
)
def test_single_forms_are_read(item: dict[str, object], expected: object) -> None:
    """Each provider's way to say a thing becomes the part for that thing."""
    (message,) = Conversation.from_json([item])
    assert message.parts == (expected,)


def test_a_document_given_as_text_is_kept_as_text() -> None:
    """Anthropic's documents may be text or blocks: their words are words."""
    plain = {
        "type": "document",
        "title": "notes",
        "source": {"type": "text", "media_type": "text/plain", "data": "hear, hear"},
    }
    blocks = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "and more"}]}}
    (message,) = Conversation.from_json([{"role": "user", "content": [plain, blocks]}])
    assert message.text == "hear, hear\nand more"
    assert message.parts[0] == Media(kind="document", media_type="text/plain", size=10, name="notes")


def test_mixed_histories_are_read_item_by_item() -> None:
    """Anthropic's blocks among OpenAI's messages keep their own shape; what could be anyone's takes that of most."""
    conversation = Conversation.from_json(
        [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
            {"role": "tool", "tool_call_id": "b", "content": "y"},
        ]
    )
    assert [message.shape for message in conversation] == ["anthropic", "anthropic", "anthropic", "openai-chat"]


def test_the_shape_can_be_said() -> None:
    """A history that could be anyone's is taken for what the caller says."""
    data = [{"role": "user", "content": "hello"}]
    assert [message.shape for message in Conversation.from_json(data)] == ["openai-chat"]
    assert [message.shape for message in Conversation.from_json({"input": data})] == ["openai-responses"]
    assert [message.shape for message in Conversation.from_json({"system": "x", "messages": data})] == ["anthropic"] * 2
    assert [message.shape for message in Conversation.from_json(data, shape="anthropic")] == ["anthropic"]

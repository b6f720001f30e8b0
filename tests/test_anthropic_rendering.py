"""What Claude models are sent: valid by the rules of their API, and such that a longer history keeps its prefix."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from host.conversation import (
    Elsewhere,
    Media,
    Message,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from host.models.anthropic.blocks import AS_WRITTEN
from host.models.anthropic.rendering import FROM_SYSTEM, GO_ON, SYSTEM_FOLLOWS, Options, rendered
from host.models.port import Request, ToolSpec
from tests.anthropic_rules import refusal_of

MODEL = "claude-x"
OPTIONS = Options(asked_as=MODEL, max_tokens=4096)
FOLDED = Options(asked_as=MODEL, max_tokens=4096, system_messages=False)
BUDGET = Options(asked_as=MODEL, max_tokens=4096, thinking=2048)
TOOLS = (
    ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}}),
    ToolSpec(name="find", description="", parameters={}),
)
PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0="

type Json = dict[str, Any]


def says(role: str, *parts: Part | str, **fields: Any) -> Message:
    made = tuple([Text(text=part) if isinstance(part, str) else part for part in parts])
    return Message(role=role, parts=made, **fields)


def own(*parts: Part | str, model: str = MODEL) -> Message:
    """A message that the model itself wrote."""
    return says("assistant", *parts, shape="anthropic", original=json.dumps({"model": model}).encode())


def call(id: str, name: str = "look", arguments: str = "{}") -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def result(id: str, *parts: Part | str, is_error: bool = False) -> Message:
    made = tuple([Text(text=part) if isinstance(part, str) else part for part in parts])
    return Message(role="tool", parts=(ToolResult(call=id, parts=made, is_error=is_error),))


def body(
    *messages: Message, options: Options = OPTIONS, tail: str = "", system: str = "Be kind.", tools: Any = TOOLS
) -> Json:
    """The body for a history, which the API must accept."""
    made = rendered(Request(system=system, messages=messages, tools=tools, tail=tail), options)
    assert refusal_of(made) is None
    assert refusal_of(json.loads(json.dumps(made))) is None
    return made


def shown(made: Json) -> list[tuple[str, list[str]]]:
    """The messages, each block as its words or its type."""
    return [
        (each["role"], [block.get("text", block["type"]) for block in each["content"]]) for each in made["messages"]
    ]


def bare(value: Any) -> Any:
    """Without the marks."""
    if isinstance(value, list):
        return [bare(each) for each in value]
    if isinstance(value, dict):
        return {key: bare(each) for key, each in value.items() if key != "cache_control"}
    return value


def marked(made: Json) -> list[tuple[str, int]]:
    """Where the marks are: of tools, system or the messages, and the number of the block there."""
    places = [("tools", made.get("tools", [])), ("system", made.get("system", []))]
    places.append(("messages", [block for message in made["messages"] for block in message["content"]]))
    return [(name, at) for name, blocks in places for at, block in enumerate(blocks) if "cache_control" in block]


GO = says("user", "go")


def test_r37_tools_and_system_come_first_and_are_marked_at_their_ends() -> None:
    """The fixed part of a request has its own marks, so that it is read from the cache whatever follows."""
    made = body(GO)
    assert made["tools"][0] == {
        "name": "look",
        "description": "Look.",
        "input_schema": {"type": "object", "properties": {}},
    }
    assert made["tools"][1]["input_schema"] == {"type": "object"}
    assert made["system"] == [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    assert marked(made) == [("tools", 1), ("system", 0), ("messages", 0)]


def test_r37_the_tail_stands_behind_the_last_mark_in_a_block_of_its_own() -> None:
    """Also behind results, behind a system message, and behind the assistant, where it is the user's message."""
    for history, before in (
        ((GO,), ("user", ["go"])),
        ((GO, own(call("a")), result("a", "seen")), ("user", ["tool_result"])),
        ((GO, says("system", "Hurry.")), ("system", ["Hurry."])),
        ((GO, own("Done.")), ("user", [])),
    ):
        made = body(*history, tail="2 tasks are running")
        role, words = before
        assert shown(made)[-1] == (role, [*words, "2 tasks are running"])
        assert "cache_control" not in made["messages"][-1]["content"][-1]
        *_, (_, last) = marked(made)
        assert last == sum(len(each["content"]) for each in made["messages"]) - 2


def test_r37_the_place_where_the_request_before_ended_is_marked_too() -> None:
    """The API looks back only some twenty blocks from a mark, and one reply may make thirty calls."""
    calls = [call(f"c{number}") for number in range(30)]
    results = Message(role="tool", parts=tuple([ToolResult(call=each.id, parts=(Text(text="x"),)) for each in calls]))
    before = body(GO)
    after = body(GO, own(*calls), results)
    assert marked(before)[-1] == ("messages", 0)
    assert marked(after)[-2:] == [("messages", 0), ("messages", 60)]


def test_without_a_cache_there_are_no_marks_and_an_hour_is_said() -> None:
    """Marks cost money where nothing is read again, and an hour is another price."""
    assert marked(body(GO, options=Options(asked_as=MODEL, max_tokens=1, cache=None))) == []
    hour = body(GO, options=Options(asked_as=MODEL, max_tokens=1, cache="1h"))
    assert hour["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_the_same_request_is_the_same_bytes() -> None:
    """The rendering depends on nothing but the request, not even on ids of messages."""
    first, second = ([GO, says("assistant", "Hi.", call("a b")), result("a b", "x")] for _ in range(2))
    again = [says(message.role, *message.parts) for message in second]
    assert json.dumps(body(*first)) == json.dumps(body(*again))


def test_results_stand_first_in_the_message_that_follows_their_calls() -> None:
    """And what the user then says comes behind them, in the same message."""
    made = body(GO, own("I look.", call("a"), call("b")), result("b", "B"), result("a", "A"), says("user", "and?"))
    assert shown(made)[1:] == [
        ("assistant", ["I look.", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result", "and?"]),
    ]
    assert [block["tool_use_id"] for block in made["messages"][2]["content"][:2]] == ["a", "b"]


def test_neighbours_of_one_role_become_one_message() -> None:
    """What was said is kept apart as blocks, with the name of who said it."""
    made = body(GO, says("user", "now", name="ada"), own("One."), own("Two."), GO)
    assert shown(made) == [("user", ["go", "ada: now"]), ("assistant", ["One.", "Two."]), ("user", ["go"])]


def test_a_system_message_stands_behind_what_the_user_said_in_its_place() -> None:
    """The API takes it only between a user's message and an assistant's, or at the end; two become one."""
    made = body(GO, own("Hi."), says("system", "one"), says("user", "more"), says("developer", "two"), own("Yes."), GO)
    assert shown(made)[1:5] == [
        ("assistant", ["Hi."]),
        ("user", ["more"]),
        ("system", ["one", "two"]),
        ("assistant", ["Yes."]),
    ]


def test_a_system_message_where_the_user_said_nothing_has_a_line_before_it() -> None:
    """Between two messages of the assistant, and behind the last one."""
    made = body(GO, own("Hi."), says("system", "one"), own("Yes."), says("system", "two"))
    assert shown(made)[2:] == [
        ("user", [SYSTEM_FOLLOWS]),
        ("system", ["one"]),
        ("assistant", ["Yes."]),
        ("user", [SYSTEM_FOLLOWS]),
        ("system", ["two"]),
    ]


def test_system_messages_before_everything_else_join_the_system() -> None:
    """The API takes none as the first message; here they are as strong, and cached."""
    made = body(says("system", "one"), says("developer", "two"), GO)
    assert [block["text"] for block in made["system"]] == ["Be kind.", "one", "two"]
    assert marked(made) == [("tools", 1), ("system", 2), ("messages", 0)]


def test_a_model_without_system_messages_is_told_whose_words_they_are() -> None:
    """They are blocks of the user's message then, each of which says that it is the system's, in their place."""
    made = body(GO, own("Hi."), says("system", "one"), says("user", "more"), options=FOLDED)
    assert shown(made)[2:] == [("user", [f"{FROM_SYSTEM}\none", "more"])]


def test_nothing_at_all_and_an_assistant_at_the_end_are_asked_to_go_on() -> None:
    """A request without a message, or that ends with a reply, is refused by the API."""
    assert shown(body()) == [("user", [GO_ON])]
    assert shown(body(GO, own("Hi.  ")))[-1] == ("user", [GO_ON])
    assert "system" not in body(GO, system=" ")
    assert "tools" not in body(GO, tools=())


def test_reasoning_goes_back_unchanged_to_the_model_that_wrote_it() -> None:
    """In its place and as it was sealed, also if it was sealed as a whole."""
    sealed = (Thinking(text="Hm.", signature="s"), Thinking(redacted="r"))
    made = body(GO, own(*sealed, "I look.", call("a")), result("a", "x"))
    assert made["messages"][1]["content"][:2] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "r"},
    ]


@pytest.mark.parametrize(
    "message",
    [
        own(Thinking(text="Hm.", signature="s"), "Hi.", model="claude-y"),
        says("assistant", Thinking(text="Hm.", signature="s"), "Hi."),
        says("assistant", Thinking(text="Hm.", signature="s"), "Hi.", shape="openai-responses", original=b"{}"),
        says("assistant", Thinking(text="Hm.", signature="s"), "Hi.", shape="anthropic", original=b"\xff"),
        own(Thinking(text="Hm."), "Hi."),
        own("Hi.", Thinking(text="Hm.", signature="s")),
    ],
    ids=["another model", "nobody's", "another provider", "damaged", "not sealed", "at the end"],
)
def test_reasoning_that_cannot_go_back_is_left_out(message: Message) -> None:
    """Another model's, one that is not sealed, one that nothing follows; the words beside it stay."""
    assert shown(body(GO, message, GO))[1] == ("assistant", ["Hi."])


def test_a_reply_of_nothing_but_such_reasoning_is_no_message() -> None:
    """And those before and behind it become neighbours."""
    assert shown(body(GO, own(Thinking(text="Hm.", signature="s")), GO)) == [("user", ["go", "go"])]


def test_a_budget_for_reasoning_is_left_out_where_calls_came_without_any() -> None:
    """With a budget, the API demands the reasoning before the calls that are being answered."""
    foreign = says("assistant", call("a"))
    assert body(GO, options=BUDGET)["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "thinking" not in body(GO, foreign, result("a", "x"), options=BUDGET)
    thought = own(Thinking(text="Hm.", signature="s"), call("b"))
    assert "thinking" in body(GO, foreign, result("a", "x"), thought, result("b", "x"), options=BUDGET)
    adaptive = Options(asked_as=MODEL, max_tokens=9, thinking="adaptive", effort="low")
    assert body(GO, foreign, result("a", "x"), options=adaptive)["thinking"]["type"] == "adaptive"
    assert body(GO, options=adaptive)["output_config"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("", {}),
        ("null", {}),
        ('{"a": ', {AS_WRITTEN: '{"a": '}),
        ("[1]", {AS_WRITTEN: "[1]"}),
        ('{"a": NaN}', {AS_WRITTEN: '{"a": NaN}'}),
        ('{"a": 1e999}', {AS_WRITTEN: '{"a": 1e999}'}),
        ('{"\\ud800": "\\u0000"}', {"\ufffd": "\ufffd"}),
        ('{"a":' * 200 + "1" + "}" * 200, {AS_WRITTEN: '{"a":' * 200 + "1" + "}" * 200}),
    ],
)
def test_arguments_are_an_object_whatever_the_model_wrote(arguments: str, expected: Json) -> None:
    """What is no JSON object, or none that can be written again, is kept as text under a key of ours."""
    made = body(GO, own(call("a", arguments=arguments)), result("a", "x"))
    assert made["messages"][1]["content"][0]["input"] == expected


def test_ids_and_names_of_other_providers_are_spelled_as_the_api_has_them() -> None:
    """A call and its result stay together, and different ids stay different."""
    history = (GO, says("assistant", call("fc|1", "my tool"), call("fc/1")), result("fc|1", "A"), result("fc/1", "B"))
    asked, answered = body(*history)["messages"][1:]
    assert [block["name"] for block in asked["content"]] == ["my_tool", "look"]
    assert [block["id"] for block in asked["content"]] == [block["tool_use_id"] for block in answered["content"]]


def test_results_of_every_kind() -> None:
    """Nothing, pictures and documents, and errors, which the API takes only as words."""
    history = (GO, own(call("a"), call("b"), call("c")), result("a"), result("b", Media(kind="image", source=PNG)))
    made = body(*history, result("c", Media(kind="image", source=PNG), is_error=True))["messages"][2]["content"]
    assert [bare(block) for block in made] == [
        {"type": "tool_result", "tool_use_id": "a"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG.partition(",")[2]},
                }
            ],
        },
        {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": [{"type": "text", "text": "[image; it cannot be shown in an error]"}],
            "is_error": True,
        },
    ]
    empty = body(GO, own(call("a")), result("a", is_error=True))["messages"][2]["content"][0]
    assert empty["content"] == [{"type": "text", "text": "(no message)"}]


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        (Media(kind="image", source="https://a.example/b.png"), {"type": "url", "url": "https://a.example/b.png"}),
        (
            Media(kind="document", source=PDF, name="a.pdf"),
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        ),
        (Media(kind="image", source="file:file_1"), {"type": "file", "file_id": "file_1"}),
        (Media(kind="image", source="http://a.example/b.png", name="b"), '[image, "b"; it cannot be shown here]'),
        (Media(kind="image", source="data:image/png;base64,%%%"), "[image; it cannot be shown here]"),
        (
            Media(kind="image", source="data:image/tiff;base64,AAAA", size=3),
            "[image, 3 bytes; it cannot be shown here]",
        ),
        (Media(kind="audio", source="data:audio/wav;base64,AAAA"), "[audio; it cannot be shown here]"),
        (Media(kind="document", media_type="text/plain"), "[document, text/plain; it cannot be shown here]"),
    ],
)
def test_media_the_api_takes_is_shown_and_all_other_is_named(media: Media, expected: object) -> None:
    """By its type, its data and its address; a file's id only if it is Anthropic's."""
    block = body(says("user", media, shape="anthropic"))["messages"][0]["content"][0]
    assert block.get("source", block.get("text")) == expected
    if media.source == "file:file_1":
        assert body(says("user", media))["messages"][0]["content"][0]["type"] == "text"


def test_what_the_api_has_no_block_for_is_put_into_words() -> None:
    """So that the model knows that there was something, and what can be read of it."""
    parts = (Summary(text="We spoke."), Summary(text=None), Elsewhere(reference="resp_1"), Opaque(type="x", json="{}"))
    assert shown(body(says("user", *parts)))[0][1] == [
        "[summary of an earlier part of this conversation]\nWe spoke.",
        "[an earlier part of this conversation was summarised; the summary cannot be read here]",
        "[an earlier part of this conversation is kept elsewhere, as 'resp_1'; it is not here]",
        "[an item of type 'x']\n{}",
    ]
    assert shown(body(GO, own(Refusal(text="No.")), GO))[1] == ("assistant", ["No."])
    assert shown(body(says("user", "a\x00b\ud800c"))) == [("user", ["a\ufffdb\ufffdc"])]


IDS = st.sampled_from(["a", "b", "c|d", "", "é"])
WORDS = st.sampled_from(["hi", "", " ", "\x00", "\ud800", "a\n", "\u2028"]) | st.text(max_size=6)
SOURCES = st.sampled_from(
    [PNG, PDF, "data:image/png;base64,*", "data:,x", "https://a.example/x", "file:f", "file:", "x"]
)
MEDIA = st.builds(
    Media,
    kind=st.sampled_from(["image", "audio", "video", "document", "file"]),
    media_type=st.none() | st.sampled_from(["image/png", "application/pdf", ""]),
    size=st.none() | st.just(7),
    source=st.none() | SOURCES,
    name=st.none() | WORDS,
)
SPOKEN = st.one_of(
    st.builds(Text, text=WORDS),
    MEDIA,
    st.builds(Thinking, text=WORDS, signature=st.none() | WORDS, redacted=st.none() | WORDS),
    st.builds(Refusal, text=WORDS),
    st.builds(Summary, text=st.none() | WORDS),
    st.builds(Elsewhere, reference=WORDS),
    st.builds(Opaque, type=WORDS, json=WORDS),
)
CALLS = st.builds(
    ToolCall, id=IDS, name=WORDS, arguments=st.sampled_from(["{}", "", "[", '{"a": NaN}', '{"b": "\\ud800"}'])
)
RESULTS = st.recursive(
    st.builds(ToolResult, call=IDS, parts=st.lists(SPOKEN, max_size=2).map(tuple), is_error=st.booleans()),
    lambda inner: st.builds(ToolResult, call=IDS, parts=st.lists(inner, max_size=2).map(tuple)),
    max_leaves=3,
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "assistant", "tool", "system", "developer", "critic"]),
    parts=st.lists(SPOKEN | CALLS | RESULTS, max_size=3).map(tuple),
    name=st.none() | WORDS,
    shape=st.sampled_from([None, "anthropic", "openai-responses"]),
    original=st.sampled_from([None, b'{"model": "claude-x"}', b'{"type": "function_call"}', b"["]),
    volatile=st.sampled_from([False, False, False, True]),
)
HISTORIES = st.lists(MESSAGES, max_size=8)
MANY = st.sampled_from([OPTIONS, FOLDED, BUDGET, Options(asked_as="y", max_tokens=1, thinking="adaptive", cache=None)])


@given(history=HISTORIES, options=MANY, tail=WORDS, system=WORDS)
def test_any_history_has_a_body_that_the_api_accepts(
    history: list[Message], options: Options, tail: str, system: str
) -> None:
    """Whatever its parts are and in whatever order they came."""
    body(*history, options=options, tail=tail, system=system)


def blocks(made: Json) -> list[tuple[str, Json]]:
    """The blocks of the system and of the messages in their order, without marks, and without what closes a request."""
    flat = [("system", block) for block in made.get("system", [])]
    flat += [(each["role"], block) for each in made["messages"] for block in each["content"]]
    if flat and flat[-1][1].get("text") == GO_ON:
        flat.pop()
    return [(role, bare(block)) for role, block in flat]


def running(block: Json) -> bool:
    return "Still running" in json.dumps(block)


@given(history=HISTORIES, more=HISTORIES, options=MANY)
@example(history=[GO, says("system", "x")], more=[own("y"), GO], options=OPTIONS)
def test_r37_a_longer_history_begins_with_the_shorter_one(
    history: list[Message], more: list[Message], options: Options
) -> None:
    """Every request of a conversation is a prefix of the next one, which begins with the reply to it.

    Only a result that had not come yet may be another one. The marks move.
    """
    start = [GO, *history]
    before = blocks(body(*start, options=options))
    after = blocks(body(*start, own("So be it."), *more, options=options))
    assert len(after) > len(before)
    for shorter, longer in zip(before, after, strict=False):
        assert shorter == longer or (running(shorter[1]) and shorter[1].keys() == longer[1].keys())

"""Any history becomes a request that OpenAI's interfaces take, always the same one, and a longer one begins with it."""

import base64
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.conversation import (
    Conversation,
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
from host.models import Request, ToolSpec
from host.models.openai.chat_request import chat_body
from host.models.openai.responses_request import responses_body
from host.models.openai.wire import UNREADABLE, encoded
from tests.counting import steps
from tests.openai_rules import chat_problems, responses_problems

DATA = Path(__file__).parent / "data"
PNG = f"data:image/png;base64,{base64.b64encode(b'png').decode()}"
LOOK = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {}})


def request(*messages: Message, system: str = "Be kind.", tail: str = "", tools: tuple[ToolSpec, ...] = ()) -> Request:
    return Request(system=system, messages=messages, tools=tools, tail=tail)


def says(role: str, *parts: Part | str, **fields: Any) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made, **fields)


def chat(*messages: Message, **how: Any) -> list[dict[str, Any]]:
    """The messages of the body, which chat completions must accept."""
    sent = encoded(chat_body(request(*messages), model="m", **how))
    assert chat_problems(sent) == []
    return list(json.loads(sent)["messages"])[1:]


def items(*messages: Message, **how: Any) -> list[dict[str, Any]]:
    """The input of the body, which responses must accept."""
    sent = encoded(responses_body(request(*messages), model="m", **how))
    assert responses_problems(sent) == []
    return list(json.loads(sent)["input"])


GO = says("user", "go")
CALL = says("assistant", "I look.", ToolCall(id="c1", name="look", arguments='{"at": "x"}'))
SEEN = says("tool", ToolResult(call="c1", parts=(Text(text="seen"),)))


class TestChat:
    def test_the_instructions_come_first_the_tools_before_the_messages(self) -> None:
        """So all that stays the same stands at the front."""
        body = chat_body(request(GO, CALL, SEEN, tools=(LOOK,)), model="m", options={"temperature": 0, "model": "x"})
        function = {"name": "look", "description": "Looks.", "parameters": LOOK.parameters}
        call = {"name": "look", "arguments": '{"at": "x"}'}
        assert list(body) == ["temperature", "model", "stream", "stream_options", "tools", "messages"]
        assert body == {
            "temperature": 0,
            "model": "m",
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [{"type": "function", "function": function}],
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [{"id": "c1", "type": "function", "function": call}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "seen"},
            ],
        }

    def test_r37_the_tail_is_the_last_thing_that_the_user_says(self) -> None:
        """Joined to what the user said last, or after the rest; no other message knows of it."""
        joined: Any = chat_body(request(GO, tail="Two tasks run."), model="m")
        behind: Any = chat_body(request(GO, CALL, SEEN, tail="Two tasks run."), model="m")
        assert joined["messages"][-1] == {"role": "user", "content": "go\n\nTwo tasks run."}
        assert behind["messages"][:-1] == chat_body(request(GO, CALL, SEEN), model="m")["messages"]
        assert behind["messages"][-1] == {"role": "user", "content": "Two tasks run."}

    def test_neighbours_of_one_role_are_one_message(self) -> None:
        """Templates refuse two in a row. Images make it a list of blocks."""
        image = says("user", Media(kind="image", source=PNG, media_type="image/png"))
        assert chat(GO, says("user", "now"), says("assistant", "yes"), says("assistant", "sir")) == [
            {"role": "user", "content": "go\n\nnow"},
            {"role": "assistant", "content": "yes\n\nsir"},
        ]
        assert chat(GO, image) == [
            {
                "role": "user",
                "content": [{"type": "text", "text": "go"}, {"type": "image_url", "image_url": {"url": PNG}}],
            }
        ]

    def test_a_system_message_in_mid_conversation_stays_one(self) -> None:
        """A developer's is one, too."""
        told = chat(GO, says("assistant", "yes"), says("developer", "Hurry."), says("user", "now"))
        assert told[2] == {"role": "system", "content": "Hurry."}

    def test_a_model_that_sees_no_images_is_told_of_them(self) -> None:
        """By kind, name, type and size, and by the address, where they have one."""
        shown = Media(kind="image", source=PNG, media_type="image/png", size=3, name="a.png")
        linked = Media(kind="image", source="https://example.org/a.png")
        assert chat(says("user", shown, linked), sees_images=False) == [
            {
                "role": "user",
                "content": '[image "a.png", image/png, 3 bytes; not shown here]\n'
                "[image, https://example.org/a.png; not shown here]",
            }
        ]

    @pytest.mark.parametrize(
        "source", ["file:abc", "data:image/png;base64,%%%", "data:image/tiff;base64,AAAA", "data:,", None]
    )
    def test_an_image_that_would_be_refused_is_told_of(self, source: str | None) -> None:
        """One bad image would cost the whole conversation."""
        assert chat(says("user", Media(kind="image", source=source))) == [
            {"role": "user", "content": "[image; not shown here]"}
        ]

    def test_an_image_in_a_result_is_told_of(self) -> None:
        """A tool message holds text only."""
        image = Media(kind="image", source=PNG, media_type="image/png", size=3)
        told = chat(GO, CALL, says("tool", ToolResult(call="c1", parts=(Text(text="seen"), image))))
        assert told[2]["content"] == "seen\n[image, image/png, 3 bytes; not shown here]"

    def test_an_error_says_that_it_is_one_and_an_empty_result_that_it_is_empty(self) -> None:
        """There is no other place for that."""
        failed = says("tool", ToolResult(call="c1", parts=(Text(text="gone"),), is_error=True))
        assert chat(GO, CALL, failed)[2]["content"] == "Error: gone"
        assert chat(GO, CALL, says("tool", ToolResult(call="c1")))[2]["content"] == "(empty)"

    def test_an_author_is_named_in_the_text(self) -> None:
        """On one line, so that a name cannot pass for more than a name."""
        assert chat(says("user", "go", name="Ann\nBo"))[0]["content"] == "Ann Bo: go"
        assert chat(says("critic", "no"))[0]["content"] == "critic: no"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"a":  1}', '{"a":  1}'),
        ("", "{}"),
        (" ", "{}"),
        ("null", "{}"),
        ('{"a": ', json.dumps({UNREADABLE: '{"a": '}, separators=(",", ":"))),
        ("[1]", '{"unreadable_arguments":"[1]"}'),
        ('{"a": NaN}', json.dumps({UNREADABLE: '{"a": NaN}'}, separators=(",", ":"))),
        ('{"a": "\\ud800"}', json.dumps({UNREADABLE: '{"a": "\\ud800"}'}, separators=(",", ":"))),
    ],
)
def test_arguments_are_sent_as_written_if_they_are_an_object(written: str, sent: str) -> None:
    """What is none is shown to the model within one; providers refuse the rest."""
    history = (GO, says("assistant", ToolCall(id="c1", name="look", arguments=written)), SEEN)
    assert chat(*history)[1]["tool_calls"][0]["function"]["arguments"] == sent
    assert items(*history)[1]["arguments"] == sent


@pytest.mark.parametrize(("id", "name"), [("", ""), ("a b", "web.search"), ("x" * 41, "y" * 65), ("\ud800", "ü")])
def test_ids_and_names_that_would_be_refused_are_replaced_in_call_and_result(id: str, name: str) -> None:
    """The same ones by the same ones, so that they still belong together."""
    history = (GO, says("assistant", ToolCall(id=id, name=name, arguments="{}")), says("tool", ToolResult(call=id)))
    assert chat(*history)[1]["tool_calls"][0]["id"] == chat(*history)[2]["tool_call_id"]
    assert items(*history)[1]["call_id"] == items(*history)[2]["call_id"]


def test_reasoning_of_other_models_is_not_sent() -> None:
    """Neither its words nor its seal, to either interface."""
    history = (GO, says("assistant", Thinking(text="hm", signature="seal"), "yes", shape="anthropic", original=b"{}"))
    assert chat(*history)[1] == {"role": "assistant", "content": "yes"}
    assert items(*history)[1]["content"] == [{"type": "output_text", "text": "yes"}]


class TestOwnReplies:
    """A reply of the same model goes out as it came."""

    sealed: ClassVar[tuple[dict[str, Any], ...]] = (
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "seal"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}", "status": "x"},
    )
    reply = says(
        "assistant",
        Thinking(signature="seal"),
        ToolCall(id="c1", name="look", arguments="{}"),
        shape="openai-responses",
        original=json.dumps({"model": "m", "output": sealed}).encode(),
    )
    written: ClassVar = {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"s": 1}}
        ],
    }
    said = says(
        "assistant",
        Thinking(text="hm"),
        ToolCall(id="c1", name="look", arguments="{}"),
        shape="openai-chat",
        original=json.dumps({"model": "m", "choices": [{"message": written}]}).encode(),
    )

    def input(self, *messages: Message, model: str = "m") -> Any:
        return responses_body(request(*messages), model=model)["input"]

    def messages(self, *messages: Message, model: str = "m") -> Any:
        return chat_body(request(*messages), model=model)["messages"]

    def test_r32_to_the_same_model_with_what_belongs_to_it(self) -> None:
        """Sealed reasoning, ids of items, what a provider attached to a call."""
        assert self.input(GO, self.reply, SEEN)[1:3] == list(self.sealed)
        assert self.messages(GO, self.said, SEEN)[2] == self.written

    def test_to_another_model_without(self) -> None:
        """A seal is good for the model that made it."""
        call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
        assert self.input(GO, self.reply, SEEN, model="n")[1] == call
        assert "reasoning_content" not in json.dumps(self.messages(GO, self.said, SEEN, model="n"))
        assert "seal" not in json.dumps(self.messages(GO, self.reply, SEEN))
        assert "hm" not in json.dumps(self.input(GO, self.said, SEEN))

    @pytest.mark.parametrize("change", ["parts", "bytes", "kind"])
    def test_one_that_says_something_else_than_its_message_is_written_anew(self, change: str) -> None:
        """The message is the truth; its original only a way to write it."""
        changes: dict[str, dict[str, Any]] = {
            "parts": {"parts": (ToolCall(id="c1", name="look", arguments='{"a": 1}'),)},
            "bytes": {"original": b"\xff{"},
            "kind": {"original": b'{"model": "m", "output": 3, "choices": [3]}'},
        }
        changed = changes[change]
        assert "seal" not in json.dumps(self.input(GO, replace(self.reply, **changed), SEEN))
        assert "hm" not in json.dumps(self.messages(GO, replace(self.said, **changed), SEEN))

    @pytest.mark.parametrize("fields", [{"arguments": '{"a'}, {"name": "functions.look"}, {"call_id": "c 1"}])
    def test_one_with_a_call_that_would_be_refused_is_written_anew(self, fields: dict[str, str]) -> None:
        """Models make such calls."""
        made = {**self.sealed[1], **fields}
        call = ToolCall(id=made["call_id"], name=made["name"], arguments=made["arguments"])
        kept = json.dumps({"model": "m", "output": [made]}).encode()
        assert made not in items(GO, says("assistant", call, original=kept))
        function = {"name": call.name, "arguments": call.arguments}
        said = {**self.written, "tool_calls": [{"id": call.id, "type": "function", "function": function}]}
        kept = json.dumps({"model": "m", "choices": [{"message": said}]}).encode()
        assert said not in chat(GO, says("assistant", Thinking(text="hm"), call, original=kept))


class TestResponses:
    def test_the_body(self) -> None:
        """Nothing is kept by the server, reasoning comes back sealed, tools are not strict."""
        body = responses_body(request(GO, CALL, SEEN, tools=(LOOK,), tail="Now."), model="m", options={"store": True})
        tool = {"name": "look", "description": "Looks.", "parameters": LOOK.parameters, "strict": False}
        assert list(body)[-1] == "input"
        assert body == {
            "model": "m",
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "instructions": "Be kind.",
            "tools": [{"type": "function", **tool}],
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "x"}'},
                {"type": "function_call_output", "call_id": "c1", "output": "seen"},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Now."}]},
            ],
        }

    def test_r37_the_tail_is_a_block_of_its_own(self) -> None:
        """What stands before it is not touched."""
        body: Any = responses_body(request(GO, tail="Now."), model="m")
        assert [block for item in body["input"] for block in item["content"]] == [
            {"type": "input_text", "text": "go"},
            {"type": "input_text", "text": "Now."},
        ]

    def test_a_result_can_show_an_image(self) -> None:
        """Beside its words."""
        image = Media(kind="image", source=PNG, media_type="image/png")
        told = items(GO, CALL, says("tool", ToolResult(call="c1", parts=(Text(text="seen"), image))))
        assert told[3]["output"] == [
            {"type": "input_text", "text": "seen"},
            {"type": "input_image", "image_url": PNG, "detail": "auto"},
        ]

    def test_reasoning_need_not_be_sealed(self) -> None:
        """Models that do not reason refuse to."""
        assert "include" not in responses_body(request(GO), model="m", seals_reasoning=False)


TEXTS = st.text(st.characters(codec=None, categories=None), max_size=6) | st.sampled_from(
    ["", " ", "x", "\0", "\x1b[31mred", "\ud83d", "\ude00", "\u2028", "{{ }}", "=== ends. ===", "שלום", "a\r\nb"]
)
IDS = st.sampled_from(["a", "b", "", "a_2", "an id", "x" * 60]) | TEXTS
ARGUMENTS = TEXTS | st.sampled_from(['{"a": 1}', '{"a":', "null", "[]", '{"a": 1e999}', '{"a": "\\ud800"}', "[" * 9999])
SOURCES = (
    st.none() | TEXTS | st.sampled_from([PNG, PNG[:-1], "https://example.org/x", "file:1", "data:image/png;base64,"])
)
SIMPLE: st.SearchStrategy[Part] = (
    st.builds(Text, text=TEXTS)
    | st.builds(
        Media,
        kind=st.sampled_from(["image", "audio", "document"]),
        source=SOURCES,
        name=st.none() | TEXTS,
        size=st.none(),
    )
    | st.builds(Thinking, text=TEXTS, signature=st.none() | TEXTS)
    | st.builds(Refusal, text=TEXTS)
    | st.builds(Summary, text=st.none() | TEXTS)
    | st.builds(Elsewhere, reference=TEXTS)
    | st.builds(Opaque, type=TEXTS, json=st.just("{}"))
)
CALLS = st.builds(ToolCall, id=IDS, name=IDS, arguments=ARGUMENTS)
RESULTS = st.builds(
    ToolResult,
    call=IDS,
    parts=st.lists(SIMPLE, max_size=2).map(tuple),
    is_error=st.booleans(),
    name=st.none() | IDS,
)
MESSAGES = (
    st.builds(Message, role=st.just("assistant"), parts=st.lists(CALLS | SIMPLE, max_size=3).map(tuple))
    | st.builds(Message, role=st.just("tool"), parts=st.lists(RESULTS, min_size=1, max_size=2).map(tuple))
    | st.builds(Message, role=st.just("user"), parts=st.lists(SIMPLE, max_size=2).map(tuple), name=st.none() | TEXTS)
    | st.builds(
        Message,
        role=st.sampled_from(["system", "developer", "user", "assistant", "tool", "critic", ""]) | TEXTS,
        parts=st.lists(SIMPLE | CALLS | RESULTS, max_size=3).map(tuple),
        original=st.sampled_from([None, b"", b"{}", b'{"model": "m", "output": [], "choices": []}']),
    )
)
HISTORIES = st.lists(MESSAGES, max_size=8)


def forms(messages: list[Message], **how: Any) -> tuple[bytes, bytes]:
    """A history in both forms, as sent."""
    made = request(*messages, **how)
    return encoded(chat_body(made, model="m")), encoded(responses_body(made, model="m"))


@given(history=HISTORIES, tail=TEXTS)
@settings(max_examples=200)
def test_any_history_becomes_a_request_that_is_accepted(history: list[Message], tail: str) -> None:
    """Whatever it holds, by the rules of the interfaces and of the templates behind them; and the same one each time."""
    chat_form, responses_form = forms(history, tail=tail)
    assert chat_problems(chat_form) == []
    assert responses_problems(responses_form) == []
    assert (chat_form, responses_form) == forms(history, tail=tail)


def continues(longer: Any, shorter: Any) -> bool:
    """Whether a message is another one, or begins with it."""
    if isinstance(shorter, str) and isinstance(longer, str):
        return longer.startswith(shorter)
    if isinstance(shorter, str):
        return bool(longer[0] == {"type": "text", "text": shorter})
    return bool(longer[: len(shorter)] == shorter)


@given(history=HISTORIES, cut=st.integers(0, 8))
@settings(max_examples=200)
def test_r32_a_longer_history_begins_with_the_shorter_one(history: list[Message], cut: int) -> None:
    """Message by message; the last may be continued, and its calls that were still running may have their results."""
    for key, short, long in zip(("messages", "input"), forms(history[:cut]), forms(history), strict=True):
        before, after = json.loads(short)[key], json.loads(long)[key]
        while before and (before[-1].get("role") == "tool" or before[-1].get("type") == "function_call_output"):
            before.pop()
        *all_but_last, last = before or [None]
        assert after[: len(all_but_last)] == all_but_last
        if last is not None and last != (same := after[len(all_but_last)]):
            assert last["role"] == same["role"]
            assert continues(same["content"], last["content"])


def test_r32_the_bytes_of_a_longer_conversation_begin_with_those_of_the_shorter_one() -> None:
    """All of them, up to the brackets that close it."""
    turns = [GO, CALL, SEEN, says("assistant", "Done."), says("user", "Thanks.")]
    for key, form in (("messages", 0), ("input", 1)):
        sent = [forms(turns[:length], tools=(LOOK,))[form] for length in (1, 3, 4, 5)]
        assert all(longer.startswith(shorter.removesuffix(b"]}")) for shorter, longer in pairwise(sent)), key


@pytest.mark.parametrize("file", sorted(DATA.glob("thread_*")), ids=lambda file: file.name)
def test_histories_of_every_provider_are_accepted(file: Path) -> None:
    """Read from the forms that providers and frameworks write."""
    chat_form, responses_form = forms(list(Conversation.load(file)))
    assert chat_problems(chat_form) == []
    assert responses_problems(responses_form) == []


def test_ten_times_the_messages_take_ten_times_the_work() -> None:
    """Nothing looks back over what was rendered."""
    turns = [GO, CALL, SEEN, says("assistant", "Done.")]
    few, many = (steps(lambda count=count: forms(turns * count)) for count in (10, 100))  # type: ignore[misc]
    assert many < 11 * few

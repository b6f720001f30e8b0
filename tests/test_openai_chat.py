"""A reply by chat completions is gathered from whatever pieces a server sends it in."""

import json
import logging
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from host.conversation import Conversation, Message, Refusal, Text, Thinking, ToolCall
from host.models import Delta, ModelUnavailable, Reply, Request, Usage
from host.models.openai import OpenAIChat
from host.models.openai.chat import _Gathered
from host.models.openai.chat_request import chat_body
from host.models.openai.wire import encoded
from tests.openai_rules import chat_problems
from tests.openai_server import SSE, Answer, Asked, serving, streamed

GO = Request(system="Be kind.", messages=Conversation.of("Say it — «schön» 🎈").messages)
STOP: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def piece(index: int | None, id: str | None = None, name: str | None = None, arguments: str | None = None) -> Any:
    function = {"name": name, "arguments": arguments}
    made = {"index": index, "id": id, "function": {key: value for key, value in function.items() if value is not None}}
    return {key: value for key, value in made.items() if value is not None}


async def replied(*events: object, request: Request = GO, **how: Any) -> tuple[Reply, list[Delta], Asked]:
    """The reply that is gathered from a stream of these events, the pieces that were told, and what was asked."""
    told: list[Delta] = []
    async with serving(streamed(*events, **how)) as server:
        reply = await OpenAIChat("m", base_url=server.url).reply(request, stream=told.append)
    for kind, whole in (
        ("text", reply.text),
        ("thinking", "".join([part.text for part in reply.parts if isinstance(part, Thinking)])),
        ("call", "".join([call.arguments for call in reply.calls])),
    ):
        assert "".join([piece.text for piece in told if piece.kind == kind]) == whole
    return reply, told, server.asked[0]


async def test_the_pieces_join_to_the_reply() -> None:
    """Text as it comes, usage at the end; what is sent is the body, to the path under the base URL."""
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 20}}
    reply, told, asked = await replied(
        delta(role="assistant", content=None),
        delta(content="sch"),
        delta(content="ön"),
        STOP,
        {"choices": [], "usage": usage},
    )
    assert told == [Delta(kind="text", text="sch"), Delta(kind="text", text="ön")]
    assert (reply.parts, reply.stop) == ((Text(text="schön"),), "end")
    assert reply.usage == Usage(input=30, output=5, cached=20)
    assert asked.path == "/v1/chat/completions"
    assert asked.json == OpenAIChat("m", base_url="http://127.0.0.1").body(GO)


@pytest.mark.parametrize("size", [1, 2, 7])
async def test_a_stream_may_be_cut_anywhere(size: int) -> None:
    """Within a character, within a line; and U+2028 within JSON ends no line."""
    reply, _, _ = await replied(delta(content="«🎈»\u2028\x85"), STOP, size=size)
    assert reply.text == "«🎈»\u2028\x85"


async def test_lines_may_end_with_crlf_and_comments_are_no_events() -> None:
    """As the standard for such streams has it; an event that is not complete is none."""
    data = json.dumps(delta(content="yes")).encode()
    body = (
        b": ping\r\n\r\n:\r\nevent: x\r\ndata:" + data + b"\r\n\r\ndata: " + json.dumps(STOP).encode() + b"\n\ndata: {"
    )
    async with serving(Answer(body=body, headers={"Content-Type": SSE})) as server:
        reply = await OpenAIChat("m", base_url=server.url).reply(GO)
    assert reply.text == "yes"


async def test_calls_are_gathered_by_index() -> None:
    """Their pieces may be mixed; arguments stay as they were written."""
    reply, told, _ = await replied(
        delta(tool_calls=[piece(0, "a", "look", "")]),
        delta(tool_calls=[piece(1, "b", "find", "")]),
        delta(tool_calls=[piece(0, arguments='{"at": ')]),
        delta(tool_calls=[piece(0, arguments="1 }")]),
        delta(tool_calls=[piece(1, arguments='{"no')]),
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    )
    assert reply.calls == (
        ToolCall(id="a", name="look", arguments='{"at": 1 }'),
        ToolCall(id="b", name="find", arguments='{"no'),
    )
    assert reply.stop == "tools"
    assert told == [Delta(kind="call", text=text) for text in ('{"at": ', "1 }", '{"no')]


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, "a", "look", "{}"), piece(0, "b", "find", "{}")],
        [piece(None, "a", "look", "{"), piece(None, arguments="}"), piece(None, "b", "find", "{}")],
        [piece(0, "a", "look", "{"), piece(0, "a", "look", "}"), piece(1, "b", "find", "{}")],
    ],
    ids=["one index for all", "no index", "id and name in every piece"],
)
async def test_servers_that_count_calls_differently_are_understood(pieces: list[Any]) -> None:
    """What begins a call is a new index or a new id."""
    reply, _, _ = await replied(*[delta(tool_calls=[one]) for one in pieces], STOP)
    assert reply.calls == (
        ToolCall(id="a", name="look", arguments="{}"),
        ToolCall(id="b", name="find", arguments="{}"),
    )
    assert reply.stop == "tools"


async def test_calls_without_an_id_are_given_one() -> None:
    """One of their own each, and also where two have the same."""
    none, _, _ = await replied(delta(tool_calls=[piece(0, None, "look", "{}"), piece(1, None, "look", "{}")]), STOP)
    same, _, _ = await replied(delta(tool_calls=[piece(0, "a", "look", "{}"), piece(1, "a", "look", "{}")]), STOP)
    assert len({call.id for call in none.calls}) == len({call.id for call in same.calls}) == 2
    assert all(call.id for call in (*none.calls, *same.calls))


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
async def test_reasoning_is_told_apart_and_goes_back_to_the_same_model(key: str) -> None:
    """Under the name under which it came, together with what the provider attached to the call."""
    attached = {**piece(0, "a", "look", "{}"), "extra_content": {"signature": "s"}}
    reply, told, _ = await replied(delta(**{key: "h"}), delta(**{key: "m"}), delta(tool_calls=[attached]), STOP)
    assert reply.parts == (Thinking(text="hm"), ToolCall(id="a", name="look", arguments="{}"))
    assert told[:2] == [Delta(kind="thinking", text="h"), Delta(kind="thinking", text="m")]
    model = OpenAIChat("m", base_url="http://127.0.0.1")
    body: Any = model.body(Request(system="", messages=(*GO.messages, reply.message())))
    assert body["messages"][1][key] == "hm"
    assert body["messages"][1]["tool_calls"][0]["extra_content"] == {"signature": "s"}


async def test_a_refusal_is_a_part_of_its_own() -> None:
    """And why the reply ended."""
    reply, _, _ = await replied(delta(refusal="I can"), delta(refusal="not."), STOP)
    assert (reply.parts, reply.stop, reply.text) == ((Refusal(text="I cannot."),), "refusal", "")


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end"), ("length", "length"), ("content_filter", "refusal"), ("tool_calls", "tools"), ("eos", "end")],
)
async def test_why_it_ended(finish: str, stop: str) -> None:
    """In our words; what a server makes up is an end like any other."""
    reply, _, _ = await replied(delta(content="x"), {"choices": [{"delta": {}, "finish_reason": finish}]})
    assert reply.stop == stop


async def test_r79_what_is_not_reported_of_the_cache_is_not_zero() -> None:
    """None is not 0, and no number is no number."""
    counts = {"prompt_tokens": 3, "completion_tokens": 1}
    for details, cached, written in (
        (None, None, None),
        ({}, None, None),
        ({"cached_tokens": None}, None, None),
        ({"cached_tokens": "3"}, None, None),
        ({"cached_tokens": 0}, 0, None),
        ({"cached_tokens": 2, "cache_write_tokens": 1}, 2, 1),
    ):
        reply, _, _ = await replied(STOP, {"usage": {**counts, "prompt_tokens_details": details}})
        assert reply.usage == Usage(input=3, output=1, cached=cached, written=written)


@pytest.mark.parametrize("events", [(), (STOP,), ({"choices": []}, {"object": "x"}), ({"choices": [None]},)])
async def test_an_empty_stream_is_an_empty_reply(events: tuple[object, ...]) -> None:
    """The loop knows what to do about it."""
    reply, told, _ = await replied(*events)
    assert (reply.parts, reply.original, told) == ((), None, [])


async def test_pieces_of_a_wrong_form_are_passed_over() -> None:
    """No server's mistake is an exception of ours."""
    reply, _, _ = await replied(
        delta(content=[{"type": "text", "text": "a"}, {"type": "thinking", "thinking": []}, 3]),
        delta(content=5, tool_calls=[None, "x"], reasoning=[1], refusal={}),
        delta(tool_calls={"a": 1}),
        {"choices": [{"delta": "b", "finish_reason": None}]},
        {"choices": {"delta": {}}, "usage": [1]},
        STOP,
    )
    assert reply.text == "a35"


@pytest.mark.parametrize("then", ["ends", "breaks"])
async def test_a_stream_that_breaks_is_no_reply(then: str) -> None:
    """Whether the connection is lost, or ends before the server said why the reply does. It is not asked for again."""
    async with serving(streamed(delta(content="half a"), done=False, then=then)) as server:
        told: list[Delta] = []
        with pytest.raises(ModelUnavailable, match=r"^openai:m broke off in the middle of its reply\.$"):
            await OpenAIChat("m", base_url=server.url).reply(GO, stream=told.append)
    assert (len(server.asked), told) == (1, [Delta(kind="text", text="half a")])


async def test_cancelling_in_mid_stream_closes_the_connection() -> None:
    """At once: the server sees the client go."""
    async with serving(streamed(delta(content="x"), done=False, then="hangs")) as server:
        with trio.CancelScope() as scope:
            await OpenAIChat("m", base_url=server.url).reply(GO, stream=lambda _: scope.cancel())
        assert scope.cancelled_caught
        await server.gone.wait()


async def test_an_error_of_the_one_who_listens_passes_and_closes_the_connection() -> None:
    """It is no error of the model."""

    def listen(piece: Delta) -> None:
        raise LookupError(piece.text)

    async with serving(streamed(delta(content="x"), done=False, then="hangs")) as server:
        with pytest.raises(LookupError, match="x"):
            await OpenAIChat("m", base_url=server.url).reply(GO, stream=listen)
        await server.gone.wait()


@pytest.fixture
def clock() -> MockClock:
    """Jumps when nobody has had anything to do for a moment, in which what is on its way over loopback arrives."""
    return MockClock(autojump_threshold=0.02)


async def test_a_server_that_keeps_the_line_open_after_the_end_is_not_waited_for(clock: MockClock) -> None:
    """The end was said. It may take a second to close the line, and is then left."""
    before = clock.current_time()
    async with serving(streamed(delta(content="x"), STOP, then="hangs")) as server:
        reply = await OpenAIChat("m", base_url=server.url).reply(GO)
        await server.gone.wait()
    assert reply.text == "x"
    assert clock.current_time() - before < 2


async def test_the_key_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """Not in a log at any level, not in what is printed of the model."""
    caplog.set_level(logging.DEBUG)
    async with serving(streamed(delta(content="x"), STOP)) as server:
        model = OpenAIChat("m", base_url=server.url, api_key="sk-very-secret-0123")
        await model.reply(GO)
    assert server.asked[0].headers["authorization"] == "Bearer sk-very-secret-0123"
    assert caplog.records
    assert "secret" not in f"{caplog.text}{model!r}{vars(model)}"


async def test_history_with_half_surrogates_is_sent_as_utf8() -> None:
    """Two halves that stand together are their character."""
    history = (Message(role="user", parts=(Text(text="a\ud83d\ude00b\ud800\0"),)),)
    _, _, asked = await replied(STOP, request=Request(system="", messages=history))
    assert asked.json["messages"] == [{"role": "user", "content": "a😀b\N{REPLACEMENT CHARACTER}\0"}]


def test_a_model_outlives_the_loop_that_it_was_used_in() -> None:
    """Nobody has to close it, and it keeps no connection."""
    model = OpenAIChat("m", base_url="http://127.0.0.1:1")

    async def once() -> str:
        async with serving(streamed(delta(content="x"), STOP)) as server:
            model._connection._client.base_url = server.url  # Another port each time.
            return (await model.reply(GO)).text

    assert [trio.run(once), trio.run(once)] == ["x", "x"]


async def test_requests_at_once_do_not_mix() -> None:
    """Each has a connection of its own."""
    texts: list[str] = []
    async with serving(*[streamed(delta(content="x" * count), STOP, size=1) for count in range(1, 6)]) as server:
        model = OpenAIChat("m", base_url=server.url)

        async def ask() -> None:
            texts.append((await model.reply(GO)).text)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
    assert sorted(texts) == ["x" * count for count in range(1, 6)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "a", "text", "\ud800", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["text", "type", "name", "arguments", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def mostly(likely: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """What should stand there, and now and then any JSON."""
    return st.integers(0, 4).flatmap(lambda number: likely if number else JSON)


FUNCTIONS = st.fixed_dictionaries(
    {"name": mostly(st.sampled_from(["look", "functions.look"])), "arguments": mostly(st.sampled_from(["{}", '{"a']))}
)
PIECES = st.fixed_dictionaries(
    {"function": mostly(FUNCTIONS)},
    optional={"index": mostly(st.integers(0, 1)), "id": mostly(st.sampled_from(["a", "b"])), "extra": JSON},
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("content", "refusal", "reasoning"), mostly(st.sampled_from(["", "x"]))),
        "tool_calls": mostly(st.lists(PIECES, max_size=2)),
    },
)
CHOICES = st.fixed_dictionaries({"delta": mostly(DELTAS)}, optional={"finish_reason": JSON})
CHUNKS = st.fixed_dictionaries({"choices": mostly(st.lists(CHOICES, min_size=1, max_size=1)), "usage": JSON})


@given(chunks=st.lists(CHUNKS, max_size=4))
@settings(max_examples=200)
def test_whatever_a_server_sends_is_a_reply_that_can_be_sent_again(chunks: list[dict[str, object]]) -> None:
    """No exception, and a history that is accepted."""
    told: list[Delta] = []
    gathered = _Gathered(told.append)
    for chunk in chunks:
        gathered.take(chunk)
    reply = gathered.reply("m")
    assert "".join([piece.text for piece in told if piece.kind == "text"]) == reply.text
    request = Request(system="", messages=(*GO.messages, reply.message()))
    for model in ("m", "n"):
        body = chat_body(request, model=model)
        again = encoded({**body, "messages": [_plain(message) for message in body["messages"]]})  # type: ignore[attr-defined]
        assert chat_problems(again) == []


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what only the model that it came from reads."""
    calls = [{key: call[key] for key in ("id", "type", "function")} for call in message.get("tool_calls", [])]
    known = {key: value for key, value in message.items() if key not in ("reasoning", "refusal")}
    return {**known, "tool_calls": calls} if calls else known

"""A reply by responses consists of items, which go back as they came."""

from typing import Any

import pytest
import trio

from host.conversation import Conversation, Opaque, Refusal, Text, Thinking, ToolCall
from host.models import Delta, ModelRefused, ModelUnavailable, Reply, Request, Usage
from host.models.openai import OpenAIResponses
from tests.openai_server import Asked, serving, streamed

GO = Request(system="Be kind.", messages=Conversation.of("Go.").messages)


def ended(kind: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"id": "r", "output": [], **fields}}


def done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


def told_of(kind: str, delta: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "delta": delta, **fields}


def said(*texts: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **fields}


def thought(*summaries: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "sealed"}


def called(**fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"a": 1}', **fields}


async def replied(*events: object) -> tuple[Reply, list[Delta], Asked]:
    """The reply that comes of these events, the pieces that were told, and what was asked."""
    told: list[Delta] = []
    async with serving(streamed(*events, done=False)) as server:
        reply = await OpenAIResponses("m", base_url=server.url).reply(GO, stream=told.append)
    return reply, told, server.asked[0]


async def test_a_reply_is_its_items() -> None:
    """Reasoning, text and calls in their order, with usage; pieces are told as they come and join to what they become."""
    usage = {"input_tokens": 30, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 12}}
    reply, told, asked = await replied(
        {"type": "response.created", "response": {"error": None}},
        told_of("reasoning_summary_text", "First ", item_id="rs_1", summary_index=0),
        told_of("reasoning_summary_text", "this.", item_id="rs_1", summary_index=0),
        told_of("reasoning_summary_text", "Then that.", item_id="rs_1", summary_index=1),
        done(thought("First this.", "Then that.")),
        told_of("output_text", "I "),
        told_of("output_text", "look."),
        done(said("I look.")),
        told_of("function_call_arguments", '{"a": 1}'),
        done(called()),
        ended(usage=usage),
    )
    assert reply.parts == (
        Thinking(text="First this.\nThen that.", signature="sealed"),
        Text(text="I look."),
        ToolCall(id="c1", name="look", arguments='{"a": 1}'),
    )
    assert "".join([piece.text for piece in told if piece.kind == "thinking"]) == "First this.\nThen that."
    assert "".join([piece.text for piece in told if piece.kind == "text"]) == "I look."
    assert "".join([piece.text for piece in told if piece.kind == "call"]) == '{"a": 1}'
    assert (reply.stop, reply.usage) == ("tools", Usage(input=30, output=9, cached=12))
    assert asked.path == "/v1/responses"
    assert asked.json == OpenAIResponses("m", base_url="http://127.0.0.1").body(GO)


async def test_r32_it_goes_back_to_the_same_model_item_by_item() -> None:
    """With ids, seals, and kinds of items that we have no part for."""
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    items = [thought(), search, said("Yes."), called()]
    reply, _, _ = await replied(*[done(item) for item in items], ended())
    assert isinstance(reply.parts[1], Opaque)
    body: Any = OpenAIResponses("m", base_url="http://127.0.0.1").body(
        Request(system="", messages=(*GO.messages, reply.message()))
    )
    assert body["input"][1:-1] == items
    other: Any = OpenAIResponses("n", base_url="http://127.0.0.1").body(
        Request(system="", messages=(*GO.messages, reply.message()))
    )
    assert "sealed" not in str(other)


async def test_a_server_that_tells_of_no_item_is_read_from_its_last_event() -> None:
    """The whole output is there, too."""
    reply, _, _ = await replied(ended(output=[said("Yes.")]))
    assert (reply.text, reply.stop) == ("Yes.", "end")


async def test_a_call_without_an_id_is_given_one() -> None:
    """By which its result will be known."""
    reply, _, _ = await replied(done(called(call_id=None)), ended())
    assert reply.calls[0].id.startswith("call_")


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "length"), ("content_filter", "refusal"), (None, "end")]
)
async def test_why_it_ended(reason: str | None, stop: str) -> None:
    """In our words."""
    details = {"incomplete_details": {"reason": reason}} if reason else {}
    reply, _, _ = await replied(done(said("Half")), ended("incomplete" if reason else "completed", **details))
    assert reply.stop == stop


async def test_a_refusal_is_a_part_of_its_own() -> None:
    """And why the reply ended."""
    declined = said() | {"content": [{"type": "refusal", "refusal": "No."}]}
    reply, _, _ = await replied(done(declined), ended())
    assert (reply.parts, reply.stop) == ((Refusal(text="No."),), "refusal")


@pytest.mark.parametrize("events", [(), (ended(),), (ended(output=None, usage=None),)])
async def test_an_empty_stream_is_an_empty_reply(events: tuple[object, ...]) -> None:
    """The loop knows what to do about it."""
    reply, told, _ = await replied(*events)
    assert (reply, told) == (Reply(), [])


@pytest.mark.parametrize(
    ("event", "error", "message"),
    [
        (
            ended("failed", error={"code": "server_error", "message": "Oh."}),
            ModelUnavailable,
            "openai:m failed in the middle of its reply: Oh.",
        ),
        (ended("failed"), ModelUnavailable, "openai:m failed in the middle of its reply: no reason given"),
        (
            ended("failed", error={"code": "invalid_prompt", "message": "Bad."}),
            ModelRefused,
            "openai:m refused the request: Bad.",
        ),
        (
            {"type": "error", "code": "context_length_exceeded", "message": "Too much."},
            ModelRefused,
            "openai:m cannot take so long a request: Too much.",
        ),
        ({"error": {"code": 503, "message": "Full."}}, ModelUnavailable, "openai:m could not answer (503): Full."),
        ({"type": "response.created"}, ModelUnavailable, "openai:m broke off in the middle of its reply."),
    ],
)
async def test_a_reply_that_fails_is_an_error(event: object, error: type[Exception], message: str) -> None:
    """Whether the server says so or just ends; and whether it would help to ask again."""
    async with serving(streamed(told_of("output_text", "x"), event, done=False)) as server:
        with pytest.raises(error) as caught:
            await OpenAIResponses("m", base_url=server.url).reply(GO)
    assert (type(caught.value), str(caught.value)) == (error, message)


async def test_cancelling_in_mid_stream_closes_the_connection() -> None:
    """At once: the server sees the client go."""
    async with serving(streamed(told_of("output_text", "x"), done=False, then="hangs")) as server:
        with trio.CancelScope() as scope:
            await OpenAIResponses("m", base_url=server.url).reply(GO, stream=lambda _: scope.cancel())
        assert scope.cancelled_caught
        await server.gone.wait()

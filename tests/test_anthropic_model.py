"""A Claude model through the SDK, against a server of our own that keeps the rules of the API."""

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from host.conversation import Conversation, Message, Refusal, Text, Thinking, ToolCall, ToolResult
from host.models import Delta, ModelError, ModelRefused, ModelTimeout, ModelUnavailable, Reply, Request, ToolSpec
from host.models.anthropic import Anthropic
from tests.anthropic_rules import Json
from tests.anthropic_server import KEY, Fail, Say, Server, open_server, say, thinking, use

LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}})


def asked(conversation: Conversation | str = "go", **fields: Any) -> Request:
    said = Conversation.of(conversation) if isinstance(conversation, str) else conversation
    return replace(Request(system="Be kind.", messages=said.messages, tools=(LOOK,)), **fields)


def model(server: Server, **options: Any) -> Anthropic:
    return Anthropic("claude-x", **{"api_key": KEY, "base_url": server.url, "max_tokens": 4096, **options})


def answers(*results: tuple[str, str]) -> Message:
    return Message(
        role="tool", parts=tuple([ToolResult(call=call, parts=(Text(text=text),)) for call, text in results])
    )


async def test_a_reply_is_streamed_and_comes_whole() -> None:
    """The pieces of each kind, joined, are what the reply holds."""
    pieces: list[Delta] = []
    async with open_server() as server:
        claude = model(server)
        server.will(say(thinking("Let me see."), "Here it comes.", use("look", "c1", at="the sea")))
        reply = await claude.reply(asked(), stream=pieces.append)
    joined = {kind: "".join([piece.text for piece in pieces if piece.kind == kind]) for kind in ("thinking", "text")}
    assert joined == {"thinking": "Let me see.", "text": "Here it comes."}
    assert len([piece for piece in pieces if piece.kind == "text"]) == 2
    thought, said, call = reply.parts
    assert (said, reply.text, reply.stop) == (Text(text="Here it comes."), "Here it comes.", "tools")
    assert call == ToolCall(id="c1", name="look", arguments='{"at": "the sea"}')
    assert "".join([piece.text for piece in pieces if piece.kind == "call"]) == call.arguments
    assert isinstance(thought, Thinking)
    assert thought.text == "Let me see."
    assert thought.signature is not None
    assert reply.shape == "anthropic"
    assert reply.original is not None
    item = json.loads(reply.original)
    assert (item["role"], item["model"]) == ("assistant", "claude-x")
    assert [block["type"] for block in item["content"]] == ["thinking", "text", "tool_use"]


async def test_a_conversation_with_parallel_calls_and_reasoning() -> None:
    """All that the model wrote goes back as it was; the server would refuse reasoning with another word in it."""
    async with open_server() as server:
        claude = model(server, thinking_budget=2048)
        server.will(
            say(
                thinking("Two at once."),
                {"type": "redacted_thinking", "data": "sealed"},
                "I look.",
                use("look", "c1"),
                use("look", "c2", at="b"),
            )
        )
        said = Conversation.of("go")
        first = await claude.reply(asked(said))
        said = said.append(first.message()).append(answers(("c2", "B"), ("c1", "A")))
        second = await claude.reply(asked(said))
    assert [call.arguments for call in first.calls] == ["{}", '{"at": "b"}']
    assert second.text == "ok"
    sent = server.bodies[1]["messages"]
    assert [block["type"] for block in sent[1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert [block["tool_use_id"] for block in sent[2]["content"]] == ["c1", "c2"]


async def test_r37_the_next_request_reads_all_of_the_first_from_the_cache() -> None:
    """The tail changes each time and costs nothing of it."""
    async with open_server() as server:
        claude = model(server)
        server.will(say(use("look", "c1")))
        said = Conversation.of("go " * 50)
        first = await claude.reply(asked(said, tail="1 task"))
        said = said.append(first.message()).append(answers(("c1", "A" * 100)))
        second = await claude.reply(asked(said, tail="2 tasks"))
    assert first.usage.cached == 0
    assert first.usage.written is not None
    assert second.usage.cached == first.usage.written > 50
    assert second.usage.written is not None
    assert first.usage.input > first.usage.written
    assert second.usage.input > second.usage.cached + second.usage.written > first.usage.input


async def test_r32_a_replayed_fork_reads_what_its_caller_sent_from_the_cache() -> None:
    """The child has the caller's tools, system and messages, and its assignment as the result of the call."""
    async with open_server() as server:
        claude = model(server)
        server.will(say("I fork.", use("fork", "f1"), use("look", "c2")))
        fork = ToolSpec(name="fork", description="Fork.", parameters={})
        said = Conversation.of("go " * 50)
        caller = await claude.reply(asked(said, tools=(LOOK, fork), tail="history: 60"))
        said = said.append(caller.message()).append(answers(("f1", 'You are branch "a" of the fork above.')))
        child = await claude.reply(asked(said, tools=(LOOK, fork), tail="history: 90"))
        stranger = await claude.reply(asked(said, tools=(fork, LOOK)))
    assert child.usage.cached == caller.usage.written
    assert stranger.usage.cached == 0


async def test_r79_where_the_provider_reports_no_cache_nothing_is_said_of_one() -> None:
    """None is not 0."""
    async with open_server(reports_cache=False) as server:
        claude = model(server)
        usage = (await claude.reply(asked())).usage
    assert (usage.cached, usage.written) == (None, None)
    assert usage.input > 0
    assert usage.output > 0


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "tools"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "refusal"),
        ("something_new", "end"),
    ],
)
async def test_why_a_reply_ended(reason: str, stop: str) -> None:
    """Each of the API's reasons is one of ours."""
    async with open_server() as server:
        claude = model(server)
        server.will(say("Hi.", stop=reason))
        assert (await claude.reply(asked())).stop == stop


async def test_a_refusal_says_why() -> None:
    """In the provider's words, where it has some."""
    async with open_server() as server:
        claude = model(server)
        server.will(say(stop="refusal", details={"type": "refusal", "category": "bio", "explanation": "Too risky."}))
        server.will(say("Well,", stop="refusal"))
        assert (await claude.reply(asked())).parts == (Refusal(text="Too risky."),)
        assert (await claude.reply(asked())).parts[-1] == Refusal(text="The model declined to answer.")


async def test_a_call_that_was_cut_off_can_be_sent_again() -> None:
    """Its arguments are the text as far as it came, and an object for the API."""
    async with open_server() as server:
        claude = model(server)
        server.will(say({**use("look", "c1", at=1), "written": '{"at": "the s'}, stop="max_tokens"))
        said = Conversation.of("go")
        reply = await claude.reply(asked(said))
        said = said.append(reply.message()).append(answers(("c1", "That was no JSON.")))
        await claude.reply(asked(said))
    assert (reply.stop, reply.calls[0].arguments) == ("length", '{"at": "the s')
    assert server.bodies[1]["messages"][1]["content"][0]["input"] == {"arguments_as_written": '{"at": "the s'}


async def test_reasoning_bound_to_words_that_changed_is_left_out_and_the_request_sent_again() -> None:
    """Newer models bind it to all that came before, and the tail that was there is gone."""
    async with open_server(binds_reasoning=True) as server:
        claude = model(server)
        server.will(say(thinking("Hm."), "I look.", use("look", "c1")))
        said = Conversation.of("go")
        first = await claude.reply(asked(said, tail="1 task"))
        said = said.append(first.message()).append(answers(("c1", "A")))
        assert (await claude.reply(asked(said, tail="2 tasks"))).text == "ok"
    kinds = [[block["type"] for block in body["messages"][1]["content"]] for body in server.bodies[1:]]
    assert kinds == [["thinking", "text", "tool_use"], ["text", "tool_use"]]


async def test_reasoning_bound_to_words_that_are_as_they_were_goes_back() -> None:
    """Without a tail, every request has the one before as its prefix to the byte."""
    async with open_server(binds_reasoning=True) as server:
        claude = model(server)
        said = Conversation.of("go")
        for number in range(3):
            server.will(say(thinking("Hm."), use("look", f"c{number}")))
            reply = await claude.reply(asked(said))
            said = said.append(reply.message()).append(answers((f"c{number}", "A")))
        await claude.reply(asked(said))
    assert server.attempts == 4


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    """As often as was said, and then the reply is as any other."""
    async with open_server() as server:
        claude = model(server, max_retries=2)
        server.will(Fail(status), Fail(status))
        assert (await claude.reply(asked())).text == "ok"
    assert server.attempts == 3


@pytest.mark.parametrize(
    ("failure", "kind", "told"),
    [
        (Fail(529, "overloaded_error", "Overloaded"), ModelUnavailable, "could not answer (529): Overloaded"),
        (Fail(429, "rate_limit_error", "Slow down"), ModelUnavailable, "could not answer (429): Slow down"),
        (Fail(500, message="Oops"), ModelUnavailable, "could not answer (500): Oops"),
        (Fail(504, "timeout_error", "Late"), ModelTimeout, "could not answer (504): Late"),
    ],
)
async def test_what_does_not_pass_is_unavailable(failure: Fail, kind: type[ModelError], told: str) -> None:
    """After one retry here; the error says which model, what the provider said, and the status."""
    async with open_server() as server:
        claude = model(server, max_retries=1)
        server.will(failure, failure)
        with pytest.raises(kind) as caught:
            await claude.reply(asked())
    assert type(caught.value) is kind
    assert str(caught.value) == f"anthropic:claude-x {told}"
    assert (caught.value.model, caught.value.status) == ("anthropic:claude-x", failure.status)
    assert server.attempts == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_what_was_refused_is_not_tried_again(status: int) -> None:
    """The error has the provider's words."""
    async with open_server() as server:
        claude = model(server)
        server.will(Fail(status, "some_error", "Because."))
        with pytest.raises(ModelRefused, match=r"refused the request \(\d+\): Because\.$") as caught:
            await claude.reply(asked())
    assert (server.attempts, caught.value.status) == (1, status)


async def test_the_wait_before_a_retry_is_the_providers(autojump_clock: MockClock) -> None:
    """Half an hour, if it says so."""
    autojump_clock.autojump_threshold = 0.3
    async with open_server() as server:
        claude = model(server, timeout=1e6)
        server.will(Fail(429, headers=(("retry-after", "1800"),)))
        start = trio.current_time()
        await claude.reply(asked())
    assert trio.current_time() - start >= 1800


@pytest.mark.parametrize("ends_early", [False, True], ids=["connection lost", "ended"])
@pytest.mark.parametrize("after", [0, 1, 4, 7])
async def test_a_stream_that_breaks_off_is_unavailable(after: int, ends_early: bool) -> None:
    """Wherever it was, and however: what came so far is no reply, and is not asked for again."""
    async with open_server() as server:
        claude = model(server)
        server.will(say("Here it comes.", breaks_after=after, ends_early=ends_early))
        with pytest.raises(ModelUnavailable, match="broke off"):
            await claude.reply(asked())
        assert server.attempts == 1
        assert (await claude.reply(asked())).text == "ok"


@pytest.mark.parametrize(
    ("type", "kind", "status"),
    [
        ("overloaded_error", ModelUnavailable, 529),
        ("timeout_error", ModelTimeout, 504),
        ("invalid_request_error", ModelRefused, 400),
        ("new_error", ModelUnavailable, 500),
    ],
)
async def test_an_error_within_a_stream_is_what_its_type_says(type: str, kind: type[ModelError], status: int) -> None:
    """The answer's own status was 200 long before."""
    async with open_server() as server:
        claude = model(server)
        server.will(say("Here.", breaks_after=3, fails_with={"type": type, "message": "Sorry."}))
        with pytest.raises(kind, match=r"Sorry\.$") as caught:
            await claude.reply(asked())
    assert caught.value.status == status


async def test_no_server_is_unavailable() -> None:
    """Nobody listens at the address any more."""
    async with open_server() as server:
        pass
    with pytest.raises(ModelUnavailable, match="could not be reached"):
        await model(server, max_retries=0).reply(asked())


async def test_a_silent_server_is_a_timeout(autojump_clock: MockClock) -> None:
    """Before the answer began it would be tried again; here it has begun."""
    autojump_clock.autojump_threshold = 0.3
    async with open_server() as server:
        claude = model(server, timeout=60)
        server.will(say("Here.", breaks_after=3, gate=trio.Event()))
        with pytest.raises(ModelTimeout, match="fell silent"):
            await claude.reply(asked())


async def test_a_cancelled_reply_closes_its_connection() -> None:
    """The provider need not write what nobody reads, and the model can be used on."""
    gate = trio.Event()
    async with open_server() as server:
        claude = model(server)
        server.will(say("Here it comes.", breaks_after=4, gate=gate))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(claude.reply, asked())
            await server.held.wait()
            nursery.cancel_scope.cancel()
        await server.hung_up.wait()
        assert (await claude.reply(asked())).text == "ok"


async def test_what_the_stream_raises_comes_through_and_closes_the_connection() -> None:
    """It is the caller's error, not the provider's."""

    def fails(piece: Delta) -> None:
        raise LookupError(piece.text)

    async with open_server() as server:
        claude = model(server)
        server.will(say("Here it comes."))
        with pytest.raises(LookupError, match="Here"):
            await claude.reply(asked(), stream=fails)
        assert (await claude.reply(asked())).text == "ok"
    assert server.connections == 2


async def test_many_replies_at_once() -> None:
    """Each gets its own."""
    replies: dict[str, Reply] = {}

    def echo(body: Json) -> Say:
        return say(f"You said {body['messages'][-1]['content'][-1]['text']}.")

    async with open_server() as server:
        claude = model(server)
        server.will(*[echo] * 8)

        async def ask(words: str) -> None:
            replies[words] = await claude.reply(asked(words))

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(ask, f"n{number}")
    assert {words: reply.text for words, reply in replies.items()} == {f"n{n}": f"You said n{n}." for n in range(8)}


async def test_without_a_key_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to set; a key of white space is none, and one that no header can hold is not shown."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    for key in (None, "", " \n"):
        with pytest.raises(ModelRefused, match="anthropic:claude-x needs a key: set ANTHROPIC_API_KEY, or give"):
            Anthropic("claude-x", api_key=key)
    with pytest.raises(ModelRefused, match="characters in it that no key has") as caught:
        Anthropic("claude-x", api_key="sk-\N{SNOWMAN}")
    assert "sk-" not in str(caught.value)
    async with open_server() as server:
        with pytest.raises(ModelRefused, match=r"refused the request \(401\)"):
            await model(server, api_key=None).reply(asked())
        assert server.headers[0]["authorization"] == "Bearer no-key"
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "\n")
        assert (await model(server, api_key=None).reply(asked())).text == "ok"


async def test_a_key_is_in_no_repr_no_log_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """Even if the provider writes it into its own words; nor in what the error is chained to."""
    caplog.set_level(logging.DEBUG)
    async with open_server() as server:
        claude = model(server, max_retries=1)
        server.will(Fail(500), Fail(401, "authentication_error", f"{KEY} is no key"))
        with pytest.raises(ModelRefused, match=r"\[key\] is no key") as caught:
            await claude.reply(asked())
        assert KEY not in repr(claude)
        assert KEY not in repr(vars(caught.value))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert caplog.records
    assert KEY not in caplog.text


def test_a_model_can_be_used_in_one_run_after_the_other() -> None:
    """No connection outlives its request, so nobody has to close a model."""

    async def first() -> tuple[Anthropic, str]:
        async with open_server() as server:
            claude = model(server)
            assert (await claude.reply(asked())).text == "ok"
            return claude, server.url

    async def second(claude: Anthropic, port: int) -> None:
        async with open_server(port):
            assert (await claude.reply(asked())).text == "ok"

    claude, url = trio.run(first)
    trio.run(second, claude, int(url.rpartition(":")[2]))


async def test_an_address_that_is_no_model_s_says_so() -> None:
    """A page instead of a stream, and what is no address at all."""
    async with open_server() as server:
        server.will(Fail(200, headers=()))
        with pytest.raises(ModelRefused, match="answered with application/json and no stream of events"):
            await model(server).reply(asked())
    with pytest.raises(ValueError, match="base_url should begin with http"):
        Anthropic("claude-x", base_url="localhost:80")


def test_numbers_that_no_api_takes_are_refused() -> None:
    """Before there is a request."""
    for options in ({"max_tokens": 0}, {"timeout": 0}, {"max_retries": -1}, {"thinking_budget": 100}):
        with pytest.raises(ValueError, match=r"is at least|above zero"):
            Anthropic("claude-x", **options)  # type: ignore[arg-type]
    assert Anthropic("claude-x", api_key=KEY).name == "anthropic:claude-x"


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("claude-opus-4-8", True),
        ("claude-opus-5-5", True),
        ("claude-fable-5-1", True),
        ("a-server-of-ours", True),
        ("claude-opus-4-20250514", False),
        ("claude-opus-4-7", False),
        ("claude-sonnet-5", False),
        ("claude-3-7-sonnet-latest", False),
        ("eu.anthropic.claude-haiku-4-5", False),
    ],
)
async def test_a_models_name_says_if_it_takes_system_messages(name: str, takes: bool) -> None:
    """Within the conversation; whoever knows better says so."""
    said = Conversation.of("go", Message(role="system", parts=(Text(text="Hurry."),)))
    async with open_server() as server:
        for given in (None, not takes):
            claude = Anthropic(name, api_key=KEY, base_url=server.url, system_messages=given)
            await claude.reply(asked(said))
    assert [body["messages"][-1]["role"] == "system" for body in server.bodies] == [takes, not takes]

"""What goes wrong between us and a server is asked again or not, and comes out as our errors."""

import traceback
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from host.conversation import Conversation
from host.models import ModelError, ModelRefused, ModelTimeout, ModelUnavailable, Reply, Request
from host.models.named import model
from host.models.openai import OpenAIChat, OpenAIResponses
from tests.openai_server import SSE, Answer, Server, refused, serving, streamed

GO = Request(system="", messages=Conversation.of("Go.").messages)
YES = streamed({"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]})
NOW = {"retry_after_ms": "1"}


@pytest.fixture
def clock() -> MockClock:
    """Jumps when nobody has had anything to do for a moment, in which what is on its way over loopback arrives."""
    return MockClock(autojump_threshold=0.02)


async def asked(*answers: Answer, **how: Any) -> tuple[Reply | ModelError, Server]:
    """What comes of a request to a server that gives these answers."""
    async with serving(*answers) as server:
        try:
            return await OpenAIChat("m", base_url=server.url, **how).reply(GO), server
        except ModelError as error:
            return error, server


async def test_what_fails_in_passing_is_asked_again(clock: MockClock) -> None:
    """Overload, a server that is down, a connection that is lost: until there is a reply, with the same bytes."""
    reply, server = await asked(refused(429, "x", retry_after="0"), refused(503, "down"), Answer(then="drops"), YES)
    assert isinstance(reply, Reply)
    assert reply.text == "yes"
    assert [one.body for one in server.asked] == [server.asked[0].body] * 4


async def test_the_server_says_when_to_ask_again(clock: MockClock) -> None:
    """It is waited for as long as it says."""
    before = trio.current_time()
    reply, _ = await asked(refused(429, "x", Retry_After="7"), YES)
    assert isinstance(reply, Reply)
    assert 7 <= trio.current_time() - before < 8


@pytest.mark.parametrize(("status", "kind"), [(429, ModelUnavailable), (500, ModelUnavailable), (504, ModelTimeout)])
async def test_what_does_not_pass_is_unavailable(status: int, kind: type[ModelError]) -> None:
    """After as many retries as were allowed, which the message counts."""
    error, server = await asked(*[refused(status, {"message": "No."}, **NOW)] * 3, max_retries=2)
    assert type(error) is kind
    assert (str(error), error.status) == (f"openai:m could not answer ({status}), also after 2 retries: No.", status)
    assert (error.model, len(server.asked)) == ("openai:m", 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_is_refused_is_asked_once(status: int) -> None:
    """It would be refused again."""
    error, server = await asked(refused(status, {"message": "That is wrong."}))
    assert type(error) is ModelRefused
    assert (str(error), error.status) == (f"openai:m refused the request ({status}): That is wrong.", status)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded", "message": "Too much."},
        {"type": "exceed_context_size_error", "message": "Too much."},
        {"message": "This model's maximum context length is 8 tokens."},
        {"message": "The prompt is too long."},
    ],
)
async def test_a_request_that_is_too_long_is_called_so(error: object) -> None:
    """However the server says it."""
    found, _ = await asked(refused(400, error))
    assert isinstance(found, ModelRefused)
    assert str(found).startswith("openai:m cannot take so long a request: T")


async def test_an_empty_purse_is_no_overload() -> None:
    """Both have the same status."""
    error, _ = await asked(refused(429, {"code": "insufficient_quota", "message": "Pay."}, x_should_retry="false"))
    assert type(error) is ModelRefused
    assert str(error) == "openai:m refused the request (429): Pay."


async def test_a_body_that_nobody_wrote_for_people_is_not_quoted() -> None:
    """A page of HTML is no sentence."""
    error, _ = await asked(Answer(status=404, body=b"<html>" * 99, headers={"Content-Type": "text/html"}))
    assert str(error) == "openai:m refused the request (404)."


@pytest.mark.parametrize("media_type", ["text/html", "application/json; charset=utf-8"])
async def test_success_without_a_stream_is_a_wrong_address(media_type: str) -> None:
    """It would pass for an empty reply."""
    error, _ = await asked(Answer(body=b"<html>", headers={"Content-Type": media_type}))
    assert type(error) is ModelRefused
    assert "no stream of events; is the base URL right?" in str(error)


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b"[" * 100_000])
async def test_a_stream_that_cannot_be_read_is_unavailable(data: bytes) -> None:
    """No exception of a parser comes out."""
    error, _ = await asked(Answer(body=b"data: " + data + b"\n\n", headers={"Content-Type": SSE}))
    assert type(error) is ModelUnavailable
    assert str(error) == "openai:m sent a reply that cannot be read."


async def test_silence_before_the_reply_is_a_timeout(clock: MockClock) -> None:
    """Each time it is asked."""
    error, server = await asked(Answer(then="waits"), Answer(then="waits"), timeout=30, max_retries=1)
    assert type(error) is ModelTimeout
    assert str(error) == "openai:m did not answer within 30 s, also after a retry."
    assert len(server.asked) == 2


async def test_silence_in_the_middle_of_a_reply_is_a_timeout(clock: MockClock) -> None:
    """A reply that has begun is not asked for again."""
    begun = streamed({"choices": [{"delta": {"content": "x"}}]}, done=False, then="hangs")
    error, server = await asked(begun, timeout=30)
    assert type(error) is ModelTimeout
    assert str(error) == "openai:m fell silent for 30 s in the middle of its reply."
    assert len(server.asked) == 1


async def test_a_refusal_that_breaks_off_is_unavailable() -> None:
    """The SDK lets the exceptions of the connection through, there."""
    error, _ = await asked(Answer(status=400, body=b"{", then="breaks"))
    assert type(error) is ModelUnavailable
    assert str(error).startswith("openai:m could not be reached: ")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """The message says that it could not be reached."""
    async with serving() as server:
        url = server.url
    with pytest.raises(ModelUnavailable, match=r"^openai:m could not be reached: .+"):
        await OpenAIChat("m", base_url=url, max_retries=0).reply(GO)


async def test_a_key_that_a_server_repeats_is_not_shown() -> None:
    """Neither in the message nor in anything that a traceback prints."""
    key = "sk-very-secret-0123"
    error, _ = await asked(refused(401, {"message": f"Incorrect key provided: {key}"}), api_key=key)
    assert str(error) == "openai:m refused the request (401): Incorrect key provided: [key]"
    assert key not in "".join(traceback.format_exception(error))  # type: ignore[arg-type]


class TestKeys:
    @pytest.fixture(autouse=True)
    def environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One without keys and addresses."""
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(name, raising=False)

    @pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses])
    def test_a_missing_key_is_refused_before_anything_is_asked(self, kind: Any) -> None:
        """In one sentence that says what to do."""
        with pytest.raises(ModelRefused) as caught:
            kind("gpt-5")
        assert str(caught.value) == (
            "openai:gpt-5 needs a key: set OPENAI_API_KEY, or give the base URL of a server that needs none."
        )

    @pytest.mark.parametrize("key", ["sk-ü", "sk-\n1"])
    def test_a_key_that_is_none_is_refused_and_not_shown(self, key: str) -> None:
        """It could not be sent."""
        with pytest.raises(ModelRefused, match="has characters in it that no key has") as caught:
            OpenAIChat("gpt-5", api_key=key)
        assert "sk-" not in str(caught.value)

    async def test_the_key_and_the_address_may_stand_in_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the end of a line, as files have it."""
        async with serving(YES) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "sk-1\n")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            await OpenAIChat("m").reply(GO)
        assert server.asked[0].headers["authorization"] == "Bearer sk-1"

    async def test_no_proxy_is_used_to_this_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It would look for the server on its own."""
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        async with serving(YES) as server:
            reply = await OpenAIChat("m", base_url=server.url, max_retries=0).reply(GO)
        assert reply.text == "yes"

    @pytest.mark.parametrize("address", ["localhost:8080", "http://", "ftp://x"])
    def test_an_address_that_is_none_is_a_value_error(self, address: str) -> None:
        """Before anything is asked."""
        with pytest.raises(ValueError, match="base_url"):
            OpenAIChat("m", base_url=address)


class TestNames:
    def test_models_are_made_by_name(self) -> None:
        """The provider's name may have colons in it."""
        here = "http://127.0.0.1:1/v1"
        assert model("lexical").name == "lexical"
        assert (type(model("openai:a:b", base_url=here)), model("openai:a:b", base_url=here).name) == (
            OpenAIChat,
            "openai:a:b",
        )
        assert type(model("openai-responses:a", base_url=here)) is OpenAIResponses
        assert model("anthropic:a", base_url=here).name == "anthropic:a"

    @pytest.mark.parametrize("spec", ["", "gpt-5", "openai", "openai:", "openai: ", "lexical:x", "mistral:x"])
    def test_a_name_of_no_model_lists_the_forms(self, spec: str) -> None:
        """So that the next try is right."""
        with pytest.raises(
            ValueError, match="write one of lexical, openai:NAME, openai-responses:NAME, anthropic:NAME"
        ):
            model(spec)

    def test_lexical_is_on_no_server(self) -> None:
        """An address for it is a mistake that would pass unseen."""
        with pytest.raises(ValueError, match="leave out the base URL"):
            model("lexical", base_url="http://127.0.0.1:1")

"""A real server understands what we send, and we what it answers; and its prefix cache knows what it has seen before."""

from pathlib import Path

import httpx2
import pytest
import trio

from host.conversation import Conversation, Message, Text, ToolCall, ToolResult
from host.models import Delta, ModelRefused, Request, ToolSpec
from host.models.openai import OpenAIChat, OpenAIResponses
from tests.local_model import CONTEXT, local_model, local_url

__all__ = ["local_model", "local_url"]

DATA = Path(__file__).parent / "data"
TOOL = ToolSpec(
    name="find",
    description="Finds a person.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Who."},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "context": {"enum": ["fork", "cold"]},
            "where": {"type": "array", "items": {"type": "object", "properties": {"city": {"type": "string"}}}},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
)


def asking(
    about: str, *said: str | Message, rules: int = 8, tail: str = "", tools: tuple[ToolSpec, ...] = ()
) -> Request:
    """A request with instructions of `rules` times some fifteen tokens, of which the first is the topic."""
    system = "\n".join([f"{about}, rule {number}: never say more than was asked for." for number in range(rules)])
    return Request(system=system, messages=Conversation.of(*said).messages, tail=tail, tools=tools)


# So many that the ends of a message, which the template adds and a longer message has elsewhere, are 5 % of it at most.
MANY = 24


@pytest.fixture
def local_responses(local_url: str) -> OpenAIResponses:
    options = {"max_output_tokens": 8, "temperature": 0}
    return OpenAIResponses("gemma-3-270m", base_url=local_url, options=options)


@pytest.fixture(params=["chat", "responses"])
def either(request: pytest.FixtureRequest) -> OpenAIChat | OpenAIResponses:
    """The model by each of its interfaces."""
    model: OpenAIChat | OpenAIResponses = request.getfixturevalue(
        "local_model" if request.param == "chat" else "local_responses"
    )
    return model


async def test_pieces_join_to_the_reply_and_usage_is_reported(either: OpenAIChat | OpenAIResponses) -> None:
    """Several pieces, as many tokens as were allowed, and a count of what came from the cache."""
    told: list[Delta] = []
    reply = await either.reply(asking("Apples", "Tell me a story."), stream=told.append)
    assert "".join([piece.text for piece in told]) == reply.text != ""
    assert len(told) > 1
    assert reply.usage.input > 100
    assert 1 < reply.usage.output <= 8
    assert reply.usage.cached is not None
    assert reply.message().parts == (Text(text=reply.text),)


async def test_a_reply_that_is_cut_off_says_so(local_model: OpenAIChat) -> None:
    """The model would go on."""
    assert (await local_model.reply(asking("Bees", "Count to a million."))).stop == "length"


async def test_tools_calls_results_and_notices_are_understood(either: OpenAIChat | OpenAIResponses) -> None:
    """Schemas of every kind, calls with and without results, arguments that are no JSON, system messages in between."""
    call = ToolCall(id="c1", name="find", arguments='{"name": "Sarah"}')
    broken = ToolCall(id="c2", name="find", arguments='{"name": ')
    request = asking(
        "Cats",
        "Who is Sarah?",
        Message(role="assistant", parts=(Text(text="I look."), call, broken)),
        Message(role="tool", parts=(ToolResult(call="c1", parts=(Text(text="two \x1b[31m\0 found"),)),)),
        Message(role="system", parts=(Text(text="Be brief."),)),
        "Go on.",
        "Hurry.",
        tail="One task is running.",
        tools=(TOOL,),
    )
    assert (await either.reply(request)).usage.output > 0


@pytest.mark.parametrize("file", sorted(DATA.glob("thread_*")), ids=lambda file: file.name)
async def test_histories_of_every_provider_are_understood(local_url: str, file: Path) -> None:
    """By a template, which raises for what it has no place for."""
    model = OpenAIChat("m", base_url=local_url, sees_images=False, options={"max_tokens": 1})
    request = Request(system="", messages=Conversation.load(file).messages)
    assert (await model.reply(request)).usage.input > 0


async def test_a_request_that_is_too_long_is_refused(local_model: OpenAIChat) -> None:
    """With the sentence of the server."""
    with pytest.raises(ModelRefused, match=f"cannot take so long a request: .*{CONTEXT}"):
        await local_model.reply(asking("Dogs", "word " * (CONTEXT + 1)))


def written_so_far(url: str) -> int:
    """How many tokens the server has written since it started."""
    lines = httpx2.get(f"{url.removesuffix('/v1')}/metrics", trust_env=False).text.splitlines()
    (line,) = [line for line in lines if line.startswith("llamacpp:tokens_predicted_total ")]
    return int(float(line.split()[1]))


async def test_cancelling_in_mid_stream_frees_the_server(local_url: str, local_model: OpenAIChat) -> None:
    """It stops writing: the next request, in the same slot, gets its turn long before the text would have ended."""
    endless = OpenAIChat("m", base_url=local_url, options={"ignore_eos": True, "temperature": 0})
    with trio.CancelScope() as scope:
        await endless.reply(asking("Eels", "Tell me a long story."), stream=lambda _: scope.cancel())
    assert scope.cancelled_caught
    reply = await local_model.reply(asking("Eels", "Stop."))
    assert reply.usage.output > 0
    assert written_so_far(local_url) < CONTEXT // 2


class TestPrefixCache:
    """What was sent before is read from the cache; the numbers are the server's own."""

    async def test_r32_a_conversation_that_goes_on_is_cached_up_to_where_it_stood(
        self, either: OpenAIChat | OpenAIResponses
    ) -> None:
        """Nearly all that the request before sent."""
        first = await either.reply(asking("Foxes", "Hello.", rules=MANY, tools=(TOOL,)))
        longer = asking("Foxes", "Hello.", first.message(), "And now?", rules=MANY, tools=(TOOL,))
        second = await either.reply(longer)
        assert second.usage.cached is not None
        assert second.usage.cached >= 0.95 * first.usage.input
        assert second.usage.input > first.usage.input

    async def test_r79_another_prefix_is_not_cached(self, local_model: OpenAIChat) -> None:
        """Though all but its first word is the same."""
        await local_model.reply(asking("Geese", "Hello.", rules=MANY))
        other = await local_model.reply(asking("Hens", "Hello.", rules=MANY))
        assert other.usage.cached is not None
        assert other.usage.cached <= 0.05 * other.usage.input

    async def test_r37_a_tail_that_changes_costs_no_more_than_itself(self, local_model: OpenAIChat) -> None:
        """All that stands before it is cached."""
        bare = await local_model.reply(asking("Ibises", "Hello.", rules=MANY))
        await local_model.reply(
            asking("Ibises", "Hello.", rules=MANY, tail="Running: send_report. The history has 900 tokens.")
        )
        changed = await local_model.reply(
            asking("Ibises", "Hello.", rules=MANY, tail="Nothing runs. The history has 950 tokens.")
        )
        assert changed.usage.cached is not None
        assert changed.usage.cached >= 0.95 * bare.usage.input

    async def test_r78_branches_of_one_fork_share_its_prefix(self, local_model: OpenAIChat) -> None:
        """The second one, too, after the first has gone its own way."""
        start = await local_model.reply(asking("Jackdaws", "Hello.", rules=MANY))
        for name in ("north", "south"):
            assignment = f"You are branch {name}. Look there."
            branch = await local_model.reply(asking("Jackdaws", "Hello.", start.message(), assignment, rules=MANY))
            assert branch.usage.cached is not None
            assert branch.usage.cached >= 0.95 * start.usage.input

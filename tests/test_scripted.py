"""Models that say what was written down or recorded, for tests: with every request kept, and mistakes that explain
themselves.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from host.conversation import Conversation, Message, Text, Thinking, ToolCall, ToolResult
from host.models import Delta, ModelUnavailable, Reply, Request, ToolSpec, Usage
from host.models.scripted import Exchange, Recording, Scripted, ScriptEnded, ScriptMismatch

LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object"})
CALL = ToolCall(id="c1", name="look", arguments='{"at": "sea"}')


def asked(*said: str | Message, system: str = "Be kind.", tail: str = "") -> Request:
    return Request(system=system, messages=Conversation.of(*said).messages, tools=(LOOK,), tail=tail)


async def test_replies_come_in_the_order_they_were_written_in() -> None:
    """As replies, as text, or as what a function makes of the request; the requests are kept as they came."""
    model = Scripted(["One.", Reply.of("Two.", CALL), lambda request: f"You said {request.messages[-1].text}."])
    requests = [asked("a"), asked("b"), asked("c")]
    replies = [await model.reply(request) for request in requests]
    assert [reply.text for reply in replies] == ["One.", "Two.", "You said c."]
    assert replies[1].calls == (CALL,)
    assert all(kept is request for kept, request in zip(model.requests, requests, strict=True))
    assert (model.name, model.left) == ("scripted", 0)


async def test_a_script_that_ended_says_after_what() -> None:
    """With how many replies it had; also if there was no message at all."""
    model = Scripted(["One."])
    await model.reply(asked("a"))
    with pytest.raises(
        ScriptEnded, match=r"the script has 1 replies, and a further one .* after the user message 'more'"
    ):
        await model.reply(asked("a", "more"))
    with pytest.raises(ScriptEnded, match="after no message"):
        await Scripted([]).reply(asked())


async def test_a_reply_is_streamed_in_pieces() -> None:
    """Word by word; the pieces of each kind, joined, are what the reply holds."""
    pieces: list[Delta] = []
    reply = Reply(parts=(Thinking(text="Hm."), Text(text=" Here it\n comes. "), CALL))
    assert await Scripted([reply]).reply(asked("a"), stream=pieces.append) == reply
    assert pieces == [
        Delta(kind="thinking", text="Hm."),
        Delta(kind="text", text=" Here "),
        Delta(kind="text", text="it\n "),
        Delta(kind="text", text="comes. "),
        Delta(kind="call", text=CALL.arguments),
    ]


async def test_an_exception_in_a_script_is_raised() -> None:
    """So that a test can have a provider fail and come back."""
    model = Scripted([ModelUnavailable("gone", model="m"), "Back."])
    with pytest.raises(ModelUnavailable, match="gone"):
        await model.reply(asked("a"))
    assert (await model.reply(asked("a"))).text == "Back."


async def test_a_script_that_gives_something_else_is_a_mistake_in_the_test() -> None:
    """A function without a return, say."""
    with pytest.raises(TypeError, match="a script gave NoneType, which is no reply"):
        await Scripted.by(lambda request: None).reply(asked("a"))  # type: ignore[arg-type, return-value]


async def test_a_function_of_the_request_serves_many_loops_at_once() -> None:
    """It may wait, for another loop say, and never ends."""
    arrived = trio.Event()

    async def answer(request: Request) -> str:
        words = request.messages[-1].text
        if words == "first":
            await arrived.wait()
        arrived.set()
        return words.upper()

    model = Scripted.by(answer)
    replies: list[str] = []

    async def ask(words: str) -> None:
        replies.append((await model.reply(asked(words))).text)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "first")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, "second")
    assert replies == ["SECOND", "FIRST"]


async def test_each_agent_has_its_own_script() -> None:
    """Found by how its instructions begin, the longest beginning first; the order of asking does not matter."""
    model = Scripted.for_agents({"You are": ["I am."], "You are the cook": ["Soup.", "Bread."]})
    cook, waiter = "You are the cook of the inn.", "You are a waiter."
    assert (await model.reply(asked("a", system=cook))).text == "Soup."
    assert (await model.reply(asked("a", system=waiter))).text == "I am."
    assert (model.left, (await model.reply(asked("a", system=cook))).text) == (1, "Bread.")
    with pytest.raises(ScriptEnded, match="the script for 'You are' has 1 replies, and a further one"):
        await model.reply(asked("a", system=waiter))
    with pytest.raises(ScriptMismatch, match=r"instructions begin 'I am the king\.'; they are for\n  'You are'\n"):
        await model.reply(asked("a", system="I am the king."))


async def record(path: Path) -> list[Exchange]:
    """A short conversation with everything in it, recorded to a file."""
    first = Reply(
        parts=(Thinking(text="Hm.", signature="s"), Text(text="I look. \ud800"), CALL),
        usage=Usage(input=9, output=4, cached=3),
        stop="tools",
        shape="anthropic",
        original=b'{"role": "assistant"}',
    )
    recording = Recording(Scripted([first, "Done."], name="inner"))
    said = Conversation.of("go", Message(role="system", parts=(Text(text="Hurry."),), name="boss"))
    reply = await recording.reply(asked(*said, tail="1 task"))
    said = said.append(reply.message())
    said = said.say("tool", (ToolResult(call="c1", parts=(Text(text="blue"),)),))
    await recording.reply(asked(*said))
    assert recording.name == "inner"
    recording.save(path)
    return recording.exchanges


async def test_a_recording_is_replayed_from_its_file(tmp_path: Path) -> None:
    """The replies are the recorded ones to the last field, and so are the requests."""
    exchanges = await record(tmp_path / "run.jsonl")
    model = Scripted.load(tmp_path / "run.jsonl", name="again")
    for exchange in exchanges:
        assert await model.reply(exchange.request) == exchange.reply
    assert (model.left, model.name) == (0, "again")
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 2
    model.save(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()
    with pytest.raises(ScriptEnded, match="all 2 recorded replies were given"):
        await model.reply(exchanges[0].request)


async def test_a_replay_does_not_look_at_what_no_provider_sees(tmp_path: Path) -> None:
    """Ids of messages, and the form in which they came in, differ from run to run."""
    exchanges = await record(tmp_path / "run.jsonl")
    model = Scripted.load(tmp_path / "run.jsonl")
    for exchange in exchanges:
        again = [Message(role=each.role, parts=each.parts, name=each.name) for each in exchange.request.messages]
        assert await model.reply(replace(exchange.request, messages=tuple(again))) == exchange.reply


async def test_loops_at_once_may_ask_in_another_order(tmp_path: Path) -> None:
    """Each recorded reply is given once, to its own request; equal requests get theirs in order."""
    recording = Recording(Scripted(["A.", "B.", "C."]))
    for words in ("a", "b", "a"):
        await recording.reply(asked(words))
    model = Scripted.recorded(recording.exchanges)
    assert [(await model.reply(asked(words))).text for words in ("b", "a", "a")] == ["B.", "A.", "C."]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"system": "Be kind!"}, 'the system differs\n  recorded: "Be kind."\n  asked:    "Be kind!"'),
        ({"tail": "2 tasks"}, 'the tail differs\n  recorded: "1 task"\n  asked:    "2 tasks"'),
        ({"tools": ()}, 'tool 1 differs\n  recorded: {"name": "look"'),
        (
            {"messages": Conversation.of("go").messages},
            'the role of message 2 differs\n  recorded: ["system", "boss"]\n  asked:    nothing',
        ),
        (
            {"messages": Conversation.of("stop").messages},
            'part 1 of message 1 differs\n  recorded: Text {"text": "go"}\n  asked:    Text {"text": "stop"}',
        ),
    ],
)
async def test_another_request_than_the_recorded_one_is_explained(
    tmp_path: Path, change: dict[str, object], told: str
) -> None:
    """By which request it is, the first difference, and both sides of it."""
    exchanges = await record(tmp_path / "run.jsonl")
    model = Scripted.load(tmp_path / "run.jsonl")
    with pytest.raises(ScriptMismatch) as caught:
        await model.reply(replace(exchanges[0].request, **change))  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"request 1 of 2 is not the one recorded: {told}")
    assert len(str(caught.value).splitlines()) == 3
    assert model.left == 2


async def test_a_difference_far_into_a_long_text_is_shown_where_it_is() -> None:
    """With a little before and after it, not from the beginning."""
    long = "word " * 500
    recording = Recording(Scripted(["A."]))
    await recording.reply(asked(f"{long} sea {long}"))
    with pytest.raises(ScriptMismatch) as caught:
        await Scripted.recorded(recording.exchanges).reply(asked(f"{long} sky {long}"))
    assert "word  sea word" in str(caught.value)
    assert "word  sky word" in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("line", ["{}", "[1]", "nonsense", '{"format": "another 1"}'])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, line: str) -> None:
    """With the line that is wrong."""
    (tmp_path / "run.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"run\.jsonl: line 1 is no exchange"):
        Scripted.load(tmp_path / "run.jsonl")


async def test_the_errors_of_a_recorded_model_pass_and_are_not_kept() -> None:
    """Nor is a request that came to no reply."""
    recording = Recording(Scripted([ModelUnavailable("gone"), "Back."]))
    with pytest.raises(ModelUnavailable):
        await recording.reply(asked("a"))
    pieces: list[Delta] = []
    await recording.reply(asked("a"), stream=pieces.append)
    assert [exchange.reply.text for exchange in recording.exchanges] == ["Back."]
    assert pieces == [Delta(kind="text", text="Back.")]

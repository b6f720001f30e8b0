"""A loop gives its model the whole of what it may know, runs its tools at once, and bears with what a model writes."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
import trio
import trio.testing

from host.context import Inherited, read_section
from host.conversation import Conversation, Message, ToolCall
from host.errors import NeedsClarification
from host.events import Event, Requested
from host.loop import Agent, Ended, NoAnswer, Tool, ToolError, choose, chooser, lookup, run_agent
from host.loop.results import rendered
from host.models.port import Reply, Request, ToolSpec, Usage
from host.models.scripted import Scripted, ScriptEnded

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def calls(*wanted: tuple[str, object], usage: Usage | None = None) -> Reply:
    """A reply that calls tools; arguments that are no text are written as JSON."""
    made = [
        ToolCall(id=f"c{at}", name=name, arguments=given if isinstance(given, str) else json.dumps(given))
        for at, (name, given) in enumerate(wanted)
    ]
    return Reply.of("", *made, usage=usage)


def results(message: Message) -> list[tuple[str, str, bool]]:
    """What a tool message answers: the call, the words, and whether it failed."""
    assert message.role == "tool"
    return [(part.call, Message(role="tool", parts=part.parts).text, part.is_error) for part in message.parts]


async def _shout(arguments: Mapping[str, object]) -> object:
    return str(arguments["text"]).upper()


async def _end(arguments: Mapping[str, object]) -> object:
    if arguments["text"] == "wrong":
        raise ToolError("There is no such ending. Use 'right'.")
    return {"ended": arguments["text"]}


SHOUT = Tool(spec=ToolSpec(name="shout", description="Shout.", parameters=TEXT), run=_shout)
END = Tool(spec=ToolSpec(name="end", description="End.", parameters=TEXT), run=_end, terminal=True)


def agent(*replies: Reply | str, **changes: object) -> tuple[Agent, Scripted]:
    model = Scripted(replies)
    settings = {"name": "test", "instructions": "You test.", "model": model, "tools": (SHOUT, END), **changes}
    return Agent(**settings), model  # type: ignore[arg-type]


async def ended(*replies: Reply | str, **changes: object) -> tuple[Ended, list[Request]]:
    made, model = agent(*replies, **changes)
    return await run_agent(made, "do it", Inherited.cold()), model.requests


async def test_a_cold_child_gets_its_instructions_and_the_request_alone() -> None:
    """Not one byte more than that."""
    _, (request,) = await ended("done")
    assert request.system == "You test."
    assert [(message.role, message.text) for message in request.messages] == [("user", "do it")]
    assert [tool.name for tool in request.tools] == ["shout", "end"]


async def test_a_forked_child_finds_the_history_in_its_instructions() -> None:
    """The history is a section behind the child's own instructions; the request is the only user message."""
    made, model = agent("done")
    await run_agent(made, "do it", Inherited.of(Conversation.of("Ann asked for the plan.")))
    (request,) = model.requests
    section = read_section(request.system)
    assert request.system.startswith("You test.\n\n=== ")
    assert section is not None
    assert [(entry.speaker, entry.text) for entry in section.entries] == [("outer user", "Ann asked for the plan.")]
    assert [message.text for message in request.messages] == ["do it"]


async def test_all_requests_of_a_run_begin_with_the_same_bytes() -> None:
    """The section is rendered once, its mark included."""
    made, model = agent(calls(("shout", {"text": "a"})), "done")
    await run_agent(made, "do it", Inherited.of(Conversation.of("x")))
    first, second = model.requests
    assert first.system == second.system
    assert second.messages[:1] == first.messages


async def test_each_request_can_be_observed() -> None:
    """What the model was given is told before it replies."""
    made, model = agent(calls(("shout", {"text": "a"})), "done")
    seen: list[Event] = []
    await run_agent(made, "do it", Inherited.cold(), observe=seen.append)
    assert [event.request for event in seen if isinstance(event, Requested)] == model.requests


async def test_text_ends_a_loop_that_may_end_so() -> None:
    """The text is the result."""
    outcome, _ = await ended("All done.")
    assert (outcome.by, outcome.value, outcome.turns) == (None, "All done.", 1)


async def test_a_terminal_tool_ends_the_loop_with_what_it_returns() -> None:
    """Usage is the sum over all requests."""
    usage = Usage(input=10, output=2, cached=5)
    outcome, _ = await ended(
        calls(("shout", {"text": "a"}), usage=usage), calls(("end", {"text": "right"}), usage=usage)
    )
    assert (outcome.by, outcome.value, outcome.turns) == ("end", {"ended": "right"}, 2)
    assert outcome.usage == Usage(input=20, output=4, cached=10)


async def test_a_terminal_tool_that_fails_does_not_end_the_loop() -> None:
    """The model reads why, and may try again."""
    outcome, requests = await ended(calls(("end", {"text": "wrong"})), calls(("end", {"text": "right"})))
    assert outcome.value == {"ended": "right"}
    assert results(requests[1].messages[-1]) == [("c0", "There is no such ending. Use 'right'.", True)]


async def test_results_follow_in_the_order_of_the_calls() -> None:
    """Whichever is done first."""
    started: list[str] = []
    both = trio.Event()

    async def wait(arguments: Mapping[str, object]) -> object:
        started.append(str(arguments["text"]))
        if len(started) == 2:
            both.set()
        else:
            await both.wait()
        return arguments["text"]

    tool = Tool(spec=ToolSpec(name="wait", description="Wait.", parameters=TEXT), run=wait)
    _, requests = await ended(calls(("wait", {"text": "a"}), ("wait", {"text": "b"})), "done", tools=(tool,))
    assert results(requests[1].messages[2]) == [("c0", "a", False), ("c1", "b", False)]


async def test_a_fault_in_a_tool_ends_the_loop_and_its_other_calls() -> None:
    """What is not the model's doing is not told to the model."""
    cancelled: list[str] = []

    async def work(arguments: Mapping[str, object]) -> object:
        if arguments["text"] == "break":
            await trio.lowlevel.checkpoint()
            raise OSError("disk on fire")
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            cancelled.append(str(arguments["text"]))
            raise

    tool = Tool(spec=ToolSpec(name="work", description="Work.", parameters=TEXT), run=work)
    made, _ = agent(calls(("work", {"text": "stay"}), ("work", {"text": "break"})), tools=(tool,))
    with pytest.raises(OSError, match="disk on fire"):
        await run_agent(made, "do it", Inherited.cold())
    assert cancelled == ["stay"]


async def test_cancelling_a_loop_cancels_its_calls(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing of a loop outlives it."""
    ended_calls: list[str] = []

    async def stay(_arguments: Mapping[str, object]) -> object:
        try:
            await trio.sleep_forever()
        finally:
            ended_calls.append("stay")

    tool = Tool(spec=ToolSpec(name="stay", description="Stay.", parameters=TEXT), run=stay)
    made, _ = agent(calls(("stay", {"text": "a"}), ("stay", {"text": "b"})), tools=(tool,))
    with trio.move_on_after(5) as scope:
        await run_agent(made, "do it", Inherited.cold())
    assert scope.cancelled_caught
    assert ended_calls == ["stay", "stay"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("shuot", {"text": "a"}), "There is no tool 'shuot'. Did you mean 'shout'?"),
        (("dance", {}), "There is no tool 'dance'. There is: shout, end."),
        (("shout", {}), "shout needs the argument 'text'."),
        (("shout", ""), "shout needs the argument 'text'."),
        (("shout", "null"), "shout needs the argument 'text'."),
        (("shout", {"text": 5}), "'text' must be a string, not 5."),
        (("shout", {"txt": "a", "text": "a"}), "shout has no argument 'txt'. Did you mean 'text'?"),
        (("shout", {"volume": 9}), "shout has no argument 'volume'. It takes: text. shout needs the argument 'text'."),
        (("shout", "[1]"), "The arguments of shout must be one JSON object, not [1]."),
        (
            ("shout", '{"text": "a'),
            (
                "The arguments of shout are not valid JSON (Unterminated string starting at: line 1 column 10 (char 9))."
                " Send one JSON object."
            ),
        ),
    ],
)
async def test_a_wrong_call_is_answered_with_what_to_write(call: tuple[str, object], told: str) -> None:
    """An unknown tool, arguments that are no JSON, that are missing, too many, or of another type."""
    _, requests = await ended(calls(call), "done")
    assert results(requests[1].messages[-1]) == [("c0", told, True)]


async def test_deeply_nested_arguments_are_answered_too() -> None:
    """No text of a model ends the loop."""
    _, requests = await ended(calls(("shout", '{"text": ' + "[" * 200_000)), "done")
    assert results(requests[1].messages[-1])[0][2]


async def test_an_empty_reply_is_answered_with_what_to_do() -> None:
    """White space is empty as well."""
    _, requests = await ended("", " \n", "done")
    last = requests[2].messages[-1]
    assert (last.role, last.text) == ("user", "Your reply was empty. Answer the request, or call a tool.")


async def test_text_is_no_answer_where_a_tool_must_end() -> None:
    """The model is told which tools end the loop."""
    outcome, requests = await ended("It is Ann.", "", calls(("end", {"text": "right"})), must_end_by_tool=True)
    assert outcome.value == {"ended": "right"}
    assert requests[1].messages[-1].text == "Text is no answer here. End by calling `end`."
    assert requests[2].messages[-1].text == "Your reply was empty. End by calling `end`."


async def test_the_turns_are_bounded() -> None:
    """A model that never comes to an end is stopped, and the caller learns what to do."""
    made, model = agent(*[calls(("shout", {"text": "a"}))] * 5, max_turns=3)
    with pytest.raises(NoAnswer, match="The test agent came to no answer within 3 turns"):
        await run_agent(made, "do it", Inherited.cold())
    assert len(model.requests) == 3


def test_an_agent_with_two_tools_of_one_name_is_refused() -> None:
    """A call could mean either."""
    with pytest.raises(ValueError, match="two tools of one name"):
        agent(tools=(SHOUT, SHOUT))


async def test_a_script_that_ended_says_after_what() -> None:
    """A scripted model explains a mismatch."""
    with pytest.raises(ScriptEnded, match=r"has 1 replies.*after the tool message 'A'"):
        await ended(calls(("shout", {"text": "a"})))


def test_long_results_are_shortened_by_whole_items() -> None:
    """What is left is valid, and says how much is not there."""
    shortened = json.loads(rendered([{"n": n, "text": "x" * 50} for n in range(1000)], longest=1000))
    assert shortened[0] == {"n": 0, "text": "x" * 50}
    assert shortened[-1] == {
        "left_out": 1000 - len(shortened) + 1,
        "of": 1000,
        "hint": "ask for fewer, or more exactly",
    }
    assert rendered("y" * 20, longest=10) == "y" * 10 + "\n[10 of 20 characters are left out here.]"
    assert "too_long" in json.loads(rendered({"a": "z" * 100}, longest=50))


BOOKS = {1: "Moby Dick", 2: "Middlemarch"}


def librarian(*replies: Reply | str) -> Agent:
    async def find(arguments: Mapping[str, object]) -> object:
        return [{"id": key, "title": title} for key, title in BOOKS.items() if str(arguments["text"]) in title]

    async def pick(key: object) -> str:
        if not isinstance(key, int) or key not in BOOKS:
            raise ToolError(f"There is no book {key}.")
        return BOOKS[key]

    return chooser(
        name="library",
        about="You look after books.",
        model=Scripted(replies),
        lookups=[lookup("find", "Find books.", {"text": {"type": "string"}}, find, required=["text"])],
        key="id",
        described={"type": "integer"},
        pick=pick,
    )


async def test_a_chooser_gives_the_record_that_was_named() -> None:
    """A key that no record has is a mistake that can be mended."""
    made = librarian(calls(("find", {"text": "M"})), calls(("answer", {"id": 7})), calls(("answer", {"id": 2})))
    assert await choose(made, str, "the long one", Inherited.cold()) == "Middlemarch"


async def test_a_chooser_that_asks_back_raises() -> None:
    """The question and the options reach the caller."""
    made = librarian(calls(("clarify", {"question": "Which?", "options": ["a", "b"]})))
    with pytest.raises(NeedsClarification) as caught:
        await choose(made, str, "the long one", Inherited.cold())
    assert (caught.value.question, caught.value.options) == ("Which?", ("a", "b"))


async def test_a_chooser_may_ask_back_without_options() -> None:
    """There may be none."""
    with pytest.raises(NeedsClarification) as caught:
        await choose(librarian(calls(("clarify", {"question": "What?"}))), str, "it", Inherited.cold())
    assert caught.value.options == ()


async def test_a_text_that_was_cut_off_is_no_answer() -> None:
    """The model is told to say it in fewer words."""
    outcome, requests = await ended(Reply.of("It is a very long", stop="length"), "It is Ann.")
    assert outcome.value == "It is Ann."
    assert requests[1].messages[-1].text == "Your reply was cut off at its length limit. Answer again, in fewer words."


async def test_a_call_that_was_cut_off_is_told_that_this_may_be_why() -> None:
    """Its arguments are no JSON then; the other calls of the reply are made."""
    cut = calls(("shout", {"text": "a"}), ("shout", '{"text": "b'))
    _, requests = await ended(Reply(parts=cut.parts, stop="length"), "done")
    whole, broken = results(requests[1].messages[-1])
    assert whole == ("c0", "A", False)
    assert broken[1].startswith("The arguments of shout are not valid JSON")
    assert broken[1].endswith("Your reply was cut off at its length limit, which may be why: write less in one call.")

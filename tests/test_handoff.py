"""Hand-off on live loops: section H of the delegation rules."""

from __future__ import annotations

from host.conversation import Message
from host.events import HandedOff
from host.loop import Crew, Tool
from host.models.port import Request, ToolSpec
from tests.loop_scene import Actor, Desk, call, calls, spoken, talking, tool_names, whole


async def look(_arguments: object) -> object:
    return "shelf 7"


LOOK = Tool(spec=ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}}), run=look)


async def test_r73_each_target_is_a_tool_described_by_the_target() -> None:
    """A target without a description gets a generic sentence; the reason may be left out."""
    actor = Actor(desk=["Hello."], clerk=[], guard=[])
    clerk, guard = actor.agent("clerk", description="Knows every shelf."), actor.agent("guard")
    desk = actor.agent("desk", handoffs=("clerk", "guard"))
    async with talking(desk, crew=Crew.of([desk, clerk, guard])) as run:
        await run.say("Hello.")
    tools = {tool.name: tool for tool in actor.requests[0].tools}
    assert tools["transfer_to_clerk"].description == "Knows every shelf."
    assert "agent guard" in tools["transfer_to_guard"].description
    assert tools["transfer_to_clerk"].parameters["required"] == []


async def test_r74_r75_r76_control_moves_and_stays_moved() -> None:
    """The target sees the whole transcript, under its own instructions alone and with its own tools; it answers every
    later turn.
    """
    actor = Actor(
        desk=[call("look"), call("transfer_to_clerk", reason="It is about shelves."), "never"],
        clerk=["On shelf 7.", "Still me."],
    )
    desk = actor.agent("desk", tools=(LOOK,), handoffs=("clerk",))
    clerk = actor.agent("clerk", capabilities=(Desk(actor.agent("desk"), name="shelves"),))
    async with talking(desk, crew=Crew.of([desk, clerk])) as run:
        assert await run.say("Where is it?") == "On shelf 7."
        assert await run.say("And now?") == "Still me."
        (moved,) = run.told(HandedOff)
    first, second = actor.of("clerk")
    said = "\n".join(map(spoken, first.messages))
    for words in ("Where is it?", "look", "shelf 7", "transfer_to_clerk", "Control is with clerk now."):
        assert words in said
    assert first.system.startswith("You are the clerk.")
    assert "You are the desk" not in whole(first)
    assert tool_names(first) == ["shelves_ask", "shelves_count", "run_code"]
    assert second.messages[: len(first.messages)] == first.messages
    assert (moved.source, moved.target, moved.reason) == ("desk", "clerk", "It is about shelves.")


async def test_r75_a_filter_of_the_developers_may_trim_what_the_target_is_shown() -> None:
    """The conversation itself stays whole."""

    def words_only(messages: tuple[Message, ...]) -> list[Message]:
        return [message for message in messages if message.role == "user" or message is messages[-1] or message.calls]

    actor = Actor(desk=["Noted.", call("transfer_to_clerk")], clerk=["Here."])
    desk = actor.agent("desk", handoffs=("clerk",))
    clerk = actor.agent("clerk", trim=words_only)
    async with talking(desk, crew=Crew.of([desk, clerk])) as run:
        await run.say("It is red.")
        await run.say("Where is it?")
        texts = [message.text for message in run.dialogue.conversation]
    assert "Noted." not in whole(actor.of("clerk")[0])
    assert "It is red." in whole(actor.of("clerk")[0])
    assert "Noted." in texts


async def test_r77_one_reply_hands_over_once_and_its_other_calls_are_still_made() -> None:
    """A second transfer in the same reply is refused; the first one in order counts."""
    actor = Actor(
        desk=[calls(("look", {}), ("transfer_to_clerk", {}), ("transfer_to_guard", {}))], clerk=["Here."], guard=[]
    )
    desk = actor.agent("desk", tools=(LOOK,), handoffs=("clerk", "guard"))
    async with talking(desk, crew=Crew.of([desk, actor.agent("clerk"), actor.agent("guard")])) as run:
        assert await run.say("Where is it?") == "Here."
    results = [result.text for result in actor.of("clerk")[0].messages[-1].results]
    assert results == [
        "shelf 7",
        "Control is with clerk now.",
        "Control has gone to clerk already. One reply hands over once.",
    ]


async def test_r74_back_again_an_agent_finds_its_own_tools() -> None:
    """Handing back is a hand-off like any other."""

    def desk_turns(request: Request, before: int):
        return [call("transfer_to_clerk"), "Here I am again."][before]

    actor = Actor(desk=desk_turns, clerk=[call("transfer_to_desk")])
    desk = actor.agent("desk", tools=(LOOK,), handoffs=("clerk",))
    clerk = actor.agent("clerk", handoffs=("desk",))
    async with talking(desk, crew=Crew.of([desk, clerk])) as run:
        assert await run.say("Where is it?") == "Here I am again."
    assert tool_names(actor.of("desk")[1]) == tool_names(actor.of("desk")[0]) == ["look", "transfer_to_clerk"]

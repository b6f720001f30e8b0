"""An agent as a capability of another: described by itself, asked like anything else."""

from __future__ import annotations

from host.capability import describe
from host.loop import Agent, Colleague, Crew
from tests.loop_scene import Actor, call, inherited_texts, spoken, talking


def clerk(actor: Actor, **changes: object) -> Agent:
    return actor.agent("clerk", description="Knows every shelf.", **changes)


async def test_its_callers_read_the_agents_description() -> None:
    """On the tool and in the stubs; two agents of one class do not share it."""
    actor = Actor(desk=["Hello."], clerk=[], guard=[])
    guard = actor.agent("guard", description="Has the keys.")
    desk = actor.agent("desk", capabilities=(Colleague(clerk(actor)), Colleague(guard)))
    async with talking(desk, crew=Crew()) as run:
        await run.say("Hello.")
    tools = {tool.name: tool.description for tool in actor.requests[0].tools}
    assert tools["clerk_ask"].startswith("Knows every shelf.")
    assert tools["guard_ask"].startswith("Has the keys.")
    stubs = describe(desk.capabilities)
    assert "Knows every shelf." in stubs
    assert "Has the keys." in stubs
    compile(stubs, "stubs", "exec")


async def test_it_is_asked_like_anything_else() -> None:
    """Forked, unless the call says cold; its answer is the result."""
    actor = Actor(
        desk=[call("clerk_ask", request="Where?"), call("clerk_ask", request="Where?", context="cold"), "There."],
        clerk=["shelf 7", "Which book?"],
    )
    async with talking(actor.agent("desk", capabilities=(Colleague(clerk(actor)),))) as run:
        await run.say("I look for the atlas.")
    forked, cold = actor.of("clerk")
    assert inherited_texts(forked) == ["I look for the atlas."]
    assert cold.system == "You are the clerk."
    assert spoken(actor.of("desk")[1].messages[-1]) == "shelf 7"

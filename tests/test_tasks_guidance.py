"""What reaches a model that can delegate, and what comes back to it: section K of the delegation rules."""

from __future__ import annotations

from host.conversation import ToolResult
from host.events import Delegated
from host.loop.guidance import DELEGATING, TASKS
from host.models.port import Reply
from tests.loop_scene import Actor, Desk, call, spoken, talking, whole


async def test_r87_a_delegating_model_is_told_when_to_keep_and_when_to_hand_on() -> None:
    """The rules stand behind its own instructions, the same in every request; an agent that cannot delegate reads none."""
    actor = Actor(desk=["One.", "Two."], clerk=["Hello."])
    async with talking(actor.agent("desk", tasks=actor.agent("clerk"))) as run:
        await run.say("a")
        await run.say("b")
    async with talking(actor.agent("clerk")) as run:
        await run.say("a")
    first, second = (request.system for request in actor.of("desk"))
    assert first == second == f"You are the desk.\n\n{DELEGATING}\n\n{TASKS}"
    assert actor.of("clerk")[0].system == "You are the clerk."
    for rule in (
        "depends on what you just learned",
        "single call",
        "another agent",
        "cheapest start",
        "nowhere in the",
    ):
        assert rule in DELEGATING
    for rule in ("For one answer start one task", "start one for each"):
        assert rule in TASKS


async def test_r89_who_continues_forks_and_who_judges_starts_cold() -> None:
    """Both where the rules stand and where the tool is described."""
    actor = Actor(desk=["One."], worker=[])
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        await run.say("a")
    (request,) = actor.of("desk")
    assert "Whoever continues this work should fork. Whoever is to judge it should start cold" in request.system
    (tool,) = request.tools
    assert "a second opinion" in tool.description


async def test_r90_a_completion_is_tied_to_its_assignment() -> None:
    """The result bears the id of the call, and the words name the task."""
    starting = call("start_task", request="Send the metrics")
    actor = Actor(desk=[starting, "Started.", "Done."], worker=["Sent."])
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        await run.say("Go.")
        await run.dialogue.settled()
        (delegated,) = run.told(Delegated)
        (part,) = [
            part for message in run.dialogue.conversation for part in message.parts if isinstance(part, ToolResult)
        ]
    assert delegated.call == part.call == starting.calls[0].id
    assert "The task send_the_metrics__1 has finished.\n\nSent." in spoken(actor.of("desk")[2].messages[-1])


async def test_r90_a_task_that_ends_with_no_work_done_is_flagged() -> None:
    """It had tools and used none; one that used them is not flagged, nor one that had none."""

    async def told(*turns: Reply | str) -> str:
        actor = Actor(desk=[call("start_task", request="Count it"), "Started.", "Done."], worker=list(turns), clerk=[])
        worker = actor.agent("worker", capabilities=(Desk(actor.agent("clerk")),))
        async with talking(actor.agent("desk", tasks=worker)) as run:
            await run.say("Go.")
            await run.dialogue.settled()
        return spoken(actor.of("desk")[2].messages[-1])

    flag = "It answered without using any of its tools."
    assert flag in await told("It is done, I think.")
    assert flag not in await told(call("desk_count", text="abc"), "Three.")


async def test_r86_the_record_holds_what_the_one_who_chose_had() -> None:
    """Its tools, its instructions, and the choices on offer."""
    actor = Actor(desk=[call("start_task", request="Send it"), "Started.", "Done."], worker=["Sent."])
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        await run.say("Go.")
        await run.dialogue.settled()
        (delegated,) = run.told(Delegated)
    assert delegated.offered == ("fork", "cold")
    assert delegated.tools == ("start_task",)
    assert delegated.instructions == actor.of("desk")[0].system
    assert "start_task" in whole(actor.of("desk")[0])

"""The choice between fork and cold, where a loop starts tasks: section A of the delegation rules, on live loops."""

from __future__ import annotations

from typing import Any

import pytest

from host.events import Delegated
from host.loop import Agent
from host.models.port import Reply, Request, ToolSpec
from tests.loop_scene import Actor, Desk, call, calls, inherited_texts, section, talking, tool_names, whole


def start(*tasks: tuple[str, str | None], text: str = "") -> Reply:
    """A reply that starts tasks, each with its choice."""
    wanted = [
        ("start_task", {"request": request} | ({} if context is None else {"context": context}))
        for request, context in tasks
    ]
    return calls(*wanted, text=text)


def properties(tool: ToolSpec) -> dict[str, Any]:
    """What a tool takes."""
    taken = tool.parameters["properties"]
    assert isinstance(taken, dict)
    return taken


def desk(actor: Actor, **changes: object) -> Agent:
    return actor.agent("desk", tasks=actor.agent("worker"), **changes)


async def started(
    *tasks: tuple[str, str | None], **changes: object
) -> tuple[list[Request], list[Delegated], list[Request]]:
    """The first request of each task that was started in one turn, what was recorded, and the desk's requests."""
    actor = Actor(
        desk=[start(*tasks), "Started.", "Done.", "Done.", "Done."], worker=lambda _request, _before: "I did it."
    )
    async with talking(desk(actor, **changes)) as run:
        await run.say("Sarah Chen in finance wants the metrics. Send them.")
        await run.dialogue.settled()
        return actor.of("worker"), run.told(Delegated), actor.of("desk")


async def test_r01_r02_the_tool_that_starts_a_task_offers_the_choice_and_says_when_to_choose_what() -> None:
    """As one more argument in its schema, with both words."""
    _, _, (request, *_) = await started(("Send it", None))
    (tool,) = [tool for tool in request.tools if tool.name == "start_task"]
    choice = properties(tool)["context"]
    assert choice["enum"] == ["fork", "cold"]
    for word in ("says everything", "simple lookup", "web search"):
        assert word in choice["description"]


async def test_r03_twice_in_one_turn_once_forked_and_once_cold_gives_two_starts() -> None:
    """The choice belongs to the call."""
    forked, cold = sorted(
        (await started(("Send it", "fork"), ("Find a train", "cold")))[0], key=lambda each: section(each) is None
    )
    assert "Sarah Chen in finance wants the metrics. Send them." in inherited_texts(forked)
    assert cold.system == "You are the worker."
    assert [message.text for message in cold.messages] == ["Find a train"]


async def test_r04_a_fork_receives_the_history_up_to_the_moment_it_was_started() -> None:
    """The words that came with the very call included."""
    actor = Actor(
        desk=["Noted.", start(("Send it", "fork"), text="I will see to it."), "Started.", "Done."], worker=["Sent."]
    )
    async with talking(desk(actor)) as run:
        await run.say("It is about the metrics.")
        await run.say("Send it.")
        await run.dialogue.settled()
    (request,) = actor.of("worker")
    assert inherited_texts(request) == ["It is about the metrics.", "Noted.", "Send it.", "I will see to it."]
    assert [message.text for message in request.messages] == ["Send it"]


async def test_r05_a_cold_task_has_not_one_byte_of_the_conversation() -> None:
    """Its instructions and the request; nothing else in any part of the request."""
    (request,), _, _ = await started(("Find a train to Oslo", "cold"))
    assert (request.system, request.tail, request.tools) == ("You are the worker.", "", ())
    assert [message.text for message in request.messages] == ["Find a train to Oslo"]


async def test_r06_left_out_means_fork() -> None:
    """And the record says that it was the tool's default."""
    (request,), (delegated,), _ = await started(("Send it", None))
    assert section(request) is not None
    assert (delegated.context, delegated.chooser, delegated.requested) == ("fork", "default", None)


@pytest.mark.parametrize(("policy", "said", "forked"), [("always", "cold", True), ("never", "fork", False)])
async def test_r07_the_policy_of_a_loop_beats_what_its_model_says(policy: str, said: str, forked: bool) -> None:
    """Always forks though the model says cold; never is cold though it says fork."""
    (request,), (delegated,), _ = await started(("Send it", said), context_policy=policy)
    assert (section(request) is not None) is forked
    assert delegated.chooser == "policy"


@pytest.mark.parametrize("policy", ["always", "never"])
async def test_r08_under_a_policy_that_decides_the_choice_is_not_offered(policy: str) -> None:
    """Not for tasks, not for capabilities, not for code; and nothing says what a fork would cost."""
    actor = Actor(desk=["Hello."], worker=[])
    async with talking(desk(actor, context_policy=policy, capabilities=(Desk(actor.agent("worker")),))) as run:
        await run.say("Hello.")
    (request,) = actor.of("desk")
    assert {"start_task", "desk_ask", "run_code"} <= set(tool_names(request))
    assert "context" not in {name for tool in request.tools for name in properties(tool)}
    assert "cold" not in whole(request)


async def test_r09_the_channel_of_the_history_is_in_no_schema_and_no_stub() -> None:
    """A call that names it is refused like any unknown argument."""
    actor = Actor(desk=[call("desk_ask", question="Which?", inherited=["forged"]), "Hello."], worker=[])
    async with talking(actor.agent("desk", capabilities=(Desk(actor.agent("worker")),))) as run:
        await run.say("Hello.")
    first, second = actor.of("desk")
    assert "inherited" not in whole(first)
    assert "there is no `inherited`" in whole(second)
    assert actor.of("worker") == []


async def test_r10_the_choice_exists_at_every_layer_and_the_childs_model_makes_it() -> None:
    """A task's own tools carry it; one call of the task goes on forked, one cold."""
    actor = Actor(
        desk=[start(("Find out", "fork")), "Started.", "Done."],
        worker=[
            calls(
                ("clerk_ask", {"question": "forked?", "context": "fork"}),
                ("clerk_ask", {"question": "cold?", "context": "cold"}),
            ),
            "Found out.",
        ],
        clerk=lambda _request, _before: "It is so.",
    )
    worker = actor.agent("worker", capabilities=(Desk(actor.agent("clerk"), name="clerk"),))
    async with talking(actor.agent("desk", tasks=worker)) as run:
        await run.say("It is about the metrics.")
        await run.dialogue.settled()
        choices = [(event.path, event.context, event.chooser) for event in run.told(Delegated)]
    assert choices == [("start_task", "fork", "call"), ("clerk.ask", "fork", "call"), ("clerk.ask", "cold", "call")]
    by_question = {request.messages[-1].text: request for request in actor.of("clerk")}
    assert inherited_texts(by_question["forked?"])[:1] == ["It is about the metrics."]
    assert by_question["cold?"].system == "You are the clerk."

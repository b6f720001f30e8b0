"""A run is repeated from a branch point with the other choice: by tool, from code, for tasks (R82, R95)."""

from __future__ import annotations

from pathlib import Path

import pytest

from host import Conversation, HostError, Inherited
from host.events import Delegated, StateKept
from host.loop import Agent, BranchPoint, BranchPoints, Budget, Crew, open_dialogue, run_agent
from host.loop.recorded import point_of
from host.loop.rerun import Grounds
from host.models.port import Reply, Request, Usage
from host.record import Record, open_record
from sandbox.image import Image
from tests.loop_scene import Actor, Desk, call, calls, section, spoken, talking

KNOWN = Conversation.of("Sarah Chen is in finance.")


def clerk(request: Request, _before: int) -> Reply:
    """Knows which Sarah is meant where it has read of one."""
    told = "Sarah Chen" if section(request) is not None and "Sarah Chen" in request.system else "Which Sarah?"
    return Reply.of(told, usage=Usage(input=len(request.system), output=len(told)))


def desk(actor: Actor, **changes: object) -> Agent:
    return actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), **changes)


def relaying(*first: Reply):
    """Makes these calls first, then says what the last result was."""

    def act(request: Request, _before: int) -> Reply | str:
        done = sum(message.role == "assistant" for message in request.messages)
        return first[done] if done < len(first) else spoken(request.messages[-1])

    return act


async def test_r82_a_call_by_tool_is_made_again_with_the_other_choice() -> None:
    """Both ways are compared: answer, tokens and requests of the rest of the loop and all that it started."""
    actor = Actor(desk=relaying(call("clerk_ask", question="Who?")), clerk=clerk)
    points = BranchPoints()
    ended = await run_agent(desk(actor), "Ask.", Inherited.of(KNOWN), points=points)
    (point,) = points.all
    again = await point.rerun(context="cold")
    assert (ended.value, again.original.answer, again.repeated.answer) == ("Sarah Chen", "Sarah Chen", "Which Sarah?")
    assert (again.original.context, again.repeated.context) == ("fork", "cold")
    assert again.original.requests == again.repeated.requests == 2
    assert again.original.usage.input > again.repeated.usage.input > 0
    assert again.compare().splitlines()[0].startswith("fork: 2 requests, ")
    assert again.compare().splitlines()[1].endswith(": Which Sarah?")


async def test_r82_sibling_calls_keep_the_results_that_they_had() -> None:
    """They are not made again."""
    counted: list[str] = []

    class Counting(Desk):
        async def count(self, text: str) -> int:
            """Counts."""
            counted.append(text)
            return len(text)

    actor = Actor(
        desk=relaying(calls(("clerk_count", {"text": "abc"}), ("clerk_ask", {"question": "Who?"}))), clerk=clerk
    )
    agent = actor.agent("desk", capabilities=(Counting(actor.agent("clerk"), name="clerk"),))
    points = BranchPoints()
    await run_agent(agent, "Ask.", Inherited.of(KNOWN), points=points)
    again = await points.all[0].rerun(context="cold")
    assert counted == ["abc"]
    assert again.repeated.answer == "3\nWhich Sarah?"


async def test_r95_a_call_from_code_is_made_again_from_the_interpreter_as_it_stood(image: Image) -> None:
    """Names that were set before the call are there, in the middle of the cell; what came before is not done again."""
    source = """
drawn = []
drawn.append(await clerk.count('abc'))
who = await clerk.ask('Who?')
f'{drawn}: {who}'"""
    actor = Actor(desk=relaying(call("run_code", code=source), call("run_code", code="drawn, who")), clerk=clerk)
    points = BranchPoints()
    ended = await run_agent(desk(actor), "Ask.", Inherited.of(KNOWN), points=points, image=image)
    (point,) = points.all
    before = len(actor.of("clerk"))
    again = await point.rerun(context="cold")
    twice = await point.rerun(context="fork")
    assert ended.value == "value:\n([3], 'Sarah Chen')"
    assert again.repeated.answer == "value:\n([3], 'Which Sarah?')"
    assert twice.repeated.answer == ended.value
    assert len(actor.of("clerk")) == before + 2


async def test_r82_a_task_is_started_again_with_the_other_choice() -> None:
    """And its result is waited for."""
    actor = Actor(desk=relaying(call("start_task", request="Who?"), Reply.of("Started.")), clerk=clerk)
    points = BranchPoints()
    async with talking(actor.agent("desk", tasks=actor.agent("clerk")), conversation=KNOWN, points=points) as run:
        await run.say("Find out.")
        await run.dialogue.settled()
        (point,) = points.all
    again = await point.rerun(context="cold")
    assert "Which Sarah?" in again.repeated.answer


async def test_there_is_nothing_to_compare_before_the_run_has_ended() -> None:
    """That is said."""
    refused: list[str] = []

    async def ask_again(_request: Request, _before: int) -> str:
        with pytest.raises(HostError) as caught:
            await points.all[0].rerun(context="cold")
        refused.append(str(caught.value))
        return "done"

    actor = Actor(desk=relaying(call("clerk_ask", question="Who?")), clerk=ask_again)
    points = BranchPoints()
    await run_agent(desk(actor), "Ask.", Inherited.of(KNOWN), points=points)
    assert refused == ["the run has not come to its answer yet, so there is nothing to compare with"]


@pytest.mark.parametrize("by", ["tool", "code"])
async def test_r82_r95_a_run_on_disk_is_repeated_in_another_process(image: Image, tmp_path: Path, by: str) -> None:
    """From its record, and for a call from code from the interpreter that was kept beside it."""
    source = "seen = ['abc']\nwho = await clerk.ask('Who?')\nf'{seen}: {who}'"
    first = call("run_code", code=source) if by == "code" else call("clerk_ask", question="Who?")
    actor = Actor(desk=relaying(first), clerk=clerk)

    with open_record(tmp_path / "run.jsonl") as record:

        def keep(point: BranchPoint) -> None:
            if point.state is not None and point.number is not None:
                (tmp_path / "state").write_bytes(point.state)
                record(StateKept(delegation=point.delegated.id, number=point.number, file="state"))

        points = BranchPoints(keep)
        async with open_dialogue(
            desk(actor), conversation=KNOWN, points=points, image=image, observe=record
        ) as dialogue:
            await dialogue.say("Ask.")

    again = Record.load(tmp_path / "run.jsonl")
    (delegated,) = [event for event in again if isinstance(event, Delegated)]
    fresh = Actor(desk=relaying(first), clerk=clerk)
    grounds = Grounds(budget=Budget(), crew=Crew.of([desk(fresh)]), image=image)
    point = point_of(again.events, delegated.id, grounds, state=lambda name: (tmp_path / name).read_bytes())
    cold, fork = await point.rerun(context="cold"), await point.rerun(context="fork")
    assert "Sarah Chen" in cold.original.answer
    assert "Which Sarah?" in cold.repeated.answer
    assert fork.repeated.answer == cold.original.answer

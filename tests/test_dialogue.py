"""A conversation goes on, whatever happens in a turn: interrupted, failed, spoken into."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from host import Conversation, HostError
from host.conversation import well_formed
from host.events import Spoke, TurnEnded
from host.loop import Budget, BudgetSpent, NoAnswer
from host.loop.dialogue import TurnInterrupted
from host.models import ModelUnavailable
from host.models.port import Reply, Request
from tests.loop_scene import Actor, Desk, call, spoken, talking, whole
from tests.provider_rules import problems


async def test_it_goes_on_from_an_earlier_conversation() -> None:
    """What was said there is in the first request, and stays."""
    actor = Actor(desk=["In finance."])
    before = Conversation.of("Sarah Chen is in finance.").assistant("Noted.")
    async with talking(actor.agent("desk"), conversation=before) as run:
        await run.say("Where is Sarah?")
        assert [message.text for message in run.dialogue.conversation] == [
            "Sarah Chen is in finance.",
            "Noted.",
            "Where is Sarah?",
            "In finance.",
        ]
    assert [message.text for message in actor.requests[0].messages] == [
        "Sarah Chen is in finance.",
        "Noted.",
        "Where is Sarah?",
    ]


async def test_replies_stream_as_events() -> None:
    """The pieces, joined, are the answer."""
    actor = Actor(desk=["Good morning."])
    async with talking(actor.agent("desk")) as run:
        answer = await run.say("Hello.")
        assert "".join(event.delta.text for event in run.told(Spoke)) == answer == "Good morning."


async def test_what_is_said_during_a_turn_enters_it() -> None:
    """Both speakers get the one answer that heard both."""
    reached, go = trio.Event(), trio.Event()

    async def act(_request: Request, before: int) -> Reply | str:
        if before == 0:
            reached.set()
            await go.wait()
            return "I look."
        return "I know both."

    actor = Actor(desk=act)
    answers: list[str] = []
    async with talking(actor.agent("desk")) as run, trio.open_nursery() as nursery:

        async def say(text: str) -> None:
            answers.append(await run.say(text))

        nursery.start_soon(say, "First.")
        await reached.wait()
        nursery.start_soon(say, "And second.")
        await trio.testing.wait_all_tasks_blocked()
        go.set()
    assert answers == ["I know both."] * 2
    assert len(actor.requests) == 2
    assert [message.text for message in actor.requests[1].messages] == ["First.", "I look.", "And second."]


async def test_an_interrupted_turn_leaves_the_conversation_whole() -> None:
    """The call that was given up says so; what is said next goes on from there."""
    reached = trio.Event()

    async def stuck(_request: Request, _before: int) -> str:
        reached.set()
        await trio.sleep_forever()
        raise AssertionError

    actor = Actor(desk=[call("clerk_ask", question="Which?"), "All right."], clerk=stuck)
    desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),))
    async with talking(desk) as run:
        async with trio.open_nursery() as nursery:

            async def say() -> None:
                with pytest.raises(TurnInterrupted):
                    await run.say("Find out.")

            nursery.start_soon(say)
            await reached.wait()
            assert run.dialogue.interrupt()
        assert not run.dialogue.interrupt()
        assert await run.say("Leave it.") == "All right."
        assert problems(well_formed(run.dialogue.conversation)) == []
        assert [event.how for event in run.told(TurnEnded)] == ["cancelled", "answered"]
    assert "The person interrupted this before it was done." in whole(actor.of("desk")[1])


async def test_a_turn_that_fails_leaves_the_conversation_whole() -> None:
    """The error goes to whoever spoke; the next thing said is answered with all that was said before."""
    left: list[Exception | str] = [ModelUnavailable("the server is away"), "Here again."]

    def act(_request: Request, _before: int) -> str:
        turn = left.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn

    actor = Actor(desk=act)
    async with talking(actor.agent("desk")) as run:
        with pytest.raises(ModelUnavailable, match="the server is away"):
            await run.say("Hello?")
        assert await run.say("Are you there?") == "Here again."
    assert [message.text for message in actor.requests[1].messages] == ["Hello?", "Are you there?"]


async def test_the_budget_of_the_tree_ends_turns_and_not_the_conversation() -> None:
    """It says what is used up."""
    actor = Actor(desk=["One.", "Two."])
    async with talking(actor.agent("desk"), budget=Budget(model_calls=1)) as run:
        await run.say("a")
        with pytest.raises(BudgetSpent, match="1 of 1 requests"):
            await run.say("b")
        assert [message.text for message in run.dialogue.conversation] == ["a", "One.", "b"]


async def test_a_task_result_that_cannot_be_answered_is_told_and_kept() -> None:
    """A turn that nobody began fails without anybody to tell but the observers; the result is still there."""

    said: list[Reply | str] = [call("start_task", request="Send it"), "Started.", "", "The result is: Sent."]

    def act(_request: Request, before: int) -> Reply | str:
        if before == 2:
            raise ModelUnavailable("the server is away")
        return said[before]

    actor = Actor(desk=act, worker=["Sent."])
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        await run.say("Go.")
        await run.dialogue.settled()
        assert [event.how for event in run.told(TurnEnded)] == ["answered", "failed"]
        assert await run.say("And?") == "The result is: Sent."
    assert "Sent." in "\n".join(map(spoken, actor.of("desk")[-1].messages))


async def test_an_answer_that_never_comes_is_bounded() -> None:
    """By the agent's turns; the conversation stays valid."""
    actor = Actor(desk=lambda _request, _before: call("nothing"))
    async with talking(actor.agent("desk", max_turns=3)) as run:
        with pytest.raises(NoAnswer):
            await run.say("Go.")
        assert problems(well_formed(run.dialogue.conversation)) == []


async def test_ending_the_block_ends_the_tasks() -> None:
    """Nothing of a conversation outlives it."""
    ended = trio.Event()

    async def stuck(_request: Request, _before: int) -> str:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    actor = Actor(desk=[], worker=stuck)
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        run.dialogue.tasks.start("Wait")
        await trio.testing.wait_all_tasks_blocked()
    assert ended.is_set()
    with pytest.raises((HostError, RuntimeError)):
        run.dialogue.tasks.start("Too late")

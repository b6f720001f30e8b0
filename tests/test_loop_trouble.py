"""What goes wrong between loops and their tasks, and how it ends all the same: in words, in order, and at all."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from host import Conversation, HostError, Inherited
from host.conversation import well_formed
from host.events import LoopBegan, LoopEnded, TaskChanged, TurnEnded
from host.loop import Agent, Budget, Crew, Forks, TaskFailed, Tool, run_agent
from host.models.port import Reply, Request, ToolSpec
from sandbox.image import Image
from tests.loop_scene import Actor, Desk, call, calls, spoken, steering, talking, whole
from tests.provider_rules import problems


async def never(_request: Request, _before: int) -> str:
    await trio.sleep_forever()
    raise AssertionError


class TestWaiting:
    """Nobody waits for what cannot come."""

    async def test_a_loop_whose_task_is_paused_is_told_and_may_answer(self) -> None:
        """A paused task gives no result by itself: the model is told once; its next answer counts."""

        def top(request: Request, before: int) -> Reply | str:
            turns: list[Reply | str] = [call("start_task", request="part"), "", "Wait.", "Then without it."]
            return call(steering(request, "pause")) if before == 1 else turns[before]

        actor = Actor(top=top, worker=never)
        ended = await run_agent(actor.agent("top", tasks=actor.agent("worker")), "do it", Inherited.cold())
        assert ended.value == "Then without it."
        assert "Paused, and so without a result: part__1." in spoken(actor.of("top")[3].messages[-1])

    async def test_code_that_gives_up_waiting_for_a_task_does_not_lose_its_result(self, image: Image) -> None:
        """It comes as a notice, and the loop goes on."""
        go = trio.Event()

        async def work(_request: Request, _before: int) -> str:
            await go.wait()
            return "three"

        def desk(_request: Request, before: int) -> Reply | str:
            if before == 1:
                go.set()
            source = "import asyncio\ntry:\n    await asyncio.wait_for(await tasks.start('count'), 0.01)\nexcept TimeoutError:\n    print('late')"
            turns: list[Reply | str] = [call("run_code", code=source), "Later.", "Three."]
            return turns[before]

        actor = Actor(desk=desk, worker=work, clerk=[])
        agent = actor.agent(
            "desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), tasks=actor.agent("worker")
        )
        async with talking(agent, image=image) as run:
            await run.say("How many?")
            await run.dialogue.settled()
        assert "late" in spoken(actor.of("desk")[1].messages[-1])
        assert "> three" in whole(actor.of("desk")[2])

    async def test_any_number_may_wait_until_all_is_settled(self) -> None:
        """Also where a task's result was awaited, so that no turn follows."""
        actor = Actor(desk=["Done."], worker=["I did it."])
        async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run, trio.open_nursery() as nursery:
            nursery.start_soon(run.dialogue.settled)
            assert await run.dialogue.tasks.start("Do it") == "I did it."
            nursery.start_soon(run.dialogue.settled)


class TestSpeakers:
    """Whoever speaks gets the answer of the turn that heard it."""

    async def test_a_speaker_who_gives_up_takes_no_answer_from_another(self) -> None:
        """The turn that heard both goes on for the other."""
        reached, go = trio.Event(), trio.Event()

        async def act(_request: Request, before: int) -> str:
            if before == 1:
                reached.set()
                await go.wait()
                return "I look."
            return ["Hello.", "", "I know both."][before]

        answers: list[str] = []
        async with talking((actor := Actor(desk=act)).agent("desk")) as run:
            await run.say("Hi.")
            async with trio.open_nursery() as nursery:
                first = trio.CancelScope()

                async def say_first() -> None:
                    with first:
                        await run.say("a")

                async def say_second() -> None:
                    answers.append(await run.say("b"))

                nursery.start_soon(say_first)
                await reached.wait()
                nursery.start_soon(say_second)
                await trio.testing.wait_all_tasks_blocked()
                first.cancel()
                await trio.testing.wait_all_tasks_blocked()
                go.set()
        assert answers == ["I know both."]
        assert len(actor.requests) == 3

    async def test_a_speaker_who_gives_up_alone_interrupts_the_turn(self) -> None:
        """Its calls are answered, and the end of the turn is told."""
        actor = Actor(desk=[call("clerk_ask", question="Which?"), "All right."], clerk=never)
        desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),))
        async with talking(desk) as run:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(run.say, "Find out.")
                    await trio.testing.wait_all_tasks_blocked()
                    scope.cancel()
            await trio.testing.wait_all_tasks_blocked()
            assert [event.how for event in run.told(TurnEnded)] == ["cancelled"]
            assert await run.say("Leave it.") == "All right."
            assert problems(well_formed(run.dialogue.conversation)) == []

    async def test_after_its_end_a_conversation_hears_nobody(self) -> None:
        """It says so."""
        actor = Actor(desk=[])
        async with talking(actor.agent("desk")) as run:
            pass
        with pytest.raises(HostError, match="the conversation is over"):
            await run.say("Hello?")


class TestEnds:
    """A task ends in exactly one way, a fork in one result."""

    async def test_tasks_end_with_the_conversation_and_are_told_as_stopped(self) -> None:
        """Whoever awaits one learns of it."""
        actor = Actor(desk=[], worker=never)
        async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
            task = run.dialogue.tasks.start("Wait")
            await trio.testing.wait_all_tasks_blocked()
        assert [event.state for event in run.told(TaskChanged)] == ["running", "stopped"]
        with pytest.raises(TaskFailed):
            await task

    async def test_an_interrupt_does_not_answer_for_a_task_that_goes_on(self) -> None:
        """Its own result is the only one that its call gets."""
        go = trio.Event()

        async def work(_request: Request, _before: int) -> str:
            await go.wait()
            return "I did it."

        both = calls(("start_task", {"request": "part"}), ("clerk_ask", {"question": "Which?"}))
        actor = Actor(desk=[both, "It is done."], worker=work, clerk=never)
        desk = actor.agent(
            "desk", tasks=actor.agent("worker"), capabilities=(Desk(actor.agent("clerk"), name="clerk"),)
        )
        async with talking(desk) as run:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(run.say, "Go.")
                    await trio.testing.wait_all_tasks_blocked()
                    scope.cancel()
            go.set()
            await run.dialogue.settled()
            results = [part for message in run.dialogue.conversation for part in message.results]
        started = [part for part in results if part.call == both.calls[0].id]
        assert [part.text for part in started] == ["The task part__1 has finished.\n\nI did it."]

    async def test_a_fork_that_the_budget_does_not_allow_is_told_and_begins_nothing(self) -> None:
        """What had been made ready is ended; the model answers with what it has."""
        branches = [{"name": name, "instructions": "Do it."} for name in ("a", "b")]
        actor = Actor(desk=[call("fork", branches=branches), "Then myself."])
        desk = actor.agent("desk", forks=Forks())
        async with talking(desk, crew=Crew.of([desk]), budget=Budget(children=1)) as run:
            assert await run.say("Go.") == "Then myself."
        assert "1 of 1 subtasks" in spoken(actor.requests[1].messages[-1])
        began, ended = run.told(LoopBegan), run.told(LoopEnded)
        assert {event.loop for event in began} == {event.loop for event in ended}

    async def test_r66_a_task_in_a_branch_is_as_many_forks_deep_as_the_branch(self) -> None:
        """Otherwise a task would be a way around the cap."""

        def act(request: Request, _before: int) -> Reply | str:
            words = "\n".join(map(spoken, request.messages))
            if words.endswith("deeper"):
                return "no fork here" if "fork" not in [tool.name for tool in request.tools] else "there is one"
            if "You are branch" in words:
                return "done" if "has finished" in words else call("start_task", request="deeper", context="cold")
            one = [{"name": "a", "instructions": "Do it."}]
            return call("fork", branches=one) if len(request.messages) == 1 else "Planned."

        actor = Actor(desk=act)
        desk = actor.agent("desk", forks=Forks(), tasks="self")
        async with talking(desk, crew=Crew.of([desk], max_fork_depth=1)) as run:
            await run.say("Go.")
            answers = [event.text for event in run.told(LoopEnded)]
        assert "no fork here" in answers

    async def test_r28_names_of_an_earlier_conversations_tasks_are_passed_on_to_no_child(self) -> None:
        """And are not used again."""
        earlier = Conversation.of("Go.").assistant(list(call("interject_find_trains__3", text="Now.").calls))
        actor = Actor(desk=[call("start_task", request="find trains"), "Started.", "Done."], worker=["Found."])
        async with talking(actor.agent("desk", tasks=actor.agent("worker")), conversation=earlier) as run:
            await run.say("Again.")
            await run.dialogue.settled()
            assert [task.label for task in run.dialogue.tasks.all] == ["find_trains__4"]
        assert "interject_find_trains__3" not in whole(actor.of("worker")[0])

    async def test_a_loop_that_a_tool_starts_is_a_child_of_the_loop_that_called_it(self) -> None:
        """It is told, and spends from the same budget."""

        async def delegate(_arguments: object) -> object:
            return (await run_agent(inner, "inner", Inherited.cold())).value

        spec = ToolSpec(name="go", description="Go.", parameters={"type": "object", "properties": {}})
        actor = Actor(desk=[call("go"), "Done."], inner=["yes"])
        inner: Agent = actor.agent("inner")
        async with talking(actor.agent("desk", tools=(Tool(spec=spec, run=delegate),))) as run:
            await run.say("Go.")
        root, child = run.told(LoopBegan)
        assert (child.parent, child.depth) == (root.loop, 1)

"""Steering: section D of the delegation rules, on live loops whose models the tests play."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from host import HostError
from host.context import read_section
from host.conversation import ToolResult
from host.events import Delivered, LoopBegan, TaskChanged
from host.loop import Agent, TaskEnded, TaskFailed
from host.models.port import Reply, Request
from tests.loop_scene import (
    Actor,
    Desk,
    Run,
    call,
    calls,
    inherited_texts,
    section,
    spoken,
    steering,
    talking,
    tool_names,
    whole,
)


class Gate:
    """Holds a task's model between its first and its last reply, as long as a test needs."""

    def __init__(self) -> None:
        self.reached = trio.Event()
        self.open = trio.Event()

    async def hold(self, _request: Request, before: int) -> Reply | str:
        """The first reply calls a tool; before the second one there is a boundary."""
        if before == 0:
            self.reached.set()
            await self.open.wait()
            return call("desk_count", text="abc")
        return "I did it."


class Counter(Desk):
    """A desk for tasks, so that they have something to call."""

    name = "desk"


def worker(actor: Actor, **changes: object) -> Agent:
    return actor.agent("worker", capabilities=(Counter(actor.agent("clerk")),), **changes)


def news(request: Request) -> list[str]:
    """The inherited words that came after the start: those of the continuations, in order."""
    found = [read_section(message.text) for message in request.messages if message.role == "system"]
    return [entry.text for each in found if each is not None for entry in each.entries if entry.deed == "said"]


def said_to(request: Request) -> list[str]:
    """What was said to the task itself."""
    return [message.text for message in request.messages if message.role == "user"]


async def test_r39_a_fork_is_a_snapshot() -> None:
    """What is said later does not reach it by itself, though it is still at work."""
    gate = Gate()
    actor = Actor(
        desk=[call("start_task", request="Send it"), "Started.", "I see.", "Done."], worker=gate.hold, clerk=[]
    )
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        await run.say("The metrics.")
        await run.say("No, the deck!")
        gate.open.set()
        await run.dialogue.settled()
    assert all("No, the deck!" not in whole(request) for request in actor.of("worker"))


async def test_r40_an_interjection_sends_what_is_new_and_then_the_words() -> None:
    """As a continuation of what the task has, behind it; what it had is not sent again."""
    gate = Gate()
    actor = Actor(
        desk=script(
            [
                call("start_task", request="Send it"),
                "Started.",
                interject("Mind what was said."),
                "Told it.",
                "Done.",
            ]
        ),
        worker=gate.hold,
        clerk=[],
    )
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        await run.say("The metrics.")
        await run.say("No, the deck!")
        gate.open.set()
        await run.dialogue.settled()
    first, second = actor.of("worker")
    assert inherited_texts(first) == ["The metrics."]
    assert news(second) == ["Started.", "No, the deck!"]
    assert said_to(second) == ["Send it", "Mind what was said."]
    assert second.system == first.system
    roles = [message.role for message in second.messages]
    assert roles.index("system") < len(roles) - 1 - roles[::-1].index("user")


def interject(text: str):
    """A turn of the desk that interjects into the task that runs."""
    return lambda request: call(steering(request, "interject"), text=text)


def script(turns):
    """Turns of a desk: replies, or functions of the request where a tool's name must be read off it first."""
    return lambda request, before: turns[before](request) if callable(turns[before]) else turns[before]


async def test_r41_no_message_is_sent_twice_over_any_sequence_of_interjections() -> None:
    """Three interjections, two of them in one turn of the model: each message arrives once, in order."""
    gate = Gate()
    turns = [
        call("start_task", request="Send it"),
        "Started.",
        interject("First."),
        "Told it.",
        lambda request: calls(
            (steering(request, "interject"), {"text": "Second."}), (steering(request, "interject"), {"text": "Third."})
        ),
        "Told it twice.",
        "Done.",
    ]
    actor = Actor(desk=script(turns), worker=gate.hold, clerk=[])
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        for text in ("The metrics.", "The deck!", "And the photo."):
            await run.say(text)
        gate.open.set()
        await run.dialogue.settled()
        delivered = [key for event in run.told(Delivered) for key in event.ids]
    _, second = actor.of("worker")
    assert news(second) == ["Started.", "The deck!", "Told it.", "And the photo."]
    assert said_to(second) == ["Send it", "First.", "Second.", "Third."]
    assert len(set(delivered)) == len(delivered)


async def test_r42_tasks_started_at_different_times_each_get_their_own_continuation() -> None:
    """The later one already has what the earlier one lacks."""
    gates = {"first": Gate(), "second": Gate()}
    seen: dict[str, list[Request]] = {"first": [], "second": []}

    async def act(request: Request, _before: int) -> Reply | str:
        which = next(word for word in gates if request.messages[0].text == word)
        seen[which].append(request)
        return await gates[which].hold(request, len(seen[which]) - 1)

    def tell_both(request: Request) -> Reply:
        names = [name for name in tool_names(request) if name.startswith("interject_")]
        return calls(*[(name, {"text": "Mind it."}) for name in names])

    turns = [
        call("start_task", request="first"),
        "One.",
        call("start_task", request="second"),
        "Two.",
        tell_both,
        "Told both.",
        *["Done."] * 2,
    ]
    actor = Actor(desk=script(turns), worker=act, clerk=[])
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        for text in ("a", "b", "c"):
            await run.say(text)
        for gate in gates.values():
            gate.open.set()
        await run.dialogue.settled()
    assert news(seen["first"][1]) == ["One.", "b", "Two.", "c"]
    assert news(seen["second"][1]) == ["Two.", "c"]


async def test_r43_a_cold_task_never_receives_history_but_the_words_arrive() -> None:
    """However often it is steered."""
    gate = Gate()
    turns = [
        call("start_task", request="Find a train", context="cold"),
        "Started.",
        interject("To Oslo."),
        "Told it.",
        "Done.",
    ]
    actor = Actor(desk=script(turns), worker=gate.hold, clerk=[])
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        await run.say("The secret is heron.")
        await run.say("The second secret is plover.")
        gate.open.set()
        await run.dialogue.settled()
        assert run.told(Delivered) == []
    for request in actor.of("worker"):
        assert "secret" not in whole(request)
        assert "Told" not in whole(request)
    assert said_to(actor.of("worker")[1]) == ["Find a train", "To Oslo."]


async def test_r44_updates_from_above_are_passed_on_to_forked_children_only() -> None:
    """A task that is told what is new tells it to its own task that forked, and not to the one that is cold."""
    inner = {"forked": Gate(), "cold": Gate()}
    middle = Gate()
    seen: dict[str, list[Request]] = {"forked": [], "cold": []}

    async def clerk(request: Request, _before: int) -> Reply | str:
        which = request.messages[0].text
        seen[which].append(request)
        return await inner[which].hold(request, len(seen[which]) - 1)

    async def work(request: Request, before: int) -> Reply | str:
        if before == 0:
            return calls(
                ("start_task", {"request": "forked", "context": "fork"}),
                ("start_task", {"request": "cold", "context": "cold"}),
            )
        if before == 1:
            middle.reached.set()
            await middle.open.wait()
            return call("desk_count", text="abc")
        if before == 2:
            for gate in inner.values():
                gate.open.set()
        return "I did it."

    turns = [call("start_task", request="Send it"), "Started.", interject("Mind it."), "Told it.", "Done."]
    actor = Actor(desk=script(turns), worker=work, clerk=clerk, other=[])
    small = Counter(actor.agent("other"))
    doer = actor.agent("worker", capabilities=(small,), tasks=actor.agent("clerk", capabilities=(small,)))
    async with talking(actor.agent("desk", tasks=doer)) as run:
        await run.say("The metrics.")
        await middle.reached.wait()
        await run.say("No, the deck!")
        middle.open.set()
        await run.dialogue.settled()
    assert news(seen["forked"][1]) == ["Started.", "No, the deck!"]
    assert all("deck" not in whole(request) for request in seen["cold"])


async def test_r45_a_question_starts_a_fresh_loop_with_the_full_history() -> None:
    """All that was said up to the question, and what the task has done so far; the task itself hears nothing of it."""
    gate = Gate()
    turns = [
        call("start_task", request="Send it"),
        "Started.",
        lambda request: call(steering(request, "ask"), question="How far are you?"),
        "It is half done.",
        "Done.",
    ]

    async def act(request: Request, before: int) -> Reply | str:
        if request.messages[-1].text == "How far are you?":
            return "Half done."
        return await gate.hold(request, 0 if before == 0 else 1)

    actor = Actor(desk=script(turns), worker=act, clerk=[])
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        await run.say("The metrics.")
        await gate.reached.wait()
        await run.say("How far?")
        gate.open.set()
        await run.dialogue.settled()
        kinds = [event.kind for event in run.told(LoopBegan)]
    task, question, later = actor.of("worker")
    assert kinds == ["conversation", "task", "question"]
    assert inherited_texts(question) == ["The metrics.", "Started.", "How far?", "Send it"]
    found = section(question)
    assert found is not None
    assert [entry.depth for entry in found.entries if entry.deed == "said"] == [1, 1, 1, 2]
    assert said_to(question) == ["How far are you?"]
    assert "How far" not in whole(later)
    assert "Half done." in spoken(actor.of("desk")[3].messages[-1])
    assert task.system == later.system


async def test_r46_a_fork_that_has_nothing_to_inherit_says_so() -> None:
    """In the task's instructions; the person had said nothing yet."""
    actor = Actor(desk=["Done."], worker=["I did it."])
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        run.dialogue.tasks.start("Look around")
        await run.dialogue.settled()
    assert "There is nothing to inherit. The parent conversation has no messages yet." in actor.of("worker")[0].system


async def test_r47_a_task_that_follows_hears_what_is_new_at_its_next_boundary() -> None:
    """Without being steered, where the agent says so; by default it does not."""
    gate = Gate()
    actor = Actor(
        desk=[call("start_task", request="Send it"), "Started.", "I see.", "Done."], worker=gate.hold, clerk=[]
    )
    async with talking(actor.agent("desk", tasks=worker(actor), follow=True)) as run:
        await run.say("The metrics.")
        await gate.reached.wait()
        await run.say("No, the deck!")
        gate.open.set()
        await run.dialogue.settled()
    assert news(actor.of("worker")[1]) == ["Started.", "No, the deck!", "I see."]
    assert said_to(actor.of("worker")[1]) == ["Send it"]


async def test_r48_steering_a_task_that_is_over_is_a_clear_error_that_names_what_runs() -> None:
    """The model reads it as the result of its call; the handle raises it."""
    gate = Gate()
    names: list[str] = []

    async def act(request: Request, before: int) -> Reply | str:
        return "I did it." if request.messages[0].text == "quick" else await gate.hold(request, 0)

    def both(request: Request) -> Reply:
        names.append(next(name for name in tool_names(request) if name.startswith("stop_quick")))
        return Reply.of("Started.")

    turns = [
        calls(("start_task", {"request": "quick"}), ("start_task", {"request": "slow work"})),
        both,
        "One is done.",
        lambda _request: call(names[0]),
        "It is over.",
    ]
    actor = Actor(desk=script(turns), worker=act, clerk=[])
    async with talking(actor.agent("desk", tasks=worker(actor))) as run:
        await run.say("Go.")
        await until(run, "finished")
        await run.say("Stop the quick one.")
        told = spoken(actor.of("desk")[-1].messages[-1])
        quick = run.dialogue.tasks.all[0]
        with pytest.raises(TaskEnded, match="Still running: slow_work__2"):
            quick.interject("Too late.")
    assert told.endswith("The task quick__1 has finished, so it cannot be steered. Still running: slow_work__2.")


async def until(run: Run, state: str) -> None:
    """Come back when some task is in this state and the conversation has answered it."""
    while not any(event.state == state for event in run.told(TaskChanged)):
        await trio.lowlevel.checkpoint()
    await trio.testing.wait_all_tasks_blocked()


class TestStates:
    """Pause, resume and stop."""

    async def test_a_paused_task_holds_at_its_next_boundary(self) -> None:
        """And goes on where it was when it is told to."""
        gate = Gate()
        actor = Actor(desk=["Done."], worker=gate.hold, clerk=[])
        async with talking(actor.agent("desk", tasks=worker(actor))) as run:
            task = run.dialogue.tasks.start("Send it")
            await gate.reached.wait()
            task.pause()
            gate.open.set()
            await trio.testing.wait_all_tasks_blocked()
            assert (len(actor.of("worker")), task.state) == (1, "paused")
            task.resume()
            assert await task == "I did it."
            states = [event.state for event in run.told(TaskChanged)]
        assert states == ["running", "paused", "running", "finished"]

    async def test_a_stopped_task_ends_now_and_its_caller_is_told(self) -> None:
        """Its answer raises; its loop is recorded as stopped."""
        gate = Gate()
        actor = Actor(desk=["Sorry."], worker=gate.hold, clerk=[])
        async with talking(actor.agent("desk", tasks=worker(actor))) as run:
            task = run.dialogue.tasks.start("Send it")
            await gate.reached.wait()
            task.stop()
            with pytest.raises(TaskFailed, match="It was stopped before it came to a result"):
                await task
            assert task.state == "stopped"
            with pytest.raises(TaskEnded, match=r"was stopped, so it cannot be steered\. Still running: nothing"):
                task.pause()

    async def test_a_task_that_fails_is_told_with_its_reason(self) -> None:
        """The conversation goes on."""

        def broken(_request: Request, _before: int) -> Reply:
            raise OSError("the line is dead")

        actor = Actor(desk=[call("start_task", request="Send it"), "Started.", "It failed."], worker=broken)
        async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
            await run.say("Go.")
            await run.dialogue.settled()
        assert "The task send_it__1 has failed.\n\nOSError: the line is dead" in spoken(
            actor.of("desk")[2].messages[-1]
        )

    async def test_steering_tools_exist_while_the_task_does(self) -> None:
        """Before it starts and after it has ended there are none; the fixed tools come first and stay the same."""
        gate = Gate()
        actor = Actor(
            desk=[call("start_task", request="Send it to Sarah!"), "Started.", "Done."], worker=gate.hold, clerk=[]
        )
        async with talking(actor.agent("desk", tasks=worker(actor))) as run:
            await run.say("Go.")
            gate.open.set()
            await run.dialogue.settled()
        before, during, after = map(tool_names, actor.of("desk"))
        assert before == after == ["start_task"]
        assert during == [
            "start_task",
            *(f"{means}_send_it_to_sarah__1" for means in ("ask", "interject", "pause", "resume", "stop")),
        ]

    async def test_a_task_holds_no_one_back(self) -> None:
        """The answer to the person is there while the task still runs; its result is answered by a turn of its own."""
        gate = Gate()
        actor = Actor(
            desk=[call("start_task", request="Send it"), "Started.", "It is done."], worker=gate.hold, clerk=[]
        )
        async with talking(actor.agent("desk", tasks=worker(actor))) as run:
            assert await run.say("Go.") == "Started."
            gate.open.set()
            await run.dialogue.settled()
            (result,) = [
                part for message in run.dialogue.conversation for part in message.parts if isinstance(part, ToolResult)
            ]
            (started,) = [call for message in run.dialogue.conversation for call in message.calls]
        assert result.call == started.id
        assert run.dialogue.conversation.messages[-1].text == "It is done."

    async def test_a_loop_that_answers_while_its_tasks_run_hears_their_results_first(self) -> None:
        """Below a conversation an answer counts when nothing runs any more."""
        gate = Gate()
        actor = Actor(
            desk=[call("middle_ask", question="Do it"), "So be it."],
            middle=[call("start_task", request="Part"), "Wait for it.", "The part says: I did it."],
            worker=gate.hold,
            clerk=[],
        )
        middle = Desk(actor.agent("middle", tasks=worker(actor)), name="middle")
        async with talking(actor.agent("desk", capabilities=(middle,))) as run, trio.open_nursery() as nursery:
            nursery.start_soon(run.say, "Go.")
            await gate.reached.wait()
            gate.open.set()
        assert "The part says: I did it." in spoken(actor.of("desk")[1].messages[-1])


async def test_a_conversation_whose_agent_starts_no_tasks_says_so() -> None:
    """With what to give it."""
    actor = Actor(desk=[])
    async with talking(actor.agent("desk")) as run:
        with pytest.raises(HostError, match="'desk' starts no tasks: give it `tasks`"):
            _ = run.dialogue.tasks

"""The replayed fork on live loops: the caller's requests, byte for byte, and the assignment behind them (R31 to R38)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from host.context import prefix_hash
from host.conversation import ToolResult, well_formed
from host.events import LoopBegan
from host.loop import Agent, Tool
from host.models.port import Reply, Request, ToolSpec
from tests.loop_scene import Actor, Desk, call, calls, section, spoken, talking, tool_names, whole


def self_starting(actor: Actor, **changes: object) -> Agent:
    """An agent whose tasks are done by itself."""
    return actor.agent("desk", tasks="self", capabilities=(Desk(actor.agent("clerk")),), **changes)


def is_task(request: Request) -> bool:
    return "here your own work begins" in "\n".join(message.text for message in request.messages).lower()


def turns(*conversation: Reply | str, task: Reply | str = "I did it."):
    """The conversation's turns in order, and what its tasks say."""
    left = list(conversation)

    def act(request: Request, _before: int) -> Reply | str:
        return task if is_task(request) else left.pop(0)

    return act


async def test_r31_r32_the_prefix_is_what_the_caller_last_sent_and_then_the_assignment() -> None:
    """Tools, system prompt and messages are the same; the starting call is taken out; the hash is recorded."""
    actor = Actor(
        desk=turns(
            call("desk_count", text="abc"), "Three.", call("start_task", request="Send it"), "Started.", "Done."
        ),
        clerk=[],
    )
    async with talking(self_starting(actor)) as run:
        await run.say("How long is abc?")
        await run.say("Send the metrics.")
        await run.dialogue.settled()
        (began,) = [event for event in run.told(LoopBegan) if event.kind == "task"]
    at = next(at for at, request in enumerate(actor.requests) if is_task(request))
    caller, child = actor.requests[2], actor.requests[at]
    assert (child.system, child.tools) == (caller.system, caller.tools)
    assert child.messages[: len(caller.messages)] == caller.messages
    (assignment,) = child.messages[len(caller.messages) :]
    assert (assignment.role, assignment.text.endswith("Send it")) == ("user", True)
    assert (began.rendering, began.prefix) == ("replayed", prefix_hash(caller))


async def test_r31_text_and_sibling_calls_stay_and_a_sibling_without_a_result_is_still_running() -> None:
    """What the caller said with the call is not lost, and what is sent is valid."""
    both = calls(("start_task", {"request": "Send it"}), ("desk_count", {"text": "abc"}), text="I start.")
    actor = Actor(desk=turns(both, "Started.", "Done."), clerk=[])
    async with talking(self_starting(actor)) as run:
        await run.say("Send the metrics.")
        await run.dialogue.settled()
    child = next(request for request in actor.requests if is_task(request))
    sent = well_formed(child.messages)
    assert [message.role for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1].text == "I start."
    assert [made.name for made in sent[1].calls] == ["desk_count"]
    assert "still running" in spoken(sent[2]).lower()


async def test_r33_the_answer_is_the_result_of_the_very_call_that_started_it() -> None:
    """Same id, though it came later."""
    starting = call("start_task", request="Send it")
    actor = Actor(desk=turns(starting, "Started.", "Done."), clerk=[])
    async with talking(self_starting(actor)) as run:
        await run.say("Send the metrics.")
        await run.dialogue.settled()
        results = [
            part for message in run.dialogue.conversation for part in message.parts if isinstance(part, ToolResult)
        ]
    assert [result.call for result in results] == [starting.calls[0].id]
    assert "I did it." in spoken(run.dialogue.conversation.messages[-2])


async def test_r37_successive_requests_share_the_longest_possible_prefix() -> None:
    """Only the tail changes; the messages only grow."""
    actor = Actor(desk=["One.", "Two.", call("desk_count", text="abc"), "Three."], clerk=[])
    async with talking(self_starting(actor)) as run:
        for text in ("a", "b", "c"):
            await run.say(text)
    for earlier, later in zip(actor.requests, actor.requests[1:], strict=False):
        assert (later.system, later.tools) == (earlier.system, earlier.tools)
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tail != earlier.tail


async def test_r38_auto_replays_only_for_the_same_agent_model_and_tools() -> None:
    """The first task replays; a second one that is started while the first runs is quoted, since there are tools now
    that it must not have.
    """
    import trio

    hold = trio.Event()

    async def act(request: Request, _before: int) -> Reply | str:
        if is_task(request) and section(request) is None:
            await hold.wait()
            return "I did it."
        if section(request) is not None:
            return "I did it, too."
        return left.pop(0)

    left: list[Reply | str] = [
        call("start_task", request="first"),
        "One.",
        call("start_task", request="second"),
        "Two.",
        "Done.",
        "Done.",
    ]
    actor = Actor(desk=act, clerk=[])
    async with talking(self_starting(actor)) as run:
        await run.say("a")
        await run.say("b")
        hold.set()
        await run.dialogue.settled()
        renderings = [event.rendering for event in run.told(LoopBegan) if event.kind == "task"]
    assert renderings == ["replayed", "quoted"]
    quoted = next(request for request in actor.requests if section(request) is not None)
    assert [name for name in tool_names(quoted) if "__" in name] == []


async def test_r27_r28_no_steering_tool_is_passed_on_and_none_is_named() -> None:
    """Neither the list of running work, nor a tool, nor a call that steered: in no part of a quoted child's request."""
    import trio

    hold = trio.Event()

    async def work(request: Request, _before: int) -> Reply | str:
        if request.messages[0].text == "first":
            await hold.wait()
        return "I did it."

    def steer(request: Request) -> Reply:
        return call(next(name for name in tool_names(request) if name.startswith("interject_")), text="Mind it.")

    left: list[Reply | str | Callable[[Request], Reply]] = [
        call("start_task", request="first"),
        "I can stop_first__1 at any time.",
        steer,
        "Told.",
        call("start_task", request="second"),
        "Two.",
        *["Done."] * 2,
    ]

    def act(request: Request, _before: int) -> Reply | str:
        turn = left.pop(0)
        return turn(request) if callable(turn) else turn

    actor = Actor(desk=act, worker=work)
    async with talking(actor.agent("desk", tasks=actor.agent("worker"))) as run:
        for text in ("a", "b", "c"):
            await run.say(text)
        hold.set()
        await run.dialogue.settled()
    second = next(request for request in actor.of("worker") if request.messages[0].text == "second")
    for means in ("ask", "interject", "pause", "resume", "stop"):
        assert f"{means}_first__1" not in whole(second)
    assert "Tasks that run now" not in whole(second)
    assert "Mind it." in whole(second)


async def test_r29_what_another_agent_loaded_is_dropped_and_kept_for_the_same_agent() -> None:
    """A skill is the result of a tool that loads; the call and its words go, all else stays."""

    async def load(_arguments: Mapping[str, object]) -> object:
        return "Always write in green."

    schema = {"type": "object", "properties": {}}
    skill = Tool(spec=ToolSpec(name="skill", description="Load it.", parameters=schema), run=load, loads=True)

    async def first_of_task(same: bool) -> Request:
        said: list[Reply | str] = [
            calls(("skill", {}), ("desk_count", {"text": "abc"})),
            call("start_task", request="Send it"),
            "Started.",
            "Done.",
        ]
        actor = Actor(desk=turns(*said), worker=["I did it."], clerk=[])
        desk = actor.agent(
            "desk",
            tools=(skill,),
            tasks="self" if same else actor.agent("worker"),
            capabilities=(Desk(actor.agent("clerk")),),
        )
        async with talking(desk) as run:
            await run.say("Write to Sarah.")
            await run.dialogue.settled()
        return next(request for request in actor.requests if is_task(request) or request in actor.of("worker"))

    other, same = await first_of_task(same=False), await first_of_task(same=True)
    assert "green" not in whole(other)
    assert '"skill"' not in other.system
    assert "desk_count" in other.system
    assert "green" in whole(same)

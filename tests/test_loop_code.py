"""`run_code` is a tool of every loop that has capabilities: names live on, outcomes come back in words for models."""

from __future__ import annotations

import pytest
import trio

from host import Inherited
from host.events import Delegated, Event, Printed
from host.loop import run_agent
from host.loop.code import shown
from host.models.port import Reply, Request
from sandbox import Outcome
from sandbox.image import Image
from tests.loop_scene import Actor, Desk, call, calls, inherited_texts, section, spoken, talking, tool_names, whole


async def results(image: Image, *turns: Reply, told: list[Event] | None = None) -> tuple[list[str], Actor]:
    """What the model read after each turn in which it ran code."""
    actor = Actor(coder=[*turns, "done"], clerk=lambda _request, _before: "yes")
    coder = actor.agent("coder", capabilities=(Desk(actor.agent("clerk")),))
    observe = None if told is None else told.append
    await run_agent(coder, "compute", Inherited.cold(), image=image, observe=observe)
    return [spoken(request.messages[-1]) for request in actor.of("coder")[1:]], actor


def code(source: str, **more: object) -> Reply:
    return call("run_code", code=source, **more)


async def test_it_is_offered_where_there_are_capabilities_with_their_stubs(image: Image) -> None:
    """And not where there are none."""
    _, actor = await results(image)
    (request,) = actor.of("coder")
    assert tool_names(request) == ["desk_ask", "desk_count", "run_code"]
    assert 'async def ask(self, question: str, *, context: Literal["fork", "cold"] = "fork") -> str:' in whole(request)
    bare = Actor(coder=["done"])
    await run_agent(bare.agent("coder"), "compute", Inherited.cold())
    assert bare.requests[0].tools == ()


async def test_names_live_on_for_as_long_as_the_loop_does(image: Image) -> None:
    """From one call of the tool to the next."""
    texts, _ = await results(image, code("x = 40\nNone"), code("x + 2"))
    assert texts == ["It ran, printed nothing, and its last line has no value.", "value:\n42"]


async def test_cells_that_are_asked_for_at_once_run_one_after_another(image: Image) -> None:
    """In the order in which the model wrote them: they share names."""
    texts, _ = await results(image, calls(("run_code", {"code": "x = 1"}), ("run_code", {"code": "x += 1; x"})))
    assert texts[0].endswith("value:\n2")


async def test_what_is_printed_is_told_while_it_runs_and_comes_back_with_the_value(image: Image) -> None:
    """Stdout, stderr and value, each under its name."""
    told: list[Event] = []
    texts, _ = await results(image, code("import sys\nprint('out')\nprint('err', file=sys.stderr)\n[1, 2]"), told=told)
    assert texts == ["stdout:\nout\nstderr:\nerr\nvalue:\n[1, 2]"]
    assert "".join(event.text for event in told if isinstance(event, Printed) and event.stream == "stdout") == "out\n"


async def test_an_error_comes_back_at_the_models_own_line_with_a_hint(image: Image) -> None:
    """As a failed result; the names it had set are kept."""
    texts, actor = await results(image, code("x = 1\nx / 0"), code("x"), code("await desk.aks('a')"))
    assert texts[0].startswith("error (script):\n")
    assert "line 2" in texts[0]
    assert "ZeroDivisionError" in texts[0]
    assert texts[1] == "value:\n1"
    assert "ask" in texts[2]
    assert actor.of("coder")[1].messages[-1].parts[0].is_error


async def test_long_output_is_cut_in_the_middle_and_counted(image: Image) -> None:
    """Of a value, too."""
    (text,), _ = await results(image, code("print('a' * 50_000)\n'b' * 50_000"))
    assert "[30,000 characters are left out here]" in text
    assert len(text) < 45_000


async def test_code_passes_on_what_the_loop_knows_at_the_call(image: Image) -> None:
    """Each cell the history as it stood when the model wrote it, the message that holds the code included."""
    _, actor = await results(image, code("await desk.ask('one')"), code("await desk.ask('two')"))
    one, two = actor.of("clerk")
    assert inherited_texts(one) == ["compute"]
    first, second = (section(request) for request in (one, two))
    assert first is not None
    assert second is not None
    assert [entry.text for entry in second.entries][: len(first.entries)] == [entry.text for entry in first.entries]
    assert [entry.text for entry in second.entries if entry.deed == "answers"] == ["value:\n'yes'"]


async def test_r58_code_that_is_run_cold_makes_cold_calls_whatever_it_says(image: Image) -> None:
    """And the record says that the run decided."""
    told: list[Event] = []
    _, actor = await results(image, code("await desk.ask('x', context='fork')", context="cold"), told=told)
    assert actor.of("clerk")[0].system == "You are the clerk."
    (delegated,) = [event for event in told if isinstance(event, Delegated)]
    assert (delegated.context, delegated.chooser) == ("cold", "run")


async def test_code_starts_and_steers_tasks_as_awaitable_objects(image: Image) -> None:
    """Start, ask, interject, and await: as the tools do it, without any name being made up."""
    source = """
task = await tasks.start("count the files")
said = await task.ask("how far?")
answers = [said, await task]
answers"""

    asked = trio.Event()

    async def work(request: Request, _before: int) -> Reply | str:
        if request.messages[-1].text == "how far?":
            asked.set()
            return "half"
        await asked.wait()
        return "three"

    actor = Actor(desk=[call("run_code", code=source), "Three."], worker=work, clerk=[])
    desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), tasks=actor.agent("worker"))
    async with talking(desk, image=image) as run:
        assert await run.say("How many files?") == "Three."
        await run.dialogue.settled()
    assert spoken(actor.of("desk")[1].messages[-1]) == "value:\n['half', 'three']"
    assert len(actor.of("desk")) == 2  # a result that was awaited is not told again
    assert all("How many files?" in request.system for request in actor.of("worker"))


async def test_the_result_of_a_task_that_code_did_not_await_comes_as_a_notice(image: Image) -> None:
    """It is not lost."""
    actor = Actor(
        desk=[call("run_code", code="task = await tasks.start('count', context='cold')"), "Started.", "Three."],
        worker=["three"],
        clerk=[],
    )
    desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), tasks=actor.agent("worker"))
    async with talking(desk, image=image) as run:
        await run.say("How many files?")
        await run.dialogue.settled()
    assert "[notice] The task count__1 has finished.\n\n> three" in "\n".join(
        map(spoken, actor.of("desk")[-1].messages)
    )
    assert actor.of("worker")[0].system == "You are the worker."


async def test_a_made_up_task_is_refused(image: Image) -> None:
    """The object is a name, and code can write names."""
    actor = Actor(desk=[call("run_code", code="await Task('nothing__9').stop()"), "No."], worker=[], clerk=[])
    desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), tasks=actor.agent("worker"))
    async with talking(desk, image=image) as run:
        await run.say("Stop it.")
    assert "There is no task 'nothing__9' here." in spoken(actor.of("desk")[1].messages[-1])


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (Outcome(), "It ran, printed nothing, and its last line has no value."),
        (Outcome(session="restored"), "Your names are as they were before this code."),
        (Outcome(session="lost"), "Your names are lost: the next code starts anew."),
        (Outcome(value={"b": 1, "a": [2]}, notices=("A note.",)), "value:\n{'b': 1, 'a': [2]}\nA note."),
    ],
)
def test_an_outcome_in_words(outcome: Outcome, says: str) -> None:
    """Whatever became of the names is said."""
    assert shown(outcome) == says


async def test_r94_a_task_may_take_the_callers_interpreter_along(image: Image) -> None:
    """Its code finds the names as they stood at the call, the task's own capabilities, and none of the caller's."""
    source = """
prices = {'tern': 3}
desk = clerk
task = await tasks.start('sum it up', state=True)
prices['gull'] = 9
await task"""
    actor = Actor(
        desk=[call("run_code", code=source), "Done."],
        worker=[
            call("run_code", code="prices"),
            call("run_code", code="await desk.ask('may I?')"),
            call("run_code", code="await helper.count('abc')"),
            "Summed up.",
        ],
        clerk=[],
    )
    worker = actor.agent("worker", capabilities=(Desk(actor.agent("clerk"), name="helper"),))
    desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), tasks=worker)
    async with talking(desk, image=image) as run:
        await run.say("Sum it up.")
    names, caller, own, *_ = [spoken(request.messages[-1]) for request in actor.of("worker")[1:]]
    assert names == "value:\n{'tern': 3}"
    assert "error" in caller
    assert own == "value:\n3"
    assert actor.of("clerk") == []
    assert spoken(actor.of("desk")[1].messages[-1]) == "value:\n'Summed up.'"


async def test_r94_by_default_a_task_starts_with_a_fresh_interpreter(image: Image) -> None:
    """Nothing of the caller's names is there."""
    actor = Actor(
        desk=[call("run_code", code="prices = 1\nawait (await tasks.start('sum it up'))"), "Done."],
        worker=[call("run_code", code="prices"), "None."],
        clerk=[],
    )
    worker = actor.agent("worker", capabilities=(Desk(actor.agent("clerk"), name="helper"),))
    desk = actor.agent("desk", capabilities=(Desk(actor.agent("clerk"), name="clerk"),), tasks=worker)
    async with talking(desk, image=image) as run:
        await run.say("Sum it up.")
    assert "NameError" in spoken(actor.of("worker")[1].messages[-1])

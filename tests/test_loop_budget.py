"""Budgets belong to the whole tree, and what is spent is told in words that a caller can act on."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from host import Inherited
from host.events import Event, LoopEnded, Replied
from host.loop import Agent, Budget, BudgetSpent, run_agent
from host.models.port import Reply, Request, Usage
from tests.loop_scene import Actor, Desk, call, calls, spoken, talking


def chain(actor: Actor, *names: str) -> Agent:
    """Agents each of which has the next one behind its desk."""
    below = actor.agent(names[-1])
    for name in reversed(names[:-1]):
        below = actor.agent(name, capabilities=(Desk(below, name=f"to_{below.name}"),))
    return below


async def test_requests_to_models_are_counted_over_all_layers() -> None:
    """The child that would be one too many fails, its caller reads why, and answers with the rest of the budget."""
    actor = Actor(
        top=[call("to_low_ask", question="a"), "I have what I have."], low=lambda _request, _before: call("none")
    )
    with pytest.raises(BudgetSpent, match=r"5 of 5 requests to models"):
        await run_agent(chain(actor, "top", "low"), "do it", Inherited.cold(), budget=Budget(model_calls=5))
    assert len(actor.requests) == 5


async def test_a_child_beyond_the_depth_is_refused_and_its_caller_told() -> None:
    """The loop that may not delegate further does the part itself."""
    actor = Actor(
        top=[call("to_mid_ask", question="a"), "done"],
        mid=[call("to_low_ask", question="b"), "I did it myself."],
        low=["never"],
    )
    ended = await run_agent(chain(actor, "top", "mid", "low"), "do it", Inherited.cold(), budget=Budget(depth=1))
    assert ended.value == "done"
    assert actor.of("low") == []
    assert "This would be layer 2 below the first, and the run may have 1. Do this part yourself." in spoken(
        actor.of("mid")[1].messages[-1]
    )


async def test_children_are_counted_over_the_whole_tree() -> None:
    """Whichever layer starts them."""
    actor = Actor(
        top=[calls(*[("to_low_ask", {"question": str(n)}) for n in range(5)]), "done"],
        low=lambda _request, _before: "yes",
    )
    await run_agent(chain(actor, "top", "low"), "do it", Inherited.cold(), budget=Budget(children=3))
    results = spoken(actor.of("top")[1].messages[-1])
    assert results.count("yes") == 3
    assert results.count("The budget of this run is spent: 3 of 3 subtasks.") == 2


async def test_tokens_are_those_that_providers_report() -> None:
    """And where one reports none, the estimate of what was sent and said: no model is free."""
    actor = Actor(top=[Reply.of("", *call("none").calls, usage=Usage(input=900, output=100)), "never"])
    with pytest.raises(BudgetSpent, match="1,000 of 1,000 tokens"):
        await run_agent(actor.agent("top"), "do it", Inherited.cold(), budget=Budget(tokens=1000))
    silent = Actor(top=[call("none")] * 9)
    with pytest.raises(BudgetSpent, match="of 100 tokens"):
        await run_agent(silent.agent("top"), "do it " * 100, Inherited.cold(), budget=Budget(tokens=100))
    assert len(silent.requests) == 1


async def test_wall_time_is_the_trees(autojump_clock: trio.testing.MockClock) -> None:
    """However deep the loop that takes it."""

    async def slow(_request: Request, _before: int) -> str:
        await trio.sleep(60)
        return "late"

    actor = Actor(top=[call("to_low_ask", question="a"), "done"], low=slow)
    began = trio.current_time()
    with pytest.raises(BudgetSpent, match="The time of this run is over: 30 seconds"):
        await run_agent(chain(actor, "top", "low"), "do it", Inherited.cold(), budget=Budget(seconds=30))
    assert trio.current_time() - began == pytest.approx(30)


async def test_tasks_and_questions_spend_from_the_same_purse() -> None:
    """A conversation's tasks included."""
    actor = Actor(desk=["Hello."], worker=lambda _request, _before: "I did it.")
    async with talking(actor.agent("desk", tasks=actor.agent("worker")), budget=Budget(children=1)) as run:
        run.dialogue.tasks.start("one")
        with pytest.raises(BudgetSpent, match="1 of 1 subtasks"):
            run.dialogue.tasks.start("two")


async def test_r80_usage_of_parent_and_children_sums_exactly_to_the_total() -> None:
    """Each loop's own usage counts its own replies and no one else's."""
    used = Usage(input=100, output=10, cached=40)
    actor = Actor(
        top=[Reply.of("", *calls(*[("to_low_ask", {"question": str(n)}) for n in range(3)]).calls, usage=used), "done"],
        low=lambda _request, _before: Reply.of("yes", usage=used),
    )
    told: list[Event] = []
    ended = await run_agent(chain(actor, "top", "low"), "do it", Inherited.cold(), observe=told.append)
    loops = [event.usage for event in told if isinstance(event, LoopEnded)]
    replies = [event.reply.usage for event in told if isinstance(event, Replied)]
    assert sum(loops, Usage()) == sum(replies, Usage()) == Usage(input=400, output=40, cached=160)
    assert ended.usage == used


@pytest.mark.parametrize("wrong", [{"tokens": -1}, {"depth": "deep"}, {"seconds": True}])
def test_a_budget_is_made_of_numbers(wrong: dict[str, object]) -> None:
    """Anything else is refused where it is written."""
    with pytest.raises(ValueError, match="is a number from 0, or None for no bound"):
        Budget(**wrong)  # type: ignore[arg-type]

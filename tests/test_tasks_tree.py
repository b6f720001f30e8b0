"""The tree of conversations on live loops: section E of the delegation rules."""

from __future__ import annotations

from host import Conversation, Inherited
from host.loop import Agent, Budget, run_agent
from host.models.port import Reply, Request
from tests.loop_scene import Actor, Desk, call, section, talking

DEEP = 20


def chain(actor: Actor, depth: int) -> Agent:
    """Agents a0, a1, ...: each asks the next one, the last one answers."""
    below = actor.agent(f"a{depth}")
    for number in range(depth - 1, -1, -1):
        below = actor.agent(f"a{number}", capabilities=(Desk(below, name=f"d{number + 1}"),))
    return below


def asking(number: int, context: str) -> list[Reply | str]:
    return [call(f"d{number + 1}_ask", question=f"question {number + 1}", context=context), f"answer {number}"]


async def test_r49_r50_twenty_layers_down_the_whole_chain_arrives_as_a_tree() -> None:
    """Each layer's exchange stands once, in order, beneath the message of the layer above that started it."""
    parts = {f"a{number}": asking(number, "fork") for number in range(DEEP)} | {f"a{DEEP}": ["the end"]}
    actor = Actor(**parts)
    person = Conversation.of("the person speaks")
    await run_agent(chain(actor, DEEP), "question 0", Inherited.of(person), budget=Budget(depth=DEEP))
    (request,) = actor.of(f"a{DEEP}")
    found = section(request)
    assert found is not None
    said = [(entry.depth, entry.text) for entry in found.entries if entry.deed == "said"]
    assert said == [(1, "the person speaks"), *((number + 2, f"question {number}") for number in range(DEEP))]
    for number, description in enumerate(found.layers[1:]):
        assert f'the work of "a{number}", below message {number + 1}.' in description


async def test_r51_a_cold_child_in_the_middle_cuts_the_tree() -> None:
    """What it forks onward starts with itself."""
    actor = Actor(a0=asking(0, "fork"), a1=asking(1, "cold"), a2=asking(2, "fork"), a3=["the end"])
    await run_agent(chain(actor, 3), "question 0", Inherited.of(Conversation.of("the person speaks")))
    found = section(actor.of("a3")[0])
    assert found is not None
    assert [(entry.depth, entry.text) for entry in found.entries if entry.deed == "said"] == [(1, "question 2")]
    assert section(actor.of("a2")[0]) is None
    assert section(actor.of("a1")[0]) is not None


async def test_r24_r23_roles_are_renamed_at_every_level() -> None:
    """No inherited message appears under a live role, at any depth."""
    actor = Actor(a0=asking(0, "fork"), a1=asking(1, "fork"), a2=["the end"])
    await run_agent(chain(actor, 2), "question 0", Inherited.of(Conversation.of("the person speaks")))
    (request,) = actor.of("a2")
    found = section(request)
    assert found is not None
    assert {entry.speaker for entry in found.entries} == {
        "outer user",
        "outer caller 2",
        "outer agent 2",
        "outer caller 3",
        "outer agent 3",
    }
    assert [(message.role, message.text) for message in request.messages] == [("user", "question 2")]


async def test_r81_the_size_of_the_history_stands_at_the_tail() -> None:
    """Where there is a choice to be made, and nowhere else; it grows with what a fork would pass on."""
    actor = Actor(desk=["One.", "Two."], clerk=[])
    async with talking(actor.agent("desk", capabilities=(Desk(actor.agent("clerk")),))) as run:
        await run.say("a")
        await run.say("b " * 4000)
    first, second = (_size(request) for request in actor.of("desk"))
    assert first < 50 < 1900 < second


def _size(request: Request) -> int:
    import re

    found = re.search(r"a fork passes on about ([0-9,]+) tokens", request.tail)
    assert found is not None
    assert found[0] not in request.system
    return int(found[1].replace(",", ""))

"""Five layers, by tool call and from sandboxed code in turns, forked but for a cold one in the middle: what each was sent.

desk       talks with the person, and starts a task                     (tool call, fork)
worker     the task; writes code that asks the clerk                    (code, fork)
clerk      asks the archive                                             (tool call, cold)
archive    knows nothing from above; writes code that asks the reader   (code, fork)
reader     sees the archive's exchange and nothing else
"""

from __future__ import annotations

from host.events import Delegated, LoopBegan, LoopEnded, Replied
from host.models.port import Request, Usage
from sandbox.image import Image
from tests.loop_scene import Actor, Desk, Run, call, section, spoken, talking

PERSON = "Sarah Chen in finance wants the metrics. Send them when they are final."


async def played(image: Image) -> tuple[Run, Actor]:
    """The whole run."""
    actor = Actor(
        desk=[call("start_task", request="Send the metrics to Sarah"), "I have started it.", "They are sent."],
        worker=[
            call(
                "run_code",
                code="where = await clerk.ask('Where are the metrics?')\nprint('found', where)\nwhere.upper()",
            ),
            "Sent from SHELF 7.",
        ],
        clerk=[call("archive_ask", question="Where is the file metrics-week-12?", context="cold"), "shelf 7"],
        archive=[
            call("run_code", code="await reader.ask('On which shelf?')"),
            "On shelf 7.",
        ],
        reader=["shelf 7"],
    )
    archive = actor.agent("archive", capabilities=(Desk(actor.agent("reader"), name="reader"),))
    clerk = actor.agent("clerk", capabilities=(Desk(archive, name="archive"),))
    worker = actor.agent("worker", capabilities=(Desk(clerk, name="clerk"),))
    async with talking(actor.agent("desk", tasks=worker), image=image) as run:
        await run.say(PERSON)
        await run.dialogue.settled()
        return run, actor


def layers(request: Request) -> list[tuple[int, str, str]]:
    """The inherited tree as it stands in the instructions: depth, who did what, in which words."""
    found = section(request)
    return (
        [] if found is None else [(entry.depth, f"{entry.speaker} {entry.deed}", entry.text) for entry in found.entries]
    )


async def test_each_layer_receives_exactly_what_was_chosen_for_it(image: Image) -> None:
    """Read off the exact requests."""
    _, actor = await played(image)
    first = {who: actor.of(who)[0] for who in actor.parts}
    above = [
        (1, "outer user said", PERSON),
        (1, "outer agent calls", '{"request": "Send the metrics to Sarah"}'),
    ]
    own = {who: [spoken(message) for message in request.messages] for who, request in first.items()}
    assert own == {
        "desk": [PERSON],
        "worker": ["Send the metrics to Sarah"],
        "clerk": ["Where are the metrics?"],
        "archive": ["Where is the file metrics-week-12?"],
        "reader": ["On which shelf?"],
    }
    assert layers(first["desk"]) == []
    assert layers(first["worker"]) == above
    code = actor.of("worker")[1].messages[1].calls[0].arguments
    assert layers(first["clerk"]) == [
        *above,
        (2, "outer caller 2 said", "Send the metrics to Sarah"),
        (2, "outer agent 2 calls", code),
    ]
    assert layers(first["archive"]) == []
    assert first["archive"].system.startswith("You are the archive.")
    assert "Sarah" not in first["archive"].system
    inner = actor.of("archive")[1].messages[1].calls[0].arguments
    assert layers(first["reader"]) == [
        (1, "outer caller said", "Where is the file metrics-week-12?"),
        (1, "outer agent calls", inner),
    ]
    for who in ("archive", "reader"):
        assert "Sarah" not in first[who].system
        assert "finance" not in first[who].system


async def test_answers_come_back_up_through_every_layer(image: Image) -> None:
    """Code goes on with what a call gave; what it printed and its value come back to its model."""
    run, actor = await played(image)
    assert "On shelf 7." in spoken(actor.of("clerk")[1].messages[-1])
    assert spoken(actor.of("worker")[1].messages[-1]).split("\n")[-3:] == ["found shelf 7", "value:", "'SHELF 7'"]
    assert run.dialogue.conversation.messages[-1].text == "They are sent."


async def test_the_record_ties_every_loop_to_the_call_that_started_it(image: Image) -> None:
    """Parent, depth, delegation, whose choice, and what it cost."""
    run, _ = await played(image)
    began = {event.agent: event for event in run.told(LoopBegan)}
    delegated = {event.id: event for event in run.told(Delegated)}
    for child, parent, path, context, chooser in (
        ("worker", "desk", "start_task", "fork", "default"),
        ("clerk", "worker", "clerk.ask", "fork", "default"),
        ("archive", "clerk", "archive.ask", "cold", "call"),
        ("reader", "archive", "reader.ask", "fork", "default"),
    ):
        loop = began[child]
        assert loop.parent == began[parent].loop
        assert loop.depth == began[parent].depth + 1
        assert loop.delegation is not None
        choice = delegated[loop.delegation]
        assert (choice.path, choice.context, choice.chooser, choice.loop) == (path, context, chooser, loop.parent)
        assert choice.call is not None
    assert {event.loop for event in run.told(LoopEnded)} == {event.loop for event in began.values()}
    assert sum((event.usage for event in run.told(LoopEnded)), Usage()) == sum(
        (event.reply.usage for event in run.told(Replied)), Usage()
    )

"""A real run, recorded: what the loops tell is what the views need."""

from __future__ import annotations

from pathlib import Path

from host import Inherited
from host.conversation import Conversation
from host.loop import run_agent
from host.models.port import Reply, Usage
from host.record import Record, delegations, loops, open_record, render_graph, worth_of
from tests.loop_scene import Actor, Desk, call

THREAD = Conversation.of("Okafor from finance wants the metrics.", "It was noted that Okafor wants them.")


async def recorded(path: Path) -> Record:
    """A caller that delegates twice: a fork that draws on the history, and a cold one."""
    low = [
        Reply.of("For Okafor.", usage=Usage(input=40, output=3, cached=30)),
        Reply.of("It is Monday.", usage=Usage(input=8, output=4)),
    ]
    actor = Actor(
        top=[
            call("desk_ask", question="For whom?"),
            call("desk_ask", question="What day is it?", context="cold"),
            Reply.of("Both are known.", usage=Usage(input=90, output=2)),
        ],
        low=low,
    )
    with open_record(path) as record:
        agent = actor.agent("top", capabilities=(Desk(actor.agent("low")),))
        await run_agent(agent, "Go on.", Inherited.of(THREAD), observe=record)
    return record


async def test_r80_a_run_reads_back_with_every_delegation_joined_to_its_child(tmp_path: Path) -> None:
    """From the file, by another process if need be."""
    record = await recorded(tmp_path / "run.jsonl")
    read = Record.load(tmp_path / "run.jsonl")
    assert read.events == record.events
    first, second = delegations(read)
    assert (first.choice.context, first.chooser, first.text) == ("fork", "default", "For Okafor.")
    assert (second.choice.context, second.chooser, second.text) == ("cold", "call", "It is Monday.")
    assert first.passed.ids[0] == tuple(message.id for message in THREAD)
    assert all(each.asked is not None and each.result is not None for each in (first, second))
    assert "desk_ask" in first.choice.tools
    assert first.choice.offered == ("fork", "cold")
    assert loops(read).total == Usage(input=138, output=9, cached=30)


async def test_r82_what_the_choices_were_worth_is_told_from_a_real_run(tmp_path: Path) -> None:
    """The fork drew on the history, the cold child did without."""
    record = await recorded(tmp_path / "run.jsonl")
    first, second = worth_of(record)
    assert (first.verdict, first.words, first.cached) == ("used", ("okafor",), 30)
    assert second.verdict == "sufficed"
    assert second.history is not None
    assert second.history >= THREAD.tokens


async def test_the_run_as_text_is_that_of_its_tree(tmp_path: Path) -> None:
    """The caller, and below it both children."""
    record = await recorded(tmp_path / "run.jsonl")
    lines = render_graph(record).splitlines()
    assert [line.split(" · ")[0] for line in lines[:-1]] == ["call top", "  call low", "  call low"]
    assert [line.split(" · ")[1] for line in lines[1:-1]] == ["fork, quoted by default", "cold by call"]
    assert lines[-1] == "in all: 138 in (30 cached), 9 out"

"""Whatever happened: it reads back as it was, and what the loops used adds up."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from host.context import FORK, Inherited
from host.conversation import Conversation, Message, Text, ToolCall, ToolResult
from host.events import (
    CallBegan,
    CallEnded,
    Delegated,
    Delivered,
    Event,
    LoopBegan,
    LoopEnded,
    Replied,
    Requested,
    Steered,
    TaskChanged,
)
from host.models.port import Reply, Request, ToolSpec, Usage
from host.record import Record, delegations, loops, open_record
from host.record.forms import entry_of, event_of
from host.record.once import Known, Written

# Few ids, so that messages come again under them with the same content or with other.
IDS = st.sampled_from([f"m_{number}" for number in range(6)])
WORDS = st.text(st.characters(codec=None, categories=None), max_size=8)
LINES = st.lists(st.sampled_from(["one\n", "two\n", "three", "\n", "\ud800", "\udc00"]) | WORDS, max_size=400).map(
    "".join
)
PARTS = st.lists(
    st.builds(Text, text=WORDS | LINES)
    | st.builds(ToolCall, id=WORDS, name=WORDS, arguments=WORDS)
    | st.builds(ToolResult, call=WORDS, parts=st.lists(st.builds(Text, text=WORDS), max_size=2).map(tuple)),
    max_size=2,
).map(tuple)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    parts=PARTS,
    id=IDS,
    volatile=st.booleans(),
    original=st.none() | st.binary(max_size=6),
)
HISTORIES = st.lists(MESSAGES, max_size=6)
COUNTS = st.integers(0, 10**6)
SECONDS = st.floats(0, 1e6)
USAGES = st.builds(Usage, input=COUNTS, output=COUNTS, cached=st.none() | COUNTS, written=st.none() | COUNTS)
TOOLS = st.builds(
    ToolSpec,
    name=WORDS,
    description=WORDS,
    parameters=st.dictionaries(WORDS, st.none() | st.booleans() | st.integers() | WORDS | st.lists(WORDS, max_size=2)),
)
REQUESTS = st.builds(
    Request, system=LINES, messages=HISTORIES.map(tuple), tools=st.lists(TOOLS, max_size=2).map(tuple), tail=WORDS
)
CALLS = st.builds(ToolCall, id=WORDS, name=WORDS, arguments=WORDS)
NAMES = st.lists(WORDS, max_size=2).map(tuple)


@st.composite
def trees(draw: st.DrawFn) -> Inherited:
    inherited = Inherited.cold()
    for _ in range(draw(st.integers(0, 3))):
        conversation = Conversation().extend(draw(HISTORIES))
        inherited = inherited.extend(
            conversation, agent=draw(st.none() | WORDS), choice=FORK, steering=frozenset(draw(NAMES))
        )
    return inherited


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(LoopBegan, loop=WORDS, agent=WORDS, model=WORDS, kind=st.just("task"), depth=COUNTS, request=LINES),
    st.builds(Requested, loop=WORDS, number=COUNTS, request=REQUESTS),
    st.builds(
        Replied,
        loop=WORDS,
        number=COUNTS,
        reply=st.builds(Reply, parts=PARTS, usage=USAGES, original=st.none() | st.binary(max_size=4)),
        seconds=SECONDS,
    ),
    st.builds(CallBegan, loop=WORDS, call=CALLS),
    st.builds(CallEnded, loop=WORDS, call=CALLS, text=LINES, failed=st.booleans(), seconds=SECONDS),
    st.builds(
        Delegated,
        id=WORDS,
        loop=WORDS,
        call=st.none() | WORDS,
        path=WORDS,
        context=st.sampled_from(["fork", "cold"]),
        chooser=st.sampled_from(["run", "policy", "call", "default"]),
        requested=st.sampled_from([None, "fork", "cold"]),
        inherited=trees(),
        offered=NAMES,
        tools=NAMES,
        instructions=LINES,
    ),
    st.builds(Steered, task=WORDS, loop=WORDS, means=st.just("ask"), text=WORDS),
    st.builds(Delivered, loop=WORDS, ids=st.lists(st.tuples(COUNTS, WORDS), max_size=2).map(tuple), tokens=COUNTS),
    st.builds(TaskChanged, task=WORDS, loop=WORDS, state=st.just("running")),
    st.builds(LoopEnded, loop=WORDS, how=st.just("failed"), text=LINES, turns=COUNTS, usage=USAGES, seconds=SECONDS),
)


@settings(max_examples=60)
@given(st.lists(EVENTS, max_size=8))
def test_any_events_read_back_as_they_were(events: list[Event]) -> None:
    """Messages under one id with different content, texts that UTF-8 cannot hold, trees that share histories."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with open_record(path) as record:
            for event in events:
                record(event)
        assert Record.load(path).events == tuple(events)
        with open_record(path, resume=True) as record:
            assert record.events == tuple(events)


@settings(max_examples=200)
@given(st.lists(LINES, max_size=4))
def test_any_long_text_reads_back_as_it_was(texts: list[str]) -> None:
    """Cut into blocks wherever, shared or not."""
    written, known = Written(), Known()
    for text in texts:
        event = Steered(task="t", loop="l", means="ask", text=text)
        assert event_of(entry_of(event, written), known) == event


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Event], Usage]:
    """A run of a random tree of loops, some still running, and what its replies used in all."""
    events: list[Event] = []
    total = Usage()
    names: list[str] = []
    for number in range(draw(st.integers(1, 8))):
        name = f"l{number}"
        parent = draw(st.none() | st.sampled_from(names)) if names else None
        delegation = None
        if parent is not None and draw(st.booleans()):
            delegation = f"d{number}"
            events.append(
                Delegated(
                    id=delegation,
                    loop=parent,
                    call=None,
                    path="p",
                    context="cold",
                    chooser="default",
                    requested=None,
                    inherited=Inherited.cold(),
                )
            )
        names.append(name)
        events.append(
            LoopBegan(
                loop=name,
                agent="a",
                model="m",
                kind="call",
                depth=0,
                request="r",
                parent=parent,
                delegation=delegation,
            )
        )
    own = dict.fromkeys(names, Usage())
    for number, name in enumerate(draw(st.lists(st.sampled_from(names), max_size=12))):
        usage = draw(USAGES)
        own[name] += usage
        total += usage
        events.append(Replied(loop=name, number=number, reply=Reply(usage=usage), seconds=1.0))
    for name in draw(st.permutations(names)):
        if draw(st.booleans()):
            ended: Any = LoopEnded(loop=name, how="answered", text="", turns=1, usage=own[name], seconds=1.0)
            events.append(ended)
    return events, total


@given(runs())
def test_r80_what_parents_and_children_used_sums_exactly_to_the_total(run: tuple[list[Event], Usage]) -> None:
    """Over any tree, also one of which some loops still run."""
    events, total = run
    tree = loops(events)
    assert tree.total == total
    for loop in tree.by_id.values():
        assert loop.below == sum((child.below for child in loop.children), loop.usage)
    for delegation in delegations(events):
        assert delegation.usage == sum((loop.below for loop in delegation.loops), Usage())

"""A record's file: whole, exact, small, and never believed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from host.context import Inherited, render
from host.conversation import Conversation, Message, Text, ToolCall
from host.events import Delegated, Event, LoopBegan, Printed, Replied, Requested, Spoke
from host.models.port import Delta, Reply, Request, ToolSpec, Usage
from host.record import Record, RecordError, open_record
from tests.record_scene import Told, history


def a_run() -> list[Event]:
    events: list[Event] = []
    caller = Told(events, "l1", "Who gets the report?")
    call = ToolCall(id="call_a", name="run_code", arguments="{}")
    caller.reply("One moment.", call, usage=Usage(input=120, output=9, cached=80))
    caller.delegate("d1", Inherited.of(Conversation.of(*caller.messages)), call="call_a")
    child = Told(events, "l2", "Sarah's address?", parent="l1", delegation="d1", system="Long. " * 300)
    child.call('{"text": "Sarah"}', "[]", usage=Usage(input=50, output=4))
    child.end("sarah@example.org")
    caller.returned(call, "sarah@example.org")
    caller.reply("Sarah does.", usage=Usage(input=150, output=5, cached=0))
    caller.end("Sarah does.")
    return events


def written(path: Path, events: list[Event]) -> list[bytes]:
    with open_record(path) as record:
        for event in events:
            record(event)
    return path.read_bytes().splitlines(keepends=True)


def test_the_durable_events_are_kept_in_order_and_the_pieces_are_not() -> None:
    """What a later event holds whole is left out."""
    record = Record()
    events = a_run()
    for event in events:
        record(event)
        record(Spoke(loop="l1", delta=Delta(kind="text", text="x")))
        record(Printed(loop="l1", stream="stdout", text="x"))
    assert record.events == tuple(events)
    assert Record([*events, Spoke(loop="l1", delta=Delta(kind="text", text="x"))]).events == tuple(events)


def test_what_was_written_is_read_back_exactly(tmp_path: Path) -> None:
    """Events with whole requests, replies, and inherited trees."""
    events = a_run()
    written(tmp_path / "run.jsonl", events)
    record = Record.load(tmp_path / "run.jsonl")
    assert record.events == tuple(events)
    assert not record.torn


def test_each_event_is_in_the_file_as_soon_as_it_was_told(tmp_path: Path) -> None:
    """A run that dies leaves what had happened."""
    path = tmp_path / "run.jsonl"
    with open_record(path) as record:
        for number, event in enumerate(a_run(), start=1):
            record(event)
            assert len(Record.load(path)) == number


def test_a_message_is_written_once_by_its_id(tmp_path: Path) -> None:
    """However many requests and delegations hold it."""
    marked = Message(role="user", parts=(Text(text="the marked message"),), id="m_marked")
    events: list[Event] = []
    for number in range(3):
        request = Request(system="", messages=(marked, *history(f"request {number}")))
        events.append(Requested(loop="l1", number=number + 1, request=request))
    told = Told(events, "l1", messages=(marked,))
    told.delegate("d1", Inherited.of(Conversation.of(marked)))
    written(tmp_path / "run.jsonl", events)
    assert (tmp_path / "run.jsonl").read_text().count("the marked message") == 1
    assert Record.load(tmp_path / "run.jsonl").events == tuple(events)


def test_a_message_that_comes_again_with_other_content_is_kept_as_it_was_each_time(tmp_path: Path) -> None:
    """A replay may send a message without the call in it, under the same id."""
    call = ToolCall(id="call_1", name="start_task", arguments="{}")
    whole = Message(role="assistant", parts=(Text(text="I will."), call), id="m_1")
    cut = replace(whole, parts=whole.parts[:1])
    events: list[Event] = [
        Requested(loop="l1", number=number, request=Request(system="", messages=(message,)))
        for number, message in enumerate((whole, cut, whole, cut), start=1)
    ]
    lines = written(tmp_path / "run.jsonl", events)
    assert Record.load(tmp_path / "run.jsonl").events == tuple(events)
    assert b"I will." not in b"".join(lines[3:])


def test_a_long_history_with_many_delegations_is_not_written_again_for_each(tmp_path: Path) -> None:
    """10,000 messages and 100 quoted children: what is added for each child is what is new, not the history."""
    conversation = history(
        *[f"Message {number} says that the matter {number * 7919} is settled." for number in range(10_000)]
    )
    with open_record(tmp_path / "run.jsonl") as record:
        for number in range(100):
            conversation = conversation.user(f"Further question {number}.")
            inherited = Inherited.of(conversation)
            system = f"You are the clerk.\n\n{render(inherited, nonce='abcdefgh12345678')}" if number < 10 else "cold"
            events: list[Event] = []
            caller = Told(events, f"l{number}", messages=conversation.messages)
            caller.reply("Asking.")
            caller.delegate(f"d{number}", inherited)
            child = Told(events, f"c{number}", "Which?", parent=f"l{number}", delegation=f"d{number}", system=system)
            child.reply("That one.")
            for event in events:
                record(event)
            size = (tmp_path / "run.jsonl").stat().st_size
            if number == 0:
                first = size
    assert size - first < first
    assert Record.load(tmp_path / "run.jsonl").events == record.events


def test_a_torn_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    """At whatever byte the run died, all entries before it are there."""
    path = tmp_path / "run.jsonl"
    events = a_run()
    lines = written(path, events)
    for cut in range(1, len(lines[-1]) - 1, 7):
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
        record = Record.load(path)
        assert record.torn
        assert record.events == tuple(events[:-1])


def test_a_line_that_lacks_only_its_end_is_whole(tmp_path: Path) -> None:
    """The bytes of the entry are all there."""
    path = tmp_path / "run.jsonl"
    events = a_run()
    path.write_bytes(b"".join(written(tmp_path / "one.jsonl", events)).rstrip(b"\n"))
    assert Record.load(path).events == tuple(events)


def test_a_record_is_continued_behind_what_was_whole(tmp_path: Path) -> None:
    """What was torn is cut off, and what was written once is still known."""
    path = tmp_path / "run.jsonl"
    events = a_run()
    lines = written(tmp_path / "whole.jsonl", events)
    for begun in (b"".join(lines[:5]) + lines[5][:9], b"".join(lines[:5]), b"".join(lines[:5]).rstrip(b"\n")):
        path.write_bytes(begun)
        with open_record(path, resume=True) as record:
            assert record.events == tuple(Record.load(path).events)
            for event in Record.load(tmp_path / "whole.jsonl").events[len(record) :]:
                record(event)
        assert path.read_bytes() == b"".join(lines)


def test_an_existing_file_is_not_written_over(tmp_path: Path) -> None:
    """It may be the record of another run."""
    path = tmp_path / "run.jsonl"
    path.write_text("my notes")
    with pytest.raises(RecordError, match="exists: choose another name"), open_record(path):
        pass
    with pytest.raises(RecordError, match="is no record"), open_record(path, resume=True):
        pass
    assert path.read_text() == "my notes"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_file_that_cannot_be_written_stops_no_run_and_is_told_at_the_end(tmp_path: Path) -> None:
    """The observer does not raise; memory goes on."""
    events = a_run()

    def run() -> None:
        with open_record(tmp_path / "run.jsonl") as record:
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, record._file.fileno())
            os.close(full)
            for event in events:
                record(event)
            assert record.events == tuple(events)
            assert record.trouble is not None

    with pytest.raises(RecordError, match="does not hold the whole run"):
        run()


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """It holds conversations."""
    written(tmp_path / "run.jsonl", a_run())
    assert (tmp_path / "run.jsonl").stat().st_mode & 0o077 == 0


def test_texts_that_utf8_cannot_hold_come_back_as_they_were(tmp_path: Path) -> None:
    """Lone surrogates side by side, line separators, NUL; and bytes that are no text."""
    odd = "\ud800\udc00 \u2028 \0 \x85 é"
    message = Message(role=odd, parts=(Text(text=odd * 300), ToolCall(id=odd, name=odd, arguments=odd)), id=odd)
    raw = replace(message, id="raw", original=b"\xff\xfe", shape="anthropic")
    reply = Reply(parts=message.parts, shape="anthropic", original='{"a": "ä"}'.encode())
    tool = ToolSpec(name=odd, description=odd, parameters={"type": "object", odd: [1, 2.5, None, True]})
    request = Request(system=odd * 500, messages=(message, raw), tools=(tool,), tail=odd)
    events: list[Event] = [
        Requested(loop=odd, number=1, request=request),
        Replied(loop=odd, number=1, reply=reply, seconds=0.1),
    ]
    written(tmp_path / "run.jsonl", events)
    assert Record.load(tmp_path / "run.jsonl").events == tuple(events)


def test_nothing_of_the_clients_is_in_a_record(tmp_path: Path) -> None:
    """A model has a key; a record has the model's name."""

    class Keyed:
        name = "keyed"
        key = "sk-secret-0123456789"

    events = a_run()
    assert isinstance(events[0], LoopBegan)
    written(tmp_path / "run.jsonl", [replace(events[0], model=Keyed().name), *events[1:]])
    text = (tmp_path / "run.jsonl").read_text()
    assert '"model":"keyed"' in text
    assert Keyed.key not in text


HEAD = '{"format": "branchpoint record 1"}\n'
TASK = '"task":"t","loop":"l"'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is no record of a run"),
        ("{}\n", "is no record of a run"),
        ('{"format": "branchpoint record 2"}\n', "is no record of a run"),
        ('{"messages": []}', "is no record of a run"),
        (HEAD + "nonsense\n{}\n", "line 2: it is not JSON"),
        (HEAD + "[]\n", "line 2: there should be an object"),
        (HEAD + '{"event":"Exploded"}\n', "there is no event 'Exploded'"),
        (HEAD + '{"event":"Spoke"}\n', "there is no event 'Spoke'"),
        (HEAD + '{"event":"TaskChanged"}\n', "other fields: see loop, state, task"),
        (HEAD + f'{{"event":"TaskChanged",{TASK},"state":"running","more":1}}\n', "other fields: see more"),
        (HEAD + f'{{"event":"TaskChanged",{TASK},"state":"asleep"}}\n', "state: there should be one of running"),
        (HEAD + f'{{"event":"TaskChanged",{TASK},"state":["running"]}}\n', "state: there should be one of running"),
        (HEAD + '{"event":"TaskChanged","task":1,"loop":"l","state":"running"}\n', "task: there should be a text"),
        (HEAD + '{"event":"TaskChanged","task":{"text":0},"loop":"l","state":"running"}\n', "text 0 is referred to"),
        (HEAD + '{"event":"TaskChanged","task":{"text":true},"loop":"l","state":"running"}\n', "text True is referred"),
        (HEAD + '{"event":"Delivered","loop":"l","ids":[[1]],"tokens":1}\n', "ids: there should be 2 values"),
        (HEAD + '{"event":"Delivered","loop":"l","ids":{},"tokens":1}\n', "ids: there should be a list"),
        (HEAD + '{"event":"Delivered","loop":"l","ids":[],"tokens":true}\n', "tokens: there should be a whole number"),
        (HEAD + '{"event":"Delivered","loop":"l","ids":[],"tokens":1,"new":[]}\n', "what is new should be an object"),
        (
            HEAD + '{"event":"Delivered","loop":"l","ids":[],"tokens":1,"new":{"points":[[0,"m"]]}}\n',
            "the message 'm' is referred to and nowhere defined",
        ),
        (
            HEAD + '{"event":"Delivered","loop":"l","ids":[],"tokens":1,"new":{"messages":[["m"]]}}\n',
            "message 1: expected seven fields",
        ),
        (HEAD + '{"event":"Delivered","loop":"l","ids":[],"tokens":1,"new":{"tools":[1]}}\n', "a tool should be"),
        (HEAD + '{"event":"Delivered","loop":"l","ids":[],"tokens":1,"new":{"texts":[[0]]}}\n', "text 0 is referred"),
        (HEAD + "[" * 100_000 + "\n{}\n", "line 2: it is not JSON"),
        (HEAD + f'{{"event":"Delivered","loop":"l","ids":[],"tokens":{"9" * 5000}}}\n{{}}\n', "line 2: it is not JSON"),
    ],
)
def test_what_is_no_record_is_refused_in_one_sentence_that_says_where(tmp_path: Path, content: str, said: str) -> None:
    """Damaged, foreign, or made up."""
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(RecordError) as caught:
        Record.load(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith("run.jsonl")


def test_texts_that_double_are_refused_before_they_are_made(tmp_path: Path) -> None:
    """A hundred short lines could name a text of any size."""
    texts: list[object] = ["x" * 1000]
    texts += [[number] * 100 for number in range(10)]
    entry = {"event": "Delivered", "loop": "l", "ids": [], "tokens": 1, "new": {"texts": texts}}
    path = tmp_path / "run.jsonl"
    path.write_text(HEAD + json.dumps(entry) + "\n")
    with pytest.raises(RecordError, match="too large"):
        Record.load(path)


def test_any_byte_may_be_wrong(tmp_path: Path) -> None:
    """Reading a damaged record gives a record or a `RecordError`, and nothing else."""
    path = tmp_path / "run.jsonl"
    whole = b"".join(written(tmp_path / "whole.jsonl", a_run()))
    refused = 0
    for at in range(0, len(whole), 11):
        for byte in (b"0", b'"', b"\n", b"\xff"):
            path.write_bytes(whole[:at] + byte + whole[at + 1 :])
            try:
                Record.load(path)
            except RecordError:
                refused += 1
    assert refused > 100


def test_a_fork_is_still_a_fork_when_it_is_read(tmp_path: Path) -> None:
    """The tree of layers is the same value, and shares its messages."""
    written(tmp_path / "run.jsonl", a_run())
    events = Record.load(tmp_path / "run.jsonl").events
    delegated = next(event for event in events if isinstance(event, Delegated))
    assert delegated.inherited.choice.is_whole
    assert [message.text for message in delegated.inherited.layers[0].conversation] == [
        "Who gets the report?",
        "One moment.",
    ]

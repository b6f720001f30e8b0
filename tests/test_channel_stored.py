"""A channel's state on disk: it goes on in another process, and damaged bytes are refused."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest

from guest_stdlib.channel import (
    Abandon,
    Call,
    Cancel,
    Codec,
    CodecLimits,
    Damaged,
    Done,
    End,
    HostChannel,
    LocalError,
    Open,
    Phase,
    Rest,
    Return,
    Run,
    Unsendable,
    Via,
)
from guest_stdlib.channel.packing import tag

from .channel_pair import Pair, drain, frame
from .test_channel_values import Contact

ROWS = [{"id": number, "name": f"name {number}"} for number in range(100)]


def waiting() -> Pair:
    """A cell that waits for two calls; a third was answered."""
    pair = Pair().running()
    pair.reply(
        Call(
            call=1, path="contacts.find", args=("Sarah", (1, {2})), kwargs={"since": datetime(2026, 1, 1, tzinfo=UTC)}
        ),
        Call(call=2, path="search.ask", args=(ROWS,), context={"context": "cold"}, token="t"),
        Call(call=3, path="search.read"),
        Rest(wake=2.0),
    )
    pair.tell(Return(call=3, value=1))
    pair.reply(Rest())
    return pair


def on_disk(state: dict[str, object]) -> Any:
    """The state after a journey through bytes."""
    return msgpack.unpackb(msgpack.packb(state))


def test_a_stored_session_goes_on_where_it_was() -> None:
    """With its open calls listed, each with everything that it was made with."""
    pair = waiting()
    restored = HostChannel.restore(on_disk(pair.host.state()))
    assert restored.phase is Phase.WAITING
    assert restored.cell == 1
    assert dict(restored.open_calls) == dict(pair.host.open_calls)
    assert list(restored.open_calls) == [1, 2]
    pair.host = restored
    assert pair.tell(Return(call=2, value="two")) == [Return(call=2, value="two")]
    assert pair.reply(Abandon(call=1), Call(call=4, path="x"), Rest())[1] == Call(call=4, path="x")
    pair.tell(Cancel(reason="cancelled", message="m"))
    pair.reply(Done(cell=1), Rest())
    pair.tell(Run(cell=2, source="2"))


def test_a_copy_settles_its_calls_for_itself() -> None:
    """Neither sees what the other is told, and their values are not shared."""
    pair = waiting()
    other = HostChannel.restore(pair.host.state())
    pair.host.send(Return(call=1))
    assert list(other.open_calls) == [1, 2]
    assert other.open_calls[2].args[0] is not pair.host.open_calls[2].args[0]


@pytest.mark.parametrize(
    "make", [Pair, lambda: Pair().opened(), lambda: Pair().ended()], ids=["new", "opened", "ended"]
)
def test_a_session_without_a_cell_is_stored_too(make: Any) -> None:
    """Before it is opened, and between cells."""
    host = make().host
    restored = HostChannel.restore(on_disk(host.state()))
    assert restored.phase is host.phase
    assert restored.state() == host.state()


def test_calls_larger_than_the_fast_lane_made_them_are_stored() -> None:
    """What crossed can be stored, whatever form it takes there."""
    limits = CodecLimits(frame_bytes=1 << 16, value_bytes=1 << 15, items=20_000)
    pair = Pair(limits).running()
    pair.reply(Call(call=1, path="a", args=([0.5] * 8000,)), Rest())
    restored = HostChannel.restore(pair.host.state(), Codec(limits))
    assert restored.open_calls[1].args == ([0.5] * 8000,)


def test_known_classes_are_rebuilt() -> None:
    """Whoever resumes brings the classes."""
    codec = Codec(records={"Contact": Contact})
    pair = Pair()
    pair.host = HostChannel(codec)
    pair.running().reply(Call(call=1, path="a", args=(Contact("Sarah"),)), Rest())
    assert HostChannel.restore(pair.host.state(), codec).open_calls[1].args == (Contact("Sarah"),)


def test_a_session_is_stored_only_between_turns() -> None:
    """Not while the guest runs, not inside a blocking call, not with events on their way."""
    pair = Pair().running()
    with pytest.raises(LocalError, match="the session cannot be stored while the guest runs"):
        pair.host.state()
    pair = Pair().waiting(via=Via.EXCHANGE)
    with pytest.raises(LocalError, match="the session cannot be stored while the cell waits inside a blocking call"):
        pair.host.state()
    pair = Pair().waiting()
    pair.host.queue(Return(call=1))
    with pytest.raises(LocalError, match="the session cannot be stored while events are on their way"):
        pair.host.state()
    pair = Pair()
    pair.tell(Open())
    pair.host.receive(pair.guest.send(Rest()))
    with pytest.raises(LocalError, match="the session cannot be stored while events are on their way"):
        pair.host.state()
    drain(pair.host)
    assert pair.host.state()["phase"] == "IDLE"


def test_a_call_that_was_made_unsendable_cannot_be_stored() -> None:
    """A capability that changes its arguments is told so."""
    pair = Pair().waiting()
    pair.host.open_calls[1].kwargs["added"] = bytearray()  # type: ignore[index]
    with pytest.raises(Unsendable, match="added is a bytearray"):
        pair.host.state()


STATE = on_disk(waiting().host.state())
CALL = STATE["calls"][0]


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": None},
        {"phase": "RUNNING"},
        {"phase": "BLOCKED"},
        {"phase": "waiting"},
        {"phase": None},
        {"phase": "NEW"},
        {"phase": "IDLE"},
        {"cell": None},
        {"cell": 2},
        {"cell": True},
        {"cell": "1"},
        {"last_cell": 0},
        {"last_cell": 2},
        {"last_cell": -1},
        {"last_cell": 1.0},
        {"last_call": 1},
        {"last_call": -1},
        {"last_call": None},
        {"cell": 0, "last_cell": 0},
        {"calls": None},
        {"calls": [CALL, CALL]},
        {"calls": list(reversed(STATE["calls"]))},
        {"calls": [b""]},
        {"calls": [CALL[:-1]]},
        {"calls": [CALL + b"\xc0"]},
        {"calls": [CALL.decode("latin-1")]},
        {"calls": [7]},
        {"calls": [frame()]},
        {"calls": [frame([12])]},
        {"calls": [frame([6, 1, "a"], [6, 2, "b"])]},
        {"calls": [frame([6, 9, "a"])]},
        {"calls": [frame([6, 1, "a", [[tag(21), b"N"]]])]},
        {"more": 1},
    ],
    ids=repr,
)
def test_a_changed_state_is_refused(changes: dict[str, object]) -> None:
    """Bytes from a disk may be damaged, or made by someone else."""
    with pytest.raises(Damaged):
        HostChannel.restore({**copy.deepcopy(STATE), **changes})


@pytest.mark.parametrize("key", STATE)
def test_a_state_with_a_part_missing_is_refused(key: str) -> None:
    """Every part is needed."""
    with pytest.raises(Damaged):
        HostChannel.restore({name: value for name, value in STATE.items() if name != key})


@pytest.mark.parametrize("state", [None, [], b"", "state", {}, 7], ids=repr)
def test_something_else_is_refused(state: object) -> None:
    """Whatever it is."""
    with pytest.raises(Damaged, match="the stored channel is none of this version"):
        HostChannel.restore(state)


def test_what_is_stored_is_never_marshal() -> None:
    """It may come back from anywhere."""
    stored = Codec().stored()
    (event,) = stored.decode(stored.encode([Return(call=1, value=ROWS)]))
    assert event == Return(call=1, value=ROWS)
    assert stored.encode([Return(call=1, value=ROWS)]) != Codec().encode([Return(call=1, value=ROWS)])
    assert Codec(end=End.GUEST).encode([Return(call=1, value=ROWS)]) != Codec().encode([Return(call=1, value=ROWS)])

"""Whose turn it is: the whole table, event by event, at both ends; and what is checked besides it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from guest_stdlib.channel import (
    NEED_DATA,
    Abandon,
    Call,
    Cancel,
    Codec,
    CodecLimits,
    Done,
    Event,
    Failed,
    GuestChannel,
    Interrupted,
    LocalError,
    Open,
    Output,
    PeerError,
    Phase,
    Rest,
    Return,
    Run,
    Throw,
    Via,
)
from guest_stdlib.channel.turns import ALLOWED, TRANSITIONS

from .channel_pair import FAILURE, Pair, drain

EVENTS: dict[type, Event] = {
    type(event): event
    for event in (
        Open(),
        Run(cell=2, source="2"),
        Return(call=1, value=1),
        Throw(call=1, failure=FAILURE),
        Cancel(reason="cpu", message="too long"),
        Call(call=2, path="b"),
        Abandon(call=1),
        Output(stream="stdout", text="x"),
        Done(cell=1),
        Failed(cell=1, failure=FAILURE),
        Interrupted(),
        Rest(),
    )
}


def named(value: Any) -> str:
    return str(getattr(value, "name", None) or value.__name__)


# How each phase is reached, by real turns of both ends. Call 1 is open wherever a cell is.
REACHED: dict[Phase, Callable[[], Pair]] = {
    Phase.NEW: Pair,
    Phase.OPENED: lambda: queued(Pair(), "host", Open()),
    Phase.OPENING: lambda: after(Pair(), lambda pair: pair.tell(Open())),
    Phase.IDLE: lambda: Pair().ended(),
    Phase.STARTED: lambda: queued(Pair().opened(), "host", Run(cell=1, source="1")),
    Phase.RUNNING: lambda: after(Pair().waiting(), lambda pair: pair.tell()),
    Phase.ENDED: lambda: queued(after(Pair().waiting(), lambda pair: pair.tell()), "guest", Done(cell=1)),
    Phase.RESTING: lambda: queued(after(Pair().waiting(), lambda pair: pair.tell()), "guest", Rest()),
    Phase.READY: lambda: queued(after(Pair().waiting(), lambda pair: pair.tell()), "guest", Done(cell=1), Rest()),
    Phase.WAITING: lambda: Pair().waiting(),
    Phase.BLOCKED: lambda: Pair().waiting(via=Via.EXCHANGE),
    Phase.ASKED: lambda: after(after(Pair().waiting(), lambda pair: pair.tell()), lambda pair: pair.ask()),
    Phase.ANSWERED: lambda: queued(
        after(after(Pair().waiting(), lambda pair: pair.tell()), lambda pair: pair.ask()),
        "host",
        Cancel(reason="cpu", message="too long"),
    ),
    Phase.BROKEN: lambda: broken(Pair().waiting()),
}


def queued(pair: Pair, end: str, *events: Any) -> Pair:
    for event in events:
        getattr(pair, end).queue(event)
    return pair


def after(pair: Pair, turn: Callable[[Pair], object]) -> Pair:
    turn(pair)
    return pair


def broken(pair: Pair) -> Pair:
    pair.tell()
    for channel in (pair.host, pair.guest):
        with pytest.raises(PeerError):
            channel.receive(b"\xc1")
    return pair


def ends_in(pair: Pair, phase: Phase) -> list[Any]:
    """The ends that are in this phase: within a frame it is only the one that speaks."""
    return [channel for channel in (pair.host, pair.guest) if channel.phase is phase]


def by_hand(*events: Event) -> bytes:
    """A frame of these events, whether or not they may be said."""
    return Codec().encode(events)


def test_the_table_names_every_phase_event_and_way() -> None:
    """Nothing is forgotten, and nothing leads to where there is no way out."""
    assert set(TRANSITIONS) == set(Phase)
    used = {key for row in TRANSITIONS.values() for key in row}
    assert used == {*EVENTS, *Via}
    assert set().union(*ALLOWED.values()) == set(EVENTS)
    assert set(ALLOWED) == set(Via)
    assert {phase for row in TRANSITIONS.values() for phase in row.values()} | {Phase.NEW, Phase.BROKEN} == set(Phase)
    assert set(REACHED) == set(Phase) - {Phase.ASKING}


@pytest.mark.parametrize("phase", REACHED, ids=lambda phase: phase.name)
def test_each_phase_is_reached_by_real_turns(phase: Phase) -> None:
    """The tests below begin there."""
    assert ends_in(REACHED[phase](), phase)


@pytest.mark.parametrize(("phase", "kind"), [*product(REACHED, EVENTS)], ids=named)
def test_exactly_the_events_in_the_table_can_be_said(phase: Phase, kind: type) -> None:
    """At each end that is in the phase. What cannot be said changes nothing."""
    pair = REACHED[phase]()
    event: Any = EVENTS[kind]
    for channel in ends_in(pair, phase):
        host = channel is pair.host
        way = Via.INPUT if host else Via.STEP
        if kind in ALLOWED[way] and kind in TRANSITIONS[phase]:
            channel.queue(event)
            assert channel.phase is TRANSITIONS[phase][kind]
        else:
            calls = dict.fromkeys(channel.open_calls)
            with pytest.raises(LocalError, match=f"{kind.__name__} cannot be sent "):
                channel.queue(event)
            assert channel.phase is phase
            assert dict.fromkeys(channel.open_calls) == calls


@pytest.mark.parametrize("phase", REACHED, ids=lambda phase: phase.name)
def test_a_frame_ends_only_where_the_table_says(phase: Phase) -> None:
    """Then it is the other end's turn. Elsewhere nothing changes."""
    for via in (Via.INPUT, Via.STEP, Via.EXCHANGE):
        pair = REACHED[phase]()
        for channel in ends_in(pair, phase):
            if (channel is pair.host) != (via is Via.INPUT):
                continue
            send = partial(channel.send, **({} if via is Via.INPUT else {"via": via}))
            if via in TRANSITIONS[phase]:
                send()
                assert channel.phase is TRANSITIONS[phase][via]
            else:
                with pytest.raises(LocalError, match="a frame cannot end while"):
                    send()
                assert channel.phase is phase


HOST_HEARS = [Phase.NEW, Phase.OPENING, Phase.IDLE, Phase.RUNNING, Phase.WAITING, Phase.BLOCKED, Phase.ASKED]


@pytest.mark.parametrize(("phase", "kind"), [*product(HOST_HEARS, EVENTS)], ids=named)
def test_the_host_hears_exactly_the_events_in_the_table(phase: Phase, kind: type) -> None:
    """By each way. Anything else is the guest's fault and breaks the channel."""
    for via in (Via.STEP, Via.EXCHANGE, Via.EMIT):
        host = REACHED[phase]().host
        events = [EVENTS[kind]]
        at = TRANSITIONS[phase].get(kind) if kind in ALLOWED[via] else None
        if at is not None and via not in TRANSITIONS[at] and Rest in ALLOWED[via] and Rest in TRANSITIONS[at]:
            events.append(Rest())
            at = TRANSITIONS[at][Rest]
        if at is not None and via in TRANSITIONS[at]:
            host.receive(by_hand(*events), via)
            assert host.phase is TRANSITIONS[at][via]
            assert drain(host) == events
        else:
            with pytest.raises(PeerError, match=r"the guest (sent|ended a frame)"):
                host.receive(by_hand(*events), via)
            assert host.phase is Phase.BROKEN
            assert drain(host) == []


GUEST_HEARS = [Phase.NEW, Phase.IDLE, Phase.WAITING, Phase.BLOCKED, Phase.ASKED, Phase.RUNNING, Phase.OPENING]


@pytest.mark.parametrize(("phase", "kind"), [*product(GUEST_HEARS, EVENTS)], ids=named)
def test_the_guest_hears_exactly_the_events_in_the_table(phase: Phase, kind: type) -> None:
    """It runs the same table as the host."""
    guest = REACHED[phase]().guest
    at = TRANSITIONS[phase].get(kind) if kind in ALLOWED[Via.INPUT] else None
    if at is not None and Via.INPUT in TRANSITIONS[at]:
        guest.receive(by_hand(EVENTS[kind]))
        assert guest.phase is TRANSITIONS[at][Via.INPUT]
        assert drain(guest) == [EVENTS[kind]]
    else:
        with pytest.raises(PeerError):
            guest.receive(by_hand(EVENTS[kind]))
        assert guest.phase is Phase.BROKEN


def test_both_ends_are_in_the_same_phase_after_each_frame() -> None:
    """Over a session that does everything once."""
    pair = Pair()
    turns: list[Callable[[], object]] = [
        lambda: pair.tell(Open(), Run(cell=1, source="1")),
        lambda: pair.emit("hello"),
        lambda: pair.reply(Call(call=1, path="a"), Call(call=2, path="b"), Rest(wake=1.5)),
        pair.tell,
        lambda: pair.reply(Abandon(call=2), Call(call=3, path="c"), Rest(), via=Via.EXCHANGE),
        lambda: pair.tell(Return(call=3, value=3)),
        pair.ask,
        lambda: pair.tell(Cancel(reason="wall", message="too long")),
        lambda: pair.emit("bye"),
        lambda: pair.reply(Rest()),
        lambda: pair.tell(Throw(call=1, failure=FAILURE), Cancel(reason="cancelled", message="stop")),
        lambda: pair.reply(Failed(cell=1, failure=FAILURE, notices=("a",), rejected=2), Rest()),
        lambda: pair.tell(Run(cell=2, source="2", name="<second>", notice="put back")),
        lambda: pair.reply(Done(cell=2, value=[1]), Rest()),
    ]
    for turn in turns:
        turn()
        assert pair.host.phase is pair.guest.phase
        assert pair.host.cell == pair.guest.cell
        assert set(pair.host.open_calls) == pair.guest.open_calls
    assert pair.host.phase is Phase.IDLE


def test_every_event_arrives_as_it_was_sent() -> None:
    """With all its fields, and with none but those that it must have."""
    codec = Codec()
    for event in (
        *EVENTS.values(),
        Open(
            capabilities=({"name": "contacts", "methods": ({"name": "find"},)},),
            errors=({"name": "NeedsClarification", "fields": ("question",)},),
            records=({"name": "Contact"},),
            policy="restricted",
            token="t",
            cold=True,
            seed=2**100,
            limits={"tasks": 5},
        ),
        Run(cell=1, source="x", name="<a>", notice="n"),
        Call(call=9, path="a.b", args=(1, (2,)), kwargs={"k": [None]}, context={"context": "cold"}, token="t"),
        Call(call=9, path="a.b", context={"context": "fork"}),
        Done(cell=3, value={"a": 1}, notices=("x", "y"), rejected=4),
        Failed(
            cell=3,
            failure=FAILURE.__class__(
                kind="limit", type="T", message="m", traceback="t", line=1, column=2, hint="h", fields={"q": (1,)}
            ),
            notices=("x",),
            rejected=1,
        ),
        Rest(wake=0.0),
        Rest(wake=float("inf")),
    ):
        assert codec.decode(Codec().stored().encode([event])) == (event,)


# Besides the table


def test_numbers_of_calls_grow() -> None:
    """A number that was used is not used again, also not for a call that has ended."""
    pair = Pair().waiting()
    pair.tell(Return(call=1))
    with pytest.raises(LocalError, match="Call cannot be sent with number 1, but 1 was used already"):
        pair.guest.queue(Call(call=1, path="a"))
    assert pair.guest.next_call == 2
    with pytest.raises(PeerError, match="the guest sent Call with number 1, but 1 was used already"):
        pair.host.receive(by_hand(Call(call=1, path="a"), Rest()))


@pytest.mark.parametrize(
    "event", [Return(call=7), Throw(call=7, failure=FAILURE)], ids=lambda event: type(event).__name__
)
def test_only_an_open_call_is_answered(event: Any) -> None:
    """And only once."""
    pair = Pair().waiting()
    with pytest.raises(LocalError, match="cannot be sent for call 7, which is not open"):
        pair.host.queue(event)
    with pytest.raises(PeerError, match=r"the host sent .* for call 7, which is not open"):
        pair.guest.receive(by_hand(event))
    pair = Pair().waiting()
    pair.host.queue(Return(call=1))
    with pytest.raises(LocalError, match="Return cannot be sent for call 1, which is not open"):
        pair.host.queue(Return(call=1))


def test_only_an_open_call_is_abandoned() -> None:
    """An abandoned call is closed: the host cannot answer it any more."""
    pair = Pair().waiting()
    pair.tell()
    pair.reply(Abandon(call=1), Rest())
    with pytest.raises(LocalError, match="Return cannot be sent for call 1, which is not open"):
        pair.host.queue(Return(call=1))
    pair.tell()
    with pytest.raises(PeerError, match="the guest sent Abandon for call 1, which is not open"):
        pair.host.receive(by_hand(Abandon(call=1), Rest()))


@pytest.mark.parametrize(
    "event", [Done(cell=2), Failed(cell=2, failure=FAILURE)], ids=lambda event: type(event).__name__
)
def test_only_the_running_cell_ends(event: Any) -> None:
    """By its number."""
    pair = Pair().running()
    with pytest.raises(LocalError, match="cannot be sent for cell 2, but cell 1 runs"):
        pair.guest.queue(event)
    with pytest.raises(PeerError, match=r"the guest sent .* for cell 2, but cell 1 runs"):
        pair.host.receive(by_hand(event, Rest()))


def test_numbers_of_cells_grow() -> None:
    """So that an end can be told from that of an earlier cell."""
    pair = Pair().ended()
    with pytest.raises(LocalError, match="Run cannot be sent with number 1, but 1 was used already"):
        pair.host.queue(Run(cell=1, source="1"))


def test_the_end_of_a_cell_closes_its_calls() -> None:
    """At both ends."""
    pair = Pair().waiting()
    assert pair.host.open_calls == {1: Call(call=1, path="contacts.find", args=("Sarah",))}
    pair.tell()
    pair.reply(Done(cell=1), Rest())
    assert not pair.host.open_calls
    assert not pair.guest.open_calls
    assert pair.host.cell is None


@pytest.mark.parametrize(
    ("events", "via"),
    [
        ([Call(call=2, path="a")], Via.STEP),
        ([Rest(), Call(call=2, path="a")], Via.STEP),
        ([Rest(), Rest()], Via.STEP),
        ([Done(cell=1)], Via.STEP),
        ([Done(cell=1), Done(cell=1), Rest()], Via.STEP),
        ([Done(cell=1), Call(call=2, path="a"), Rest()], Via.STEP),
        ([], Via.STEP),
        ([], Via.EXCHANGE),
        ([Done(cell=1), Rest()], Via.EXCHANGE),
        ([Output(stream="stdout", text="x"), Rest()], Via.STEP),
        ([Interrupted(), Rest()], Via.STEP),
        ([Interrupted(), Rest()], Via.EXCHANGE),
        ([Call(call=2, path="a")], Via.EMIT),
    ],
    ids=repr,
)
def test_a_frame_from_the_guest_has_its_order(events: list[Event], via: Via) -> None:
    """Rest last and once, nothing after the end of a cell, output only where output goes."""
    pair = Pair().running()
    with pytest.raises(PeerError):
        pair.host.receive(by_hand(*events), via)


def test_output_and_questions_pass_by_what_is_queued() -> None:
    """They are sent at once; calls wait for the turn's end."""
    pair = Pair().running()
    pair.guest.queue(Call(call=1, path="a"))
    assert pair.emit("x") == [Output(stream="stdout", text="x")]
    assert pair.ask() == [Interrupted()]
    assert pair.host.phase is Phase.ASKED
    assert pair.tell(Cancel(reason="cpu", message="m")) == [Cancel(reason="cpu", message="m")]
    assert pair.reply(Rest()) == [Call(call=1, path="a"), Rest()]


def test_a_send_that_fails_leaves_everything_as_it_was() -> None:
    """Also the events before the one that failed, and what was queued earlier."""
    pair = Pair().running()
    pair.guest.queue(Call(call=1, path="a"))
    with pytest.raises(LocalError):
        pair.guest.send(Call(call=2, path="b"), Done(cell=9), Rest())
    with pytest.raises(LocalError):
        pair.guest.send(Call(call=2, path="b"))
    assert pair.guest.open_calls == {1}
    assert pair.reply(Call(call=2, path="c"), Rest()) == [Call(call=1, path="a"), Call(call=2, path="c"), Rest()]


def test_a_broken_channel_stays_broken() -> None:
    """Using it further is our own mistake."""
    pair = broken(Pair().waiting())
    for channel in (pair.host, pair.guest):
        with pytest.raises(LocalError, match="the channel is broken"):
            channel.receive(b"\x90")
    with pytest.raises(LocalError, match="Return cannot be sent while the channel is broken"):
        pair.host.send(Return(call=1))
    with pytest.raises(LocalError, match="a frame cannot end while the channel is broken"):
        pair.host.send()
    assert pair.host.next_event() is NEED_DATA


def test_the_guest_is_told_the_hosts_limits() -> None:
    """So that both count alike; what else it is told stays."""
    limits = CodecLimits(frame_bytes=1 << 20, value_bytes=1 << 16, items=5000, depth=7)
    pair = Pair(limits)
    (event,) = pair.tell(Open(limits={"tasks": 3, "depth": 7}))
    assert isinstance(event, Open)
    assert event.limits == {"tasks": 3, "depth": 7, "frame_bytes": 1 << 20, "value_bytes": 1 << 16, "items": 5000}
    assert pair.guest.limits == limits


def test_limits_that_cannot_be_are_the_hosts_fault() -> None:
    """The guest does not go on with them."""
    with pytest.raises(PeerError, match="the host sent limits that cannot be: depth is an integer from"):
        GuestChannel().receive(by_hand(Open(limits={"depth": 0})))


class TestOpenedAnew:
    """A copy of a guest goes on for somebody else: cell and calls are closed on both sides, and nothing comes of them."""

    def test_in_the_middle_of_a_cell(self) -> None:
        """No end of the cell, and no word about its calls."""
        pair = Pair().waiting()
        assert pair.host.open_calls
        pair.tell(Open(token="another"))
        for channel in (pair.host, pair.guest):
            assert (channel.phase, channel.cell, len(channel.open_calls)) == (Phase.OPENING, None, 0)
        pair.reply(Rest())
        assert pair.host.phase is pair.guest.phase is Phase.IDLE
        pair.tell(Run(cell=2, source="2"))

    def test_between_two_cells(self) -> None:
        """The same."""
        pair = Pair().ended()
        pair.tell(Open())
        pair.reply(Rest())
        assert pair.host.phase is Phase.IDLE

    def test_it_brings_limits_of_its_own(self) -> None:
        """The guest holds itself to the latest ones."""
        pair = Pair().waiting()
        before = pair.guest.limits
        pair.guest.receive(Codec().encode([Open(limits={**before.as_numbers(), "items": 1234})]))
        assert pair.guest.limits.items == 1234

    @pytest.mark.parametrize(
        "event",
        [
            Call(call=2, path="b"),
            Abandon(call=1),
            Done(cell=1),
            Failed(cell=1, failure=FAILURE),
            Interrupted(),
        ],
        ids=lambda event: type(event).__name__,
    )
    def test_the_guest_may_say_nothing_of_the_cell_that_was_left(self, event: Event) -> None:
        """A guest that does breaks the protocol."""
        pair = Pair().waiting()
        pair.tell(Open())
        with pytest.raises(PeerError, match="while the guest opens the session"):
            pair.host.receive(by_hand(event, Rest()), Via.EXCHANGE if isinstance(event, Interrupted) else Via.STEP)
        assert pair.host.phase is Phase.BROKEN

    def test_numbers_grow_on(self) -> None:
        """Neither the number of a cell nor that of a call comes twice."""
        pair = Pair().waiting()
        pair.tell(Open())
        pair.reply(Rest())
        with pytest.raises(LocalError, match="1 was used already"):
            pair.host.send(Run(cell=1, source="1"))
        pair.tell(Run(cell=2, source="2"))
        with pytest.raises(PeerError, match="1 was used already"):
            pair.host.receive(by_hand(Call(call=1, path="a"), Rest()))

    def test_an_answer_to_a_call_that_was_left(self) -> None:
        """Cannot be given."""
        pair = Pair().waiting()
        pair.host.queue(Open())
        with pytest.raises(LocalError, match="while the session is being opened"):
            pair.host.queue(Return(call=1))

    def test_not_inside_a_blocking_call(self) -> None:
        """It lives on the native stack."""
        with pytest.raises(LocalError, match="while the cell waits inside a blocking call"):
            Pair().waiting(via=Via.EXCHANGE).host.send(Open())

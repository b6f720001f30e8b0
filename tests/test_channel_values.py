"""Every type of value that crosses, in both directions, by both lanes, packed by every implementation."""

from __future__ import annotations

import copy
import dataclasses
import enum
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guest_stdlib.channel import Codec, CodecLimits, Done, End, Event, Member, Opaque, Record, Return, TooLarge

from .channel_pair import PACKINGS, ends, exact, frame, tagged

packings = pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS)
directions = pytest.mark.parametrize("direction", ["to the guest", "to the host"])


def crossed(value: object, direction: str = "to the host", **options: Any) -> Any:
    """The value as the other end sees it."""
    sender, receiver = ends(**options)[direction]
    (event,) = receiver.decode(sender.encode([Done(cell=1, value=value)]))
    assert isinstance(event, Done)
    return event.value


EXAMPLES = {
    "none": None,
    "booleans": [True, False],
    "small integers": [0, 1, -1, 31, -32, -33, 127, 128, 255, 256, -128, -129, 65535, 65536, -32769],
    "large integers": [
        2**31,
        2**32,
        -(2**31) - 1,
        2**63 - 1,
        2**63,
        2**64 - 1,
        2**64,
        -(2**63),
        -(2**63) - 1,
        10**5000,
    ],
    "floats": [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308],
    "strings": ["", "a", "a" * 31, "a" * 32, "a" * 255, "a" * 256, "é" * 40000, "\0", "😀"],
    "lone surrogates": ["\ud800", "x\udfff", "\ud83d\ude00", {"\udc80": "\udcff"}],
    "bytes": [b"", b"\xff\x00", b"x" * 255, b"x" * 256, b"x" * 70000],
    "lists": [[], [[]], [1, [2, [3]]], list(range(20)), list(range(700))],
    "tuples": [(), (1,), ((1, 2), [3]), tuple(range(20))],
    "dicts": [{}, {"a": {}}, {str(i): i for i in range(20)}, {"b": 1, "a": 2}],
    "dicts with other keys": [{1: 2, None: 3, 2.5: 4, b"x": 5, False: 6}, {(1, "a"): {frozenset({1}): ()}}, {2**70: 1}],
    "sets": [set(), {1, 2}, {"a", (1, 2)}, frozenset(), frozenset({None, 2**65})],
    "datetimes": [
        datetime(2026, 1, 2, 3, 4, 5, 678901),
        datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30), "here")),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=1))),
        datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Oslo"), fold=0),
        datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Oslo"), fold=1),
        datetime(2026, 10, 25, 2, 30, fold=1),
    ],
    "dates and times": [date(2026, 2, 28), time(), time(1, 2, 3, 4, tzinfo=UTC), time(2, 30, fold=1)],
    "durations": [timedelta(), timedelta(days=-1, microseconds=1), timedelta.max, timedelta.min],
    "time zones": [UTC, timezone(timedelta(hours=5)), timezone.max, ZoneInfo("America/Argentina/Buenos_Aires")],
    "decimals": [Decimal(text) for text in ("1.50", "-0", "1E+999999", "NaN", "sNaN123", "-Infinity", "0E-100")],
    "fractions": [Fraction(1, 3), Fraction(-7), Fraction(3**2000, 2**3000)],
    "identifiers": [UUID(int=0), UUID("12345678-1234-5678-1234-567812345678")],
    "complex numbers": [1 + 2j, complex(-0.0, math.nan)],
    "ranges": [range(0), range(1, 10, 3), range(10**30, -(10**30), -(10**20))],
}


@packings
@directions
@pytest.mark.parametrize("value", EXAMPLES.values(), ids=EXAMPLES)
def test_a_value_arrives_as_it_was_sent(value: object, direction: str, packing: Any) -> None:
    """Type, content, order, signs of zero, folds and zones are those that were sent."""
    assert exact(crossed(value, direction, packing=packing)) == exact(value)


@directions
@pytest.mark.parametrize("value", EXAMPLES.values(), ids=EXAMPLES)
def test_many_of_them_arrive_as_they_were_sent(value: object, direction: str) -> None:
    """So many that the fast lane is tried, whether it carries them or not."""
    many = [{"value": copy.deepcopy(value), "more": [copy.deepcopy(value)]} for _ in range(40)]
    assert exact(crossed(many, direction)) == exact(many)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**200), max_value=2**200),
    st.floats(),
    st.text(st.characters(exclude_categories=[]), max_size=40),
    st.binary(max_size=40),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.uuids(),
    st.dates(),
    st.timedeltas(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.datetimes(timezones=st.just(UTC)),
    st.times(),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)),
)
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(exclude_categories=[])))
keys = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.dates()),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)


def containers(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=6),
            st.lists(inner, max_size=6).map(tuple),
            st.dictionaries(keys, inner, max_size=6),
            st.dictionaries(st.text(), inner, max_size=6),
            st.sets(keys, max_size=6),
        ),
        max_leaves=25,
    )


@packings
@directions
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=containers(scalars))
def test_any_value_arrives_as_it_was_sent(value: object, direction: str, packing: Any) -> None:
    """Whatever is built of the types that cross."""
    assert exact(crossed(value, direction, packing=packing)) == exact(value)


@directions
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.dictionaries(st.text(st.characters(exclude_categories=[])), plain, min_size=1), min_size=24))
def test_any_large_plain_value_arrives_as_it_was_sent(rows: object, direction: str) -> None:
    """By the fast lane: every string with surrogates, every float."""
    assert exact(crossed(rows, direction)) == exact(rows)


@settings(max_examples=60, deadline=None)
@given(value=containers(scalars))
def test_every_packing_reads_what_every_other_wrote(value: object) -> None:
    """The wire format is msgpack, whoever writes it."""
    frames = [
        Codec(packing=packing, end=End.STORE).encode([Return(call=1, value=value)]) for packing in PACKINGS.values()
    ]
    for written in frames:
        for packing in PACKINGS.values():
            (event,) = Codec(packing=packing).decode(written)
            assert isinstance(event, Return)
            assert exact(event.value) == exact(value)


# Records, enums, and everything else


@dataclasses.dataclass(frozen=True)
class Contact:
    name: str
    email: str | None = None


@dataclasses.dataclass
class Computed:
    given: int
    computed: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if self.given < 0:
            raise ValueError("given is not negative")
        self.computed = self.given * 2


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    HIGH = 3


class Row(NamedTuple):
    number: int
    text: str


class Text(str):
    __slots__ = ()


RECORDS: dict[str, type] = {kind.__name__: kind for kind in (Contact, Computed, Color, Rights, Level, Row)}


def known(value: object, records: dict[str, type] = RECORDS) -> Any:
    """The value as an end sees it that knows the classes."""
    (event,) = Codec(records=records).decode(Codec(end=End.GUEST).encode([Done(cell=1, value=value)]))
    assert isinstance(event, Done)
    return event.value


@pytest.mark.parametrize(
    "value",
    [
        Contact("Sarah", "sarah@example.com"),
        [Contact("Sarah"), {"best": Contact("Tom")}],
        Contact(name=("nested", Contact("inside"))),  # type: ignore[arg-type]
        Color.GREEN,
        Level.HIGH,
        Rights.READ,
        Rights.READ | Rights.WRITE,
        Rights(0),
        Row(1, "a"),
        {Contact("key"): 1, Color.RED: 2},
        {Contact("a"), Contact("b")},
        Computed(4),
    ],
)
def test_a_known_class_is_rebuilt(value: object) -> None:
    """Dataclasses and namedtuples through their constructors, enums by their members' names."""
    assert exact(known(value)) == exact(value)


def test_a_class_may_be_known_by_another_name() -> None:
    """The name in `records` is the one that crosses."""
    sender, receiver = Codec(records={"Person": Contact}), Codec(records={"Person": Contact}, end=End.GUEST)
    (event,) = receiver.decode(sender.encode([Return(call=1, value=Contact("Sarah"))]))
    assert event == Return(call=1, value=Contact("Sarah"))
    (event,) = Codec(end=End.GUEST).decode(sender.encode([Return(call=1, value=Contact("Sarah"))]))
    assert event == Return(call=1, value=Record(type_name="Person", fields={"name": "Sarah", "email": None}))


@directions
def test_an_unknown_class_arrives_as_a_record_with_the_fields_as_attributes(direction: str) -> None:
    """So a script can use the answer of a capability whose class nobody declared."""
    record = crossed(Contact("Sarah", "s@example.com"), direction)
    assert record == Record(type_name="Contact", fields={"name": "Sarah", "email": "s@example.com"})
    assert record.name == "Sarah"
    with pytest.raises(AttributeError, match="Record has no attribute 'phone'"):
        _ = record.phone
    assert crossed(Row(1, "a"), direction) == Record(type_name="Row", fields={"number": 1, "text": "a"})


@directions
@pytest.mark.parametrize(
    "value",
    [
        Opaque(type_name="x.Y", text="<Y>"),
        Member(type_name="Color", name="RED"),
        Record(type_name="R", fields={"a": [1]}),
    ],
)
def test_what_arrived_in_place_of_a_value_can_be_sent_on(value: object, direction: str) -> None:
    """A script may pass on what it was given."""
    assert crossed(value, direction) == value


def test_an_unknown_enum_arrives_by_its_names() -> None:
    """Class and member; also for an IntEnum, which is no integer here."""
    assert crossed(Color.RED) == Member(type_name="Color", name="RED")
    assert crossed([Level.HIGH]) == [Member(type_name="Level", name="HIGH")]
    assert known(Color.RED, {"Color": Contact}) == Member(type_name="Color", name="RED")


def test_a_record_that_its_class_refuses_says_why() -> None:
    """The script made it, so whoever checks the arguments can tell the script; the peer is not broken."""
    sent = Record(type_name="Computed", fields={"given": -1})
    assert known(sent) == Record(type_name="Computed", fields={"given": -1}, problem="given is not negative")
    assert (
        "unexpected keyword argument 'nonsense'"
        in known(Record(type_name="Contact", fields={"name": 1, "nonsense": 2})).problem
    )
    assert known(Record(type_name="Color", fields={})) == Record(type_name="Color", fields={})
    assert known(Member(type_name="Color", name="BLUE")) == Member(type_name="Color", name="BLUE")


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no repr")


class Endless:
    def __repr__(self) -> str:
        return "x" * 5000


def some_function() -> None: ...


OPAQUE: dict[str, tuple[Callable[[], object], Opaque]] = {
    "ordered dict": (
        lambda: OrderedDict(a=1),
        Opaque(type_name="collections.OrderedDict", text=repr(OrderedDict(a=1))),
    ),
    "default dict": (
        lambda: defaultdict(int, a=1),
        Opaque(type_name="collections.defaultdict", text="defaultdict(<class 'int'>, {'a': 1})"),
    ),
    "string subclass": (lambda: Text("x"), Opaque(type_name=f"{__name__}.Text", text="'x'")),
    "exception": (lambda: ValueError("no"), Opaque(type_name="ValueError", text="ValueError('no')")),
    "class": (lambda: Contact, Opaque(type_name="type", text=f"<class '{__name__}.Contact'>")),
    "ellipsis": (lambda: ..., Opaque(type_name="ellipsis", text="Ellipsis")),
    "address": (lambda: some_function, Opaque(type_name="function", text="<function some_function>")),
    "broken repr": (
        Silent,
        Opaque(type_name=f"{__name__}.Silent", text=f"<{__name__}.Silent whose repr raised ValueError>"),
    ),
    "long repr": (Endless, Opaque(type_name=f"{__name__}.Endless", text="x" * 997 + "...")),
}


@directions
@pytest.mark.parametrize(("make", "expected"), OPAQUE.values(), ids=OPAQUE)
def test_anything_else_arrives_as_its_repr(make: Callable[[], object], expected: Opaque, direction: str) -> None:
    """With its type's name, without addresses, and never as the builtin that it derives from."""
    assert crossed(make(), direction) == expected
    assert crossed([{"x": make()}] * 40, direction)[39] == {"x": expected}


def test_a_zone_from_a_file_is_not_taken_for_the_zone_of_its_name() -> None:
    """Its rules are in a file of its owner's; the name says nothing at the other end."""
    with files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").open("rb") as file:
        zone = ZoneInfo.from_file(file, key="Europe/Oslo")
    assert isinstance(crossed(zone), Opaque)
    assert isinstance(crossed(datetime(2026, 1, 1, tzinfo=zone)), Opaque)


def test_a_zone_that_is_not_known_here_arrives_by_its_name() -> None:
    """The two ends may have different editions of the time zones; neither is broken for that."""
    receiver = Codec()
    zone = tagged(14, "Europe/Atlantis")
    tree = [zone, tagged(9, "2026-01-01T12:00:00", 0, zone), tagged(11, "12:00", 0, zone)]
    (event,) = receiver.decode(frame([9, 1, tree]))
    assert isinstance(event, Done)
    assert event.value == [
        Opaque(type_name="zoneinfo.ZoneInfo", text="Europe/Atlantis"),
        Opaque(type_name="datetime.datetime", text="2026-01-01T12:00:00 in Europe/Atlantis"),
        Opaque(type_name="datetime.time", text="12:00:00 in Europe/Atlantis"),
    ]


def test_parts_that_occur_twice_arrive_as_two() -> None:
    """In both lanes: values are copied, not shared."""
    row = {"a": 1}
    for direction in ("to the guest", "to the host"):
        for value in ([row, row], [row] * 100, [[row] * 30] * 30):
            arrived = crossed(value, direction)
            assert arrived == value
            assert arrived[0] is not arrived[1]


@settings(max_examples=30, deadline=None)
@given(value=containers(scalars))
def test_what_fits_when_sent_fits_when_received(value: object) -> None:
    """Both ends count alike, so the host never refuses what an honest guest was allowed to send."""
    limits = CodecLimits(items=1000, value_bytes=4096, depth=20)
    sender, receiver = ends(limits)["to the host"]
    events: list[Event] = []
    left = limits.items
    packed = []
    try:
        for number in range(1, 100):
            packed.append(sender.pack(Return(call=number, value=value), items=left))
            left -= packed[-1].items
            events.append(Return(call=number, value=value))
    except TooLarge:
        pass
    assert len(receiver.decode(sender.frame(packed))) == len(events)

"""Bytes that no correct guest sends. Each test has one defect, and each ends in PeerError with a sentence, never in anything else."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import marshal
import struct
import sys
import time
import tracemalloc
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.channel import Codec, CodecLimits, Done, End, PeerError, Rest
from guest_stdlib.channel.packing import FASTEST, Packing
from guest_stdlib.channel.values import FRACTION_BITS

from .channel_pair import PACKINGS, Pair, frame, returned, tagged

TUPLE, SET, FROZENSET, DICT, RECORD, MEMBER, OPAQUE, DATETIME, DATE, TIME, TIMEDELTA, TIMEZONE, ZONE = range(2, 15)
DECIMAL, FRACTION, UUID, COMPLEX, RANGE, JSON, MARSHAL = range(15, 22)

PAD = ["x" * 30] * 150  # makes a frame large enough to be weighed item by item


@pytest.fixture(params=list(PACKINGS.values()), ids=list(PACKINGS))
def packing(request: pytest.FixtureRequest) -> Packing:
    """Each implementation that may unpack on the host."""
    result: Packing = request.param
    return result


def refused(
    data: bytes, packing: Packing, limits: CodecLimits | None = None, records: Any = None, clock: Any = None
) -> str:
    """The sentence with which the host refuses these bytes."""
    with pytest.raises(PeerError) as error:
        Codec(limits, records or {}, packing=packing, clock=clock).decode(data)
    return str(error.value)


# The frame


def test_no_bytes(packing: Packing) -> None:
    """An empty frame is not even an empty list."""
    assert refused(b"", packing)


@pytest.mark.parametrize("pad", [[], PAD], ids=["small", "large"])
def test_a_frame_that_ends_early(packing: Packing, pad: list[str]) -> None:
    """Cut at any byte."""
    whole = frame([9, 1, ["text", 1.5, 70000, b"bytes", {"a": None}, *pad]], [12])
    for size in (*range(min(len(whole), 60)), len(whole) - 1):
        assert refused(whole[:size], packing)


@pytest.mark.parametrize("pad", [[], PAD], ids=["small", "large"])
def test_bytes_behind_the_frame(packing: Packing, pad: list[str]) -> None:
    """A frame is all there is."""
    assert refused(frame([9, 1, pad], [12], extra=b"\xc0"), packing)


def test_a_frame_over_the_limit(packing: Packing) -> None:
    """Refused by its size alone."""
    limits = CodecLimits(frame_bytes=1024)
    assert refused(b"\xff" * 1025, packing, limits) == "the frame has 1,025 bytes, 1,024 are allowed"


@pytest.mark.parametrize("tree", [None, 7, "text", {"a": 1}, b"x"], ids=repr)
def test_a_frame_that_is_no_list(packing: Packing, tree: object) -> None:
    """Whatever else it is."""
    assert refused(msgpack.packb(tree), packing) == "the frame is not a list of events"


@pytest.mark.parametrize("byte", range(256))
def test_any_single_byte(byte: int) -> None:
    """None of them is a frame but the empty list."""
    if byte != 0x90:
        for packing in PACKINGS.values():
            refused(bytes((byte,)), packing)


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """Nothing but PeerError, and the same from every implementation."""
    results = []
    for packing in PACKINGS.values():
        try:
            results.append(repr(Codec(packing=packing).decode(data)))
        except PeerError:
            results.append("refused")
    assert len(set(results)) == 1


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255), pad=st.booleans())
def test_any_byte_changed_in_a_real_frame(at: int, byte: int, pad: bool) -> None:
    """It is another frame or PeerError."""
    value = [
        1,
        "text",
        (1, 2.5),
        {"a": {3}, (1,): None},
        b"x",
        2**70,
        PAD if pad else None,
        [{"n": n} for n in range(60)],
    ]
    data = bytearray(Codec(end=End.GUEST).encode([Done(cell=1, value=value), Rest()]))
    data[at % len(data)] = byte
    for packing in PACKINGS.values():
        with contextlib.suppress(PeerError):
            Codec(packing=packing).decode(bytes(data))


# Events


@pytest.mark.parametrize(
    "event",
    [
        [],
        None,
        {"code": 9},
        [99],
        [0, 1],
        [-1],
        [True],
        ["9", 1],
        [9.0, 1],
        [[9], 1],
        [2**70],
    ],
    ids=repr,
)
def test_something_that_is_no_event(packing: Packing, event: object) -> None:
    """Unknown codes, codes of other types, no code at all."""
    assert refused(frame(event), packing) == "the frame holds something that is not an event"


@pytest.mark.parametrize(
    "event",
    [
        [6],
        [6, 1],
        [6, 1, "a", [], {}, None, None, None],
        [9],
        [9, 1, None, None, None, None],
        [11, 1],
        [12, None, None],
        [7],
        [10, 1],
        [5, "cpu"],
    ],
    ids=repr,
)
def test_an_event_with_too_few_or_too_many_fields(packing: Packing, event: list[object]) -> None:
    """Nothing is guessed and nothing ignored."""
    assert "fields, which is no" in refused(frame(event), packing)


@pytest.mark.parametrize(
    "event",
    [
        [6, "1", "a", []],
        [6, 1, b"a", []],
        [6, 1, 7, []],
        [6, None, "a", []],
        [6, 1, "a", "args"],
        [6, 1, "a", {"0": 1}],
        [6, 1, "a", tagged(TUPLE, 1)],
        [6, 1, "a", [], [1]],
        [6, 1, "a", [], {1: 2}],
        [6, 1, "a", [], None, 7],
        [6, 1, "a", [], None, {"context": "fork"}, b"token"],
        [6, 1, "a", [], None, {1: "fork"}],
        [6, 1, "a", [], None, {1: "fork"}, "token"],
        [7, 1.0],
        [8, "stdout", b"text"],
        [9, 1, None, "notices"],
        [9, 1, None, [7]],
        [9, 1, None, None, 1.5],
        [9, 1, None, None, True],
        [9, True],
        [10, 1, "failure"],
        [10, 1, {}],
        [10, 1, [0, "script", "E", 7]],
        [10, 1, [0, "script", "E", "m", "", "1"]],
        [10, 1, [0, "script", "E", "m", "", None, None, None, [1]]],
        [10, 1, [7, "script", "E", "m"]],
        [10, 1, []],
        [12, 1],
        [12, "1.0"],
        [1, [7]],
        [1, None, None, None, None, None, None, None, {"items": "many"}],
    ],
    ids=repr,
)
def test_a_field_of_the_wrong_type(packing: Packing, event: list[object]) -> None:
    """Exactly the type, no conversions."""
    assert refused(frame(event), packing)


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ([6, 0, "a", []], "a call's number is a positive integer, not 0"),
        ([6, -1, "a", []], "a call's number is a positive integer, not -1"),
        ([7, 2**53], "a call's number is a positive integer"),
        ([7, 2**70], "a call's number is a positive integer"),
        ([9, 0], "a cell's number is a positive integer"),
        ([6, 1, "a", [], None, {"context": [1]}], "has a part that is no word and no number (list)"),
        ([6, 1, "a", [], None, {"context": True}, "t"], "has a part that is no word and no number (bool)"),
        ([6, 1, "a", [], None, {"turns": 2**53}], "has a part that is no word and no number (int)"),
        ([6, 1, "a", [], None, {"context": "x" * 201}, "t"], "has a part that is no word and no number (str)"),
        ([6, 1, "a", [], None, {"x" * 201: "cold"}, "t"], "has a name that is none"),
        ([6, 1, "a", [], None, {f"n{n}": n for n in range(17)}], "is 16 named words and numbers at most"),
        ([6, 1, "a", [], {}, "warm", "t"], "is 16 named words and numbers at most"),
        ([8, "stdin", "x"], "unknown stream 'stdin'"),
        ([10, 1, [0, "odd", "E", "m"]], "unknown kind of failure 'odd'"),
        ([12, float("nan")], "a delay of nan seconds"),
        ([12, -1.0], "a delay of -1.0 seconds"),
    ],
    ids=repr,
)
def test_a_field_that_its_event_refuses(packing: Packing, event: list[object], sentence: str) -> None:
    """Numbers, choices and delays are checked when the event is made."""
    assert sentence in refused(frame(event), packing)


# Tokens


@pytest.mark.parametrize("pad", [[], PAD], ids=["small", "large"])
@pytest.mark.parametrize(
    "token",
    {
        "no token": b"\xc1",
        "extension of one byte": b"\xd4\x02x",
        "extension of sixteen bytes": b"\xd8\x02" + b"x" * 16,
        "extension with a length": b"\xc7\x03\x02xyz",
        "extension with a long length": b"\xc8\x00\x01\x02x",
        "extension with a longer length": b"\xc9\x00\x00\x00\x01\x02x",
        "empty extension with a long length": b"\xc8\x00\x00\x02",
        "empty extension of no type in use": b"\xc7\x00\x7f",
        "empty extension of type 0": b"\xc7\x00\x00",
        "empty extension of a negative type": b"\xc7\x00\x80",
        "extension in an extension": b"\xc7\x03\x02\xc7\x00\x02",
        "timestamp of 32 bits": b"\xd6\xff" + b"\x00" * 4,
        "timestamp of 64 bits": b"\xd7\xff" + b"\x00" * 8,
        "timestamp of 96 bits": b"\xc7\x0c\xff" + b"\x00" * 12,
        "timestamp of no bits": b"\xc7\x00\xff",
        "string that is no text": b"\xa2\xff\xfe",
        "string with half a character": b"\xa1\xc3",
        "string longer than the frame": b"\xdb\xff\xff\xff\xffx",
        "bytes longer than the frame": b"\xc6\xff\xff\xff\xffx",
    }.items(),
    ids=lambda pair: pair[0] if isinstance(pair, tuple) else None,
)
def test_a_token_of_no_use(packing: Packing, token: tuple[str, bytes], pad: list[str]) -> None:
    """Kinds that msgpack has and we do not, and those that it has not either."""
    whole = frame([9, 1, [b"HERE", *pad]])
    assert refused(whole.replace(b"\xc4\x04HERE", token[1]), packing)


@pytest.mark.parametrize("header", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdc\xff\xff", b"\xde\xff\xff"])
@pytest.mark.parametrize("depth", [1, 90, 500])
@pytest.mark.parametrize("rest", [0, 1500, 4000])
def test_a_container_that_promises_more_than_there_is(packing: Packing, header: bytes, depth: int, rest: int) -> None:
    """Next to nothing is allocated for a promise, however deep they are nested."""
    data = b"\x91\x93\x09\x01" + header * depth + b"\xc0" * rest
    for frame_of_them in (data, data.replace(b"\xff\xff", struct.pack(">H", len(data) // 2))):
        tracemalloc.start()
        try:
            assert refused(frame_of_them, packing)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xc0", b"\x92\xc7\x00\x02"], ids=["lists", "dicts", "tuples"])
@pytest.mark.parametrize("depth", [300, 2000, 100_000])
def test_nesting_too_deep(packing: Packing, opening: bytes, depth: int) -> None:
    """Deeper than values may be, deeper than msgpack can, deeper than Python can."""
    assert (
        refused(b"\x91\x93\x09\x01" + opening * depth + b"\xc0", packing) == "the frame nests more than 208 levels deep"
    )


@pytest.mark.parametrize(
    "leaf", [b"\x80", b"\x90", b"\xc0", b"\xcb" + b"\x00" * 8], ids=["dicts", "lists", "nones", "floats"]
)
def test_more_items_than_are_allowed(packing: Packing, leaf: bytes) -> None:
    """A small frame of small things would be a large amount of memory; it is counted before anything of it is made."""
    count = 1_100_000
    data = b"\x91\x93\x09\x01\xdd" + struct.pack(">I", count) + leaf * count
    assert refused(data, packing) == "the frame holds more than 1,000,000 items"


def test_more_items_than_are_allowed_in_many_lists(packing: Packing) -> None:
    """Each list is within the limit, all of them together are not."""
    lists = b"\xdc\xea\x60" + b"\xc0" * 60_000
    assert refused(b"\x91\x93\x09\x01\xdc\x00\x14" + lists * 20, packing) == "the frame holds more than 1,000,000 items"


def test_a_string_over_the_limit(packing: Packing) -> None:
    """One value may not have more bytes than one value may have."""
    limits = CodecLimits(value_bytes=10_000)
    for leaf in ("x" * 10_001, b"x" * 10_001):
        assert "a string of 10,001 bytes, 10,000 are allowed" in refused(returned(leaf), packing, limits)


# Dicts and sets


@pytest.mark.parametrize("key", [[1], {}, tagged(SET, 1), tagged(TUPLE, [1]), tagged(RECORD, "R", {"a": []})], ids=repr)
def test_a_key_that_is_none(packing: Packing, key: object) -> None:
    """Lists, dicts and sets cannot be keys or elements."""
    assert refused(returned(tagged(DICT, key, 1)), packing)
    assert refused(returned(tagged(SET, key)), packing)
    whole = frame([9, 1, {b"HERE": 1}]).split(b"\xc4\x04HERE")
    assert refused(frame(key)[1:].join(whole), packing)


def test_the_same_key_twice(packing: Packing) -> None:
    """In a map, where a real dict cannot have it; also as True and 1, which are equal."""
    for keys in (b"\xa1a\x01\xa1a\x02", b"\xc3\x01\x01\x02", b"\x01\x01\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x02"):
        data = b"\x91\x93\x09\x01\x82" + keys
        assert refused(data, packing) == "a dict in the frame has the same key twice"
    assert refused(returned(tagged(DICT, "a", 1, "a", 2)), packing) == "a dict in the frame has the same key twice"


def test_the_same_element_twice(packing: Packing) -> None:
    """In a set, where a real one cannot have it."""
    assert refused(returned(tagged(SET, 1, 1)), packing) == "a set in the frame has the same element twice"
    assert refused(returned(tagged(FROZENSET, 1, True)), packing) == "a set in the frame has the same element twice"


def test_a_key_without_a_value(packing: Packing) -> None:
    """A dict in pairs has an even number of parts."""
    assert refused(returned(tagged(DICT, 1, 2, 3)), packing)


@pytest.mark.parametrize("container", [SET, DICT, None])
def test_keys_that_were_made_to_collide(packing: Packing, container: int | None) -> None:
    """Twenty thousand of them would cost minutes; they are refused before they are put together."""
    numbers = [number * sys.hash_info.modulus for number in range(20_000)]
    if container == SET:
        tree: object = tagged(SET, *numbers)
    elif container == DICT:
        tree = tagged(DICT, *(part for number in numbers for part in (number, None)))
    else:
        tree = dict.fromkeys(range(70))
    data = returned(tree)
    if container is None:
        values = [struct.pack(">d", float(sys.hash_info.modulus) * 2.0 ** (61 * n)) for n in range(16)]
        pairs = b"".join(b"\xcb" + value + b"\xc0" for value in values)
        many = b"".join(frame(number)[1:] + b"\xc0" for number in numbers)
        data = b"\x91\x93\x09\x01\xdf" + struct.pack(">I", 16 + len(numbers)) + pairs + many
    looks: list[int] = []

    def still() -> int:
        looks.append(1)  # once before any keys are put together
        return 0

    assert refused(data, packing, clock=still) == "keys in the frame were made to collide"
    assert not looks


def test_names_from_a_guest_are_not_kept(packing: Packing) -> None:
    """Interned strings may live for ever, and a guest can make up as many as it likes."""
    if isinstance(packing, type(FASTEST)):
        (event,) = Codec(packing=packing).decode(
            returned({"a name that nobody else has": 1})[:-2].replace(b"\x92", b"\x91", 1)
        )
        assert isinstance(event, Done)
        names: Any = event.value
        assert [sys.getrefcount(name) < 10 for name in names] == [True]


# Tags


@pytest.mark.parametrize(
    "tree",
    [
        [1, tagged(TUPLE)[0]],
        {"a": tagged(TUPLE)[0]},
        tagged(TUPLE)[0],
        tagged(TUPLE, tagged(TUPLE)[0]),
        tagged(RECORD, "R", {"a": tagged(TUPLE)[0]}),
    ],
    ids=repr,
)
def test_a_tag_that_opens_no_list(packing: Packing, tree: object) -> None:
    """It must not be taken for a value."""
    assert refused(returned(tree), packing) == "a tag in the frame stands where a value is expected"


WRONG: dict[str, list[object]] = {
    "big integer of text": tagged(1, "12"),
    "big integer of nothing": tagged(1),
    "record without fields": tagged(RECORD, "R"),
    "record with a list": tagged(RECORD, "R", []),
    "record with a number for a name": tagged(RECORD, 7, {}),
    "record with a number for a field": tagged(RECORD, "R", {1: 2}),
    "enum with a number": tagged(MEMBER, "Color", 1),
    "opaque with bytes": tagged(OPAQUE, "X", b"x"),
    "opaque with more": tagged(OPAQUE, "X", "x", "x"),
    "datetime of nonsense": tagged(DATETIME, "yesterday", 0, None),
    "datetime of the year 0": tagged(DATETIME, "0000-01-01T00:00:00", 0, None),
    "datetime with an offset": tagged(DATETIME, "2026-01-01T00:00:00+01:00", 0, None),
    "datetime with fold 2": tagged(DATETIME, "2026-01-01T00:00:00", 2, None),
    "datetime with fold True": tagged(DATETIME, "2026-01-01T00:00:00", True, None),
    "datetime with a zone of text": tagged(DATETIME, "2026-01-01T00:00:00", 0, "UTC"),
    "datetime without a zone": tagged(DATETIME, "2026-01-01T00:00:00", 0),
    "datetime of nothing": tagged(DATETIME),
    "datetime with an opaque zone and no text": tagged(DATETIME, 7, 0, tagged(ZONE, "Europe/Atlantis")),
    "date of nonsense": tagged(DATE, "2026-02-30"),
    "date of a number": tagged(DATE, 20260101),
    "time of nonsense": tagged(TIME, "25:00", 0, None),
    "time with an offset": tagged(TIME, "12:00+01:00", 0, None),
    "duration too long": tagged(TIMEDELTA, 10**9, 0, 0),
    "duration of huge numbers": tagged(TIMEDELTA, 2**200, 0, 0),
    "duration of floats": tagged(TIMEDELTA, 1.5, 0, 0),
    "offset of a day": tagged(TIMEZONE, 86_400_000_000, None),
    "offset of a huge number": tagged(TIMEZONE, 2**200, None),
    "offset with a number for a name": tagged(TIMEZONE, 0, 7),
    "zone that leaves the folder": tagged(ZONE, "../../../../etc/passwd"),
    "zone that leaves the folder later": tagged(ZONE, "Europe/../../../etc/passwd"),
    "zone with an absolute path": tagged(ZONE, "/etc/passwd"),
    "zone that is a folder": tagged(ZONE, "Europe"),
    "zone that is another file": tagged(ZONE, "tzdata.zi"),
    "zone with a null byte": tagged(ZONE, "Europe/Oslo\0"),
    "zone without a name": tagged(ZONE, ""),
    "zone with a long name": tagged(ZONE, "E" * 10_000),
    "decimal of nonsense": tagged(DECIMAL, "1,5"),
    "decimal with too large an exponent": tagged(DECIMAL, "1e9999999999999999999999"),
    "decimal of a float": tagged(DECIMAL, 1.5),
    "fraction of nothing": tagged(FRACTION, 1, 0),
    "fraction of floats": tagged(FRACTION, 1.0, 2.0),
    "fraction of text": tagged(FRACTION, "1e1000000000", 1),
    "fraction of huge numbers": tagged(FRACTION, 3, 1 << FRACTION_BITS),
    "identifier too short": tagged(UUID, b"x" * 15),
    "identifier of text": tagged(UUID, "12345678-1234-5678-1234-567812345678"),
    "complex of integers": tagged(COMPLEX, 1, 2),
    "range without a step": tagged(RANGE, 0, 1, 0),
    "range of floats": tagged(RANGE, 0.0, 1.0, 1.0),
    "JSON of text": tagged(JSON, "[]"),
    "marshal": tagged(MARSHAL, marshal.dumps([1])),
}


@pytest.mark.parametrize("tree", WRONG.values(), ids=WRONG)
def test_a_tagged_list_that_is_none(packing: Packing, tree: list[object]) -> None:
    """Wrong number of parts, wrong types, values that do not exist."""
    assert refused(returned(tree), packing)
    assert refused(returned([tree, PAD]), packing)


def test_marshal_is_never_read_on_the_host() -> None:
    """Not even the host's own: its reader may crash on bytes that it did not write."""
    data = Codec().encode([Done(cell=1, value=list(range(100)))])
    assert refused(data, PACKINGS["lean"]) == "the frame holds marshal, which is never read from a guest"


def test_many_large_fractions_take_bounded_time(packing: Packing) -> None:
    """Reducing one is quadratic in its size, so its size is bounded."""
    number = (1 << FRACTION_BITS) - 1
    data = returned([tagged(FRACTION, number - index, number // 3 - index) for index in range(500)])
    start = time.perf_counter()
    Codec(packing=packing).decode(data)
    assert time.perf_counter() - start < 5


def test_a_large_decimal_is_a_value(packing: Packing) -> None:
    """A large exponent takes no memory, and many digits take linear time."""
    start = time.perf_counter()
    Codec(packing=packing).decode(returned([tagged(DECIMAL, "1e999999999"), tagged(DECIMAL, "9" * 1_000_000)]))
    assert time.perf_counter() - start < 5


# Classes


@dataclasses.dataclass
class Strict:
    number: int

    def __post_init__(self) -> None:
        if self.number > 5:
            raise RecursionError("as if")


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "fields", [{}, {"number": 9}, {"number": "x"}, {"other": 1}, {"number": 1, "__class__": 2}, {"self": 1}], ids=repr
)
def test_fields_that_a_class_refuses_reach_nobody_as_that_class(packing: Packing, fields: dict[str, object]) -> None:
    """They arrive as a Record that says why, whatever the constructor raised."""
    (event,) = Codec(records={"Strict": Strict}, packing=packing).decode(
        frame([9, 1, tagged(RECORD, "Strict", fields)])
    )
    assert isinstance(event, Done)
    assert type(event.value) is not Strict
    assert event.value.problem  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["BLUE", "__class__", "mro", "RED|RED", ""])
def test_a_member_that_an_enum_does_not_have(packing: Packing, name: str) -> None:
    """Only its members can be reached by name."""
    (event,) = Codec(records={"Color": Color}, packing=packing).decode(frame([9, 1, tagged(MEMBER, "Color", name)]))
    assert isinstance(event, Done)
    assert not isinstance(event.value, Color)


# JSON


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[",
        b"[1,]",
        b"[1] ",
        b"[1]]",
        b"{'a':1}",
        b'{"a":1,}',
        b"{a:1}",
        b'["a]',
        b"[nul]",
        b"[\xff]",
        b'["\xff"]',
        b"\xef\xbb\xbf[]",
        b'["\n"]',
        b"[01]",
        b'["\\x"]',
        b"\x00",
    ],
)
def test_json_that_is_none(packing: Packing, text: bytes) -> None:
    """Broken, or not exactly one value."""
    if text == b"[1] ":
        assert Codec(packing=packing).decode(returned(tagged(JSON, text)))
    else:
        assert refused(returned(tagged(JSON, text)), packing).startswith("JSON in the frame is broken")


def test_json_with_the_same_key_twice(packing: Packing) -> None:
    """Wherever spaces are put, and whatever the strings hold."""
    for text in (
        b'{"a":1,"a":2}',
        b'{"a" :1,"a":2}',
        b'{"a":1,"a"\n:2}',
        b'[{"b":"\\":\\":","c":1,"b":2}]',
        b'{"a":1,"\\u0061":2}',
    ):
        assert refused(returned(tagged(JSON, text)), packing) == "JSON in the frame has a dict with the same key twice"


def test_json_nested_too_deep(packing: Packing) -> None:
    """Also where strings hold brackets that would balance it."""
    for depth in (101, 5000, 300_000):
        for text in (
            b"[" * depth + b"]" * depth,
            b'["]",' * depth + b'"["' + b"]" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth,
        ):
            assert refused(returned(tagged(JSON, text)), packing) == "JSON in the frame nests more than 100 levels deep"


def test_json_with_more_items_than_are_allowed(packing: Packing) -> None:
    """Counted in the bytes, before anything is made. The limit is for the whole frame."""
    for text in (b"[" + b"0," * 1_000_000 + b"0]", b"[" + b"{}," * 600_000 + b"{}]", b"[" + b"[[]]," * 400_000 + b"0]"):
        assert "items" in refused(returned(tagged(JSON, text)), packing)
    half = tagged(JSON, b"[" + b"0," * 600_000 + b"0]")
    assert "items" in refused(frame([9, 1, [half, half]]), packing)


def test_json_with_commas_in_its_strings_is_no_flood(packing: Packing) -> None:
    """Only what is outside of strings counts."""
    text = b'["' + b",[{:" * 300_000 + b'","\\\\\\"' + b"," * 1000 + b'"]'
    (event,) = Codec(packing=packing).decode(frame([9, 1, tagged(JSON, text)]))
    assert isinstance(event, Done)
    assert event.value == [",[{:" * 300_000, '\\"' + "," * 1000]


@pytest.mark.parametrize(
    "number", [b"1" * 641, b"-" + b"1" * 700, b"0." + b"1" * 5000, b"1" * 1_000_000, b"1e" + b"1" * 700]
)
def test_json_with_a_number_of_too_many_digits(packing: Packing, number: bytes) -> None:
    """Reading a decimal number takes quadratic time, whatever limit the process has."""
    before = sys.get_int_max_str_digits()
    for limit in (0, 640, 10_000):
        sys.set_int_max_str_digits(limit)
        try:
            sentence = refused(returned(tagged(JSON, b'{"a":[' + number + b"]}")), packing)
        finally:
            sys.set_int_max_str_digits(before)
        assert sentence == "JSON in the frame has a number of more than 640 digits"


def test_json_with_many_digits_in_a_string_is_no_number(packing: Packing) -> None:
    """A string may hold anything."""
    (event,) = Codec(packing=packing).decode(frame([9, 1, tagged(JSON, b'["' + b"1" * 10_000 + b'"]')]))
    assert isinstance(event, Done)
    assert event.value == ["1" * 10_000]


def test_json_of_strings_that_never_end_takes_linear_time(packing: Packing) -> None:
    """The look for strings does not go back."""
    start = time.perf_counter()
    for text in (b'"\\' * 2_000_000, b'"' + b'\\"' * 2_000_000, b'",' * 1_500_000 + b'"'):
        assert refused(returned(tagged(JSON, text)), packing)
    assert time.perf_counter() - start < 10


# The channel


def test_a_hostile_frame_breaks_the_channel_and_delivers_nothing() -> None:
    """Not even the events before the defect."""
    pair = Pair().running()
    with pytest.raises(PeerError):
        pair.host.receive(frame([6, 1, "a", []], [6, 0, "b", []], [12]))
    assert pair.host.next_event().name == "NEED_DATA"  # type: ignore[union-attr]
    assert pair.host.phase.name == "BROKEN"

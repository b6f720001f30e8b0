"""What cannot cross, and the sentence that says where it is and why. Refusing changes nothing."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from guest_stdlib.channel import (
    Call,
    Codec,
    CodecLimits,
    Done,
    End,
    Failed,
    Failure,
    LocalError,
    Opaque,
    Record,
    Rest,
    Return,
    Run,
    Throw,
    TooLarge,
    Unsendable,
)
from guest_stdlib.channel.values import FRACTION_BITS

from .channel_pair import FAILURE, Pair

SMALL = CodecLimits(frame_bytes=1 << 20, value_bytes=100_000, items=1000, depth=10)


@dataclasses.dataclass(frozen=True)
class Report:
    title: str
    rows: Any = ()


@dataclasses.dataclass(eq=False)
class Unhashable:
    rows: list[int]

    def __hash__(self) -> int:
        return id(self)


@dataclasses.dataclass(slots=True)
class Unfinished:
    title: str


class Faceless:
    def __repr__(self) -> str:
        return "<one of many>"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def itself() -> list[Any]:
    value: list[Any] = [1]
    value.append({"again": (value,)})
    return value


def doubling() -> list[Any]:
    value: list[Any] = [1]
    for _ in range(60):
        value = [value, value]
    return value


REFUSED: Mapping[str, tuple[Any, str]] = {
    "bytearray": (
        {"rows": [0, 1, bytearray(b"x")]},
        'args[0]["rows"][2] is a bytearray, which is not copied; send bytes(...) of it',
    ),
    "memoryview": (
        Report("q", rows={"a": memoryview(b"x")}),
        'args[0].rows["a"] is a memoryview, which is not copied; send bytes(...) of it',
    ),
    "key of another type in the path": (
        {(1, 2): [bytearray()], 3: 4},
        "args[0][<tuple>][0] is a bytearray, which is not copied; send bytes(...) of it",
    ),
    "number in the path": ({3: bytearray()}, "args[0][3] is a bytearray, which is not copied; send bytes(...) of it"),
    "long key in the path": (
        {"k" * 50: bytearray()},
        f'args[0]["{"k" * 40}..."] is a bytearray, which is not copied; send bytes(...) of it',
    ),
    "huge key in the path": (
        {10**5000: bytearray()},
        "args[0][<int>] is a bytearray, which is not copied; send bytes(...) of it",
    ),
    "too deep": (nested(10), "args[0][0][0][0][0][0][0][0][0][0][0] is nested more than 10 levels deep"),
    "contains itself": ([itself()], "args[0][0] contains itself"),
    "too many items": (
        {"all": list(range(1000))},
        'args[0]["all"] brings what crosses at once to more than 1,000 items',
    ),
    "too many items together": (
        [list(range(300)), list(range(300)), list(range(400))],
        "args[0][2] brings what crosses at once to more than 1,000 items",
    ),
    "string too large": (
        ["a", {"text": "x" * 120_000}],
        'args[0][1]["text"] has 120,000 bytes, and 100,000 may cross at once',
    ),
    "bytes too large": (b"x" * 120_000, "args[0] has 120,000 bytes, and 100,000 may cross at once"),
    "integer too large": ([1 << 1_000_000], "args[0][0] has 125,000 bytes, and 100,000 may cross at once"),
    "all together too large": (["x" * 30_000] * 4, "this Call has 120,021 bytes, and 100,000 may cross at once"),
    "plain value too large": ([["x" * 2000] * 60], "args[0] has 120,183 bytes, and 100,000 may cross at once"),
    "fraction too large": (
        [Fraction(1, 1 << FRACTION_BITS)],
        f"args[0][0] is a Fraction of more than {FRACTION_BITS:,} bits; send a float or a Decimal",
    ),
    "keys that would be one": (
        {Faceless(): 1, Faceless(): 2},
        "args[0] has a key that would look like another one at the other end",
    ),
    "elements that would be one": (
        [{Faceless(), Faceless()}],
        "args[0][0] has an element that would look like another one at the other end",
    ),
    "key that would not be hashable": (
        {Unhashable([1]): 1},
        "args[0] has a key that could not be a key at the other end",
    ),
    "element that would not be hashable": (
        {Unhashable([1])},
        "args[0] has an element that could not be an element at the other end",
    ),
    "something inside a key": (
        {(1, Fraction(1, 1 << FRACTION_BITS)): 1},
        f"args[0][<key>][1] is a Fraction of more than {FRACTION_BITS:,} bits; send a float or a Decimal",
    ),
    "record without a field": (Unfinished.__new__(Unfinished), "args[0] is a Unfinished without its field 'title'"),
    "stand-in of nonsense": (
        [Opaque(type_name="X", text=7)],  # type: ignore[arg-type]
        "args[0][0] is a Opaque with a name or text that is not a string",
    ),
    "record of nonsense": (
        Record(type_name="X", fields={1: 2}),  # type: ignore[dict-item]
        "args[0] is a Record with a name or text that is not a string",
    ),
    "keys that collide": (
        {number * sys.hash_info.modulus: number for number in range(100)},
        "args[0] has too many keys with the same hash",
    ),
    "elements that collide": (
        {(number * sys.hash_info.modulus,) for number in range(100)},
        "args[0] has too many keys with the same hash",
    ),
}


@pytest.mark.parametrize(("value", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_value_that_cannot_cross_is_refused_with_its_place(value: Any, sentence: str) -> None:
    """One sentence: where, what, and where it helps, what to write."""
    with pytest.raises(Unsendable) as refused:
        Codec(SMALL, end=End.GUEST).encode([Call(call=1, path="a.b", args=(value,))])
    assert str(refused.value) == sentence


def test_a_path_begins_with_what_the_caller_wrote() -> None:
    """The argument's position or name; the answer; the field of a failure."""
    codec = Codec(end=End.GUEST)
    with pytest.raises(Unsendable) as refused:
        codec.encode([Call(call=1, path="a.b", args=(1, [bytearray()]))])
    assert refused.value.where == "args[1][0]"
    with pytest.raises(Unsendable) as refused:
        codec.encode([Call(call=1, path="a.b", kwargs={"attach": [bytearray()]})])
    assert refused.value.where == "attach[0]"
    with pytest.raises(Unsendable) as refused:
        codec.encode([Done(cell=1, value=(bytearray(),))])
    assert refused.value.where == "value[0]"
    assert refused.value.problem == "is a bytearray, which is not copied; send bytes(...) of it"


def test_a_long_path_is_shortened() -> None:
    """Its beginning and its end are what helps."""
    with pytest.raises(TooLarge) as refused:
        Codec().encode([Return(call=1, value=nested(110))])
    assert refused.value.where == "value" + "[0]" * 7 + "..." + "[0]" * 2


def test_doubling_ends_at_the_budget() -> None:
    """Sixty levels that each hold the next one twice are refused before they are written out."""
    for end in End:
        with pytest.raises(TooLarge, match=r"brings what crosses at once to more than 1,000,000 items"):
            Codec(end=end).encode([Return(call=1, value=doubling())])


def test_nested_dicts_with_odd_keys_are_written_once() -> None:
    """Each level is looked at once, however deep they nest."""
    value: Any = None
    for _ in range(90):
        value = {"inner": value, (1,): None}
    assert Codec(CodecLimits(items=1000)).encode([Return(call=1, value=value)])


@pytest.mark.parametrize("end", End)
def test_a_cycle_through_a_large_container_is_named(end: End) -> None:
    """The fast lane gives up on it, and the other way finds out what it is."""
    rows: list[Any] = [{"n": number} for number in range(100)]
    rows[50]["all"] = rows
    with pytest.raises(TooLarge) as refused:
        Codec(end=end).encode([Return(call=1, value={"rows": rows})])
    assert str(refused.value) == 'value["rows"] contains itself'


def fill(pair: Pair, sentence: str, *args: object) -> int:
    """Make calls at once until no more fit; how many did."""
    for number in range(1, 1000):
        try:
            pair.guest.queue(Call(call=number, path="a.b", args=args))
        except TooLarge as problem:
            refused = str(problem)
            break
    assert refused == sentence
    return number - 1


def test_calls_made_at_once_share_a_frame() -> None:
    """The frame's bytes and items bound them together; what was queued before stays queued."""
    pair = Pair(CodecLimits(frame_bytes=1 << 20, value_bytes=1 << 19)).running()
    pair.guest.queue(Call(call=1, path="a.b", args=("x" * 400_000,)))
    pair.guest.queue(Call(call=2, path="a.b", args=("x" * 400_000,)))
    with pytest.raises(TooLarge) as refused:
        pair.guest.queue(Call(call=3, path="a.b", args=("x" * 400_000,)))
    assert str(refused.value) == "this Call brings what crosses at once to more than 1,048,576 bytes"
    heard = pair.reply(Rest())
    assert [type(event) for event in heard] == [Call, Call, Rest]

    pair = Pair(CodecLimits(items=1000)).running()
    made = fill(pair, "this Call brings what crosses at once to more than 1,000 items")
    assert made > 10
    assert len(pair.reply(Rest())) == made + 1


def test_the_end_of_a_cell_fits_behind_any_calls() -> None:
    """Calls leave room, so a cell that made too many at once can still end."""
    pair = Pair(CodecLimits(frame_bytes=1 << 16, value_bytes=1 << 15, items=10_000)).running()
    fill(pair, "this Call brings what crosses at once to more than 65,536 bytes", "x" * 1000)
    with pytest.raises(TooLarge, match="this Done brings what crosses at once to more than 65,536 bytes"):
        pair.guest.queue(Done(cell=1, value="x" * 30_000))
    heard = pair.reply(Failed(cell=1, failure=Failure(kind="script", type="E", message="x" * 10_000)), Rest())
    assert [type(event) for event in heard[-2:]] == [Failed, Rest]


def test_an_answer_that_cannot_cross_leaves_no_trace() -> None:
    """So the call can be ended with a Throw instead, and others in the same frame are unharmed."""
    pair = Pair().running()
    pair.reply(Call(call=1, path="a"), Call(call=2, path="b"), Rest())
    with pytest.raises(Unsendable):
        pair.host.send(Return(call=1, value="fine"), Return(call=2, value=bytearray()))
    assert list(pair.host.open_calls) == [1, 2]
    pair.host.queue(Return(call=1, value="fine"))
    with pytest.raises(Unsendable):
        pair.host.queue(Return(call=2, value=bytearray()))
    assert pair.tell(Throw(call=2, failure=FAILURE)) == [Return(call=1, value="fine"), Throw(call=2, failure=FAILURE)]


@pytest.mark.parametrize(
    "event",
    [
        Run(cell=1, source=None),  # type: ignore[arg-type]
        Call(call=1, path=7),  # type: ignore[arg-type]
        Call(call=1, path="a", args=[1]),  # type: ignore[arg-type]
        Call(call=1, path="a", kwargs={1: 2}),  # type: ignore[dict-item]
        Call(call=1, path="a", kwargs=[1]),  # type: ignore[arg-type]
        Call(call=1, path="a", token=b"x"),  # type: ignore[arg-type]
        Done(cell=1, notices=["a"]),  # type: ignore[arg-type]
        Done(cell=1, rejected=1.5),  # type: ignore[arg-type]
        object(),
    ],
    ids=repr,
)
def test_an_event_with_a_field_of_the_wrong_type_is_our_own_mistake(event: Any) -> None:
    """It is found here, not by the other end, which would blame us rightly."""
    with pytest.raises(LocalError):
        Codec(end=End.GUEST).encode([event])


def test_limits_are_checked_when_they_are_made() -> None:
    """Also where they came from a configuration."""
    limits: dict[str, Any]
    for limits in (
        {"frame_bytes": 0},
        {"items": 10},
        {"depth": 201},
        {"depth": 0},
        {"value_bytes": True},
        {"items": 1e6},
    ):
        with pytest.raises(ValueError, match=f"{next(iter(limits))} is an integer from"):
            CodecLimits(**limits)

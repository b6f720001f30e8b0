"""The fast lane: what it takes, what it leaves alone, and that it stays within the budgets."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.channel import Codec, End, Return
from guest_stdlib.channel.plain import JSON_LANE, MARSHAL_LANE, Survey, read_json, survey, write_json

ROWS = [{"id": number, "name": f"name {number}"} for number in range(30)]


def lane_of(value: object, end: End) -> str:
    """How a value went: by the tag in its frame."""
    frame = Codec(end=end).encode([Return(call=1, value=value)])
    return "json" if b"\xc7\x00\x14" in frame else "marshal" if b"\xc7\x00\x15" in frame else "msgpack"


def copies(value: Any, count: int = 50) -> list[Any]:
    return [value() if callable(value) else value for _ in range(count)]


def mixed() -> list[object]:
    parts: list[object] = []
    for _ in range(10):
        parts += (True, 1.5, None, "x", [], {})
    return parts


@pytest.mark.parametrize(
    ("value", "to_guest", "to_host"),
    [
        (ROWS, "marshal", "json"),
        ({"rows": ROWS, "total": 30}, "marshal", "json"),
        (list(range(100)), "marshal", "json"),
        ({str(number): None for number in range(60)}, "marshal", "json"),
        ([1, 2, 3], "msgpack", "msgpack"),
        ({"name": "Sarah"}, "msgpack", "msgpack"),
        (tuple(range(100)), "marshal", "msgpack"),
        (set(range(100)), "marshal", "msgpack"),
        ([(1, 2) for _ in range(50)], "marshal", "msgpack"),
        ([b"x"] * 50, "marshal", "msgpack"),
        ([1j] * 50, "marshal", "msgpack"),
        (dict.fromkeys(range(60)), "marshal", "msgpack"),
        ({(number,): None for number in range(60)}, "msgpack", "msgpack"),
        ([10**640] * 50, "marshal", "msgpack"),
        ([10**639, *range(50)], "marshal", "json"),
        ([1, 2, object(), *range(50)], "msgpack", "msgpack"),
        ([OrderedDict() for _ in range(50)], "msgpack", "msgpack"),
        ([ROWS[0]] * 50, "msgpack", "json"),
        (mixed(), "marshal", "json"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_which_way_a_value_goes(value: object, to_guest: str, to_host: str) -> None:
    """The lane is for large values of exactly the types that it keeps."""
    assert lane_of(value, End.HOST) == to_guest
    assert lane_of(value, End.GUEST) == to_host
    assert lane_of(value, End.STORE) == "msgpack"


def test_a_large_plain_part_of_another_value_goes_by_the_lane() -> None:
    """A table in a record, say."""
    for end, lane in ((End.HOST, "marshal"), (End.GUEST, "json")):
        assert lane_of({"when": range(3), "rows": ROWS}, end) == lane
        assert lane_of((ROWS, {1, 2}), end) == lane


def test_code_is_never_marshalled() -> None:
    """`marshal` would take it."""
    assert lane_of(copies(lane_of.__code__), End.HOST) == "msgpack"
    assert survey(copies(lane_of.__code__), MARSHAL_LANE, depth=10, items=1000) is None
    assert survey(copies(bytearray), MARSHAL_LANE, depth=10, items=1000) is None


def test_a_survey_counts_items_pairs_and_levels() -> None:
    """As the other end does from the bytes."""
    assert survey(7, JSON_LANE, depth=10, items=10) == Survey(items=0, pairs=0, depth=0)
    assert survey([], JSON_LANE, depth=10, items=10) == Survey(items=1, pairs=0, depth=1)
    assert survey([1, {"a": [2, 3]}], JSON_LANE, depth=10, items=10) == Survey(items=9, pairs=1, depth=3)


def test_a_survey_stops_at_its_limits() -> None:
    """Before it collects anything: a cycle and a doubling end there."""
    assert survey([[1]], JSON_LANE, depth=1, items=100) is None
    assert survey([1] * 10, JSON_LANE, depth=5, items=10) is None
    assert survey([1] * 10, JSON_LANE, depth=5, items=11) is not None
    cycle: list[Any] = [1]
    cycle *= 100
    cycle[50] = cycle
    assert survey(cycle, JSON_LANE, depth=1000, items=10_000) is None
    doubling: list[Any] = []
    for _ in range(100):
        doubling = [doubling, doubling]
    assert survey(doubling, JSON_LANE, depth=1000, items=1_000_000) is None


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None)
@given(value=plain)
def test_what_is_counted_before_is_what_is_counted_after(value: object) -> None:
    """The receiver's count from the bytes never exceeds the sender's from the value."""
    found = survey(value, JSON_LANE, depth=100, items=10_000)
    body = write_json(value)
    assert found is not None
    assert body is not None
    assert read_json(body, depth=found.depth, items=found.items)[1] == found.items


def test_writing_json_leaves_the_limit_on_digits_as_it_was() -> None:
    """Also where it refuses."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert write_json([10**639]) is not None
        assert write_json([10**640]) is None
        assert write_json([-(10**640)]) is None
        assert sys.get_int_max_str_digits() == 0
    finally:
        sys.set_int_max_str_digits(before)

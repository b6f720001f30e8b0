"""Values as they are printed, and as JSON."""

from __future__ import annotations

import datetime as dt
import enum
import time
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.channel import Member, Opaque, Record
from guest_stdlib.results import Shortened
from host.cli.values import jsonable, pretty


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A record."""

    name: str
    tags: list[str]


class Color(enum.Enum):
    """A choice."""

    RED = "r"


class TestPretty:
    @pytest.mark.parametrize(
        "value",
        [
            1,
            -0.0,
            "text \ud800\n",
            b"\x00",
            [],
            (),
            {},
            set(),
            frozenset(),
            (1,),
            [1, [2, (3,)]],
            {"a": {1: None}},
            {1},
            frozenset({"x"}),
            dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
            Decimal("1.20"),
            Person(name="Ann", tags=["a"]),
            Color.RED,
        ],
        ids=repr,
    )
    def test_what_fits_on_a_line_is_its_repr(self, value: object) -> None:
        """As Python itself would print it."""
        expected = repr(value).replace("TestPretty.", "")
        assert pretty(value, width=100) == expected

    def test_what_does_not_fit_goes_over_several_lines(self) -> None:
        """Each level that fits on one stays on one."""
        value = {"people": [Person(name="Ann", tags=["a", "b"]), Person(name="Bo", tags=[])], "total": (2,)}
        assert pretty(value, width=45) == (
            "{\n"
            "    'people': [\n"
            "        Person(name='Ann', tags=['a', 'b']),\n"
            "        Person(name='Bo', tags=[]),\n"
            "    ],\n"
            "    'total': (2,),\n"
            "}"
        )

    @settings(max_examples=100, deadline=None)
    @given(
        st.recursive(
            st.none() | st.integers() | st.text() | st.binary() | st.booleans(),
            lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner),
            max_leaves=30,
        ),
        st.integers(1, 80),
    )
    def test_what_is_printed_reads_back_as_the_value(self, value: object, width: int) -> None:
        """At any width."""
        assert eval(pretty(value, width=width, lines=100_000)) == value

    def test_long_values_are_cut_at_the_whole_and_counted(self) -> None:
        """Every bracket is closed, and on every level it says how many are left."""
        text = pretty({"rows": [list(range(n, n + 3)) for n in range(5_000)], "more": 1, "last": 2}, width=40)
        lines = text.splitlines()
        assert lines[:3] == ["{", "    'rows': [", "        [0, 1, 2],"]
        assert lines[-4:] == ["        ... 4,902 more", "    ],", "    ... 2 more", "}"]
        assert len(lines) == 104

    def test_a_million_rows_cost_what_is_printed(self) -> None:
        """Only what is printed is looked at."""
        began = time.process_time()
        pretty([{"n": 1}] * 3_000_000, width=100)
        assert time.process_time() - began < 0.5

    @pytest.mark.parametrize(
        ("value", "end"),
        [
            ("x" * 5_000, "x'... 1,000 more characters"),
            (bytes(5_000), "\\x00'... 1,000 more bytes"),
            (7**10_000, "an int of about 8,451 digits"),
            ([7**10_000], "[\n    an int of about 8,451 digits,\n]"),
        ],
        ids=["text", "bytes", "int", "nested int"],
    )
    def test_long_texts_and_numbers_are_cut_and_counted(self, value: object, end: str) -> None:
        """A number that Python refuses to write is no error here."""
        text = pretty(value, width=100)
        assert text.endswith(end)
        assert len(text) < 20_000

    def test_what_this_side_has_no_class_for(self) -> None:
        """Records by their name, members and opaque values by their text."""
        value = [Record(type_name="Row", fields={"id": 1}), Member(type_name="Color", name="RED")]
        assert pretty(value, width=100) == "[Row(id=1), Color.RED]"
        assert pretty(Opaque(type_name="object", text="<object>"), width=100) == "<object>"

    def test_a_shortened_value_shows_its_head_and_how_to_read_on(self) -> None:
        """Of a list, of a text, and inside another value."""
        rows = shortened("list", 5_000, [1, 2], "_['rows'][2:4]")
        text = shortened("str", 20_000, "ab", "_['text'][2:4]")
        assert pretty({"rows": rows, "text": text}, width=40) == (
            "{\n"
            "    'rows': [\n"
            "        1,\n"
            "        2,\n"
            "        ... 4,998 more: _['rows'][2:4]\n"
            "    ],\n"
            "    'text': 'ab'... 19,998 more characters: _['text'][2:4],\n"
            "}"
        )


def shortened(kind: str, length: int, head: list[int] | str, handle: str) -> Shortened:
    return Shortened(type=kind, length=length, shown=len(head), head=head, handle=handle)


class TestJson:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            (True, True),
            (2**70, 2**70),
            (1.5, 1.5),
            (float("nan"), "nan"),
            (float("-inf"), "-inf"),
            ("text \ud800", "text \ud800"),
            (b"\x00", "b'\\x00'"),
            ((1, (2,)), [1, [2]]),
            ({3, 1, 2}, [1, 2, 3]),
            ({"a": 1, 2: "b", None: 3}, {"a": 1, "2": "b", "None": 3}),
            ({1: "a", "1": "b"}, "{1: 'a', '1': 'b'}"),
            (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00+00:00"),
            (dt.date(2026, 1, 2), "2026-01-02"),
            (dt.time(3, 4), "03:04:00"),
            (Decimal("1.20"), "1.20"),
            (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (Fraction(1, 3), "Fraction(1, 3)"),
            (Person(name="Ann", tags=["a"]), {"name": "Ann", "tags": ["a"]}),
            (Record(type_name="Row", fields={"id": 1}), {"id": 1}),
            (Member(type_name="Color", name="RED"), "Color.RED"),
            (Opaque(type_name="object", text="<object>"), "<object>"),
        ],
        ids=repr,
    )
    def test_each_type_has_its_form(self, value: object, expected: object) -> None:
        """Nothing is lost without a trace: what JSON cannot hold is text."""
        assert jsonable(value) == expected

    def test_a_number_of_too_many_digits_is_written_in_hexadecimal(self) -> None:
        """Python refuses to write it otherwise, and readers refuse to read it."""
        assert jsonable(7**10_000) == hex(7**10_000)

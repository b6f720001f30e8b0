"""Shapes: what fits, what does not and in which words, and how they come from annotations."""

from __future__ import annotations

import collections.abc as abc
import datetime as dt
import enum
import json
import typing
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, TypeVar, Union
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib import shapes
from guest_stdlib.channel.values import Member
from guest_stdlib.channel.values import Record as Unknown
from guest_stdlib.declared import Shape

T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
Either = TypeVar("Either", int, str)
UserId = NewType("UserId", int)
type Names = list[str]
type Tree = dict[str, list[int]]


class Color(enum.Enum):
    RED = 1
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Address:
    city: str


@dataclass
class Person:
    name: str
    color: Color = Color.RED
    addresses: list[Address] = field(default_factory=list)


@dataclass
class Box[Item]:
    item: Item


class Options(TypedDict):
    level: Level
    deep: NotRequired[bool]


class Stranger:
    pass


RECORDS = {"Person": Person, "Address": Address, "Color": Color, "Level": Level}
TODAY = dt.date(2024, 5, 1)
NOW = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        ("any", [None, 1, object(), [Stranger()]]),
        ("none", [None]),
        ("bool", [True, False]),
        ("int", [0, -1, 1 << 200, Level.LOW]),
        ("float", [0.5, float("nan"), 3, 1 << 70]),
        ("str", ["", "x", "\ud800"]),
        ("bytes", [b""]),
        ("datetime", [NOW, dt.datetime(2024, 1, 1)]),
        ("date", [TODAY]),
        ("time", [dt.time(1, 2)]),
        ("timedelta", [dt.timedelta(days=1)]),
        ("decimal", [Decimal("1.50")]),
        ("uuid", [UUID(int=1)]),
        (["list", "str"], [[], ["a", "b"]]),
        (["list", ["list", "int"]], [[[], [1]]]),
        (["list", "float"], [[1, 2.0]]),
        (["tuple", "int", "str"], [(1, "a")]),
        (["tuple"], [()]),
        (["tuple", "int", "..."], [(), (1,), (1, 2, 3)]),
        (["set", "int"], [set(), {1}, frozenset({1, 2})]),
        (["dict", "str", "int"], [{}, {"a": 1}, OrderedDict(a=1)]),
        (["dict", "str", ["list", "int"]], [{"a": [1]}]),
        (["union", "str", "none"], ["a", None]),
        (["union", ["list", "int"], ["dict", "str", "int"]], [[1], {"a": 1}]),
        (["literal", "fork", 1, None], ["fork", 1, None]),
        (["record", "Person"], [Person("A"), Unknown(type_name="Person", fields={"name": "A"})]),
        (["record", "Elsewhere"], [Unknown(type_name="Elsewhere")]),
        (["record", "Stranger"], [Stranger()]),
        (["enum", "Color", "RED", "GREEN"], [Color.RED, "GREEN", Member(type_name="Color", name="RED")]),
    ],
)
def test_what_fits_passes(shape: Shape, values: list[object]) -> None:
    """As a type checker would say; an int is a float, a subclass is its base."""
    for value in values:
        shapes.check(value, shape, records=RECORDS)
        shapes.check(value, json.loads(json.dumps(shape)), records=RECORDS)


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        ("str", 7, "expected str, got int (7)"),
        ("str", None, "expected str, got None"),
        ("str", b"a", "expected str, got bytes (b'a')"),
        ("int", True, "expected int, got bool (True)"),
        ("int", 1.0, "expected int, got float (1.0)"),
        ("int", "1", "expected int, got str ('1')"),
        ("float", True, "expected float, got bool (True)"),
        ("float", Decimal(1), "expected float, got Decimal (Decimal('1'))"),
        ("bool", 1, "expected bool, got int (1)"),
        ("none", 0, "expected None, got int (0)"),
        ("decimal", 1.5, "expected Decimal, got float (1.5)"),
        ("uuid", "x", "expected UUID, got str ('x')"),
        ("date", dt.datetime(2024, 5, 1), "expected date, got datetime (datetime.datetime(2024, 5, 1, 0, 0))"),
        ("datetime", TODAY, "expected datetime, got date (datetime.date(2024, 5, 1))"),
        (["list", "str"], ("a",), "expected list[str], got tuple (('a',))"),
        (["list", "str"], "a", "expected list[str], got str ('a')"),
        (["list", "str"], ["a", "b", 3], "[2]: expected str, got int (3)"),
        (["list", ["list", "int"]], [[1], [2, "x"]], "[1][1]: expected int, got str ('x')"),
        (["tuple", "int", "str"], (1,), "expected tuple[int, str], got tuple ((1,))"),
        (["tuple", "int", "str"], (1, 2), "[1]: expected str, got int (2)"),
        (["tuple", "int", "..."], (1, None), "[1]: expected int, got None"),
        (["set", "int"], {"a"}, "expected set[int], got set holding str ('a')"),
        (["set", "int"], [1], "expected set[int], got list ([1])"),
        (["dict", "str", "int"], {1: 1}, "expected dict[str, int], got a key of type int (1)"),
        (["dict", "str", "int"], {"a": "b"}, "['a']: expected int, got str ('b')"),
        (["dict", "str", ["list", "int"]], {"a": [0, "b"]}, "['a'][1]: expected int, got str ('b')"),
        (["dict", "str", "int"], [("a", 1)], "expected dict[str, int], got list ([('a', 1)])"),
        (["union", "str", "none"], 3, "expected str | None, got int (3)"),
        (["union", ["list", "str"], "none"], ["a", 3], "[1]: expected str, got int (3)"),
        (["literal", "fork", "cold"], "warm", "expected Literal['fork', 'cold'], got str ('warm')"),
        (["literal", 1], True, "expected Literal[1], got bool (True)"),
        (["record", "Person"], {"name": "A"}, "expected Person, got dict ({'name': 'A'})"),
        (["record", "Person"], Address("Oslo"), "expected Person, got Address (Address(city='Oslo'))"),
        (
            ["record", "Person"],
            Unknown(type_name="Address", fields={"city": "Oslo"}),
            "expected Person, got Address ({'city': 'Oslo'})",
        ),
        (
            ["record", "Person"],
            Unknown(type_name="Person", problem="missing 'name'"),
            "expected Person, got one that cannot be made: missing 'name'",
        ),
        (["enum", "Color", "RED", "GREEN"], "BLUE", "expected Color (one of 'RED', 'GREEN'), got str ('BLUE')"),
        (
            ["enum", "Color", "RED", "GREEN"],
            Level.LOW,
            "expected Color (one of 'RED', 'GREEN'), got Level (<Level.LOW: 1>)",
        ),
        (["list", ["record", "Person"]], [Person("A"), 3], "[1]: expected Person, got int (3)"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(shape: Shape, value: object, message: str) -> None:
    """One exact sentence: where, what was expected, what was there."""
    with pytest.raises(shapes.ShapeError) as caught:
        shapes.check(value, shape, records=RECORDS)
    assert str(caught.value) == message
    assert isinstance(caught.value, TypeError)
    assert (
        message
        == f"{caught.value.path}{': ' if caught.value.path else ''}expected {caught.value.expected}, got {caught.value.got}"
    )


def test_what_was_there_is_shown_in_a_few_words() -> None:
    """However large or strange the value is."""
    with pytest.raises(shapes.ShapeError) as caught:
        shapes.check(list(range(10**6)), "str", records={})
    assert str(caught.value) == "expected str, got list ([0, 1, 2, 3, ...])"
    with pytest.raises(shapes.ShapeError) as caught:
        shapes.check("x" * 10**6, "int", records={})
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("shape", ["string", ["array", "int"], [], [1], 7])
def test_what_is_no_shape_is_the_hosts_fault(shape: Any) -> None:
    """A ValueError, not a complaint about the value."""
    with pytest.raises(ValueError, match="is no shape"):
        shapes.check(1, shape, records={})


@pytest.mark.parametrize(
    ("annotation", "shape", "text"),
    [
        (Any, "any", "Any"),
        (object, "any", "Any"),
        (None, "none", "None"),
        (int, "int", "int"),
        (dt.datetime, "datetime", "datetime"),
        (Decimal, "decimal", "Decimal"),
        (UUID, "uuid", "UUID"),
        (list, ["list", "any"], "list[Any]"),
        (list[str], ["list", "str"], "list[str]"),
        (typing.List[str], ["list", "str"], "list[str]"),  # noqa: UP006
        (dict[str, int], ["dict", "str", "int"], "dict[str, int]"),
        (dict, ["dict", "any", "any"], "dict[Any, Any]"),
        (Mapping[str, Any], ["dict", "str", "any"], "dict[str, Any]"),
        (tuple[int, str], ["tuple", "int", "str"], "tuple[int, str]"),
        (tuple[int, ...], ["tuple", "int", "..."], "tuple[int, ...]"),
        (tuple[()], ["tuple"], "tuple[()]"),
        (tuple, ["tuple", "any", "..."], "tuple[Any, ...]"),
        (set[int], ["set", "int"], "set[int]"),
        (frozenset[int], ["set", "int"], "set[int]"),
        (abc.Set[int], ["set", "int"], "set[int]"),
        (Sequence[str], ["union", ["list", "str"], ["tuple", "str", "..."]], "list[str] | tuple[str, ...]"),
        (
            Iterable[int],
            ["union", ["list", "int"], ["tuple", "int", "..."], ["set", "int"]],
            "list[int] | tuple[int, ...] | set[int]",
        ),
        (Optional[str], ["union", "str", "none"], "str | None"),  # noqa: UP045
        (str | None, ["union", "str", "none"], "str | None"),
        (
            Union[int, Sequence[str]],  # noqa: UP007  the old forms are tested too
            ["union", "int", ["list", "str"], ["tuple", "str", "..."]],
            "int | list[str] | tuple[str, ...]",
        ),
        (int | Any, "any", "Any"),
        (Literal["fork", "cold"], ["literal", "fork", "cold"], "Literal['fork', 'cold']"),
        (Annotated[int, "a count"], "int", "int"),
        (Annotated[list[int], ["a", "count"]], ["list", "int"], "list[int]"),
        (UserId, "int", "int"),
        (Names, ["list", "str"], "list[str]"),
        (list[Names], ["list", ["list", "str"]], "list[list[str]]"),
        (T, "any", "Any"),
        (Bound, "int", "int"),
        (Either, ["union", "int", "str"], "int | str"),
        (typing.LiteralString, "str", "str"),
        (Options, ["dict", "str", "any"], "dict[str, Any]"),
        (Person, ["record", "Person"], "Person"),
        (list[Person] | None, ["union", ["list", ["record", "Person"]], "none"], "list[Person] | None"),
        (Box[int], ["record", "Box"], "Box"),
        (Color, ["enum", "Color", "RED", "GREEN"], "Color"),
    ],
)
def test_an_annotation_has_a_shape_and_reads_as_a_type(annotation: object, shape: Shape, text: str) -> None:
    """Builtins, generics, unions, aliases, literals, dataclasses and enums."""
    assert shapes.of(annotation) == shape
    assert shapes.text(shape) == text


@pytest.mark.parametrize(
    "annotation",
    [
        Stranger,
        Fraction,
        complex,
        bytearray,
        typing.Callable[[], int],
        abc.Awaitable[int],
        type[int],
        typing.NamedTuple("Pair", [("a", int)]),
    ],
)
def test_a_type_that_cannot_cross_is_refused_when_it_is_declared(annotation: object) -> None:
    """The sentence names the type and what to use instead."""
    with pytest.raises(TypeError, match=r"^values of type .+ cannot cross; use str, int, "):
        shapes.of(annotation)
    with pytest.raises(TypeError, match="cannot cross"):
        shapes.of(list[annotation])  # type: ignore[valid-type]


def test_an_annotation_that_is_still_a_string_is_refused() -> None:
    """Whoever declares resolves it first."""
    with pytest.raises(
        TypeError, match=r"^the annotation 'Person' is still a string: resolve it with typing\.get_type_hints first$"
    ):
        shapes.of("Person")


def test_records_in_finds_dataclasses_and_enums_at_any_depth() -> None:
    """Through containers, aliases and the fields of dataclasses and typed dicts."""
    assert shapes.records_in(list[dict[str, Person | None]]) == {"Person": Person, "Color": Color, "Address": Address}
    assert shapes.records_in(Annotated[Options, "x"]) == {"Level": Level}
    assert shapes.records_in(Box[Address]) == {"Box": Box, "Address": Address}
    assert shapes.records_in(Literal["Person"]) == {}
    assert shapes.records_in(int) == {}


def test_two_types_of_one_name_cannot_be_declared_together() -> None:
    """In the sandbox a type is known by its name."""
    other: Any = dataclass(type("Person", (), {"__annotations__": {"age": int}}))
    with pytest.raises(
        ValueError, match=r"^two types are called Person: .+ Types are known by name in the sandbox: rename one$"
    ):
        shapes.records_in(dict[str, Person | other])


PLAIN = st.recursive(
    st.sampled_from(["any", "none", "bool", "int", "float", "str", "bytes", "date", "decimal"]).map(lambda name: name),
    lambda inner: st.one_of(
        inner.map(lambda shape: ["list", shape]),
        inner.map(lambda shape: ["tuple", shape, "..."]),
        st.lists(inner, max_size=3).map(lambda shapes: ["tuple", *shapes]),
        st.tuples(st.sampled_from(["str", "int"]), inner).map(lambda pair: ["dict", *pair]),
        st.lists(inner, min_size=1, max_size=3).map(lambda shapes: ["union", *shapes]),
    ),
    max_leaves=6,
)


def values_of(shape: Any) -> st.SearchStrategy[Any]:
    if isinstance(shape, str):
        return {
            "any": st.none() | st.integers(),
            "none": st.none(),
            "bool": st.booleans(),
            "int": st.integers(),
            "float": st.floats() | st.integers(),
            "str": st.text(max_size=5),
            "bytes": st.binary(max_size=5),
            "date": st.dates(),
            "decimal": st.decimals(),
        }[shape]
    form, *parts = shape
    if form == "list":
        return st.lists(values_of(parts[0]), max_size=3)
    if form == "tuple" and parts[1:] == ["..."]:
        return st.lists(values_of(parts[0]), max_size=3).map(tuple)
    if form == "tuple":
        return st.tuples(*map(values_of, parts))
    if form == "dict":
        return st.dictionaries(values_of(parts[0]), values_of(parts[1]), max_size=3)
    return st.one_of(*map(values_of, parts))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_value_made_for_a_shape_fits_it_and_a_stranger_never_does(data: st.DataObject) -> None:
    """Fitting is closed under the forms, and a stranger anywhere is found."""
    shape = data.draw(PLAIN)
    value = data.draw(values_of(shape))
    shapes.check(value, shape, records={})
    shapes.check([value, value], ["list", shape], records={})
    if "any" not in json.dumps(shape):
        with pytest.raises(shapes.ShapeError):
            shapes.check([value, Stranger()], ["list", shape], records={})

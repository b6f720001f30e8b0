"""A capability is declared once, by its annotated async methods; everything else is derived from them."""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NewType

import pytest

from guest_stdlib.declared import Declared, Method, Option, Parameter
from host.capability import Capability, Table, declared, delegates, repeatable
from host.capability._capability import declaration_of
from host.context import Inherited
from host.errors import CapabilityError, NeedsClarification
from tests.capability_types import Forecast, Unit, Weather

UserId = NewType("UserId", int)
type Names = list[str]


def test_the_declaration_is_derived_from_the_annotated_methods() -> None:
    """Name, docstrings, parameters, types, and which method delegates: all of it comes from the class."""
    assert declared(Weather()) == Declared(
        name="weather",
        doc="The weather service.\n\nFor the whole world.",
        methods=(
            Method(
                name="today",
                doc="Today's weather in a city.",
                parameters=(Parameter(name="city", shape="str", annotation="str"),),
                returns="str",
            ),
            Method(
                name="explain",
                doc='Delegates: receives the conversation, unless the caller says context="cold".',
                parameters=(Parameter(name="question", shape="str", annotation="str"),),
                returns="str",
                choice=(Option(name="context", words=("fork", "cold"), default="fork"),),
            ),
        ),
    )


def test_parameters_keep_their_kinds_defaults_and_types() -> None:
    """Every kind of parameter but positional-only is declared, with its shape, its type as text and its default as text."""

    class Many(Capability):
        async def take(
            self,
            names: Names,
            unit: Unit = Unit.CELSIUS,
            *rest: UserId,
            since: date | None = None,
            step: timedelta = timedelta(days=1),
            mode: Literal["a", "b"] = "a",
            prices: Annotated[dict[str, Decimal], "by name"],
            **others: Sequence[bytes],
        ) -> tuple[int, ...]:
            return ()

    [method] = declared(Many()).methods
    assert [(p.name, p.kind, p.annotation, p.required, p.default) for p in method.parameters] == [
        ("names", "positional_or_keyword", "list[str]", True, ""),
        ("unit", "positional_or_keyword", "Unit | str", False, "'CELSIUS'"),
        ("rest", "var_positional", "int", False, ""),
        ("since", "keyword_only", "datetime.date | None", False, "None"),
        ("step", "keyword_only", "datetime.timedelta", False, "datetime.timedelta(days=1)"),
        ("mode", "keyword_only", "Literal['a', 'b']", False, "'a'"),
        ("prices", "keyword_only", "dict[str, decimal.Decimal]", True, ""),
        ("others", "var_keyword", "Sequence[bytes]", False, ""),
    ]
    assert method.parameters[0].shape == ["list", "str"]
    assert method.parameters[1].shape == ["enum", "Unit", "CELSIUS", "FAHRENHEIT"]
    assert method.returns == "tuple[int, ...]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("inf"), "float('inf')"),
        ((1,), "(1,)"),
        ([None, "x"], "[None, 'x']"),
        ({"a": b"b"}, "{'a': b'b'}"),
        (frozenset({2, 1}), "frozenset({1, 2})"),
        (set(), "set()"),
        (Decimal("1.50"), "decimal.Decimal('1.50')"),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)"),
        (
            Forecast(date(2026, 1, 2), 3.5),
            "Forecast(day=datetime.date(2026, 1, 2), degrees=3.5, unit='CELSIUS', notes=[])",
        ),
        (random.Random(1), "..."),
        ("x" * 1000, "..."),
        ([object()], "..."),
    ],
)
def test_a_default_is_shown_as_python_text_or_as_an_ellipsis(value: object, text: str) -> None:
    """The text of a default shows the value where it has a literal form, and never an address."""

    class Defaults(Capability):
        async def take(self, value: Any = value) -> None: ...

    assert declared(Defaults()).methods[0].parameters[0].default == text


def test_a_class_may_be_named_by_attribute_by_constructor_or_by_itself() -> None:
    """The name in agent code is the instance's, else the class attribute, else the class's name in snake_case."""

    class HTTPArchive2(Capability): ...

    class Named(Capability):
        name = "archive"

    class _Hidden(Capability): ...

    class Heir(Named): ...

    class Forecasts(Weather): ...

    assert HTTPArchive2().name == "http_archive2"
    assert Named().name == "archive"
    assert Named(name="attic").name == "attic"
    assert _Hidden().name == "hidden"
    assert Heir().name == "archive"
    assert Forecasts().name == "forecasts"


def test_a_capability_that_forgets_its_parents_constructor_is_whole() -> None:
    """Nothing depends on `super().__init__()`."""

    class Careless(Capability):
        def __init__(self, town: str) -> None:
            self.town = town

        async def where(self) -> str:
            return self.town

    assert declared(Careless("Oslo")).name == "careless"


def test_tools_are_inherited_and_overridden() -> None:
    """A subclass has its parents' tools in their order, with its own versions, and may change what a method takes."""

    class Better(Weather):
        async def today(self, city: str, *, unit: Unit = Unit.CELSIUS) -> str:
            return "better"

        async def tomorrow(self, city: str) -> str:
            """Tomorrow's."""
            return "rain"

    methods = {method.name: method for method in declared(Better()).methods}
    assert list(methods) == ["today", "explain", "tomorrow"]
    assert [p.name for p in methods["today"].parameters] == ["city", "unit"]
    assert methods["today"].doc == "Today's weather in a city."
    assert methods["explain"].delegates
    assert declared(Better()).doc == "The weather service.\n\nFor the whole world."


def test_only_public_methods_of_capability_classes_are_tools() -> None:
    """Private methods, class and static methods, properties, attributes, `aclose` and mixins are for the program."""

    class Mixin:
        def close(self) -> None: ...

        async def sync(self) -> None: ...

    class Store(Mixin, Capability):
        retries = 3

        @classmethod
        def at(cls, path: str) -> Store:
            return cls()

        @staticmethod
        def parse(text: str) -> str:
            return text

        @property
        def size(self) -> int:
            return 0

        def _index(self) -> None: ...

        async def aclose(self) -> None: ...

        async def read(self) -> str:
            return ""

    assert [method.name for method in declared(Store()).methods] == ["read"]


def test_annotations_in_string_form_may_name_what_is_local_to_a_function() -> None:
    """This file's annotations are strings: they resolve to local classes, to closures and to names of the class body."""

    @dataclass
    class Local:
        x: int

    class Outer(Capability):
        @dataclass
        class Inner:
            y: int

        async def date(self) -> date:
            return date(2026, 1, 2)

        async def give(self, local: Local) -> list[Inner]:
            return []

        async def day(self) -> date:  # type: ignore[valid-type]
            return date(2026, 1, 2)

    table = Table([Outer()])
    assert table.records == {"Local": Local, "Inner": Outer.Inner}
    assert [method.returns for method in declared(Outer()).methods] == ["datetime.date", "list[Inner]", "datetime.date"]


class Early(Capability):
    async def give(self) -> Later:
        return Later(x=1)


@dataclass
class Later:
    x: int


def test_an_annotation_may_name_a_class_that_is_defined_further_down() -> None:
    """What is not defined yet when the class is waits for the first instance."""
    assert Table([Early()]).records == {"Later": Later}


def test_only_the_names_of_annotations_are_kept_alive() -> None:
    """A capability class defined in a function does not hold on to that function's other values."""
    treasure = object()

    class Poor(Capability):
        async def give(self, weather: Literal["sun"]) -> None: ...

    assert treasure not in Poor._names.values()


def test_a_decorated_method_is_a_tool_by_its_own_annotations() -> None:
    """A decorator that keeps the method async and wraps it leaves the declaration as it was."""

    def twice[**P, R](method: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(method)
        async def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            await method(*args, **kwargs)
            return await method(*args, **kwargs)

        return wrapper

    class Wrapped(Capability):
        @twice
        @repeatable
        async def ring(self, times: int, *, inherited: Inherited) -> str:
            return ""

    [method] = declared(Wrapped()).methods
    assert (method.repeatable, method.delegates, method.parameters[0].name) == (True, True, "times")


def test_repeatable_is_declared_method_by_method() -> None:
    """A call that may be made again after a resume says so, others do not."""

    class Reader(Capability):
        @repeatable
        async def read(self) -> str:
            return ""

        async def send(self) -> None: ...

    assert [method.repeatable for method in declared(Reader()).methods] == [True, False]


def test_r06_every_tool_declares_its_own_default() -> None:
    """A method's mark counts before its class's attribute, which counts before "fork"."""

    class Search(Capability):
        context = "cold"

        async def web(self, query: str, *, inherited: Inherited) -> str:
            return ""

        @delegates(context="fork")
        async def thread(self, query: str, *, inherited: Inherited) -> str:
            return ""

    assert [option.default for method in declared(Weather()).methods for option in method.choice] == ["fork"]
    assert [option.default for method in declared(Search()).methods for option in method.choice] == ["cold", "fork"]


def test_errors_of_parents_come_after_the_classes_own() -> None:
    """The exceptions that a class declares are its own, then its parents'."""

    class QuotaSpent(CapabilityError):
        remaining: int

    class Parent(Capability):
        errors: ClassVar[tuple[type[Exception], ...]] = (ValueError, NeedsClarification)

    class Child(Parent):
        errors = (QuotaSpent,)

    assert declaration_of(Child).errors == (QuotaSpent, ValueError, NeedsClarification)
    assert [(e.name, e.fields) for e in Table([Child()]).declared_errors] == [
        ("NeedsClarification", ("question", "options")),
        ("QuotaSpent", ("remaining",)),
    ]


def test_records_are_in_scope_through_any_depth() -> None:
    """Dataclasses and enums of parameters, results and fields are found, and declared with their fields."""

    class Deep(Capability):
        async def give(self, units: dict[str, Unit]) -> list[Forecast] | None: ...

    table = Table([Deep()])
    assert table.records == {"Unit": Unit, "Forecast": Forecast}
    assert [(r.name, r.doc, r.fields) for r in table.declared_records] == [
        ("Forecast", "What the weather will be.", ("day", "degrees", "unit", "notes"))
    ]


def test_annotations_may_carry_anything_beside_the_type() -> None:
    """Also what cannot be hashed."""

    class Marked(Capability):
        async def give(self, town: Annotated[str, ["a", "list"]]) -> Annotated[int, {}]:
            return 0

    [method] = declared(Marked()).methods
    assert (method.parameters[0].annotation, method.returns) == ("str", "int")


def test_the_public_names_are_these() -> None:
    """What `host.capability` offers is a decision, not an accident."""
    from host import capability

    assert capability.__all__ == [
        "POLICIES",
        "Capability",
        "Chooser",
        "Crossed",
        "Delegation",
        "Dispatch",
        "Heritage",
        "Offered",
        "Policy",
        "Table",
        "Terms",
        "choice_text",
        "context_local",
        "declared",
        "delegates",
        "describe",
        "failure_of",
        "handle",
        "inheriting",
        "repeatable",
        "schemas",
    ]


def test_one_object_under_two_names_is_two_capabilities() -> None:
    """Two instances of one class stand side by side under their own names."""
    assert [c.name for c in Table([Weather(), Weather(name="forecast")]).declared] == ["weather", "forecast"]

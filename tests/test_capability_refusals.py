"""What cannot be offered to an agent is refused where it is declared, with a sentence that says what to write."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import pytest

from host.capability import Capability, Table, delegates
from host.context import Inherited
from host.conversation import Conversation
from host.errors import CapabilityDefinitionError, CapabilityError
from tests.capability_types import Forecast, Unit, Weather


def refusal(define: Callable[[], object]) -> str:
    """The sentence with which a definition is refused."""
    with pytest.raises(CapabilityDefinitionError) as caught:
        define()
    return str(caught.value)


def test_a_public_method_that_is_not_async_is_refused() -> None:
    """The sentence says both ways out."""

    def define() -> None:
        class Weather(Capability):
            def today(self, city: str) -> str:
                return ""

    assert refusal(define) == (
        "Weather.today is public and not async: write `async def today`, or name it `_today` if it is not for agents."
    )


def test_an_async_generator_is_refused() -> None:
    """One call has one answer."""

    def define() -> None:
        class Weather(Capability):
            async def days(self) -> AsyncIterator[str]:
                yield ""

    assert refusal(define) == "Weather.days is an async generator, but a call has one answer: return a list."


def test_a_parameter_without_type_is_refused() -> None:
    """The parameter is named."""

    def define() -> None:
        class Weather(Capability):
            async def today(self, city) -> str:  # type: ignore[no-untyped-def]
                return ""

    assert refusal(define) == "Weather.today: the parameter `city` has no type: write `city: str`, say."


def test_a_missing_return_type_is_refused() -> None:
    """Also where there is nothing to return."""

    def define() -> None:
        class Weather(Capability):
            async def today(self, city: str):  # type: ignore[no-untyped-def]
                return ""

    assert refusal(define) == ("Weather.today has no return type: write `-> str`, or `-> None` if it has no answer.")


def test_a_method_without_self_is_refused() -> None:
    """It could not be called on an object."""

    def define() -> None:
        class Weather(Capability):
            async def today() -> str:  # type: ignore[misc]
                return ""

    assert refusal(define) == "Weather.today has no `self`: write it as the first parameter."


def test_a_positional_only_parameter_is_refused() -> None:
    """Models name their arguments."""

    def define() -> None:
        class Weather(Capability):
            async def today(self, city: str, /) -> str:
                return ""

    assert refusal(define) == (
        "Weather.today: `city` is positional-only: leave out the `/`, so that calls can name it."
    )


def test_an_inherited_that_is_not_keyword_only_is_refused() -> None:
    """A position could be filled by code."""

    def define() -> None:
        class Weather(Capability):
            async def explain(self, question: str, past: Inherited) -> str:
                return ""

    assert refusal(define) == "Weather.explain: `past` must be keyword-only: write `*, past: Inherited`."


def test_an_optional_inherited_is_refused() -> None:
    """Cold is an empty conversation, not None."""

    def define() -> None:
        class Weather(Capability):
            async def explain(self, *, inherited: Inherited | None) -> str:
                return ""

    assert refusal(define) == (
        "Weather.explain: annotate `inherited` with `Inherited` alone; a cold call passes an empty one, never None."
    )


def test_two_inherited_parameters_are_refused() -> None:
    """There is one conversation."""

    def define() -> None:
        class Weather(Capability):
            async def explain(self, *, a: Inherited, b: Inherited) -> str:
                return ""

    assert refusal(define) == "Weather.explain takes the conversation twice: `a` and `b`."


def test_returning_the_conversation_is_refused() -> None:
    """It never goes to agent code."""

    def define() -> None:
        class Weather(Capability):
            async def explain(self, *, inherited: Inherited) -> list[Inherited]:
                return [inherited]

    assert refusal(define) == "Weather.explain returns `Inherited`: the conversation never goes to agent code."


def test_a_parameter_called_context_is_refused() -> None:
    """The word is the choice's everywhere, so that it never means two things to a model."""

    def define() -> None:
        class Weather(Capability):
            async def today(self, context: str) -> str:
                return ""

    assert refusal(define) == (
        "Weather.today: no parameter can be called `context`, "
        "by which calls say how much of the conversation goes along."
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("context", "is the class's default choice"),
        ("dialect", "is the class's words for the choice"),
        ("errors", "lists the exceptions that the class raises"),
        ("blocking", "is how code that is not async calls a method"),
    ],
)
def test_a_tool_with_a_taken_name_is_refused(name: str, why: str) -> None:
    """Names that capability objects have for the program are no tools."""

    async def method(self: object) -> None: ...

    assert refusal(lambda: type("Weather", (Capability,), {name: method})) == (
        f"Weather.{name}: a tool cannot be called `{name}`, which {why}."
    )


def test_a_tool_whose_name_is_a_word_of_python_is_refused() -> None:
    """Code could not call it."""

    async def method(self: object) -> None: ...

    assert refusal(lambda: type("Weather", (Capability,), {"class": method})) == (
        "Weather.class: `class` is a word of Python itself and cannot name a tool."
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("print", "a Weather's name: `print` would hide Python's own `print`."),
        ("class", "a Weather's name: `class` is a word of Python itself."),
        ("a b", "a Weather's name: 'a b' is no public Python name."),
        ("_x", "a Weather's name: '_x' is no public Python name."),
        ("TimeLimit", "a Weather's name: `TimeLimit` means something else in agent code."),
    ],
)
def test_a_name_that_agent_code_could_not_use_is_refused(name: str, sentence: str) -> None:
    """Not an identifier, a word of Python, a builtin, or a name that is taken in agent code."""
    assert refusal(lambda: Weather(name=name)) == sentence


def test_a_class_whose_derived_name_is_taken_is_refused() -> None:
    """The class must be given another name."""

    def define() -> None:
        class Open(Capability): ...

    assert refusal(define) == "Open: the capability's name: `open` would hide Python's own `open`."


def test_a_type_that_cannot_cross_is_refused() -> None:
    """The parameter, the type and what to use instead are named."""

    def define() -> None:
        class Net(Capability):
            async def send(self, through: socket.socket) -> None: ...

    assert refusal(define).startswith("Net.send: the type of `through` is refused: values of type socket cannot cross")


def test_an_annotation_that_names_nothing_is_refused_when_an_instance_is_made() -> None:
    """The name is told."""

    class Lost(Capability):
        async def give(self) -> Nowhere:  # type: ignore[name-defined]  # noqa: F821
            ...

    assert refusal(Lost) == "Lost.give: its types name `Nowhere`, which is not defined where the class is."


def test_an_annotation_that_is_no_type_expression_is_refused() -> None:
    """What Python says of it is passed on."""

    async def give(self: object) -> None: ...

    give.__annotations__["return"] = "list["
    assert refusal(lambda: type("Odd", (Capability,), {"give": give})).startswith(
        "Odd.give: its types cannot be read: "
    )


def test_a_delegates_mark_on_a_method_that_does_not_delegate_is_refused() -> None:
    """The mark would promise a choice that is not there."""

    def define() -> None:
        class Weather(Capability):
            @delegates(context="cold")
            async def today(self, city: str) -> str:
                return ""

    assert refusal(define) == (
        "Weather.today is marked @delegates, but takes no conversation: add `*, inherited: Inherited`, or remove the mark."
    )


def test_an_unknown_default_choice_is_refused() -> None:
    """By the mark and by the class attribute alike."""

    def marked() -> None:
        class Weather(Capability):
            @delegates(context="warm")
            async def explain(self, *, inherited: Inherited) -> str:
                return ""

    def define() -> None:
        class Weather(Capability):
            context = "warm"

    assert refusal(marked) == 'Weather.explain: @delegates: context is "fork" or "cold", not \'warm\'.'
    assert refusal(define) == 'Weather.context is "fork" or "cold", not \'warm\'.'


def test_errors_that_are_no_exceptions_are_refused() -> None:
    """The attribute is a tuple of exception classes."""
    alone, wrong = cast("Any", ValueError), cast("Any", (int,))

    def one() -> None:
        class Weather(Capability):
            errors = alone

    def other() -> None:
        class Weather(Capability):
            errors = wrong

    assert refusal(one) == "Weather.errors is a tuple of exception classes: write `errors = (MyError,)`."
    assert refusal(other) == "Weather.errors holds <class 'int'>, which is no class of exceptions."


def test_an_exception_that_hides_a_builtin_is_refused() -> None:
    """Agent code could not tell them apart."""
    hiding = type("TimeoutError", (Exception,), {})

    def define() -> None:
        class Weather(Capability):
            errors = (hiding,)

    assert refusal(define) == "Weather.errors: `TimeoutError` would hide Python's own `TimeoutError`."


def test_a_docstring_that_speaks_of_the_hidden_parameter_is_refused() -> None:
    """Agents neither see it nor pass it, so no text may tell them of it."""

    def define() -> None:
        class Weather(Capability):
            async def explain(self, *, past: Inherited) -> str:
                """Uses `past` where it helps."""
                return ""

    assert refusal(define) == (
        "Weather.explain: its docstring speaks of `past`, which agents neither see nor pass: "
        "describe what the call does instead."
    )


def test_two_things_under_one_name_are_refused() -> None:
    """Capabilities, exceptions and records share agent code's scope; tools share the model's list."""

    other = type("Forecast", (CapabilityError,), {})

    class Clashing(Capability):
        errors = (other,)

    class Giver(Capability):
        async def give(self) -> list[Forecast]:
            return []

    class Web(Capability):
        async def page_text(self) -> None: ...

    class WebPage(Capability):
        async def text(self) -> None: ...

    assert refusal(lambda: Table([Weather(), Weather()])) == (
        "`weather` would be two things in agent code: the capability Weather and the capability Weather."
    )
    assert refusal(lambda: Table([Clashing(), Giver()])).startswith(
        "`Forecast` would be two things in agent code: the exception "
    )
    assert refusal(lambda: Table([Web(), WebPage()])) == (
        "web_page.text and web.page_text would both be the tool `web_page_text` to a model."
    )


def test_what_is_no_capability_object_is_refused() -> None:
    """A class in place of an object is told apart, since it is the usual mistake."""
    given = cast("Any", Weather)
    assert refusal(lambda: Table([given])).endswith("is no capability: write Weather().")
    assert refusal(lambda: Table([cast("Any", 7)])) == "the object 7 is no capability."


def test_the_base_class_itself_cannot_be_made() -> None:
    """It offers nothing."""
    with pytest.raises(TypeError, match="write a subclass with async methods"):
        Capability()


def test_conversation_is_not_what_a_method_takes() -> None:
    """A parameter annotated with the conversation itself, or with something that holds it, is refused."""

    def define() -> None:
        class Weather(Capability):
            async def explain(self, *, past: Conversation) -> str:
                return ""

    assert refusal(define) == (
        "Weather.explain: the type of `past` is refused: "
        "the conversation never goes through agent code; take it by `*, inherited: Inherited`."
    )


def test_a_record_with_a_field_that_cannot_cross_is_refused() -> None:
    """The field is named: nobody notices it otherwise before the first such value."""

    def define() -> None:
        class Net(Capability):
            async def give(self) -> Line:
                raise NotImplementedError

    assert refusal(define).startswith(
        "Net.give: its return type is refused: Line.end: values of type socket cannot cross"
    )


@dataclass
class Line:
    end: socket.socket


def test_a_default_that_does_not_fit_its_type_is_refused() -> None:
    """The type that a model reads must be true of what the method gets."""

    def define() -> None:
        class Search(Capability):
            async def files(self, limit: int = None) -> list[str]:  # type: ignore[assignment]  # noqa: RUF013
                return []

    assert refusal(define) == ("Search.files: the default of `limit` does not fit its type: expected int, got None.")


def test_a_literal_of_enum_members_is_refused() -> None:
    """Agent code has no enum members to write."""

    def define() -> None:
        class Thermometer(Capability):
            async def read(self, unit: Literal[Unit.CELSIUS]) -> float:
                return 0.0

    assert refusal(define) == (
        "Thermometer.read: the type of `unit` is refused: it is a literal of Unit.CELSIUS, "
        "and agent code has no enum members: write its name as text."
    )

"""What a capability's exception becomes on its way to agent code: never a traceback, never a path of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from guest_stdlib.channel.events import Failure
from host.capability import failure_of
from host.errors import CapabilityError, NeedsClarification, field_names


class QuotaSpent(CapabilityError):
    """No calls are left."""

    remaining: int
    _secret: str

    def __init__(self, remaining: int) -> None:
        super().__init__(f"{remaining} calls are left")
        self.remaining = remaining
        self._secret = "key"
        self.undeclared = "host only"


class Odd(LookupError):
    """An exception that owes nothing to ours."""

    place: str
    never_set: str


class DriverError(Exception):
    """What a library might raise."""


KNOWN = (NeedsClarification, QuotaSpent, Odd)


def crossing(error: Exception) -> tuple[str, str, dict[str, object]]:
    """Type, message and fields of what crosses."""
    failure = failure_of(error, KNOWN)
    assert failure == Failure(kind="script", type=failure.type, message=failure.message, fields=failure.fields)
    return failure.type, failure.message, dict(failure.fields)


def raised(act: Callable[[], object]) -> Exception:
    """The exception that an act ends with."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        act()
    return caught.value


def test_a_declared_exception_crosses_with_its_annotated_attributes() -> None:
    """Public ones that are set; nothing else of it."""
    assert crossing(QuotaSpent(3)) == ("QuotaSpent", "3 calls are left", {"remaining": 3})
    odd = Odd("here")
    odd.place = "x"
    assert crossing(odd) == ("Odd", "here", {"place": "x"})


def test_needs_clarification_tells_question_and_options() -> None:
    """In its message for whoever prints it, and as attributes for code."""
    assert crossing(NeedsClarification("Which Sarah?", ["Chen", "Novak"])) == (
        "NeedsClarification",
        "Which Sarah? Options: Chen; Novak.",
        {"question": "Which Sarah?", "options": ("Chen", "Novak")},
    )
    assert crossing(NeedsClarification("Who?")) == ("NeedsClarification", "Who?", {"question": "Who?", "options": ()})


def test_a_subclass_of_a_declared_exception_crosses_as_the_declared_one() -> None:
    """Agent code knows the declared class, and `except` must catch it."""

    class Worse(QuotaSpent):
        pass

    assert crossing(Worse(0)) == ("QuotaSpent", "0 calls are left", {"remaining": 0})


def test_a_capability_error_crosses_as_it_is() -> None:
    """With the message that was meant for the agent."""
    assert crossing(CapabilityError("the shop at /a/b/c is closed")) == (
        "CapabilityError",
        "the shop at /a/b/c is closed",
        {"type": "CapabilityError"},
    )


def test_an_undeclared_subclass_of_it_crosses_under_its_name() -> None:
    """Agent code catches CapabilityError and may look at `type`."""

    class Closed(CapabilityError):
        pass

    assert crossing(Closed("come back later")) == ("CapabilityError", "come back later", {"type": "Closed"})


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such city"), "no such city"),
        (KeyError("x"), "'x'"),
        (PermissionError("not yours"), "not yours"),
        (FileNotFoundError("there is no notes/a.md in the folder"), "there is no notes/a.md in the folder"),
        (TimeoutError(), ""),
        (ZeroDivisionError("division by zero"), "division by zero"),
        (NotImplementedError("not for mailing lists"), "not for mailing lists"),
    ],
)
def test_a_built_in_exception_crosses_as_it_is(error: Exception, message: str) -> None:
    """`except` catches it by the name that every Python has."""
    assert crossing(error) == (type(error).__name__, message, {})


def test_a_path_that_the_operating_system_put_into_a_message_stays_here() -> None:
    """Only what went wrong crosses."""
    error = raised(lambda: Path("/nonexistent/of/this/machine").read_text())
    assert crossing(error) == ("FileNotFoundError", "No such file or directory", {})


@pytest.mark.parametrize(
    "error",
    [
        NameError("name 'x' is not defined"),
        ImportError("no module"),
        AssertionError("impossible"),
        MemoryError("full"),
        RecursionError("deep"),
        SyntaxError("bad"),
        StopIteration("end"),
    ],
)
def test_a_fault_of_the_capabilitys_own_code_does_not_read_as_one_of_the_agents(error: Exception) -> None:
    """A NameError at the agent's await would accuse the agent's line."""
    kind = type(error).__name__
    assert crossing(error) == ("CapabilityError", f"{kind}: {error}", {"type": kind})


def test_an_unknown_exception_crosses_as_a_capability_error_that_names_it() -> None:
    """The class's name stands before the message and in `type`."""
    assert crossing(DriverError("gone")) == ("CapabilityError", "DriverError: gone", {"type": "DriverError"})
    assert crossing(DriverError()) == ("CapabilityError", "DriverError", {"type": "DriverError"})
    error = raised(lambda: json.loads("{"))
    assert crossing(error)[0] == "CapabilityError"
    assert crossing(error)[1].startswith("JSONDecodeError: Expecting property name")


def test_a_class_that_only_bears_a_built_in_name_is_not_taken_for_it() -> None:
    """Agent code that catches TimeoutError does not catch a stranger."""
    stranger = type("TimeoutError", (Exception,), {})("late")
    assert crossing(stranger) == ("CapabilityError", "TimeoutError: late", {"type": "TimeoutError"})


@pytest.mark.parametrize(
    ("said", "crosses"),
    [
        ("cannot open /home/bob/.cache/app/data.db", "cannot open data.db"),
        ("cannot open '/srv/app/x.py', line 3", "cannot open 'x.py', line 3"),
        (r"cannot open C:\Users\bob\data.db", "cannot open data.db"),
        ("cannot open ~/private/keys", "cannot open keys"),
        ("see file:///home/bob/a.txt", "see a.txt"),
        ("GET https://example.org/a/b/c failed", "GET https://example.org/a/b/c failed"),
        ("and/or, 1/2, a/b/c", "and/or, 1/2, a/b/c"),
        ("/tmp", "/tmp"),
    ],
)
def test_absolute_paths_in_the_message_of_an_unknown_exception_are_shortened(said: str, crosses: str) -> None:
    """To their last part; addresses of the web and relative paths stay."""
    assert crossing(DriverError(said))[1] == f"DriverError: {crosses}"


def test_a_timeout_of_trio_is_a_timeout() -> None:
    """Agent code knows TimeoutError."""
    assert crossing(trio.TooSlowError()) == ("TimeoutError", "The capability took too long.", {})


def test_a_group_of_one_is_the_one() -> None:
    """A nursery wraps what a single task of it raised, at any depth."""
    nested = ExceptionGroup("outer", [ExceptionGroup("inner", [QuotaSpent(1)])])
    assert crossing(nested) == ("QuotaSpent", "1 calls are left", {"remaining": 1})


def test_a_group_of_several_tells_them_all() -> None:
    """As one CapabilityError."""
    group = ExceptionGroup("", [ValueError("a"), DriverError("b"), QuotaSpent(0)])
    assert crossing(group) == (
        "CapabilityError",
        "3 errors: ValueError: a; DriverError: b; QuotaSpent: 0 calls are left",
        {"type": "ExceptionGroup"},
    )


def test_a_long_message_is_cut_with_the_count_of_what_is_missing() -> None:
    """It must fit into a frame and into a model's context."""
    message = crossing(ValueError("x" * 5000))[1]
    assert message == "x" * 4000 + " … (1,000 more characters)"


def test_an_exception_whose_text_fails_still_crosses() -> None:
    """By its name."""

    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert crossing(Broken()) == ("CapabilityError", "Broken", {"type": "Broken"})


def test_the_field_names_of_an_exception_are_its_public_annotations() -> None:
    """Its parents' first; `type` counts for CapabilityError alone."""

    class Narrower(QuotaSpent):
        until: str

    assert field_names(Narrower) == ("remaining", "until")
    assert field_names(CapabilityError) == ("type",)
    assert field_names(ValueError) == ()
    assert CapabilityError("x", type="Y").fields == {"type": "Y"}
    assert QuotaSpent(2).fields == {"remaining": 2}

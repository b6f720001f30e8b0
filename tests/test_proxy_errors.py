"""Row 6 of the usual mistakes: a capability's failure is an exception that code catches by name. And the records that it gives."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from guest_stdlib.channel.events import Failure
from guest_stdlib.declared import DeclaredError, DeclaredRecord
from guest_stdlib.exceptions import CapabilityError, DeclaredException, error_class, failure_to_exception
from guest_stdlib.records import record_class
from tests.proxy_session import CONTACT, UNCLEAR, Session

CONTACT_CLASS: Any = record_class(CONTACT)
UNCLEAR_CLASS: Any = error_class(UNCLEAR)


def failing(kind: str, message: str = "no", **fields: object) -> Failure:
    return Failure(kind="script", type=kind, message=message, fields=fields)


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


def test_mistake_06_a_declared_failure_is_caught_by_its_name_with_its_fields(session: Session) -> None:
    """The class is in scope; message and fields are the host's."""
    session.answer = lambda _: failing("NeedsClarification", "Which one?", question="Which one?", options=["A", "B"])
    code = (
        "try:\n"
        "    found = await contacts.ask('Sarah?')\n"
        "except NeedsClarification as unclear:\n"
        "    found = (str(unclear), unclear.question, unclear.options)\n"
        "found"
    )
    assert session.run(code) == ("Which one?", "Which one?", ["A", "B"])


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\ntry:\n    await asyncio.gather(contacts.ask('A'), contacts.find('B'))\nexcept {0} as e:\n    caught = e\ncaught",
        (
            "import asyncio\ntry:\n    async with asyncio.TaskGroup() as group:\n        group.create_task(contacts.ask('A'))\n"
            "except* {0} as e:\n    caught = e.exceptions[0]\ncaught"
        ),
        "try:\n    [await contacts.ask(name) for name in 'AB']\nexcept {0} as e:\n    caught = e\ncaught",
        "try:\n    contacts.ask.blocking('A')\nexcept {0} as e:\n    caught = e\ncaught",
        "import asyncio\nasync def main():\n    try:\n        return contacts.ask.blocking('A')\n    except {0} as e:\n        return e\nawait main()",
        "import asyncio\n(await asyncio.gather(contacts.ask('A'), return_exceptions=True))[0]",
        "import asyncio\ntask = asyncio.create_task(contacts.ask('A'))\nawait asyncio.wait([task])\ntask.exception()",
    ],
)
@pytest.mark.parametrize("kind", ["NeedsClarification", "ValueError", "KeyError", "TimeoutError", "CapabilityError"])
def test_mistake_06_a_failure_is_caught_wherever_cpython_would_raise_it(session: Session, code: str, kind: str) -> None:
    """In gather, TaskGroup, comprehensions and blocking calls; never a value that looks like an answer."""
    session.answer = lambda _: failing(kind)
    caught = session.run(code.format(kind))
    assert type(caught).__name__ == kind
    assert str(caught) == "no"


@pytest.mark.parametrize(
    ("kind", "message", "caught"),
    [
        ("ValueError", "no such day", ValueError),
        ("KeyError", "'Oslo'", KeyError),
        ("KeyError", "no such city", KeyError),
        ("LookupError", "", LookupError),
        ("TimeoutError", "too slow", TimeoutError),
        ("PermissionError", "[Errno 13] Permission denied: 'x'", PermissionError),
        ("FileNotFoundError", "report.pdf is not there", FileNotFoundError),
        ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0xff", UnicodeDecodeError),
        ("UnicodeDecodeError", "bad bytes", ValueError),
        ("SyntaxError", "not a query", SyntaxError),
        ("ZeroDivisionError", "division by zero", ArithmeticError),
        ("StopIteration", "", CapabilityError),
        ("StopAsyncIteration", "", CapabilityError),
        ("ExceptionGroup", "two failed (2 sub-exceptions)", CapabilityError),
        ("SystemExit", "0", CapabilityError),
        ("KeyboardInterrupt", "", CapabilityError),
        ("print", "no exception at all", CapabilityError),
        ("ServerBusy", "try later", CapabilityError),
        ("", "", CapabilityError),
    ],
)
def test_mistake_06_a_failure_becomes_the_exception_of_its_name(
    kind: str, message: str, caught: type[Exception]
) -> None:
    """A builtin exception of that name, if it is an ordinary one; else CapabilityError, which says what it was."""
    error = failure_to_exception(failing(kind, message), {})
    assert isinstance(error, caught)
    assert isinstance(error, Exception)
    assert str(error) == message
    assert type(error).__name__ == (kind if caught is not CapabilityError else "CapabilityError")
    assert caught is not CapabilityError or getattr(error, "type", None) == kind


def test_mistake_06_the_key_of_a_key_error_is_the_key(session: Session) -> None:
    """`error.args[0]` is what the host's exception had, where its text shows it."""
    error = failure_to_exception(failing("KeyError", "'Oslo'"), {})
    assert error.args == ("Oslo",)


def test_mistake_06_fields_become_attributes_that_change_no_message() -> None:
    """Names that are no attribute, or belong to the exception itself, are left out."""
    fields = {
        "retry_after": 3,
        "errno": 5,
        "strerror": "x",
        "args": (),
        "__class__": int,
        "no name": 1,
        "_hidden": 2,
        "class": 3,
    }
    error: Any = failure_to_exception(failing("OSError", "busy", **fields), {})
    assert str(error) == "busy"
    assert error.retry_after == 3
    assert type(error) is OSError
    assert error.args == ("busy",)
    assert not hasattr(error, "_hidden")
    assert not hasattr(error, "class")


def test_mistake_06_a_name_that_code_rebinds_does_not_change_what_is_raised(session: Session) -> None:
    """The classes are those of the session, not whatever the name stands for by then."""
    session.answer = lambda _: failing("NeedsClarification")
    original = session.scope["NeedsClarification"]
    session.run("NeedsClarification = ValueError")
    assert type(session.fail("await contacts.ask('A')")) is original


def test_a_declared_error_can_be_made_by_code_too() -> None:
    """Its constructor takes a message and the fields as keywords; what is left out is None."""
    error = UNCLEAR_CLASS("Which one?", options=["A"])
    assert (str(error), error.question, error.options, error.args) == ("Which one?", None, ["A"], ("Which one?",))
    assert str(UNCLEAR_CLASS(message="Which one?")) == "Which one?"
    assert str(UNCLEAR_CLASS()) == ""
    assert repr(error) == "NeedsClarification('Which one?')"
    assert UNCLEAR_CLASS.__doc__ == "The request can mean several things."
    assert issubclass(UNCLEAR_CLASS, DeclaredException)
    with pytest.raises(
        TypeError, match=r"^NeedsClarification\(\) got an unexpected argument 'choices'; it takes question=, options=$"
    ):
        UNCLEAR_CLASS("Which one?", choices=[])
    match error:
        case UNCLEAR_CLASS(question, options):
            assert (question, options) == (None, ["A"])


def test_a_declared_error_takes_its_fields_in_order_as_well() -> None:
    """As the class that it is named after does; too many are refused under its own name."""
    error = UNCLEAR_CLASS("Which one?", ["A", "B"])
    assert (str(error), error.question, error.options) == ("Which one?", "Which one?", ["A", "B"])
    with pytest.raises(TypeError, match=r"^NeedsClarification\(\) takes a message, or question, options$"):
        UNCLEAR_CLASS("Which one?", ["A"], 3)


def test_a_declared_error_may_have_a_field_called_message() -> None:
    """Then the keyword is the field."""
    kind: Any = error_class(DeclaredError(name="Refused", fields=("message",)))
    assert kind("no", message="why").message == "why"
    assert str(kind("no", message="why")) == "no"


def test_a_declared_error_is_copied_with_its_fields() -> None:
    """Copies keep message and fields."""
    error = UNCLEAR_CLASS("Which one?", options=["A"])
    copied = copy.copy(error)
    assert (str(copied), copied.options) == ("Which one?", ["A"])


def test_capability_error_says_what_it_was() -> None:
    """Message and the name of the exception on the other side."""
    error = CapabilityError("try later", type="ServerBusy")
    assert (str(error), error.type) == ("try later", "ServerBusy")


# Records


def test_r56_a_record_is_a_dataclass() -> None:
    """Construction, repr, equality, match and the dataclasses module work as with the real one."""
    sarah = CONTACT_CLASS("Sarah", email="s@b.c")
    assert repr(sarah) == "Contact(name='Sarah', email='s@b.c')"
    assert sarah == CONTACT_CLASS(name="Sarah", email="s@b.c")
    assert sarah != CONTACT_CLASS("Sarah", None)
    assert sarah != ("Sarah", "s@b.c")
    assert [dataclasses.is_dataclass(each) for each in (sarah, CONTACT_CLASS)] == [True, True]
    assert [field.name for field in dataclasses.fields(sarah)] == ["name", "email"]
    assert dataclasses.asdict(sarah) == {"name": "Sarah", "email": "s@b.c"}
    assert dataclasses.astuple(sarah) == ("Sarah", "s@b.c")
    assert dataclasses.replace(sarah, name="Sara").name == "Sara"
    assert sarah.__replace__(name="Sara") == CONTACT_CLASS("Sara", "s@b.c")
    assert copy.deepcopy(sarah) == sarah
    assert vars(sarah) == {"name": "Sarah", "email": "s@b.c"}
    assert str(inspect.signature(CONTACT_CLASS)) == "(name, email)"
    match sarah:
        case CONTACT_CLASS(name, email=email):
            assert (name, email) == ("Sarah", "s@b.c")


def test_r56_a_record_takes_what_either_kind_of_dataclass_takes() -> None:
    """Fields can be set, and records stand in sets and as keys by value."""
    sarah = CONTACT_CLASS("Sarah", "s@b.c")
    assert len({sarah, CONTACT_CLASS("Sarah", "s@b.c")}) == 1
    sarah.email = "new@b.c"
    assert sarah.email == "new@b.c"
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(CONTACT_CLASS("Sarah", []))


def test_r56_records_nest_and_subclass() -> None:
    """asdict goes into fields, and code may derive a dataclass of its own from a record."""
    outer: Any = record_class(DeclaredRecord(name="Team", fields=("lead", "members")))
    team = outer(CONTACT_CLASS("A", "a"), [CONTACT_CLASS("B", "b")])
    assert dataclasses.asdict(team) == {"lead": {"name": "A", "email": "a"}, "members": [{"name": "B", "email": "b"}]}

    @dataclasses.dataclass
    class Colleague(CONTACT_CLASS):  # type: ignore[misc]
        team: str

    colleague: Any = Colleague("A", "a", "b")
    assert dataclasses.asdict(colleague) == {"name": "A", "email": "a", "team": "b"}
    team.lead = team
    assert repr(team) == "Team(lead=..., members=[Contact(name='B', email='b')])"


def test_a_record_without_fields_is_one_too() -> None:
    """Nothing is shared between such classes."""
    one: Any = record_class(DeclaredRecord(name="One"))
    other: Any = record_class(DeclaredRecord(name="Other"))
    assert dataclasses.asdict(one()) == {}
    assert one() == one()
    assert one() != other()
    assert repr(one()) == "One()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"args": ("a", "b", "c")},
            "Contact() takes 2 fields but 3 were given. The fields of Contact are name, email.",
        ),
        ({"kwargs": {"nam": "a"}}, "Contact() got an unexpected field 'nam'. The fields of Contact are name, email."),
        ({"args": ("a",), "kwargs": {"name": "b"}}, "Contact() got multiple values for field 'name'"),
        ({"args": ("a",)}, "Contact() is missing 'email'. The fields of Contact are name, email."),
    ],
)
def test_mistake_05_a_record_made_wrong_names_its_fields(arguments: dict[str, Any], message: str) -> None:
    """As with calls: what was wrong, and what there is."""
    with pytest.raises(TypeError) as caught:
        CONTACT_CLASS(*arguments.get("args", ()), **arguments.get("kwargs", {}))
    assert str(caught.value) == message


def test_a_record_is_pickled_by_the_name_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the session its class is found under that name."""
    monkeypatch.setattr(__import__("sys").modules["__main__"], "Contact", CONTACT_CLASS, raising=False)
    sarah = CONTACT_CLASS("Sarah", "s@b.c")
    assert pickle.loads(pickle.dumps(sarah)) == sarah

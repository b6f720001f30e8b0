"""R56: a proxy looks like the object that it stands for."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from guest_stdlib.declared import Declared, Method
from tests.proxy_session import Session, parameter


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


def test_r56_a_proxy_shows_what_the_object_would_show(session: Session) -> None:
    """Type, names, documentation and representation are the capability's."""
    contacts: Any = session.scope["contacts"]
    assert type(contacts).__name__ == "contacts"
    assert repr(contacts) == "<contacts: find, ask>"
    assert repr(contacts.find) == "<bound method contacts.find of <contacts: find, ask>>"
    assert [name for name in dir(contacts) if not name.startswith("_")] == ["ask", "find"]
    assert contacts.__doc__ == "The people that the user knows."
    assert contacts.find.__doc__ == "The contacts of that name."
    assert (contacts.find.__name__, contacts.find.__qualname__) == ("find", "contacts.find")
    assert contacts.find.__self__ is contacts
    assert contacts.find.__annotations__ == {"name": "str", "return": "list[Contact]"}
    assert hasattr(contacts, "find")
    assert not hasattr(contacts, "nothing")
    assert getattr(contacts, "nothing", 3) == 3
    assert callable(contacts.find)
    assert not callable(contacts)


def test_r56_signatures_are_those_of_the_declaration_with_the_choice_of_context(session: Session) -> None:
    """inspect.signature gives real parameters; the parameter that takes the conversation is not there."""
    contacts: Any = session.scope["contacts"]
    signature = inspect.signature(contacts.ask)
    assert str(signature) == "(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact"
    assert list(signature.parameters) == ["question", "context"]
    assert signature.parameters["context"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["context"].default == "fork"
    assert signature.bind("Sarah?", context="cold").arguments == {"question": "Sarah?", "context": "cold"}
    assert str(inspect.signature(contacts.find)) == "(name: str) -> list[Contact]"
    assert str(inspect.signature(type(contacts).find)) == "(self, name: str) -> list[Contact]"
    assert str(inspect.signature(contacts.find.blocking)) == "(name: str) -> list[Contact]"
    search: Any = session.scope["search"]
    assert inspect.signature(search.files).parameters["limit"].default == 10


def test_r56_a_default_that_is_no_literal_shows_as_it_was_written() -> None:
    """What cannot be evaluated here is still readable."""
    session = Session(
        Declared(
            name="clock", methods=(Method(name="at", parameters=(parameter("zone", "Zone", default="Zone.UTC"),)),)
        )
    )
    clock: Any = session.scope["clock"]
    assert str(inspect.signature(clock.at)) == "(zone: Zone = Zone.UTC) -> Any"


def test_r56_inspect_takes_methods_for_what_they_are(session: Session) -> None:
    """Methods are bound methods and coroutine functions; the blocking form is neither awaited nor taken for that."""
    contacts: Any = session.scope["contacts"]
    assert not inspect.iscoroutinefunction(contacts.find.blocking)
    assert inspect.iscoroutinefunction(contacts.find)
    assert inspect.isroutine(contacts.find)
    assert inspect.ismethod(contacts.find)
    assert [name for name, _ in inspect.getmembers(contacts, inspect.ismethod)] == [
        "__getattr__",
        "__reduce__",
        "__repr__",
        "ask",
        "find",
    ]


def test_r56_help_reads_like_that_of_a_class(session: Session) -> None:
    """help() shows methods with their signatures and documentation, and no word of how they are made."""
    contacts: Any = session.scope["contacts"]
    plain = vars(pydoc)["plaintext"]
    whole = pydoc.render_doc(contacts, renderer=plain)
    assert "class contacts(builtins.object)\n |  The people that the user knows." in whole
    assert "async ask(self, question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact" in whole
    assert "The one contact that a question is about." in whole
    one = pydoc.render_doc(contacts.find, renderer=plain)
    assert "async find(name: str) -> list[Contact]" in one
    assert "The contacts of that name." in one
    assert "guest_stdlib" not in whole + one
    assert "oken" not in whole + one


def test_r56_proxies_can_be_compared_kept_and_copied(session: Session) -> None:
    """They are values like any object: equal to themselves, hashable, and copied by being themselves."""
    contacts: Any = session.scope["contacts"]
    assert contacts == contacts
    assert contacts != session.scope["search"]
    assert {contacts: 1}[contacts] == 1
    assert contacts.find == contacts.find
    assert {contacts.find: 1}[contacts.find] == 1
    assert copy.copy(contacts) is contacts
    assert copy.deepcopy({"of": contacts})["of"] is contacts
    assert copy.deepcopy(contacts.find) == contacts.find


def test_r56_a_proxy_is_pickled_as_the_name_that_it_has_in_the_session(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpickled in the session it is the same object."""
    contacts: Any = session.scope["contacts"]
    monkeypatch.setattr(sys.modules["__main__"], "contacts", contacts, raising=False)
    assert pickle.loads(pickle.dumps(contacts)) is contacts
    assert pickle.loads(pickle.dumps(contacts.find)) == contacts.find

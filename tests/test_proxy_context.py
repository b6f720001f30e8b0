"""R53 to R55: the inherited conversation travels with calls, and code can only choose whether it does."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator

import pytest

from guest_stdlib.pending import PendingCall
from tests.proxy_session import TOKEN, Made, Session


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


def test_r53_a_plain_call_of_a_delegating_method_takes_the_conversation_along(session: Session) -> None:
    """Code calls as usual; the call is marked as one that takes the conversation, with no choice made."""
    assert session.run('await contacts.ask("Sarah?")') == "contacts.ask('Sarah?',)"
    assert session.made == [Made(path="contacts.ask", args=("Sarah?",), kwargs={}, delegates=True)]


def test_r54_only_calls_that_accept_the_conversation_are_marked(session: Session) -> None:
    """A method that does not delegate, and a capability of which nothing is declared, are never marked."""
    session.run(
        'await contacts.find("Sarah")\nawait contacts.ask("Sarah?")\nawait lookup(1)\nawait lookup.ask(context="cold")'
    )
    assert [(made.path, made.delegates) for made in session.made] == [
        ("contacts.find", False),
        ("contacts.ask", True),
        ("lookup", False),
        ("lookup.ask", False),
    ]


def test_r54_the_blocking_form_is_marked_like_the_awaited_one(session: Session) -> None:
    """Blocking or not makes no difference to what travels."""
    session.run('contacts.find.blocking("Sarah")\ncontacts.ask.blocking("Sarah?", context="cold")')
    assert [(made.path, made.context, made.delegates) for made in session.made] == [
        ("contacts.find", {}, False),
        ("contacts.ask", {"context": "cold"}, True),
    ]


@pytest.mark.parametrize("context", ["fork", "cold"])
def test_r55_code_chooses_only_the_context_of_a_call(session: Session, context: str) -> None:
    """The choice crosses beside the arguments, not among them."""
    session.run(f'await contacts.ask("Sarah?", context="{context}")')
    assert session.made == [
        Made(path="contacts.ask", args=("Sarah?",), kwargs={}, context={"context": context}, delegates=True)
    ]


@pytest.mark.parametrize("name", ["token", "inherited", "conversation", "delegates", "path", "_token"])
def test_r55_code_cannot_hand_over_a_token_of_its_own(session: Session, name: str) -> None:
    """The names by which the conversation travels are arguments that do not exist."""
    error = session.fail(f'await contacts.ask("Sarah?", {name}="mine")')
    assert str(error).startswith(
        f"contacts.ask() got an unexpected keyword argument '{name}'. Signature: contacts.ask("
    )
    assert session.made == []


def test_r55_nothing_that_proxies_and_calls_show_leads_to_the_token_or_the_runtime(session: Session) -> None:
    """No attribute, slot, closure, default or traceback of a proxy, method, call or refusal leads there."""
    call = session.run('contacts.ask("Sarah?")')
    refusal = session.fail("contacts.ask(7)")
    unknown = session.fail('contacts.fnd("x")')
    roots = [session.scope["contacts"], session.scope["lookup"], call, refusal, unknown]
    roots.append(session.run("lookup.by.name"))
    reached = list(_reachable(roots))
    assert {PendingCall.__name__, "contacts", "lookup"} <= {type(found).__name__ for found in reached}
    assert any(isinstance(found, dict) and "blocking" in found for found in reached)
    assert not [found for found in reached if isinstance(found, Session)]
    assert not [found for found in reached if isinstance(found, str) and TOKEN in found]
    call.close()


def _reachable(roots: list[object]) -> Iterator[object]:
    """What ordinary introspection of our own objects finds from here, short of walking into modules and their globals."""
    seen: dict[int, object] = {}
    waiting = list(roots)
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        waiting += _parts(found)


def _parts(found: object) -> list[object]:
    match found:
        case dict() | types.MappingProxyType():
            return [*found.keys(), *found.values()]
        case list() | tuple() | set() | frozenset():
            return list(found)
        case types.MethodType():
            return [found.__self__, found.__func__]
        case types.FunctionType():
            cells = [cell.cell_contents for cell in found.__closure__ or ()]
            return [*cells, found.__defaults__, found.__kwdefaults__, found.__annotations__, vars(found)]
        case types.TracebackType():
            below = str(found.tb_frame.f_globals.get("__name__")).startswith(
                ("guest_stdlib.proxy", "guest_stdlib.pending")
            )
            return [found.tb_next, dict(found.tb_frame.f_locals) if below else None]
        case type() if found.__module__.startswith(("guest_stdlib", "__main__")):
            return [vars(found), *found.__mro__]
        case BaseException():
            return [found.args, found.__traceback__, found.__cause__, found.__context__, vars(found)]
        case functools.partial():
            return [found.func, found.args, found.keywords]
    kind = type(found)
    if not kind.__module__.startswith(("guest_stdlib", "__main__", "functools")):
        return []
    slots = [
        each for base in kind.__mro__ for each in vars(base).values() if isinstance(each, types.MemberDescriptorType)
    ]
    values = [value for slot in slots if (value := _value(slot, found)) is not None]
    return [kind, getattr(found, "__dict__", None), *values]


def _value(slot: types.MemberDescriptorType, found: object) -> object:
    try:
        return slot.__get__(found)
    except AttributeError:
        return None


def test_r55_a_capability_cannot_be_changed_into_something_else(session: Session) -> None:
    """Its attributes, and those of its type, refuse to be set and deleted."""
    assert str(session.fail("contacts.find = print")) == "'contacts' object attribute 'find' is read-only"
    assert str(session.fail("contacts.token = 1")).startswith("'contacts' object has no attribute 'token'")
    assert str(session.fail("del contacts.find")) == "'contacts' object attribute 'find' is read-only"
    assert str(session.fail("contacts.find.blocking = print")).startswith("'method' object has no attribute 'blocking'")
    assert str(session.fail("type(contacts).find = print")) == "contacts.find cannot be set: contacts is a capability."
    assert str(session.fail("del type(contacts).find")) == "contacts.find cannot be deleted: contacts is a capability."
    assert session.hint("contacts.find = print") == (
        "contacts is a capability and cannot be changed. Keep the value in a name of your own: find = ..."
    )

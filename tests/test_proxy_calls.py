"""The proxies from the agent's side: what calls do, what travels with them, and that nothing else can be seen."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle
import pydoc
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from guest_stdlib.channel.events import Failure
from guest_stdlib.declared import Declared, Method
from guest_stdlib.pending import PendingCall
from tests.proxy_session import LOOKUP, NEVER, TOKEN, Made, Session, parameter, shown


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


# R53 to R55: the inherited conversation


def test_r53_a_plain_call_of_a_delegating_method_takes_the_conversation_along(session: Session) -> None:
    """Code calls as usual; the call is marked as one that takes the conversation, with no choice made."""
    assert session.run('await contacts.ask("Sarah?")') == "contacts.ask('Sarah?',)"
    assert session.made == [Made(path="contacts.ask", args=("Sarah?",), kwargs={}, context=None, delegates=True)]


def test_r54_only_calls_that_accept_the_conversation_are_marked(session: Session) -> None:
    """A method that does not delegate, and a capability of which nothing is declared, are never marked."""
    session.run('await contacts.find("Sarah")\nawait contacts.ask("Sarah?")\nawait lookup(1)\nawait lookup.ask(context="cold")')
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
        ("contacts.find", None, False),
        ("contacts.ask", "cold", True),
    ]


@pytest.mark.parametrize("context", ["fork", "cold"])
def test_r55_code_chooses_only_the_context_of_a_call(session: Session, context: str) -> None:
    """The choice crosses beside the arguments, not among them."""
    session.run(f'await contacts.ask("Sarah?", context="{context}")')
    assert session.made == [Made(path="contacts.ask", args=("Sarah?",), kwargs={}, context=context, delegates=True)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["token", "inherited", "conversation", "delegates", "path", "_token"])
def test_r55_code_cannot_hand_over_a_token_of_its_own(session: Session, name: str) -> None:
    """The names by which the conversation travels are arguments that do not exist."""
    error = session.fail(f'await contacts.ask("Sarah?", {name}="mine")')
    assert str(error).startswith(f"contacts.ask() got an unexpected keyword argument '{name}'. Signature: contacts.ask(")
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
            below = str(found.tb_frame.f_globals.get("__name__")).startswith(("guest_stdlib.proxy", "guest_stdlib.pending"))
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
    slots = [each for base in kind.__mro__ for each in vars(base).values() if isinstance(each, types.MemberDescriptorType)]
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


# R56: as the object itself would be


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
        Declared(name="clock", methods=(Method(name="at", parameters=(parameter("zone", "Zone", default="Zone.UTC"),)),))
    )
    clock: Any = session.scope["clock"]
    assert str(inspect.signature(clock.at)) == "(zone: Zone = Zone.UTC) -> Any"


def test_r56_inspect_takes_methods_for_what_they_are(session: Session) -> None:
    """Methods are bound methods and coroutine functions; the blocking form is neither awaited nor taken for that."""
    contacts: Any = session.scope["contacts"]
    assert inspect.ismethod(contacts.find)
    assert inspect.isroutine(contacts.find)
    assert inspect.iscoroutinefunction(contacts.find)
    assert not inspect.iscoroutinefunction(contacts.find.blocking)
    assert [name for name, _ in inspect.getmembers(contacts, inspect.ismethod)] == ["__getattr__", "__reduce__", "__repr__", "ask", "find"]


def test_r56_help_reads_like_that_of_a_class(session: Session) -> None:
    """help() shows methods with their signatures and documentation, and no word of how they are made."""
    contacts: Any = session.scope["contacts"]
    whole = pydoc.render_doc(contacts, renderer=pydoc.plaintext)
    assert "class contacts(builtins.object)\n |  The people that the user knows." in whole
    assert "async ask(self, question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact" in whole
    assert "The one contact that a question is about." in whole
    one = pydoc.render_doc(contacts.find, renderer=pydoc.plaintext)
    assert "async find(name: str) -> list[Contact]" in one
    assert "The contacts of that name." in one
    assert "guest_stdlib" not in whole + one
    assert "oken" not in whole + one


def test_r56_proxies_can_be_compared_kept_and_copied(session: Session) -> None:
    """They are values like any object: equal to themselves, hashable, and copied by being themselves."""
    contacts: Any = session.scope["contacts"]
    assert contacts == contacts  # noqa: PLR0124
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


@pytest.mark.parametrize(
    "code",
    [
        'await contacts.find("A")',
        'call = contacts.find("A")\nawait call',
        "find = contacts.find\nawait find('A')",
        'import asyncio\n(await asyncio.gather(contacts.find("A")))[0]',
        'import asyncio\nawait asyncio.create_task(contacts.find("A"))',
        'import asyncio\nawait asyncio.ensure_future(contacts.find("A"))',
        'import asyncio\nawait asyncio.wait_for(contacts.find("A"), 60)',
        'import asyncio\nawait asyncio.shield(contacts.find("A"))',
        'import asyncio\nasync with asyncio.timeout(60):\n    found = await contacts.find("A")\nfound',
        'import asyncio\n[await each for each in asyncio.as_completed([contacts.find("A")])][0]',
        'import asyncio\nasync with asyncio.TaskGroup() as group:\n    task = group.create_task(contacts.find("A"))\ntask.result()',
        'import asyncio\ndone, _ = await asyncio.wait([asyncio.create_task(contacts.find("A"))])\ndone.pop().result()',
        '[await contacts.find(name) for name in "A"][0]',
        '{name: await contacts.find(name) for name in "A"}["A"]',
        '[found async for found in (await contacts.find(name) for name in "A")][0]',
        'async def f():\n    return await contacts.find("A")\nawait f()',
        'async def f():\n    yield await contacts.find("A")\n[found async for found in f()][0]',
        'import functools\nawait functools.partial(contacts.find, "A")()',
        'async def main():\n    return contacts.find.blocking("A")\nawait main()',
        'contacts.find.blocking("A")',
        "await getattr(contacts, 'find')('A')",
        "await (lambda name: contacts.find(name))('A')",
        "import asyncio\nawait asyncio.gather(*map(contacts.find, 'A')) and contacts.find.blocking('A')",
    ],
)
def test_r56_a_call_works_wherever_a_coroutine_does(session: Session, code: str) -> None:
    """await, gather, tasks, groups, timeouts, comprehensions, generators, partials, and the blocking form."""
    assert session.run(code) == "contacts.find('A',)"
    assert session.unawaited.sentences() == []


def test_r56_calls_in_a_gather_are_made_at_once(session: Session) -> None:
    """All of them are on their way before the first answer comes."""
    session.run('import asyncio\nawait asyncio.gather(*[contacts.find(str(n)) for n in range(100)])')
    assert session.rounds == [100]


def test_r56_a_call_is_lazy_as_a_coroutine_is(session: Session) -> None:
    """Nothing crosses before the first await, and a call that is closed never crosses."""
    call = session.run('contacts.find("A")')
    assert session.made == []
    call.close()
    assert session.unawaited.sentences() == []
    with pytest.raises(RuntimeError, match="^cannot reuse already awaited coroutine$"):
        call.send(None)
    assert session.made == []


def test_r56_a_call_can_be_awaited_once(session: Session) -> None:
    """As CPython says it, with a hint."""
    code = 'call = contacts.find("A")\nawait call\nawait call'
    assert shown(session.fail(code)) == "RuntimeError: cannot reuse already awaited coroutine"
    assert session.hint(code) == "A call can be awaited once. Keep its answer in a name, or write the call again."


def test_r56_inspect_and_asyncio_take_a_call_for_an_awaitable(session: Session) -> None:
    """It is a coroutine for all that asks."""
    call = session.run('contacts.find("A")')
    assert asyncio.iscoroutine(call)
    assert inspect.isawaitable(call)
    assert type(call).__name__ == "coroutine"
    with pytest.raises(TypeError, match="^cannot pickle 'coroutine' object$"):
        pickle.dumps(call)
    with pytest.raises(TypeError, match="^cannot pickle 'coroutine' object$"):
        copy.copy(call)
    call.close()


def test_r56_an_exception_thrown_into_a_call_that_was_not_made_comes_back(session: Session) -> None:
    """As from a coroutine that has not begun: the call is then never made."""
    call = session.run('contacts.find("A")')
    with pytest.raises(ValueError, match="^stop$"):
        call.throw(ValueError("stop"))
    assert session.made == []
    assert session.unawaited.sentences() == []


def test_r56_a_timeout_gives_the_call_up() -> None:
    """Cancelling whoever waits cancels the call."""
    session = Session(answer=lambda _: NEVER)
    error = session.fail('import asyncio\nasync with asyncio.timeout(0):\n    await contacts.find("A")')
    assert type(error) is TimeoutError
    error = session.fail('import asyncio\nawait asyncio.wait_for(contacts.find("A"), 0.001)')
    assert type(error) is TimeoutError
    assert session.given_up == [made.path for made in session.made]
    session.close()


def test_r56_a_task_that_never_ran_makes_no_call(session: Session) -> None:
    """Cancelled before its first turn, it ends as any task does."""
    code = 'import asyncio\ntask = asyncio.create_task(contacts.find("A"))\ntask.cancel()\nawait task'
    assert type(session.fail(code)) is asyncio.CancelledError
    assert session.made == []


def test_r56_a_traceback_through_a_call_has_only_the_agents_frames(session: Session) -> None:
    """An answer that is an exception is raised at the await, as from any coroutine."""
    session.answer = lambda _: Failure(kind="script", type="ValueError", message="no")
    error = session.fail('async def f():\n    await contacts.find("A")\nawait f()')
    trace, names = error.__traceback__, []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names[-2:] == ["<module>", "f"]


# A capability of which nothing is declared


def test_a_plain_callback_is_called_by_its_name(session: Session) -> None:
    """`await lookup(1)`, with any arguments, unchecked."""
    assert session.run('await lookup(1, context="warm", token=2)') == "lookup(1,)"
    assert session.made == [Made(path="lookup", args=(1,), kwargs={"context": "warm", "token": 2})]
    assert session.run("lookup.blocking(2)") == "lookup(2,)"
    assert session.run("lookup.by.name.blocking(3)") == "lookup.by.name(3,)"


def test_a_plain_callback_has_every_method_at_any_depth(session: Session) -> None:
    """Attributes make dotted paths, and the same attribute is the same object."""
    assert session.run('await lookup.by.name("x")') == "lookup.by.name('x',)"
    lookup: Any = session.scope["lookup"]
    assert lookup.by is lookup.by
    assert repr(lookup) == "<lookup: anything>"
    assert repr(lookup.by.name) == "<lookup.by.name: anything>"
    assert inspect.iscoroutinefunction(lookup)
    assert inspect.iscoroutinefunction(lookup.by)
    assert str(inspect.signature(lookup)) == "(*args: Any, **kwargs: Any) -> Any"
    assert not hasattr(lookup, "__len__")
    assert not hasattr(lookup, "_repr_html_")


def test_r56_arguments_cross_as_they_were_written(session: Session) -> None:
    """Names stay names, positions positions, and defaults are left to the other side."""
    session.run('await search.files("report", limit=3)\nawait search.files(query="report")')
    assert [(made.args, made.kwargs) for made in session.made] == [(("report",), {"limit": 3}), ((), {"query": "report"})]


def test_a_plain_callback_takes_no_unawaited_call(session: Session) -> None:
    """What is unchecked is still not a place for a forgotten await."""
    assert str(session.fail('await lookup(contacts.find("A"))')) == (
        'contacts.find(...) on line 1 was not awaited. Write: await lookup(await contacts.find("A"))'
    )


def test_a_capability_may_declare_some_methods_and_take_the_others_as_they_come() -> None:
    """Declared methods are checked, any other is passed on."""
    session = Session(Declared(name="mixed", anything=True, methods=(Method(name="find", parameters=(parameter("name"),)),)))
    assert session.run('await mixed.other(1) + await mixed.find("A") + await mixed(2)') == "mixed.other(1,)mixed.find('A',)mixed(2,)"
    assert str(session.fail("mixed.find(1)")) == "mixed.find(): name: expected str, got int (1). Signature: mixed.find(name: str) -> Any"
    assert repr(session.scope["mixed"]) == "<mixed: find>"
    session.close()


def test_two_sessions_share_nothing() -> None:
    """Each has proxies, records and exceptions of its own, and its own record of calls."""
    one, other = Session(LOOKUP), Session(LOOKUP)
    one.run("await lookup(1)")
    assert (len(one.made), len(other.made)) == (1, 0)
    assert one.scope["Contact"] is not other.scope["Contact"]
    call = one.run("lookup(1)")
    assert isinstance(call, PendingCall)
    assert len(other.unawaited) == 0
    call.close()

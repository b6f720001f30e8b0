"""R56: a call works wherever a coroutine does. And capabilities of which nothing is declared."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from guest_stdlib.channel.events import Failure
from guest_stdlib.declared import Declared, Method
from guest_stdlib.pending import PendingCall
from tests.proxy_session import LOOKUP, NEVER, Made, Session, parameter, shown


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


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
    session.run("import asyncio\nawait asyncio.gather(*[contacts.find(str(n)) for n in range(100)])")
    assert session.rounds == [100]


def test_r56_a_call_is_lazy_as_a_coroutine_is(session: Session) -> None:
    """Nothing crosses before the first await, and a call that is closed never crosses."""
    call = session.run('contacts.find("A")')
    assert session.made == []
    call.close()
    assert session.unawaited.sentences() == []
    with pytest.raises(RuntimeError, match=r"^cannot reuse already awaited coroutine$"):
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
    with pytest.raises(TypeError, match=r"^cannot pickle 'coroutine' object$"):
        pickle.dumps(call)
    with pytest.raises(TypeError, match=r"^cannot pickle 'coroutine' object$"):
        assert copy.copy(call) is None
    call.close()


def test_r56_an_exception_thrown_into_a_call_that_was_not_made_comes_back(session: Session) -> None:
    """As from a coroutine that has not begun: the call is then never made."""
    call = session.run('contacts.find("A")')
    with pytest.raises(ValueError, match=r"^stop$"):
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
    assert [(made.args, made.kwargs) for made in session.made] == [
        (("report",), {"limit": 3}),
        ((), {"query": "report"}),
    ]


def test_a_plain_callback_takes_no_unawaited_call(session: Session) -> None:
    """What is unchecked is still not a place for a forgotten await."""
    assert str(session.fail('await lookup(contacts.find("A"))')) == (
        'contacts.find(...) on line 1 was not awaited. Write: await lookup(await contacts.find("A"))'
    )


def test_a_capability_may_declare_some_methods_and_take_the_others_as_they_come() -> None:
    """Declared methods are checked, any other is passed on."""
    session = Session(
        Declared(name="mixed", anything=True, methods=(Method(name="find", parameters=(parameter("name"),)),))
    )
    assert (
        session.run('await mixed.other(1) + await mixed.find("A") + await mixed(2)')
        == "mixed.other(1,)mixed.find('A',)mixed(2,)"
    )
    assert (
        str(session.fail("mixed.find(1)"))
        == "mixed.find(): name: expected str, got int (1). Signature: mixed.find(name: str) -> Any"
    )
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

"""The guest as a whole: what it is opened with, what it survives, what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from textwrap import dedent

import pytest

from guest_stdlib.channel import Failure, Return, Throw
from tests.runtime_session import CONTACTS, LOOKUP, Hold, run, session


def hold(_):
    raise Hold


# Opening


def test_a_seed_makes_random_numbers_repeatable():
    """The same seed, the same numbers; no seed, other numbers each time."""
    source = "import random\n[random.random() for _ in range(3)]"
    assert run(source, seed=7).value == run(source, seed=7).value
    assert run(source, seed=7).value != run(source, seed=8).value
    random.seed(1)
    first = run(source).value
    random.seed(1)
    assert run(source).value != first


def test_what_the_host_declares_is_in_scope():
    """Capabilities, the error classes, CapabilityError and TimeLimit."""
    errors = ({"name": "NeedsClarification", "doc": "", "fields": ("question", "options")},)
    got = run(
        "contacts, lookup, NeedsClarification, CapabilityError, TimeLimit\nissubclass(NeedsClarification, Exception)",
        errors=errors,
    )
    assert got.value is True


def test_a_failed_call_is_an_exception_that_code_catches_by_name():
    """A declared error with its fields, a builtin one, and any other as CapabilityError."""

    class NeedsClarification(Exception):
        def __init__(self):
            super().__init__("Which Sarah?")
            self.question = "Which?"
            self.options = ["a", "b"]

    class Strange(Exception):
        pass

    raised = {"declared": NeedsClarification(), "builtin": PermissionError("no"), "other": Strange("odd")}

    def answer(call):
        raise raised[call.args[0]]

    got = run(
        dedent("""
        seen = []
        for name in ("declared", "builtin", "other"):
            try:
                await lookup(name)
            except NeedsClarification as error:
                seen.append((str(error), error.question, error.options))
            except PermissionError as error:
                seen.append(str(error))
            except CapabilityError as error:
                seen.append((error.type, str(error)))
        seen
        """),
        answer,
        errors=({"name": "NeedsClarification", "doc": "", "fields": ("question", "options")},),
    )
    assert got.value == [("Which Sarah?", "Which?", ["a", "b"]), "no", ("Strange", "odd")]


def test_a_failed_call_that_nobody_caught_is_shown_at_the_agents_line():
    """Nothing of the proxy, the channel or the host is in the traceback."""

    def answer(call):
        raise KeyError("Ada")

    failure = run("async def f():\n    return await contacts.find('Ada')\nawait f()", answer).failure
    assert failure.traceback == dedent("""\
        Traceback (most recent call last):
          File "<cell>", line 3, in <module>
            await f()
          File "<cell>", line 2, in f
            return await contacts.find('Ada')
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^
        KeyError: 'Ada'
        """)


def test_a_call_that_failed_by_a_limit_ends_the_cell_as_a_limit():
    """The kind of the host's failure is kept."""
    with session(hold) as guest:
        guest.begin("await lookup(1)")
        guest.go_on(Throw(call=1, failure=Failure(kind="limit", type="RuntimeError", message="No more calls.")))
        assert (guest.ended.failure.kind, guest.ended.failure.message) == ("limit", "No more calls.")


def test_the_token_goes_with_the_calls_that_delegate_and_with_no_others():
    """The code's own choice of context crosses beside it."""
    got = run(
        "await contacts.ask('a')\nawait contacts.ask('b', context='cold')\nawait contacts.find('c')\nawait lookup(1)"
    )
    assert [(call.path, call.token, call.context) for call in got.calls] == [
        ("contacts.ask", "the token", {}),
        ("contacts.ask", "the token", {"context": "cold"}),
        ("contacts.find", None, {}),
        ("lookup", None, {}),
    ]


def test_calls_that_were_refused_are_counted():
    """Before anything crosses."""
    got = run("for n in range(3):\n    try:\n        contacts.find(n)\n    except TypeError:\n        pass")
    assert (got.rejected, got.calls) == (3, [])


def test_calls_beyond_the_limit_are_refused_and_count():
    """Made or refused, each counts; the next cell has its own."""
    with session(limits={"calls": 5}) as guest:
        failure = guest.run("for n in range(10):\n    await lookup(n)").failure
        assert (failure.kind, failure.type, failure.message) == (
            "limit",
            "TooManyCalls",
            "This cell has made 5 calls, and that is the limit.",
        )
        assert guest.run("await lookup(1)").value == 1


def test_what_cannot_be_sent_is_an_error_at_the_agents_line():
    """The call is not made, and the code may catch it."""
    got = run("try:\n    await lookup(bytearray(b'x'))\nexcept TypeError as error:\n    text = str(error)\ntext")
    assert "bytearray" in got.value
    assert got.calls == []


def test_a_restricted_session_rejects_a_cell_before_its_first_effect():
    """With the policy's own sentence, and kind policy."""
    with session(policy="restricted") as guest:
        got = guest.run("print('ran')\nx = ().__class__")
        assert (got.failure.kind, got.failure.type, got.stdout) == ("policy", "PolicyViolation", "")
        assert got.failure.line == 2
        assert guest.run("x = await lookup(2)\nx + 1").value == 3
        assert guest.run("print(_)\n[n async for n in aiter_] if False else 5").failure is None


def test_each_session_has_its_own_names():
    """Nothing of one session is in the next."""
    with session() as guest:
        guest.run("mine = 1\nimport builtins")
    assert run("'mine' in globals(), '_' in globals()").value == (False, False)


# Surviving


def test_a_fault_of_our_own_ends_the_cell_as_a_crash():
    """step never raises."""
    with session(hold) as guest:
        guest.begin("await lookup(1)")
        guest.guest.calls.settle = lambda _: 1 / 0  # type: ignore[assignment]
        guest.go_on(Return(call=1, value=1))
        failure = guest.ended.failure
        assert (failure.kind, failure.type) == ("crash", "ZeroDivisionError")
        assert failure.message == "The sandbox's own code failed: ZeroDivisionError: division by zero"


def test_a_session_may_go_on_after_a_crash():
    """What was left of the cell is gone."""
    with session(hold) as guest:
        settle = guest.guest.calls.settle
        guest.begin("import asyncio\ntasks = [asyncio.create_task(lookup(n)) for n in range(3)]\nawait lookup(4)")
        guest.guest.calls.settle = lambda _: 1 / 0  # type: ignore[assignment]
        guest.go_on(Return(call=1, value=1))
        guest.guest.calls.settle = settle
        guest.answer = lambda call: call.args[0]
        assert guest.run("await lookup(5)").value == 5


def test_a_frame_that_is_no_frame_gives_nothing_back():
    """The host sees a broken peer; nothing is raised."""
    with session() as guest:
        assert guest.guest.step(b"\xff\xff") == b""
        assert guest.guest.step(b"") == b""


def test_code_that_breaks_the_library_breaks_only_its_own_session():
    """A patched asyncio, streams or builtins: each cell still ends in an outcome."""
    with session() as guest:
        for source in (
            "import sys\nsys.stdout = sys.stderr = None",
            "import builtins\nbuiltins.print = None",
            "import asyncio\nasyncio.get_running_loop().stop()",
            "import sys\nsys.setrecursionlimit(60)\ndef f(): f()\nf()",
            "globals().clear()",
            "1 + 1",
        ):
            got = guest.run(source)
            assert guest.over
        assert got.value == 2
        guest.run("import sys, builtins\nsys.setrecursionlimit(1000)")
    import builtins

    builtins.print = _print


_print = print


def test_a_deep_recursion_around_a_call_leaves_everything_usable():
    """RecursionError in the middle of our own code is the agent's, and nothing is half done."""
    with session() as guest:
        got = guest.run(
            dedent("""
            def down(n):
                try:
                    return lookup.blocking(n)
                except RecursionError:
                    raise
                finally:
                    pass
            def deeper(n):
                try:
                    return deeper(n + 1)
                except RecursionError:
                    return down(n)
            try:
                deeper(0)
            except RecursionError:
                pass
            await lookup("still")
            """)
        )
        assert (got.failure, got.value) == (None, "still")


# Leaving


def test_a_guest_leaves_the_interpreter_as_it_was():
    """Streams, the main module, asyncio's functions, the signal handler, os.write."""

    def state():
        return (
            sys.stdout, sys.stderr, sys.__stdout__, sys.modules["__main__"], asyncio.run, asyncio.Runner,
            asyncio.new_event_loop, signal.getsignal(signal.SIGINT), os.write, sys.get_asyncgen_hooks(),
            asyncio._get_running_loop(),
        )  # fmt: skip

    before = state()
    with session() as guest:
        guest.run("1")
        assert state()[0] is not before[0]
    assert state() == before


def test_a_value_that_crosses_in_both_directions_is_the_same():
    """Tuples stay tuples, sets sets, big integers big."""
    got = run(
        "value = (1, {2, 3}, 10 ** 30, b'x', 'ä', 1.5, None, {'k': [True]})\n(await lookup(value)) == value, value"
    )
    assert got.value == (True, (1, {2, 3}, 10**30, b"x", "ä", 1.5, None, {"k": [True]}))


@pytest.mark.parametrize("capability", [LOOKUP, CONTACTS])
def test_a_capability_is_no_coroutine_and_has_no_token(capability):
    """What agent code can reach of a proxy says nothing of the runtime."""
    with session() as guest:
        names = guest.run(
            f"[name for name in dir({capability.name}) if 'token' in name or 'bridge' in name or 'guest' in name]"
        ).value
    assert names == []

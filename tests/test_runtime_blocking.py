"""Code that blocks on its native stack: asyncio.run and its relatives, and blocking calls, wherever they stand."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.runtime_session import Hold, run, session


def cell(source: str) -> str:
    return "import asyncio\n" + dedent(source)


MAIN = """
async def main(n=1):
    first = await lookup(n)
    await asyncio.sleep(1)
    return first + sum(await asyncio.gather(lookup(2), lookup(3)))
"""


@pytest.mark.parametrize(
    "call",
    [
        "asyncio.run(main())",
        "asyncio.run(main(), debug=True)",
        "asyncio.get_event_loop().run_until_complete(main())",
        "asyncio.new_event_loop().run_until_complete(main())",
        "with asyncio.Runner() as runner:\n    result = runner.run(main())\nresult",
        "loop = asyncio.new_event_loop()\nasyncio.set_event_loop(loop)\ntry:\n    r = loop.run_until_complete(main())\nfinally:\n    loop.close()\nr",
        "async def outer():\n    return asyncio.run(main())\nawait outer()",
        "async def outer():\n    return asyncio.run(main())\nasyncio.run(outer())",
        "def plain():\n    return asyncio.run(main())\n(await asyncio.gather(asyncio.create_task(asyncio.sleep(0)), lookup(plain())))[1]",
        "result = 6\nif __name__ == '__main__':\n    result = asyncio.run(main())\nresult",
    ],
)
def test_a_coroutine_runs_to_its_end_where_it_is_called(call):
    """At top level, in async code, within each other: with capability calls inside."""
    got = run(cell(MAIN + call))
    assert (got.failure, got.value) == (None, 6)


def test_calls_made_while_blocking_are_one_round_too():
    """Blocking says what a step would have said."""
    got = run(
        cell("async def main():\n    return await asyncio.gather(*[lookup(i) for i in range(9)])\nasyncio.run(main())")
    )
    assert got.value == list(range(9))
    assert [len(paths) for paths in got.rounds] == [9]


def test_other_tasks_go_on_while_asyncio_run_blocks():
    """The loop is one: what was started before is not held up."""
    got = run(
        cell("""
        seen = []
        async def beside():
            for n in range(3):
                seen.append(await lookup(n))
        async def main():
            await asyncio.sleep(5)
        task = asyncio.create_task(beside())
        asyncio.run(main())
        seen
        """)
    )
    assert got.value == [0, 1, 2]


def test_a_task_that_blocks_keeps_its_turn():
    """current_task is the task's own before and after, and another's in between."""
    got = run(
        cell("""
        async def inner():
            return asyncio.current_task().get_name()
        async def outer():
            before = asyncio.current_task().get_name()
            inside = asyncio.run(inner())
            return before, inside != before, asyncio.current_task().get_name()
        await asyncio.create_task(outer(), name="mine")
        """)
    )
    assert got.value == ("mine", True, "mine")


def test_what_asyncio_run_started_ends_with_it():
    """Its tasks are cancelled when it is done, those of others are not."""
    got = run(
        cell("""
        seen = []
        async def forever(name):
            try:
                await asyncio.sleep(1000)
            finally:
                seen.append(name)
        async def main():
            asyncio.create_task(forever("inside"))
            await asyncio.sleep(0)
        outside = asyncio.create_task(forever("outside"))
        asyncio.run(main())
        list(seen), outside.cancel()
        """)
    )
    assert got.value == (["inside"], True)


def test_an_exception_comes_out_of_asyncio_run():
    """As it would anywhere, without a frame of the runtime's."""
    failure = run(cell("async def main():\n    await lookup(1)\n    raise KeyError('x')\nasyncio.run(main())")).failure
    assert failure.traceback == dedent("""\
        Traceback (most recent call last):
          File "<cell>", line 5, in <module>
            asyncio.run(main())
            ~~~~~~~~~~~^^^^^^^^
          File "<cell>", line 4, in main
            raise KeyError('x')
        KeyError: 'x'
        """)


def test_a_function_that_was_not_called_is_named():
    """asyncio.run(main) without parentheses says what to write."""
    failure = run(cell("async def main(): ...\nasyncio.run(main)")).failure
    assert (failure.type, failure.message) == (
        "TypeError",
        "asyncio.run takes a coroutine, not function: write asyncio.run(main())",
    )


def test_a_blocking_call_gives_its_answer():
    """In plain functions, comprehensions and sort keys."""
    got = run(
        "def key(name):\n    return contacts.find.blocking(name)\nsorted('cab', key=key), [contacts.find.blocking(n) for n in 'xy']"
    )
    assert got.value == (["a", "b", "c"], ["x", "y"])


def test_a_blocking_call_raises_what_the_capability_raised():
    """At the agent's own line."""

    def answer(call):
        raise KeyError("nobody")

    failure = run("def f():\n    return contacts.find.blocking('x')\nf()", answer).failure
    assert (failure.type, failure.message, failure.line) == ("KeyError", "'nobody'", 2)
    assert "guest_stdlib" not in failure.traceback


def test_nothing_else_runs_during_a_blocking_call():
    """As in plain code anywhere: a blocking call holds up the other tasks of its cell."""
    got = run(
        cell("""
        seen = []
        async def beside():
            seen.append("beside")
        task = asyncio.create_task(beside())
        contacts.find.blocking("x")
        before = list(seen)
        await task
        before, seen
        """)
    )
    assert got.value == ([], ["beside"])


def test_blocking_calls_in_tasks_come_one_after_another():
    """They do not pile up on the native stack."""
    got = run(cell("async def one(n):\n    return lookup.blocking(n)\nawait asyncio.gather(*map(one, range(200)))"))
    assert got.value == list(range(200))
    assert {len(paths) for paths in got.rounds} == {1}


def test_nesting_too_deeply_is_an_error():
    """Each level holds native stack, so there is an end to it."""
    failure = run(cell("async def deep(n):\n    return asyncio.run(deep(n + 1))\nawait deep(0)")).failure
    assert failure.message == "40 blocking runs are nested here; make the functions async, and await them"


def test_run_forever_runs_until_stop():
    """The oldest way to write it."""
    got = run(
        cell("""
        loop = asyncio.get_event_loop()
        async def main():
            global answer
            answer = await lookup(8)
            loop.stop()
        task = loop.create_task(main())
        loop.run_forever()
        answer
        """)
    )
    assert got.value == 8


def test_a_blocking_run_that_nothing_can_end_names_the_deadlock():
    """It does not wait for the wall clock."""
    with session(_hold) as guest:
        failure = guest.run(
            cell("loop = asyncio.get_event_loop()\nloop.run_until_complete(loop.create_future())")
        ).failure
    assert (
        failure.message == "This waits for something that will never come: no call is on its way, and no timer is set."
    )


def _hold(_):
    raise Hold


@pytest.mark.parametrize(
    "call",
    [
        "asyncio.run(main())",
        "result = asyncio.run(main())",
        "if __name__ == '__main__':\n    result = asyncio.run(main(), debug=True)\nresult",
        "try:\n    result = [asyncio.run(main()) for _ in range(1)][0] if False else asyncio.run(main())\nfinally:\n    pass\nresult",
    ],
)
def test_asyncio_run_at_top_level_waits_without_a_native_stack(call):
    """So the session can be suspended there: the cell rests as if it awaited."""
    with session() as guest:
        guest.guest._ask_host = _unreachable
        got = guest.run(cell(MAIN + call))
    assert (got.failure, got.value) == (None, 6)


def _unreachable(_):
    raise AssertionError("it blocked")


@pytest.mark.parametrize(
    "source",
    [
        "def plain():\n    return asyncio.run(main())\nplain()",
        "class asyncio:\n    run = staticmethod(lambda main: main.close() or 6)\nasyncio.run(main())",
        "from asyncio import run\nrun(main())",
        "import asyncio as other\nother.run(main())",
        "asyncio_run = asyncio.run\nasyncio_run(main())",
        "run = asyncio.run\nasyncio.run = lambda main: main.close() or 6\ntry:\n    r = asyncio.run(main())\nfinally:\n    asyncio.run = run\nr",
    ],
)
def test_only_what_is_surely_asyncio_run_is_read_so(source):
    """Everything else is run as it stands."""
    got = run(cell(MAIN + source))
    assert (got.failure, got.value) == (None, 6)


def test_leaving_from_asyncio_run_comes_out_where_the_call_stands():
    """SystemExit of a main function may be caught around it, and otherwise ends the cell."""
    source = "import sys\nasync def main():\n    await lookup(1)\n    sys.exit(3)\n"
    got = run(
        cell(source + "try:\n    asyncio.run(main())\nexcept SystemExit as leaving:\n    code = leaving.code\ncode")
    )
    assert got.value == 3
    failure = run(cell(source + "asyncio.run(main())")).failure
    assert failure.message == "The code ended itself with sys.exit(3)."
    assert failure.traceback.startswith(
        'Traceback (most recent call last):\n  File "<cell>", line 6, in <module>\n    asyncio.run(main())\n'
    )

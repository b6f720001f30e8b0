"""The end of a cell: nothing stays pending, and what was left is said."""

from __future__ import annotations

import gc
from textwrap import dedent

import pytest

from guest_stdlib.channel.events import Cancel
from tests.runtime_session import Hold, run, session


def cell(source: str) -> str:
    return "import asyncio\n" + dedent(source)


def hold(_):
    raise Hold


def test_a_task_that_is_left_over_is_cancelled_and_named():
    """With function and line, and what to write."""
    got = run(cell("async def fetch():\n    await asyncio.sleep(60)\ntask = asyncio.create_task(fetch())\n'done'"))
    assert got.value == "done"
    assert got.notices == (
        "fetch() (line 2) was still running when the cell ended, and was cancelled. Await it in the cell that starts it.",
    )


def test_many_tasks_of_one_function_are_one_notice():
    """They are counted."""
    got = run(
        cell(
            "async def fetch(n):\n    await lookup(n)\ntasks = [asyncio.create_task(fetch(n)) for n in range(9)]\n'done'"
        ),
        hold,
    )
    assert " ".join(got.notices) == (
        "9 tasks of fetch() (line 2) were still running when the cell ended, and were cancelled. "
        "Await them in the cell that starts them: await asyncio.gather(...)"
    )


def test_a_call_that_is_left_over_is_given_up():
    """The host hears that nobody waits for it any more, before the cell ends."""
    with session(hold) as guest:
        got = guest.run(cell("task = asyncio.create_task(lookup('slow'))\nawait asyncio.sleep(0)\n'done'"))
        assert guest.pending == []
    assert (got.value, got.abandoned) == ("done", [1])
    assert got.notices[0].startswith("lookup() (line 2) was still running when the cell ended")


def test_a_task_that_is_left_over_may_clean_up():
    """Its finally block runs, calls included."""
    with session(lambda call: call.args[0]) as guest:
        got = guest.run(
            cell("""
            async def fetch():
                try:
                    await asyncio.sleep(60)
                finally:
                    print(await lookup("cleaned"))
            task = asyncio.create_task(fetch())
            await asyncio.sleep(0)
            """)
        )
        assert (got.stdout, got.failure) == ("cleaned\n", None)
        assert guest.run("task.done()").value is True


def test_a_task_that_does_not_end_is_closed():
    """A finally block that waits for too long does not keep the cell."""
    with session() as guest:
        start = guest.now
        got = guest.run(
            cell("""
            async def stubborn():
                while True:
                    try:
                        await asyncio.sleep(60)
                    except asyncio.CancelledError:
                        print("no")
            task = asyncio.create_task(stubborn())
            await asyncio.sleep(0)
            1
            """)
        )
        assert (got.value, got.stdout) == (1, "no\nno\n")
        assert guest.now - start < 5
        assert guest.run("2").value == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_task_that_refuses_to_be_closed_is_dropped():
    """Even a coroutine that ignores GeneratorExit does not hold the cell."""
    with session() as guest:
        got = guest.run(
            cell("""
            async def worse():
                for _ in range(5):
                    try:
                        await asyncio.sleep(60)
                    except BaseException:
                        pass
            task = asyncio.create_task(worse())
            await asyncio.sleep(0)
            1
            """)
        )
        assert got.value == 1
        assert guest.run("2").value == 2
    gc.collect()


def test_tasks_left_by_a_cell_that_failed_are_ended_too():
    """The failure is the cell's own, and its children are named."""
    got = run(
        cell(
            "async def slow():\n    await asyncio.sleep(60)\nasync def broken():\n    raise ValueError('x')\nawait asyncio.gather(slow(), broken())"
        )
    )
    assert (got.failure.type, got.failure.line) == ("ValueError", 5)
    assert [notice.partition(" was still")[0] for notice in got.notices] == ["slow() (line 2)"]


def test_after_a_stop_nothing_is_said_about_tasks():
    """They were stopped, not forgotten; and they had the stop's own exception."""
    with session(hold) as guest:
        guest.begin(
            cell("""
            async def slow():
                try:
                    await asyncio.sleep(60)
                except TimeLimit as limit:
                    print("slow:", limit)
                    raise
            task = asyncio.create_task(slow())
            await lookup(1)
            """)
        )
        guest.go_on(Cancel(reason="wall", message="Too long."))
        while not guest.over:
            guest.go_on()
    assert (guest.ended.stdout, guest.ended.notices, guest.ended.stderr) == ("slow: Too long.\n", (), "")


def test_tasks_left_by_a_cell_that_was_interrupted_have_the_limit_too():
    """Not a cancellation: the same exception as the code that ran."""
    got = run(
        cell("""
        import _thread
        async def slow():
            try:
                await asyncio.sleep(60)
            except TimeLimit:
                print("limit")
        task = asyncio.create_task(slow())
        await asyncio.sleep(0)
        _thread.interrupt_main()
        while True: pass
        """)
    )
    assert (got.failure.kind, got.stdout) == ("limit", "limit\n")


def test_callbacks_and_timers_do_not_outlive_their_cell():
    """Between cells nothing is pending."""
    with session() as guest:
        guest.run(
            cell("loop = asyncio.get_event_loop()\nloop.call_later(1, print, 'late')\nloop.call_soon(print, 'soon')\n1")
        )
        assert guest.waits[-1] is None
        got = guest.run(cell("await asyncio.sleep(5)"))
    assert got.stdout == ""


def test_an_async_generator_that_was_begun_is_closed_and_named():
    """Its finally block runs in the cell that began it."""
    got = run(
        cell("""
        async def numbers():
            try:
                yield 1
                yield 2
            finally:
                print(await lookup("closed"))
        each = numbers()
        await anext(each)
        """)
    )
    assert (got.value, got.stdout) == (1, "closed\n")
    assert " ".join(got.notices) == (
        "The async generator numbers() (line 3) was not finished when the cell ended, and was closed. "
        "Finish it in the cell that begins it."
    )


def test_an_async_generator_that_the_collector_found_is_closed_without_a_word():
    """Leaving `async for` early is no mistake."""
    got = run(
        cell("""
        async def numbers():
            try:
                yield 1
                yield 2
            finally:
                print(await lookup("closed"))
        async for n in numbers():
            break
        n
        """)
    )
    assert (got.value, got.stdout, got.notices) == (1, "closed\n", ())


def test_output_written_between_cells_comes_with_the_next_one():
    """A destructor that prints when a cell is over loses nothing and breaks no turn."""
    with session() as guest:
        guest.run("class Loud:\n    def __del__(self):\n        print('gone')\nheld = Loud()")
        names = guest.guest._scope.namespace
        del names["held"], names["_"]
        assert guest.run("print('next')").stdout == "gone\nnext\n"


@pytest.mark.parametrize("last", ["contacts.find('x')", "result = contacts.find('x')"])
def test_a_call_that_was_never_awaited_is_named_at_the_end(last):
    """PendingCall's own sentence becomes a notice; on the last line it is awaited instead."""
    with session() as guest:
        got = guest.run(f"contacts.ask('first')\n{last}")
    assert "contacts.ask(...) on line 1 was never awaited, so it was not made." in " ".join(got.notices)
    assert [call.path for call in got.calls] == (["contacts.find"] if last.startswith("contacts") else [])


def test_a_coroutine_on_the_last_line_is_awaited_and_that_is_said():
    """Of the agent's own functions, and of tasks."""
    got = run(cell("async def main():\n    return await lookup(3)\nmain()"))
    assert (got.value, got.notices) == (3, ("main() on line 4 was awaited for you. Write: await main()",))
    got = run(cell("async def main():\n    return await lookup(3)\nasyncio.gather(main(), main())"))
    assert got.value == [3, 3]
    assert got.notices == (
        "asyncio.gather(main(), main()) on line 4 was awaited for you. Write: await asyncio.gather(main(), main())",
    )

"""How the host stops agent code. `_thread.interrupt_main()` stands for the host's trip of SIGINT: it is the same C function."""

from __future__ import annotations

import _thread
from textwrap import dedent

import pytest

from guest_stdlib.channel.events import Cancel, Return
from tests.runtime_session import Hold, Session, session

CPU = Cancel(reason="cpu", message="The cell used up its CPU time.")
CANCELLED = Cancel(reason="cancelled", message="The run was cancelled.")


def cell(source: str) -> str:
    return "import asyncio, _thread\n" + dedent(source)


def hold(_):
    raise Hold


def begin(guest: Session, source: str) -> None:
    guest.begin(cell(source))
    assert not guest.over


# While code runs


def test_a_limit_interrupts_running_code_at_its_own_line():
    """TimeLimit is raised where the code is; the failure says so, with the host's message."""
    with session() as guest:
        failure = guest.run(cell("def spin():\n    _thread.interrupt_main()\n    while True: pass\nspin()")).failure
    assert (failure.kind, failure.type, failure.message) == ("limit", "TimeLimit", "The cell used up its CPU time.")
    assert failure.line in (3, 4)
    assert "_on_signal" not in failure.traceback
    assert failure.traceback.endswith("TimeLimit: The cell used up its CPU time.\n")


def test_the_session_lives_on_after_a_limit():
    """Names are kept, the next cell runs."""
    with session() as guest:
        guest.run(cell("x = 5\n_thread.interrupt_main()\nwhile True: pass"))
        assert guest.run("x").value == 5


def test_except_exception_does_not_catch_a_limit_but_its_name_does():
    """TimeLimit is a BaseException, in scope by name."""
    with session() as guest:
        got = guest.run(
            cell("""
            try:
                try:
                    _thread.interrupt_main()
                    while True: pass
                except Exception:
                    print("wrong")
            except TimeLimit as limit:
                text = str(limit)
            text
            """)
        )
    assert (got.value, got.stdout) == ("The cell used up its CPU time.", "")


def test_cleaning_up_after_a_limit_may_make_calls():
    """A finally block may tell somebody."""
    with session() as guest:
        got = guest.run(
            cell("""
            try:
                _thread.interrupt_main()
                while True: pass
            finally:
                print(await lookup("told"))
            """)
        )
    assert (got.failure.kind, got.stdout) == ("limit", "told\n")


def test_a_cancellation_interrupts_running_code_as_cancelled_error():
    """The kind of the failure says that it was no limit."""
    with session() as guest:
        guest.on_interrupt = CANCELLED
        got = guest.run(
            cell(
                "try:\n    _thread.interrupt_main()\n    while True: pass\nexcept asyncio.CancelledError:\n    print('c')\n    raise"
            )
        )
    assert (got.failure.kind, got.failure.type, got.stdout) == ("cancelled", "CancelledError", "c\n")
    assert got.failure.message == "The run was cancelled."


def test_a_second_stop_is_delivered_again():
    """Code that swallowed the first one meets the second."""
    with session() as guest:
        got = guest.run(
            cell("""
            for n in range(2):
                try:
                    _thread.interrupt_main()
                    while True: pass
                except TimeLimit:
                    print("swallowed", n)
            _thread.interrupt_main()
            while True: pass
            """)
        )
    assert (got.failure.type, got.stdout) == ("TimeLimit", "swallowed 0\nswallowed 1\n")


def test_a_limit_in_a_child_task_ends_the_cell():
    """Whoever waits for that task, or for something else, gets it too."""
    with session(hold) as guest:
        got = guest.run(
            cell("""
            async def spin():
                _thread.interrupt_main()
                while True: pass
            task = asyncio.create_task(spin())
            await lookup("something else")
            """)
        )
    assert (got.failure.kind, got.failure.type, got.failure.line) == ("limit", "TimeLimit", 7)
    assert got.abandoned == [] or got.abandoned == [1]


@pytest.mark.parametrize(
    "wait",
    [
        "await asyncio.gather(spin(), lookup(1))",
        "await asyncio.gather(spin(), lookup(1), return_exceptions=True)",
        "async with asyncio.TaskGroup() as g:\n    g.create_task(spin())\n    g.create_task(lookup(1))",
        "await asyncio.wait([asyncio.create_task(spin()), asyncio.create_task(lookup(1))])",
        "await asyncio.wait_for(spin(), 5)",
        "asyncio.run(spin())",
        "await asyncio.shield(spin())",
        "asyncio.get_running_loop().call_soon(plain)\nawait lookup(1)",
    ],
)
def test_a_limit_ends_the_cell_whatever_it_waits_with(wait):
    """gather, TaskGroup, wait, wait_for, run, shield, callbacks: the limit comes out."""
    with session(hold) as guest:
        got = guest.run(
            cell("""
            def plain():
                _thread.interrupt_main()
                while True: pass
            async def spin():
                await asyncio.sleep(0)
                plain()
            """)
            + wait
            + "\nprint('went on')"
        )
    assert (got.failure.kind, got.failure.type, got.failure.message) == ("limit", "TimeLimit", CPU.message)
    assert got.stdout == ""


def test_an_interrupt_inside_a_print_is_raised_after_it():
    """What we do on the agent's behalf is let finish: text is neither lost nor doubled, and the loop stops."""
    with session() as guest:
        stream = guest.guest.console.stdout
        flush = stream.flush

        def interrupted_flush() -> None:
            if guest.ended.stdout.count("\n") == 5:
                _thread.interrupt_main()
            flush()

        stream.flush = interrupted_flush
        got = guest.run("n = 0\nwhile True:\n    print(n)\n    n += 1")
        assert guest.run("n").value == 5
    assert got.failure.type == "TimeLimit"
    assert got.stdout == "0\n1\n2\n3\n4\n5\n"


def test_an_interrupt_between_the_agents_turns_is_delivered_at_the_next_await():
    """In the loop's own code nothing is raised: the loop finishes its turn, then the waits end."""
    with session(hold) as guest:
        take = guest.guest.calls.settle

        def interrupted_settle(event) -> None:
            _thread.interrupt_main()
            take(event)

        begin(guest, "first = await lookup(1)\nprint('first', first)\nsecond = await lookup(2)")
        guest.guest.calls.settle = interrupted_settle
        guest.go_on(Return(call=1, value="a"))
        while not guest.over:
            guest.go_on()
    assert guest.ended.failure.type == "TimeLimit"


def test_an_interrupt_when_no_cell_runs_is_nothing():
    """It was meant for a cell that has ended."""
    with session() as guest:
        guest.run("1")
        _thread.interrupt_main()
        for _ in range(10):
            pass
        assert guest.run("2").value == 2


def test_a_limit_in_a_deep_stack_of_library_code_is_raised_there():
    """The library's frames are not ours: sorting, regular expressions and json are interrupted where they are."""
    with session() as guest:
        failure = guest.run(
            cell("""
            import functools
            def compare(a, b):
                _thread.interrupt_main()
                return (a > b) - (a < b)
            sorted(range(100), key=functools.cmp_to_key(compare))
            """)
        ).failure
    assert failure.type == "TimeLimit"


# While code waits


def stop(guest: Session, event: Cancel) -> None:
    guest.go_on(event)
    while not guest.over:
        guest.go_on()


@pytest.mark.parametrize(
    ("event", "caught", "kind"), [(CPU, "TimeLimit", "limit"), (CANCELLED, "asyncio.CancelledError", "cancelled")]
)
def test_a_stop_is_raised_at_the_await(event, caught, kind):
    """The waiting code can catch it and clean up, with a call if it wants; the call that it waited for is given up."""
    answers = {"told": "yes"}

    def answer(call):
        if call.args[0] in answers:
            return answers[call.args[0]]
        raise Hold

    with session(answer) as guest:
        begin(
            guest,
            f"try:\n    await lookup('slow')\nexcept {caught} as stop:\n    print(stop, await lookup('told'))\n    raise",
        )
        stop(guest, event)
        got = guest.ended
    assert (got.failure.kind, got.failure.message, got.abandoned) == (kind, event.message, [1])
    assert got.stdout == f"{event.message} yes\n"


@pytest.mark.parametrize("event", [CPU, CANCELLED])
def test_all_awaits_get_a_stop_innermost_first(event):
    """Structured code unwinds in its own order: the tasks of a group before what follows the group."""
    with session(hold) as guest:
        begin(
            guest,
            """
            async def worker(name):
                try:
                    await lookup(name)
                finally:
                    print(name)
            try:
                async with asyncio.TaskGroup() as outer:
                    outer.create_task(worker("a"))
                    async with asyncio.TaskGroup() as inner:
                        inner.create_task(worker("b"))
                    print("not reached")
            finally:
                print("last")
            """,
        )
        stop(guest, event)
    lines = guest.ended.stdout.splitlines()
    assert sorted(lines[:2]) == ["a", "b"]
    assert lines[2:] == ["last"]
    assert guest.ended.failure.kind == ("limit" if event is CPU else "cancelled")


@pytest.mark.parametrize("event", [CPU, CANCELLED])
@pytest.mark.parametrize(
    "wait",
    [
        "lookup.blocking('slow')",
        "asyncio.run(waiting())",
        "asyncio.get_event_loop().run_until_complete(asyncio.get_event_loop().create_task(waiting()))",
        "asyncio.get_event_loop().run_forever()",
        "async def outer():\n    asyncio.run(waiting())\nawait asyncio.gather(outer(), waiting())",
        "await asyncio.sleep(1000)",
        "await asyncio.gather(waiting(), waiting(), return_exceptions=True)",
    ],
)
def test_a_stop_ends_blocking_waits_too(wait, event):
    """Code that blocks on its native stack hears it as the answer of its exchange."""
    with session(hold) as guest:
        guest.at_rest = lambda _: [event]
        guest.begin(
            cell("async def waiting():\n    await lookup('slow')\nother = asyncio.create_task(waiting())\n" + wait)
        )
        if not guest.over:
            stop(guest, event)
        got = guest.ended
        assert got.failure is not None
        assert got.failure.kind == ("limit" if event is CPU else "cancelled")
        assert guest.run("1 + 1").value == 2


def test_answers_that_came_before_a_stop_are_taken_first():
    """One frame may bring both."""
    with session(hold) as guest:
        begin(guest, "print(await lookup(1))\nprint('then')\nawait lookup(2)")
        guest.go_on(Return(call=1, value="one"), CPU)
        while not guest.over:
            guest.go_on()
    assert guest.ended.stdout == "one\nthen\n"
    assert guest.ended.failure.type == "TimeLimit"


def test_code_that_swallows_a_stop_while_waiting_gets_the_next_one():
    """Each Cancel is delivered anew."""
    with session(hold) as guest:
        begin(
            guest,
            "for n in range(2):\n    try:\n        await lookup(n)\n    except TimeLimit:\n        print(n)\nawait lookup(2)",
        )
        guest.go_on(CPU)
        guest.go_on(CPU)
        guest.go_on(CPU)
        assert guest.over
    assert guest.ended.stdout == "0\n1\n"
    assert guest.ended.failure.kind == "limit"


def test_code_that_ends_well_after_a_stop_is_done():
    """A cell may catch the limit and give what it has."""
    with session(hold) as guest:
        begin(guest, "found = [1]\ntry:\n    await lookup(2)\nexcept TimeLimit:\n    pass\nfound")
        stop(guest, CPU)
    assert (guest.ended.value, guest.ended.failure) == ([1], None)


def test_an_error_while_cleaning_up_after_a_stop_is_still_a_limit():
    """The type and message are the error's own."""
    with session(hold) as guest:
        begin(guest, "try:\n    await lookup(2)\nfinally:\n    1 / 0")
        stop(guest, CPU)
    assert (guest.ended.failure.kind, guest.ended.failure.type) == ("limit", "ZeroDivisionError")


def test_a_cancelled_error_that_nobody_asked_for_is_the_scripts_own():
    """Code may cancel itself."""
    with session(hold) as guest:
        failure = guest.run(cell("asyncio.current_task().cancel()\nawait lookup(1)")).failure
    assert (failure.kind, failure.type) == ("script", "CancelledError")


def test_tasks_that_are_ready_do_not_go_on_after_an_interrupt():
    """One interrupt is enough for two tasks that would both run forever."""
    with session() as guest:
        got = guest.run(
            cell("""
            async def spin(n):
                if n == 0:
                    _thread.interrupt_main()
                while True: pass
            try:
                await asyncio.gather(spin(0), spin(1))
            finally:
                print("cleaned")
            """)
        )
    assert (got.failure.type, got.stdout) == ("TimeLimit", "cleaned\n")


def test_those_who_wait_for_an_interrupted_task_let_it_clean_up():
    """The parent unwinds after the child, though the child's clean-up waits for an answer."""
    with session() as guest:
        got = guest.run(
            cell("""
            async def child():
                try:
                    _thread.interrupt_main()
                    while True: pass
                finally:
                    print(await lookup("child"))
            async def parent():
                try:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(child())
                        group.create_task(lookup("other"))
                finally:
                    print("parent")
            await parent()
            """)
        )
    assert (got.failure.kind, got.stdout) == ("limit", "child\nparent\n")


def test_a_limit_in_code_that_only_yields_is_shown_as_the_limit():
    """Where there was no future to raise it from, CancelledError was raised; what the agent reads is the limit."""
    with session() as guest:
        polled = guest.guest.loop.run_ready
        seen = 0

        def poll(until=None) -> None:
            nonlocal seen
            seen += 1
            if seen == 2:
                _thread.interrupt_main()
            polled(until)

        guest.guest.loop.run_ready = poll
        got = guest.run(cell("task = asyncio.create_task(lookup(1))\nwhile True:\n    await asyncio.sleep(0)"))
    assert (got.failure.kind, got.failure.type, got.failure.message) == ("limit", "TimeLimit", CPU.message)
    assert got.failure.traceback.endswith("await asyncio.sleep(0)\nTimeLimit: The cell used up its CPU time.\n")

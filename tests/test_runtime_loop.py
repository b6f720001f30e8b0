"""asyncio in the guest: everything that does not need threads, files or a network."""

from __future__ import annotations

from textwrap import dedent

import pytest

from guest_stdlib.channel.events import Return
from tests.runtime_session import Hold, run, session


def cell(source: str) -> str:
    return "import asyncio\n" + dedent(source)


def test_calls_that_are_gathered_cross_in_one_round():
    """A hundred calls in gather are one frame."""
    got = run(cell("await asyncio.gather(*[lookup(i) for i in range(100)])"))
    assert got.value == list(range(100))
    assert [len(paths) for paths in got.rounds] == [100]


def test_calls_in_a_task_group_cross_in_one_round():
    """So are calls in a TaskGroup."""
    got = run(
        cell("""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(lookup(i)) for i in range(5)]
        [task.result() for task in tasks]
        """)
    )
    assert got.value == [0, 1, 2, 3, 4]
    assert [len(paths) for paths in got.rounds] == [5]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("await asyncio.wait_for(lookup(1), 5)", 1),
        ("await asyncio.shield(asyncio.ensure_future(lookup(1)))", 1),
        ("done, _ = await asyncio.wait([asyncio.create_task(lookup(1))])\n[t.result() for t in done]", [1]),
        ("[await each for each in asyncio.as_completed([lookup(1), lookup(1)])]", [1, 1]),
        ("asyncio.get_running_loop() is asyncio.get_event_loop() is asyncio.new_event_loop()", True),
        ("asyncio.current_task() in asyncio.all_tasks()", True),
        ("asyncio.get_running_loop().is_running(), asyncio.get_running_loop().is_closed()", (True, False)),
        ("f = asyncio.get_running_loop().create_future()\nf.set_result(3)\nawait f", 3),
        ("await asyncio.create_task(lookup(5))", 5),
        ("asyncio.create_task(lookup(5))", 5),
    ],
)
def test_asyncio_works_at_top_level(source, value):
    """Waits, tasks and the loop's own questions."""
    got = run(cell(source))
    assert (got.failure, got.value) == (None, value)


def test_queues_locks_events_semaphores_and_barriers_work():
    """What synchronises tasks needs no I/O."""
    got = run(
        cell("""
        queue, lock, event = asyncio.Queue(maxsize=2), asyncio.Lock(), asyncio.Event()
        seen = []
        async def producer():
            for n in range(5):
                await queue.put(await lookup(n))
            await queue.put(None)
        async def consumer():
            while (item := await queue.get()) is not None:
                async with lock:
                    seen.append(item)
            event.set()
        limit = asyncio.Semaphore(2)
        async def limited(n):
            async with limit:
                return await lookup(n)
        async with asyncio.TaskGroup() as group:
            group.create_task(producer())
            group.create_task(consumer())
            await event.wait()
        seen, await asyncio.gather(*map(limited, range(5)))
        """)
    )
    assert got.value == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert max(len(paths) for paths in got.rounds) == 2


def test_sleep_rests_until_the_host_says_that_time_has_passed():
    """The guest tells how long nothing will happen; it asks for no time when it has no timers."""
    with session() as guest:
        got = guest.run(cell("await lookup(1)\nawait asyncio.sleep(30)\nawait asyncio.sleep(0)\n'done'"))
        assert got.value == "done"
        assert guest.waits[1:] == [None, pytest.approx(30), None]


def test_sleeps_end_in_the_order_of_their_times():
    """Timers are a heap, equal times are first in, first out."""
    got = run(
        cell("""
        seen = []
        async def nap(seconds, name):
            await asyncio.sleep(seconds)
            seen.append(name)
        await asyncio.gather(nap(3, "c"), nap(1, "a"), nap(2, "b"), nap(1, "a2"))
        seen
        """)
    )
    assert got.value == ["a", "a2", "b", "c"]


def test_a_timeout_gives_up_the_call_that_it_was_for():
    """asyncio.timeout cancels the call: the host hears that nobody waits for it any more."""
    with session(_hold) as guest:
        got = guest.run(
            cell("""
            try:
                async with asyncio.timeout(5):
                    await lookup("slow")
            except TimeoutError:
                result = "gave up"
            result
            """)
        )
    assert (got.value, got.abandoned) == ("gave up", [1])


def test_an_answer_to_a_call_that_was_given_up_in_the_same_step_is_dropped():
    """A task that is cancelled by what another answer brought does not wait for its own."""
    with session(_hold) as guest:
        guest.begin(
            cell("""
            slow = asyncio.create_task(lookup("slow"))
            await lookup("fast")
            slow.cancel()
            try:
                await slow
            except asyncio.CancelledError:
                print("cancelled")
            """)
        )
        slow, fast = sorted(guest.pending, key=lambda call: call.args[0] == "fast")
        guest.go_on(Return(call=fast.call, value=1), Return(call=slow.call, value=2))
        assert guest.over
        assert guest.ended.failure is None


def test_many_short_calls_under_long_timeouts_keep_no_timers():
    """A timeout that was not needed does not stay until it would have been due."""
    with session() as guest:
        guest.run(
            cell(
                "for n in range(1000):\n    await asyncio.wait_for(lookup(n), 3600)\n    size = len(asyncio.get_running_loop()._timers)"
            )
        )
        assert guest.run("size").value < 300


def test_code_that_polls_lets_the_host_in():
    """A loop around sleep(0) does not keep a call from being made and answered."""
    got = run(
        cell("""
        task = asyncio.create_task(lookup(7))
        while not task.done():
            await asyncio.sleep(0)
        task.result()
        """)
    )
    assert got.value == 7


def test_the_same_code_on_the_same_answers_runs_in_the_same_order():
    """Scheduling is first in, first out."""
    source = cell("""
        seen = []
        async def worker(name):
            for n in range(3):
                seen.append((name, await lookup(n)))
        await asyncio.gather(*map(worker, "abc"))
        seen
        """)
    first = run(source).value
    assert first == [(name, n) for n in range(3) for name in "abc"]
    assert run(source).value == first


def test_an_exception_that_nobody_awaited_is_reported_as_cpython_reports_it():
    """It goes to stderr, with the agent's own lines."""
    got = run(
        cell("""
        async def broken():
            raise ValueError("lost")
        task = asyncio.create_task(broken())
        await asyncio.sleep(0)
        del task
        await lookup(1)
        """)
    )
    assert got.value == 1
    assert got.stderr.startswith("Task exception was never retrieved\nfuture: <Task finished name=")
    assert got.stderr.endswith('  File "<cell>", line 4, in broken\n    raise ValueError("lost")\nValueError: lost\n')
    assert "guest_stdlib" not in got.stderr


def test_an_exception_handler_of_the_agents_gets_what_nobody_awaited():
    """loop.set_exception_handler works."""
    got = run(
        cell("""
        seen = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: seen.append(str(context["exception"])))
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)
        seen
        """)
    )
    assert (got.value, got.stderr) == (["division by zero"], "")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "await asyncio.to_thread(print)",
            "run_in_executor cannot work: there are no threads here; call the function directly.",
        ),
        (
            "await asyncio.create_subprocess_exec('ls')",
            "subprocess_exec cannot work: no processes can be started here; do the work in Python.",
        ),
        (
            "await asyncio.open_connection('example.org', 80)",
            "create_connection cannot work: there is no network here; what is outside is reached through the capabilities in scope.",
        ),
        (
            "asyncio.get_running_loop().add_signal_handler(2, print)",
            "add_signal_handler cannot work: signals belong to the sandbox.",
        ),
    ],
)
def test_what_needs_threads_processes_or_a_network_says_so(source, message):
    """One sentence: what cannot work, why, and what to do instead."""
    failure = run(cell(source)).failure
    assert (failure.type, failure.message) == ("RuntimeError", message)


def test_the_number_of_live_tasks_is_limited():
    """The error names the limit, may be caught as a RuntimeError, and otherwise ends the cell as a limit."""
    with session(limits={"tasks": 10}) as guest:
        failure = guest.run(cell("await asyncio.gather(*[lookup(i) for i in range(50)])")).failure
        assert (failure.kind, failure.type) == ("limit", "TooManyTasks")
        assert failure.message == "10 tasks are alive, and the limit is 10. Start fewer at once."
        assert guest.run(cell("await asyncio.gather(*[lookup(i) for i in range(9)])")).value == list(range(9))


@pytest.mark.parametrize(
    "source",
    [
        "await asyncio.get_running_loop().create_future()",
        "await asyncio.Queue().get()",
        "await asyncio.gather(asyncio.Event().wait(), asyncio.Event().wait())",
        "asyncio.run(asyncio.Event().wait())",
    ],
)
def test_a_wait_that_nothing_can_end_fails_at_once(source):
    """A deadlock is an error at the await, not a wall clock running out."""
    failure = run(cell(source)).failure
    assert (failure.type, failure.line) == ("RuntimeError", 2)
    assert (
        failure.message == "This waits for something that will never come: no call is on its way, and no timer is set."
    )


def test_a_deadlock_may_be_caught():
    """The cell goes on after it."""
    got = run(
        cell("""
        try:
            await asyncio.Event().wait()
        except RuntimeError:
            answer = await lookup("on")
        answer
        """)
    )
    assert got.value == "on"


def test_context_variables_are_inherited_by_tasks():
    """Each task has a copy of its starter's context."""
    got = run(
        cell("""
        import contextvars
        name = contextvars.ContextVar("name", default="-")
        async def worker(own):
            name.set(own)
            await lookup(1)
            return name.get()
        name.set("top")
        await asyncio.gather(worker("a"), worker("b")), name.get()
        """)
    )
    assert got.value == (["a", "b"], "top")


def test_an_eager_task_factory_works():
    """Tasks may be started at once."""
    got = run(
        cell("""
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        async def at_once():
            return 1
        task = asyncio.create_task(at_once())
        asyncio.get_running_loop().set_task_factory(None)
        task.done(), await task
        """)
    )
    assert got.value == (True, 1)


def _hold(_):
    raise Hold

"""Limits: three stages of a time limit, memory, calls, tasks; cancellation; what is put back and what is lost."""

from __future__ import annotations

import pytest
import trio

from sandbox import Call, Limits, Session, open_sandbox
from sandbox.image import Image
from tests.calls import NAMES, Answers

QUICK = Limits(cpu_seconds=0.2, grace_seconds=0.3)
BUSY = {
    "a loop": "while True: pass",
    "a regular expression": "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    "big integers": "7 ** 10 ** 7",
    "an async loop": "import asyncio\nwhile True: await asyncio.sleep(0)",
    "a child task": "import asyncio\nasync def spin():\n    while True: pass\nawait asyncio.gather(spin(), spin())",
}


async def cancelled(session: Session, source: str, *, once: trio.Event | None = None) -> bool:
    """Run a cell, cancel it once it is under way (it has printed something, or `once` is set), and say if that ended it."""
    under_way = trio.Event() if once is None else once
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def cancel() -> None:
                await under_way.wait()
                scope.cancel()

            await session.run(source, on_output=lambda *_: under_way.set() if once is None else None)
            nursery.cancel_scope.cancel()
    return scope.cancelled_caught


class TestTime:
    @pytest.mark.parametrize("source", BUSY.values(), ids=list(BUSY))
    async def test_soft_the_code_may_clean_up_and_the_names_stay(self, image: Image, source: str) -> None:
        """An exception is raised in the running code, wherever that is."""
        async with open_sandbox(image=image, limits=QUICK) as session:
            await session.run("kept = [1]")
            lines = "\n".join("    " + line for line in source.splitlines())
            outcome = await session.run(f"try:\n{lines}\nfinally:\n    kept.append('cleaned')")
            assert outcome.error is not None
            assert (outcome.error.kind, outcome.error.type) == ("limit", "TimeLimit")
            assert outcome.error.message == "the cell used more than 0.2 s of processor time"
            assert outcome.session == "kept"
            assert (await session.run("kept")).value == [1, "cleaned"]

    async def test_hard_code_that_swallows_the_soft_one_is_stopped_and_the_session_put_back(self, image: Image) -> None:
        """To before the cell; the next cell is told."""
        source = "kept.append('lost')\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"
        async with open_sandbox(image=image, limits=QUICK) as session:
            await session.run("kept = [1]")
            outcome = await session.run(source)
            assert outcome.error is not None
            assert outcome.error.kind == "limit"
            assert outcome.error.message == (
                "the cell used more than 0.2 s of processor time, and did not end within 0.3 s of being told; it was stopped"
            )
            assert outcome.session == "restored"
            assert (await session.run("kept")).value == [1]

    async def test_hard_c_code_that_looks_at_no_signals_is_stopped(self, image: Image) -> None:
        """sum over a range asks nobody."""
        async with open_sandbox(image=image, limits=QUICK) as session:
            outcome = await session.run("sum(range(10 ** 12))")
            assert outcome.session == "restored"
            assert (await session.run("1")).value == 1

    async def test_a_one_shot_session_keeps_no_checkpoint_and_is_lost(self, image: Image) -> None:
        """It starts anew, and says so to code that looks for its names."""
        async with open_sandbox(image=image, limits=QUICK, rollback=False) as session:
            await session.run("x = 1")
            assert (await session.run("sum(range(10 ** 12))")).session == "lost"
            outcome = await session.run("x")
        assert outcome.error is not None
        assert outcome.error.type == "NameError"
        assert "The session is new" in str(outcome.error.hint)

    async def test_waiting_does_not_count_as_processor_time(self, image: Image, autojump_clock: object) -> None:
        """Nor does sleeping."""
        async with open_sandbox(image=image, limits=QUICK) as session:
            outcome = await session.run("import asyncio\nawait asyncio.sleep(30)\n'rested'")
        assert outcome.value == "rested"
        assert outcome.usage.wall_ms > 29_000
        assert outcome.usage.cpu_ms < 200

    async def test_wall_time_ends_a_wait(self, image: Image, autojump_clock: object) -> None:
        """The waiting calls are cancelled, the code may clean up."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image, limits=Limits(wall_seconds=7)) as session:
            outcome = await session.run("try:\n    await slow(1)\nfinally:\n    cleaned = True")
            assert outcome.error is not None
            assert (outcome.error.kind, outcome.error.message) == ("limit", "the cell took longer than 7 s")
            assert answers.cancelled == ["slow"]
            assert (await session.run("cleaned")).value is True

    async def test_wall_time_ends_a_blocking_call_too(self, image: Image, autojump_clock: object) -> None:
        """Whose native stack is unwound by the exception."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image, limits=Limits(wall_seconds=7)) as session:
            outcome = await session.run("def f():\n    return slow.blocking(1)\nf()")
            assert outcome.error is not None
            assert (outcome.error.kind, outcome.session) == ("limit", "kept")
            assert (await session.run("1")).value == 1

    async def test_code_that_waits_through_its_grace_is_stopped(self, image: Image, autojump_clock: object) -> None:
        """There is nothing to stop in the guest, only a session to put back."""
        source = "while True:\n    try:\n        await slow(1)\n    except BaseException:\n        pass"
        async with open_sandbox(Answers(), names=NAMES, image=image, limits=Limits(wall_seconds=7)) as session:
            await session.run("x = 1")
            outcome = await session.run(source)
            assert outcome.session == "restored"
            assert (await session.run("x")).value == 1

    async def test_tasks_that_wait_for_each_other_are_told_at_once(self, image: Image) -> None:
        """Nothing can ever wake them."""
        async with open_sandbox(image=image) as session:
            outcome = await session.run("import asyncio\nawait asyncio.Event().wait()")
        assert outcome.error is not None
        assert outcome.error.message == (
            "This waits for something that will never come: no call is on its way, and no timer is set."
        )


class TestOthers:
    async def test_memory(self, image: Image) -> None:
        """MemoryError where it happens; the session lives on."""
        async with open_sandbox(image=image, limits=Limits(memory_bytes=128 << 20)) as session:
            outcome = await session.run("x = 1\nbytearray(500_000_000)")
            assert outcome.error is not None
            assert (outcome.error.kind, outcome.error.type) == ("limit", "MemoryError")
            assert (await session.run("x")).value == 1
            assert outcome.usage.memory_bytes <= 128 << 20

    async def test_calls(self, image: Image) -> None:
        """Those refused count too."""
        async with open_sandbox(Answers(), names=NAMES, image=image, limits=Limits(calls=5)) as session:
            outcome = await session.run("for n in range(9): await lookup(n)")
            assert outcome.error is not None
            assert outcome.error.kind == "limit"
            assert outcome.error.message == "This cell has made 5 calls, and that is the limit."
            assert outcome.usage.calls == 5
            assert (await session.run("n")).value == 5

    async def test_calls_at_once_wait_for_each_other(self, image: Image) -> None:
        """All are made, never more than so many at a time."""
        running = most = 0

        async def answer(_call: Call) -> object:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await trio.lowlevel.checkpoint()
            running -= 1
            return 1

        async with open_sandbox(answer, names=["f"], image=image, limits=Limits(calls_at_once=3)) as session:
            outcome = await session.run("import asyncio\nsum(await asyncio.gather(*[f() for _ in range(20)]))")
        assert (outcome.value, most) == (20, 3)

    async def test_live_tasks(self, image: Image) -> None:
        """A clear error at the line that makes one too many."""
        source = "import asyncio\n[asyncio.create_task(asyncio.sleep(0)) for _ in range(60)]"
        async with open_sandbox(image=image, limits=Limits(tasks=50)) as session:
            outcome = await session.run(source)
        assert outcome.error is not None
        assert outcome.error.type == "TooManyTasks"
        assert "50" in outcome.error.message

    @pytest.mark.parametrize(
        "source",
        [
            "x = []\nfor _ in range(200_000): x = [x]\nrepr(x)",
            "x = y = ()\nfor _ in range(100_000): x, y = (x,), (y,)\nx == y",
            "x = ()\nfor _ in range(100_000): x = (x,)\nhash(x)",
            "x = int\nfor _ in range(100_000): x = (x,)\nisinstance(1, x)",
            "x = []\nfor _ in range(100_000): x = [x]\ndel x",
            "eval('(' * 150 + ')' * 150)",
            "def f(): return f()\nf()",
            "x = []\nx.append(x)\nx == [x]",
        ],
        ids=["repr", "==", "hash", "isinstance", "drop", "eval", "recursion", "self-reference"],
    )
    async def test_deep_recursion_ends_as_cpython_says(self, image: Image, source: str) -> None:
        """With an exception or with nothing, not with a crash; the session is kept."""
        async with open_sandbox(image=image) as session:
            outcome = await session.run(source)
            assert outcome.session == "kept"
            assert outcome.error is None or outcome.error.type in ("RecursionError", "MemoryError", "SyntaxError")
            assert (await session.run("1 + 1")).value == 2

    def test_a_limit_that_is_none_is_refused(self) -> None:
        """With its name."""
        with pytest.raises(ValueError, match="cpu_seconds is a positive number of seconds up to 4,294,967,296, not 0"):
            Limits(cpu_seconds=0)


class TestCancellation:
    async def test_it_reaches_the_awaits_in_the_guest(self, image: Image) -> None:
        """finally-blocks run, calls in flight are cancelled, and the session lives on."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image) as session:
            source = "try:\n    await slow(1)\nfinally:\n    cleaned = await lookup('while cleaning')"
            assert await cancelled(session, source, once=answers.started)
            assert answers.cancelled == ["slow"]
            assert (await session.run("cleaned")).value == "while cleaning"

    async def test_it_stops_code_that_never_waits(self, image: Image) -> None:
        """By the same interruption as a limit."""
        async with open_sandbox(image=image) as session:
            source = "try:\n    print('here', flush=True)\n    while True: pass\nfinally:\n    cleaned = True"
            assert await cancelled(session, source)
            assert (await session.run("cleaned")).value is True

    async def test_it_stops_a_guest_that_sleeps_on_its_stack(self, image: Image) -> None:
        """Sleeping goes through the world, so cancellation reaches it."""
        async with open_sandbox(image=image) as session:
            source = "import select\nprint('here', flush=True)\nselect.select([], [], [], 1000)"
            assert await cancelled(session, source)
            assert (await session.run("1")).value == 1

    async def test_nothing_hangs_when_the_guest_does_not_follow(self, image: Image) -> None:
        """After the grace the session is put back."""
        source = "x = 2\nwhile True:\n    try:\n        await slow(1)\n    except BaseException:\n        pass"
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image, limits=QUICK) as session:
            await session.run("x = 1")
            assert await cancelled(session, source, once=answers.started)
            assert (await session.run("x")).value == 1


class TestCrashes:
    async def test_a_crash_is_an_outcome_and_the_session_is_put_back(self, image: Image) -> None:
        """Crafted bytecode takes the interpreter down, and nothing else."""
        source = "f = lambda: None\nf.__code__ = f.__code__.replace(co_code=bytes([100, 255] * 50))\nf()"
        async with open_sandbox(image=image) as session:
            await session.run("x = 1")
            outcome = await session.run(source)
            if outcome.error is not None and outcome.error.kind == "crash":
                assert outcome.session == "restored"
            assert (await session.run("x")).value == 1

    async def test_r93_calls_made_before_a_crash_are_reported_not_undone(self, image: Image) -> None:
        """The session is as before the cell; the calls stay made."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image, limits=QUICK) as session:
            await session.run("x = 1")
            outcome = await session.run("x = 2\nawait lookup(1)\nawait lookup(2)\nsum(range(10 ** 12))")
            assert outcome.session == "restored"
            assert (await session.run("x")).value == 1
        assert outcome.notices == ("Calls that were made before the cell was stopped, and are not undone: lookup (2).",)
        assert outcome.usage.calls == 2
        assert answers.paths == ["lookup", "lookup"]


class TestSeeds:
    async def test_a_seed_repeats_random_numbers_and_the_clock(self, image: Image) -> None:
        """random, os.urandom, uuid, the date; sleeping takes no time and moves the clock."""
        source = """
import asyncio, datetime, os, random, time, uuid
await asyncio.sleep(3600)
[random.random(), os.urandom(8), str(uuid.uuid4()), datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes")]"""
        results = []
        for _ in range(2):
            async with open_sandbox(image=image, seed=7) as session:
                results.append((await session.run(source)).value)
        assert results[0] == results[1]
        assert results[0][3] == "2026-01-01T01:00+00:00"  # type: ignore[index]
        async with open_sandbox(image=image, seed=8) as session:
            assert (await session.run(source)).value != results[0]

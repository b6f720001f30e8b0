"""Cells in the real guest: values, names, output, calls, asyncio, blocking use."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
import trio

from sandbox import Call, Limits, SessionBusy, SessionClosed, open_sandbox
from sandbox.image import Image
from tests.calls import NAMES, Answers


class TestCells:
    async def test_names_live_on_and_underscore_is_the_last_value(self, image: Image) -> None:
        """A session is one interpreter."""
        async with open_sandbox(image=image) as session:
            assert (await session.run("x = [1, 2]\nx")).value == [1, 2]
            assert (await session.run("_ + [3]")).value == [1, 2, 3]
            assert (await session.run("x.append(9)\nlen(x)")).value == 3

    async def test_two_sessions_share_nothing(self, image: Image) -> None:
        """Not even the state of their random numbers."""
        async with open_sandbox(image=image) as one, open_sandbox(image=image) as other:
            await one.run("import sys\nsys.stain = 1\nx = 1")
            assert (await other.run("import sys\nhasattr(sys, 'stain')")).value is False
            numbers = [(await session.run("import random\nrandom.random()")).value for session in (one, other)]
            assert numbers[0] != numbers[1]

    async def test_an_error_is_data_and_the_session_lives_on(self, image: Image) -> None:
        """With the agent's own line, and what was printed before it."""
        async with open_sandbox(image=image) as session:
            outcome = await session.run("x = 1\nprint('before')\n1 / 0", name="script.py")
            assert outcome.error is not None
            assert (outcome.error.kind, outcome.error.type, outcome.error.line) == ("script", "ZeroDivisionError", 3)
            assert outcome.error.traceback.startswith('Traceback (most recent call last):\n  File "script.py", line 3')
            assert (outcome.stdout, outcome.session) == ("before\n", "kept")
            assert (await session.run("x")).value == 1

    async def test_output_arrives_while_the_cell_runs(self, image: Image) -> None:
        """Each line before the call that follows it is made."""
        seen: list[object] = []
        answers = Answers(lookup=lambda call: seen.append("called"))
        async with open_sandbox(answers, names=["lookup"], image=image) as session:
            source = "import sys\nprint('one')\nawait lookup(1)\nprint('two', file=sys.stderr)\nawait lookup(2)"
            await session.run(source, on_output=lambda stream, text: seen.append((stream, text)))
        assert seen == [("stdout", "one\n"), "called", ("stderr", "two\n"), "called"]

    async def test_what_a_listener_raises_reaches_the_caller(self, image: Image) -> None:
        """And the session is still good."""

        def listen(_stream: str, _text: str) -> None:
            raise LookupError("no screen")

        async with open_sandbox(image=image) as session:
            with pytest.raises(LookupError, match="no screen"):
                await session.run("print(1)", on_output=listen)
            assert (await session.run("2")).value == 2

    async def test_long_output_keeps_head_and_tail_and_counts_the_middle(self, image: Image) -> None:
        """Nothing is cut in the middle of a character."""
        async with open_sandbox(image=image, limits=Limits(output_bytes=1000)) as session:
            outcome = await session.run("for n in range(2000): print('ä', n)")
        assert outcome.stdout.startswith("ä 0\nä 1\n")
        assert outcome.stdout.endswith("ä 1999\n")
        assert "bytes left out ...]" in outcome.stdout
        assert len(outcome.stdout.encode()) < 1100
        assert outcome.usage.output_bytes == sum(len(f"ä {n}\n".encode()) for n in range(2000))

    async def test_one_cell_at_a_time(self, image: Image) -> None:
        """A second one is a misuse, told at once."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image) as session, trio.open_nursery() as nursery:
            nursery.start_soon(session.run, "await slow(1)")
            await answers.started.wait()
            with pytest.raises(SessionBusy):
                await session.run("1")
            answers.go.set()

    async def test_a_closed_session_says_so(self, image: Image) -> None:
        """Rather than crash."""
        async with open_sandbox(image=image) as session:
            pass
        with pytest.raises(SessionClosed):
            await session.run("1")


class TestCalls:
    async def test_gather_makes_all_calls_in_one_round(self, image: Image) -> None:
        """A hundred of them."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image) as session:
            source = "import asyncio\nawait asyncio.gather(*[lookup(n) for n in range(100)])"
            outcome = await session.run(source)
        assert outcome.value == list(range(100))
        assert (outcome.usage.calls, outcome.usage.rounds) == (100, 1)

    async def test_an_exception_is_caught_by_name_and_brings_no_traceback(self, image: Image) -> None:
        """The host's frames do not cross."""
        async with open_sandbox(Answers(), names=NAMES, image=image) as session:
            caught = await session.run(
                "try:\n    await fail('no')\nexcept ValueError as error:\n    found = str(error)\nfound"
            )
            assert caught.value == "no"
            outcome = await session.run("await fail('no')")
        assert outcome.error is not None
        assert (outcome.error.type, outcome.error.message) == ("ValueError", "no")
        assert "calls.py" not in outcome.error.traceback

    async def test_a_timeout_in_the_code_abandons_the_call(self, image: Image, autojump_clock: object) -> None:
        """The host stops working on it."""
        answers = Answers()
        source = """
import asyncio
try:
    async with asyncio.timeout(5):
        await slow(1)
except TimeoutError:
    result = await lookup("gave up")
result"""
        async with open_sandbox(answers, names=NAMES, image=image) as session:
            assert (await session.run(source)).value == "gave up"
        assert answers.cancelled == ["slow"]

    async def test_asyncio_as_agents_use_it(self, image: Image, autojump_clock: object) -> None:
        """TaskGroup, Queue, create_task, sleep, wait_for, as_completed."""
        source = """
import asyncio
queue = asyncio.Queue()
async def produce():
    for n in range(3):
        await asyncio.sleep(1)
        await queue.put(await lookup(n))
async def consume():
    return [await queue.get() for _ in range(3)]
async with asyncio.TaskGroup() as group:
    group.create_task(produce())
    taken = group.create_task(consume())
quick = await asyncio.wait_for(lookup("w"), 3)
first = [await done for done in asyncio.as_completed([lookup("a")])]
[taken.result(), quick, first]"""
        async with open_sandbox(Answers(), names=NAMES, image=image) as session:
            assert (await session.run(source)).value == [[0, 1, 2], "w", ["a"]]

    async def test_blocking_use_in_code_that_is_not_async(self, image: Image) -> None:
        """In a plain function, in a comprehension, and nested in an async cell."""
        source = """
def double(n):
    return lookup.blocking(n) * 2
[double(n) for n in range(3)] + [await lookup(9)]"""
        async with open_sandbox(Answers(), names=NAMES, image=image) as session:
            assert (await session.run(source)).value == [0, 2, 4, 9]

    async def test_a_blocked_guest_gives_its_place_to_others(self, image: Image) -> None:
        """More guests block than there are cores, each on a call that needs another guest."""
        async with open_sandbox(image=image) as inner:

            async def answer(call: Call) -> object:
                async with lock:
                    return (await inner.run(f"{call.args[0]} + 1")).value

            lock = trio.Lock()
            results: list[object] = []

            async def outer(number: int) -> None:
                async with open_sandbox(answer, names=["ask"], image=image) as session:
                    results.append((await session.run(f"ask.blocking({number})")).value)

            async with trio.open_nursery() as nursery:
                for number in range(6):
                    nursery.start_soon(outer, number)
        assert sorted(results) == [1, 2, 3, 4, 5, 6]  # type: ignore[type-var]

    async def test_an_answer_that_cannot_cross_is_an_exception_in_the_script(self, image: Image) -> None:
        """And the host is none the worse."""
        cycle: list[object] = []
        cycle.append(cycle)
        async with open_sandbox(Answers(lookup=lambda _call: cycle), names=["lookup"], image=image) as session:
            source = "try:\n    await lookup()\nexcept Exception as error:\n    found = str(error)\nfound"
            assert "the answer cannot cross" in str((await session.run(source)).value)

    async def test_answers_too_large_for_one_frame_go_in_several(self, image: Image) -> None:
        """Each fits; together they do not."""
        limits = Limits(frame_bytes=3 << 20)
        async with open_sandbox(
            Answers(lookup=lambda _call: "x" * (1 << 20)), names=["lookup"], image=image, limits=limits
        ) as session:
            source = "import asyncio\n[len(x) for x in await asyncio.gather(*[lookup() for _ in range(8)])]"
            assert (await session.run(source)).value == [1 << 20] * 8


class TestMemory:
    @pytest.mark.parametrize(
        "source",
        [
            "for n in range(100): await lookup(bytes(1 << 20))",
            "for n in range(100): await large()",
            "for n in range(100): large.blocking()",
            "for n in range(100): print('x' * (1 << 20))",
        ],
        ids=["arguments", "answers", "blocking", "output"],
    )
    async def test_what_has_crossed_is_freed(self, image: Image, source: str) -> None:
        """A hundred megabytes each way leave the guest's memory as it was, but for a few."""
        answers = Answers(large=lambda _call: "x" * (1 << 20), lookup=lambda _call: None)
        async with open_sandbox(answers, names=["lookup", "large"], image=image) as session:
            before = (await session.run("1")).usage.memory_bytes
            outcome = await session.run(source)
        assert outcome.error is None
        assert outcome.usage.memory_bytes - before < 10 << 20

    async def test_the_native_stack_is_as_it_was_after_each_step(self, image: Image) -> None:
        """Or it would run out after some ten thousand steps, and be misaligned long before."""
        async with open_sandbox(Answers(), names=["lookup"], image=image) as session:
            guest = (await session.prepare())._guest
            before = [value.value(guest._store) for value in guest._globals]
            await session.run("for n in range(9): await lookup(n)")
            assert [value.value(guest._store) for value in guest._globals] == before


class Color(enum.Enum):
    """A record for the trip."""

    RED = "r"


AWARE = dt.datetime(2026, 3, 29, 1, 30, tzinfo=ZoneInfo("Europe/Oslo"))
VALUES = [
    None,
    True,
    0,
    -(10**40),
    float("inf"),
    -0.0,
    "text \ud800 \U0001f600",
    b"\x00\xff",
    [1, [2]],
    (1, (2,)),
    {"a": 1, 2: "b", (1, 2): None, frozenset({1}): 1.5},
    {1, 2},
    frozenset({"x"}),
    AWARE,
    dt.datetime(2026, 10, 25, 2, 30, fold=1),
    dt.date(2026, 1, 2),
    dt.time(3, 4, 5, 6),
    dt.timedelta(days=-1, microseconds=5),
    dt.timezone(dt.timedelta(hours=5, minutes=30)),
    Decimal("1.20"),
    Fraction(1, 3),
    uuid.UUID(int=5),
    complex(1, -2),
    range(1, 10, 3),
    [{"id": n, "name": f"row {n}", "score": n / 3, "tags": ["a", None, True]} for n in range(500)],
]


class TestValues:
    @pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
    async def test_values_cross_both_ways_unchanged(self, image: Image, value: object) -> None:
        """Into the guest as an answer, out as the cell's value: same type, same value."""
        async with open_sandbox(Answers(lookup=lambda _call: value), names=["lookup"], image=image) as session:
            outcome = await session.run("await lookup()")
        assert outcome.error is None
        assert (outcome.value, type(outcome.value), repr(outcome.value)) == (value, type(value), repr(value))

    async def test_nan_crosses(self, image: Image) -> None:
        """It equals nothing, so it is tested apart."""
        async with open_sandbox(Answers(lookup=lambda _call: float("nan")), names=["lookup"], image=image) as session:
            assert repr((await session.run("await lookup()")).value) == "nan"

    async def test_a_megabyte_of_text_and_of_bytes(self, image: Image) -> None:
        """As arguments too."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image) as session:
            outcome = await session.run("(len(await lookup('ä' * 500_000)), len(await lookup(bytes(1_000_000))))")
        assert outcome.value == (500_000, 1_000_000)
        assert answers.calls[0].args == ("ä" * 500_000,)

    async def test_what_cannot_cross_arrives_as_a_named_repr(self, image: Image) -> None:
        """Nothing is silently converted."""
        async with open_sandbox(image=image) as session:
            outcome = await session.run("import collections\ncollections.OrderedDict(a=1)")
        assert "OrderedDict" in repr(outcome.value)
        assert not isinstance(outcome.value, dict)

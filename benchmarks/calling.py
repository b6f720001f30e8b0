"""What a call costs, by what it carries. Where nothing else is said, from the arrival of a call at the host to the
arrival of the next one that the same cell makes: its answer in between, and no part of the cell's own start.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping

from benchmarks.capability import Desk
from benchmarks.sampling import Failed, Sample, measure, value_of
from benchmarks.work import CALLS, GATHERED, GATHERS, ROW_TRIPS, ROWS, TEXT, TEXT_TRIPS, Arrivals
from host.capability import Dispatch
from sandbox import Call, Session, open_sandbox
from sandbox.image import Image

__all__ = ["blocking", "call", "cell", "dispatch", "gather", "rows_in", "rows_out", "string"]


class Answers:
    """Answers a sandbox's calls at once, and notes when they came."""

    def __init__(self) -> None:
        self.arrivals = Arrivals()

    async def __call__(self, call: Call) -> object:
        self.arrivals.arrived()
        return ROWS if call.path == "fetch" else call.args[0]

    def trips(self, session: Session, source: str, count: int, *, of: int = 1, value: object = None) -> Sample:
        """Samples of the time that one of `count` trips takes. The cell makes one more, and its value is checked."""

        async def sample() -> float:
            self.arrivals.clear()
            if value_of(await session.run(source)) != value:
                raise Failed("the answers did not arrive as they were given")
            return self.arrivals.each(count, of=of)

        return sample


@measure("call", unit="us", runs=40)
async def call(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A call in sequence: `for i in range(201): await lookup(i)`."""
    answers = Answers()
    async with open_sandbox(answers, names=["lookup"], image=image) as session:
        source = f"for i in range({CALLS + 1}):\n    x = await lookup(i)\nx"
        yield {"call": answers.trips(session, source, CALLS, value=CALLS)}


@measure("call-blocking", unit="us", runs=40)
async def blocking(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The same from code that cannot await: `lookup.blocking(i)`."""
    answers = Answers()
    async with open_sandbox(answers, names=["lookup"], image=image) as session:
        source = f"for i in range({CALLS + 1}):\n    x = lookup.blocking(i)\nx"
        yield {"call-blocking": answers.trips(session, source, CALLS, value=CALLS)}


@measure("call-gather", unit="us", runs=25)
async def gather(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A call among a hundred at once: `await asyncio.gather(*[lookup(i) for i in range(100)])`, a hundredth of it."""
    answers = Answers()
    async with open_sandbox(answers, names=["lookup"], image=image) as session:
        source = (
            f"import asyncio\nfor _ in range({GATHERS + 1}):\n"
            f"    x = await asyncio.gather(*[lookup(i) for i in range({GATHERED})])\nx[-1]"
        )
        yield {"call-gather": answers.trips(session, source, GATHERS, of=GATHERED, value=GATHERED - 1)}


@measure("string", unit="ms", runs=15)
async def string(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A string of 1,000,000 characters there and back: `s = await echo(s)`."""
    answers = Answers()
    async with open_sandbox(answers, names=["echo"], image=image) as session:
        source = f"s = 'x' * {TEXT}\nfor _ in range({TEXT_TRIPS + 1}):\n    s = await echo(s)\nlen(s)"
        yield {"string": answers.trips(session, source, TEXT_TRIPS, value=TEXT)}


@measure("rows-in", unit="ms", runs=8, warm=1)
async def rows_in(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """10,000 rows, dicts of an int, a string, a float and a bool, as the answer of a call."""
    answers = Answers()
    async with open_sandbox(answers, names=["fetch"], image=image) as session:
        source = f"for _ in range({ROW_TRIPS + 1}):\n    rows = await fetch()\nlen(rows)"
        yield {"rows-in": answers.trips(session, source, ROW_TRIPS, value=len(ROWS))}


@measure("rows-out", unit="ms", runs=8, warm=1)
async def rows_out(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The same 10,000 rows as the value of a cell that only names them, the whole cell."""
    async with open_sandbox(Answers(), names=["fetch"], image=image) as session:
        value_of(await session.run("rows = await fetch()\nlen(rows)"))

        async def sample() -> float:
            began = time.perf_counter()
            outcome = await session.run("rows")
            took = time.perf_counter() - began
            if value_of(outcome) != ROWS:
                raise Failed("the rows did not arrive as they were")
            return took

        yield {"rows-out": sample}


@measure("cell", unit="ms", figures=("cell", "cell-without-checkpoint"), runs=40)
async def cell(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A whole cell that does nothing (`1`) in a small session, with and without the checkpoint before it."""
    async with open_sandbox(image=image) as with_it, open_sandbox(image=image, rollback=False) as without:

        def of(session: Session) -> Sample:
            async def sample() -> float:
                began = time.perf_counter()
                outcome = await session.run("1")
                took = time.perf_counter() - began
                value_of(outcome)
                return took

            return sample

        yield {"cell": of(with_it), "cell-without-checkpoint": of(without)}


@measure("dispatch", unit="us")
async def dispatch(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The host's own part of a call of a capability: checking its arguments, making it, checking its answer."""
    dispatched = Dispatch([Desk()])
    made = Call(call=1, path="desk.lookup", args=(1,), kwargs={})

    async def sample() -> float:
        count = 1000
        began = time.perf_counter()
        for _ in range(count):
            await dispatched.answer(made)
        return (time.perf_counter() - began) / count

    del image  # no sandbox is in it
    yield {"dispatch": sample}

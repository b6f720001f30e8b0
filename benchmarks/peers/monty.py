"""pydantic-monty: a Python interpreter of its own in Rust, in a pool of worker processes.

It has two interfaces. `AsyncMonty`, with coroutines on the host and `await` in the code, does what is measured of us.
`Monty`, with plain functions, is its first example: it is measured for starting from the pool, and as the counterpart
of blocking calls. Its limits are set like ours; that on suspensions, which counts a whole checkout, is raised.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from benchmarks.peers.serving import Operation, expect, process_start, serve
from benchmarks.work import (
    CALLS,
    GATHERED,
    GATHERS,
    ROW_TRIPS,
    ROWS,
    TEXT,
    TEXT_TRIPS,
    Arrivals,
    proportional_bytes,
)

__all__ = ["opened"]

LIMITS: Final = {"max_feed_duration_secs": 10.0, "max_memory": 256 << 20, "max_suspensions": 1_000_000_000}
WORKERS: Final = 2
SEVERAL: Final = 10  # workers whose memory is taken together
PROGRAM: Final = """
from pydantic_monty import Monty

with Monty() as pool, pool.checkout() as session:
    print(session.feed_run("lookup(1)", external_lookup={"lookup": lambda value: value}), flush=True)
"""


@contextmanager
def opened() -> Iterator[Mapping[str, Operation]]:
    """The operations, by the names of their figures."""
    monty: Any = importlib.import_module("pydantic_monty")  # not typed here: it need not be installed
    with monty.Monty(min_processes=WORKERS) as pool, asyncio.Runner() as runner:
        awaiting = _Awaiting(monty)
        runner.run(awaiting.open())
        try:
            with pool.checkout(limits=LIMITS) as session:
                yield {**_plain(monty, pool, session), **awaiting.operations(runner)}
        finally:
            runner.run(awaiting.close())


def _plain(monty: Any, pool: Any, session: Any) -> Mapping[str, Operation]:
    """What plain functions and `Monty` can do."""
    arrivals = Arrivals()

    def echo(value: object) -> object:
        arrivals.arrived()
        return value

    lookup = {"lookup": echo}

    def warm() -> float:
        began = time.perf_counter()
        with pool.checkout(limits=LIMITS) as taken:
            expect(taken.feed_run("lookup(1)", external_lookup=lookup), 1)
            return time.perf_counter() - began

    def call() -> float:
        arrivals.clear()
        source = f"for i in range({CALLS + 1}):\n    x = lookup(i)\nx"
        expect(session.feed_run(source, external_lookup=lookup), CALLS)
        return arrivals.each(CALLS)

    def idle() -> float:
        with monty.Monty(min_processes=SEVERAL, max_processes=SEVERAL) as many, ExitStack() as stack:
            taken = [stack.enter_context(many.checkout(limits=LIMITS)) for _ in range(SEVERAL)]
            for one in taken:
                one.feed_run("x = [1, 2, 3]")
            return sum(proportional_bytes(one.worker_pid) for one in taken) / SEVERAL

    return {
        "warm/monty-plain": warm,
        "call-blocking/monty-plain": call,
        "process/monty-plain": process_start(PROGRAM),
        "idle-memory/monty-plain": idle,
    }


class _Awaiting:
    """What coroutines and `AsyncMonty` can do, in one session."""

    def __init__(self, monty: Any) -> None:
        self._pool = monty.AsyncMonty(min_processes=WORKERS)
        self._arrivals = Arrivals()
        self._functions = {"lookup": self._echo, "fetch": self._fetch}

    async def open(self) -> None:
        await self._pool.__aenter__()
        self._checkout = self._pool.checkout(limits=LIMITS)
        self._session = await self._checkout.__aenter__()
        await self._feed("rows = await fetch()")

    async def close(self) -> None:
        await self._checkout.__aexit__(None, None, None)
        await self._pool.__aexit__(None, None, None)

    async def _echo(self, value: object) -> object:
        self._arrivals.arrived()
        return value

    async def _fetch(self) -> object:
        self._arrivals.arrived()
        return ROWS

    async def _feed(self, source: str) -> object:
        value: object = await self._session.feed_run(source, external_lookup=self._functions)
        return value

    async def _warm(self) -> float:
        began = time.perf_counter()
        async with self._pool.checkout(limits=LIMITS) as taken:
            expect(await taken.feed_run("await lookup(1)", external_lookup=self._functions), 1)
            return time.perf_counter() - began

    async def _rows_out(self) -> float:
        began = time.perf_counter()
        rows = await self._feed("rows")
        took = time.perf_counter() - began
        expect(rows, ROWS)
        return took

    async def _trips(self, source: str, count: int, of: int, value: object) -> float:
        self._arrivals.clear()
        expect(await self._feed(source), value)
        return self._arrivals.each(count, of=of)

    def operations(self, runner: asyncio.Runner) -> Mapping[str, Operation]:
        """The operations, each a run of the loop."""

        def trips(source: str, count: int, *, of: int = 1, value: object) -> Operation:
            return lambda: runner.run(self._trips(source, count, of, value))

        return {
            "warm/monty": lambda: runner.run(self._warm()),
            "call/monty": trips(f"for i in range({CALLS + 1}):\n    x = await lookup(i)\nx", CALLS, value=CALLS),
            "call-gather/monty": trips(
                f"import asyncio\nfor _ in range({GATHERS + 1}):\n"
                f"    x = await asyncio.gather(*[lookup(i) for i in range({GATHERED})])\nx[-1]",
                GATHERS,
                of=GATHERED,
                value=GATHERED - 1,
            ),
            "string/monty": trips(
                f"s = 'x' * {TEXT}\nfor _ in range({TEXT_TRIPS + 1}):\n    s = await lookup(s)\nlen(s)",
                TEXT_TRIPS,
                value=TEXT,
            ),
            "rows-in/monty": trips(
                f"for _ in range({ROW_TRIPS + 1}):\n    rows = await fetch()\nlen(rows)", ROW_TRIPS, value=len(ROWS)
            ),
            "rows-out/monty": lambda: runner.run(self._rows_out()),
        }


if __name__ == "__main__":
    serve(opened())

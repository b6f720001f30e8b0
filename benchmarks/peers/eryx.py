"""pyeryx: CPython in Wasmtime, each sandbox a component of its own. Its host interface is synchronous; callbacks are
plain functions that the guest awaits, as in its documentation.

It has two ways to start: `Sandbox(callbacks=...)`, which its documentation recommends where no packages are needed,
and a `SandboxFactory` with the callbacks baked in, which it says is faster. Both are measured; everything else runs in
the factory's sessions. Values cross as JSON. Limits are its defaults.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from benchmarks.peers.serving import Operation, expect, process_start, serve
from benchmarks.work import (
    CALLS,
    GATHERED,
    GATHERS,
    IDLE,
    ROW_TRIPS,
    ROWS,
    TEXT,
    TEXT_TRIPS,
    Arrivals,
    proportional_bytes,
)

__all__ = ["opened"]

FIRST: Final = "result = await lookup(value=1)"
PROGRAM: Final = """
import eryx

def lookup(value):
    return value

sandbox = eryx.Sandbox(callbacks=[{"name": "lookup", "fn": lookup}])
print(sandbox.execute("result = await lookup(value=1)").result, flush=True)
"""


@contextmanager
def opened() -> Iterator[Mapping[str, Operation]]:
    """The operations, by the names of their figures."""
    eryx: Any = importlib.import_module("eryx")  # not typed here: it need not be installed
    arrivals = Arrivals()

    def echo(value: object) -> object:
        arrivals.arrived()
        return value

    def fetch() -> object:
        arrivals.arrived()
        return ROWS

    callbacks = [
        {"name": "lookup", "fn": echo, "description": "Gives its argument back."},
        {"name": "fetch", "fn": fetch, "description": "Gives rows."},
    ]
    factory = eryx.SandboxFactory(callbacks=callbacks)
    session = factory.create_session()

    def first(sandbox: Any) -> None:
        expect(sandbox.execute(FIRST).result, 1)

    def started(make: Callable[[], Any]) -> Operation:
        def sample() -> float:
            began = time.perf_counter()
            sandbox = make()
            first(sandbox)
            took = time.perf_counter() - began
            del sandbox  # it is closed by being dropped, which is not timed for anybody
            return took

        return sample

    def trips(source: str, count: int, *, of: int = 1, value: object) -> Operation:
        def sample() -> float:
            arrivals.clear()
            expect(session.execute(source).result, value)
            return arrivals.each(count, of=of)

        return sample

    def rows_out() -> float:
        began = time.perf_counter()
        rows = session.execute("result = rows").result
        took = time.perf_counter() - began
        expect(rows, ROWS)
        return took

    def idle() -> float:
        kept = [factory.create_session()]
        kept[0].execute("x = [1, 2, 3]")
        before = proportional_bytes()
        for _ in range(IDLE):
            kept.append(factory.create_session())
            kept[-1].execute("x = [1, 2, 3]")
        return (proportional_bytes() - before) / IDLE

    session.execute("rows = await fetch()")
    with factory.create_pool(max_size=4, min_idle=2) as pool:

        def warm() -> float:
            began = time.perf_counter()
            with pool.acquire(callbacks=callbacks) as sandbox:
                first(sandbox)
                return time.perf_counter() - began

        yield {
            "fresh/eryx": started(lambda: eryx.Sandbox(callbacks=callbacks)),
            "fresh/eryx-factory": started(factory.create_session),
            "warm/eryx": warm,
            "process/eryx": process_start(PROGRAM),
            "call/eryx": trips(f"for i in range({CALLS + 1}):\n    result = await lookup(value=i)", CALLS, value=CALLS),
            "call-gather/eryx": trips(
                f"import asyncio\nfor _ in range({GATHERS + 1}):\n"
                f"    x = await asyncio.gather(*[lookup(value=i) for i in range({GATHERED})])\nresult = x[-1]",
                GATHERS,
                of=GATHERED,
                value=GATHERED - 1,
            ),
            "string/eryx": trips(
                f"s = 'x' * {TEXT}\nfor _ in range({TEXT_TRIPS + 1}):\n    s = await lookup(value=s)\nresult = len(s)",
                TEXT_TRIPS,
                value=TEXT,
            ),
            "rows-in/eryx": trips(
                f"for _ in range({ROW_TRIPS + 1}):\n    rows = await fetch()\nresult = len(rows)",
                ROW_TRIPS,
                value=len(ROWS),
            ),
            "rows-out/eryx": rows_out,
            "idle-memory/eryx": idle,
        }


if __name__ == "__main__":
    serve(opened())

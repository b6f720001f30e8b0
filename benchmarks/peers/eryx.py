"""pyeryx: CPython in Wasmtime, each sandbox a component of its own. Its host interface is synchronous; callbacks are
plain functions that the guest awaits, as in its documentation.

It has two ways to start: `Sandbox(callbacks=...)`, which its documentation recommends where no packages are needed,
and a `SandboxFactory` with the callbacks baked in, which it says is faster. Both are measured; everything else runs in
the factory's sessions. A factory takes long to build and is meant to be saved, so it is, in the folder that is this
program's argument. Values cross as JSON. Limits are its defaults.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.serving import Operation, expect, from_process, process_start, serve
from benchmarks.work import (
    CALLS,
    GATHERED,
    GATHERS,
    ROW_TRIPS,
    ROWS,
    TEXT,
    TEXT_TRIPS,
    Arrivals,
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
IDLE_PROGRAM: Final = """
import sys
import eryx
from benchmarks.work import IDLE, proportional_bytes

factory = eryx.SandboxFactory.load(sys.argv[1])
kept = []

def hold(count):
    for _ in range(count):
        kept.append(factory.create_session())
        kept[-1].execute("x = [1, 2, 3]")

hold(1)
before = proportional_bytes()
hold(IDLE)
print((proportional_bytes() - before) / IDLE, flush=True)
"""


@contextmanager
def opened(folder: Path) -> Iterator[Mapping[str, Operation]]:
    """The operations, by the names of their figures. The factory is kept in `folder`."""
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
    saved = folder / f"eryx-{version('pyeryx')}-factory.bin"
    if not saved.exists():
        building = saved.with_suffix(".part")
        eryx.SandboxFactory(callbacks=callbacks).save(building)
        building.replace(saved)
    factory = eryx.SandboxFactory.load(saved, callbacks=callbacks)
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
            "idle-memory/eryx-factory": from_process(IDLE_PROGRAM, str(saved)),
        }


if __name__ == "__main__":
    serve(opened(Path(sys.argv[1])))

"""Memory: the proportional set size of a process (PSS, from /proc/self/smaps_rollup), with sandboxes and without."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import trio

from benchmarks.capability import lookup
from benchmarks.sampling import Failed, Sample, measure, value_of
from benchmarks.work import proportional_bytes
from sandbox import EngineError, open_sandbox
from sandbox.image import Image

__all__ = ["idle", "live"]

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = """
import gc
from contextlib import AsyncExitStack
import trio
from benchmarks.work import IDLE, proportional_bytes
from sandbox import open_sandbox

async def answer(call):
    return call.args[0]

async def hold(count, stack):
    for _ in range(count):
        session = await stack.enter_async_context(open_sandbox(answer, names=["lookup"]))
        await session.run("x = [1, 2, 3]")
    gc.collect()

async def main():
    async with AsyncExitStack() as stack:
        await hold(1, stack)
        before = proportional_bytes()
        await hold(IDLE, stack)
        print((proportional_bytes() - before) / IDLE, flush=True)

trio.run(main)
"""
MOST: Final = 1_000
SPARED: Final = 512 << 20  # bytes of the machine's memory that are left alone


async def _open(image: Image, stack: AsyncExitStack) -> None:
    session = await stack.enter_async_context(open_sandbox(lookup, names=["lookup"], image=image))
    value_of(await session.run("x = [1, 2, 3]"))


@measure("idle-memory", unit="MB", runs=3, warm=0, seconds=8.0)
async def idle(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """An idle sandbox after a first cell. In a new process, after a first one, fifty are opened; what the process has
    grown by is divided among them."""

    async def sample() -> float:
        command = [sys.executable, "-c", PROGRAM]
        said = await trio.run_process(command, capture_stdout=True, check=False, cwd=ROOT)
        if said.returncode != 0:
            raise Failed("the program failed")
        return float(said.stdout)

    del image  # found by its name, as in any program
    yield {"idle-memory": sample}


@measure("live-sandboxes", units={"live-sandboxes": "sandboxes", "live-memory": "MB"}, runs=1, warm=0, only_full=True)
async def live(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """Sandboxes opened one after another, each with a first cell, all kept: how many fit, up to 1,000, and what each of
    them takes."""
    async with AsyncExitStack() as stack:
        gc.collect()
        before, count = proportional_bytes(), 0
        while count < MOST and _available() > SPARED:
            try:
                await _open(image, stack)
            except EngineError:
                break
            count += 1
        gc.collect()
        took = proportional_bytes() - before

        async def how_many() -> float:
            return float(count)

        async def how_large() -> float:
            return took / max(count, 1)

        yield {"live-sandboxes": how_many, "live-memory": how_large}


def _available() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise ValueError("meminfo has no line about MemAvailable")

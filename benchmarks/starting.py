"""From nothing to the first answered call: `await lookup(1)` in a cell of its own, until its value is back."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from typing import Final

import trio

from benchmarks.capability import Desk, lookup
from benchmarks.sampling import Failed, Sample, measure, value_of
from host import HostSession, open_host
from sandbox import Session, open_sandbox
from sandbox.image import Image

__all__ = ["fresh", "fresh_session", "process", "warm"]

PROGRAM: Final = """
import trio
from sandbox import open_sandbox

async def answer(call):
    return call.args[0]

async def main():
    async with open_sandbox(answer, names=["lookup"]) as session:
        print((await session.run("await lookup(1)")).value, flush=True)

trio.run(main)
"""


async def _answered(session: Session | HostSession, source: str) -> None:
    if value_of(await session.run(source)) != 1:
        raise Failed("the first call was answered with something else")


@measure("fresh", unit="ms", runs=40)
async def fresh(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A fresh sandbox, from `open_sandbox` to its first answered call."""

    async def sample() -> float:
        began = time.perf_counter()
        async with open_sandbox(lookup, names=["lookup"]) as session:
            await _answered(session, "await lookup(1)")
            return time.perf_counter() - began

    del image  # found by its name, as in any program
    yield {"fresh": sample}


@measure("fresh-session", unit="ms", runs=40)
async def fresh_session(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A fresh session of a host that is open already, to its first answered call of a capability."""
    async with open_host(capabilities=[Desk()], image=image) as host:

        async def sample() -> float:
            began = time.perf_counter()
            async with host.session() as session:
                await _answered(session, "await desk.lookup(1)")
                return time.perf_counter() - began

        yield {"fresh-session": sample}


@measure("warm", unit="ms", runs=40)
async def warm(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The same from a spare that was kept warm (`open_host(spares=1)`)."""
    async with open_host(capabilities=[Desk()], image=image, spares=1) as host:

        async def sample() -> float:
            await host.spare_ready()
            began = time.perf_counter()
            async with host.session() as session:
                await _answered(session, "await desk.lookup(1)")
                return time.perf_counter() - began

        yield {"warm": sample}


@measure("process", unit="ms", runs=8, warm=1)
async def process(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A new Python process: start, imports, loading the cached image, and its first answered call."""

    async def sample() -> float:
        began = time.perf_counter()
        child = await trio.lowlevel.open_process([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE)
        assert child.stdout is not None
        said = b""
        while b"\n" not in said and (more := await child.stdout.receive_some()):
            said += more
        took = time.perf_counter() - began
        if await child.wait() != 0 or said != b"1\n":
            raise Failed("the program failed")
        return took

    del image
    yield {"process": sample}

"""A live interpreter as a value. All sessions here are small: they have run one cell, `x = [1, 2, 3]`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, Literal, override

import trio

from benchmarks.capability import lookup
from benchmarks.sampling import Failed, Sample, measure, value_of
from sandbox import Limits, Session, open_sandbox, resume_sandbox
from sandbox.cell import Cell
from sandbox.image import Image
from sandbox.opening import load_template
from sandbox.settings import Settings

__all__ = ["fork", "fork_waiting", "freeze", "resume", "rollback", "suspend", "suspend_size"]

SMALL: Final = "x = [1, 2, 3]"
STUBBORN: Final = """
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""


@asynccontextmanager
async def _small(image: Image) -> AsyncIterator[Session]:
    async with open_sandbox(lookup, names=["lookup"], image=image) as session:
        value_of(await session.run(SMALL))
        yield session


@asynccontextmanager
async def _waiting(image: Image) -> AsyncIterator[Session]:
    """A small session in the middle of a cell that waits for a call."""
    async with (
        open_sandbox(lookup, names=["lookup"], image=image, held=["lookup"]) as session,
        trio.open_nursery() as nursery,
    ):
        value_of(await session.run(SMALL))
        nursery.start_soon(session.run, "y = await lookup(4)\nx + [y]")
        await session.held()
        yield session
        nursery.cancel_scope.cancel()


def _forks(session: Session, *, check: str | None) -> Sample:
    async def sample() -> float:
        began = time.perf_counter()
        copy = await session.fork()
        took = time.perf_counter() - began
        outcome = await (copy.finish() if check is None else copy.run(check))
        await copy.aclose()
        if value_of(outcome) != [1, 2, 3, 4]:
            raise Failed("the copy is none")
        return took

    return sample


@measure("fork", unit="ms", runs=60)
async def fork(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """`session.fork()` between two cells, until the copy could run a cell."""
    async with _small(image) as session:
        yield {"fork": _forks(session, check="x + [4]")}


@measure("fork-waiting", unit="ms", runs=60)
async def fork_waiting(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """`session.fork()` in the middle of an await."""
    async with _waiting(image) as session:
        yield {"fork-waiting": _forks(session, check=None)}


@measure("freeze", unit="ms", runs=60)
async def freeze(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The interpreter as a value in memory: the first half of a fork or of putting to sleep, and all of the checkpoint
    that is taken before each cell."""
    async with _small(image) as session:
        interpreter = await session.prepare()

        async def sample() -> float:
            began = time.perf_counter()
            interpreter.freeze()
            return time.perf_counter() - began

        yield {"freeze": sample}


@measure("suspend", unit="ms", runs=40)
async def suspend(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """`session.suspend()`: the session as bytes for the disk, compressed."""
    async with _small(image) as session:

        async def sample() -> float:
            copy = await session.fork()
            began = time.perf_counter()
            await copy.suspend()
            return time.perf_counter() - began

        yield {"suspend": sample}


@measure("suspend-size", unit="MB", runs=3, warm=0)
async def suspend_size(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """How many bytes that gives."""

    async def sample() -> float:
        async with _small(image) as session:
            return float(len(await session.suspend()))

    yield {"suspend-size": sample}


@measure("resume", unit="ms", runs=40)
async def resume(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """`resume_sandbox(data)`: from the bytes until the session could run a cell."""
    async with _small(image) as session:
        data = await session.suspend()

    async def sample() -> float:
        began = time.perf_counter()
        async with resume_sandbox(data, lookup, image=image) as woken:
            took = time.perf_counter() - began
            if value_of(await woken.run("x + [4]")) != [1, 2, 3, 4]:
                raise Failed("the session is not the one that was put to sleep")
        return took

    yield {"resume": sample}


class _Timed(Session):
    """A session that notes how long it took to be put back after its last hard stop, in seconds."""

    took = 0.0

    @override
    async def _put_back(self, cell: Cell) -> Literal["kept", "restored", "lost"]:
        began = time.perf_counter()
        state = await super()._put_back(cell)
        self.took = time.perf_counter() - began
        return state


@measure("rollback", unit="ms", runs=25)
async def rollback(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """After a cell that would not end was stopped: from the stop until the session is as it was before the cell. The
    grace that code is given before that is not in it."""
    template = await load_template(image)
    limits = Limits(cpu_seconds=0.01, grace_seconds=0.01)
    session = _Timed(template, Settings(limits=limits), lookup)
    try:
        value_of(await session.run(SMALL))

        async def sample() -> float:
            session.took = 0.0
            outcome = await session.run(STUBBORN)
            if (
                not session.took
                or outcome.session != "restored"
                or value_of(await session.run("x + [4]")) != [1, 2, 3, 4]
            ):
                raise Failed("the session was not put back")
            return session.took

        yield {"rollback": sample}
    finally:
        await session.aclose()

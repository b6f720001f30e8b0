"""Computing in the guest against the same code in the Python that runs the benchmarks: processor time on both sides, in
the guest with all limits on. The two are of different versions: the guest is CPython 3.14.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from benchmarks.sampling import Failed, Sample, measure, value_of
from sandbox import Session, open_sandbox
from sandbox.image import Image

__all__ = ["loop", "mixed"]

LOOP: Final = """
def work(count):
    total = 0
    for i in range(count):
        total += i * i % 7
    return total
"""
MIXED: Final = """
def word(number):
    return f"{number % 997:x}"

def work(count):
    seen = {}
    for i in range(count):
        key = word(i)
        seen[key] = seen.get(key, 0) + len(key) * 1.5
    best = sorted(seen.items(), key=lambda item: (item[1], item[0]))
    return sum(value for _, value in best)
"""


def _native(source: str, count: int) -> tuple[Sample, object]:
    namespace: dict[str, Callable[[int], object]] = {}
    exec(compile(source, "<work>", "exec"), namespace)  # our own code, as the guest gets it
    work = namespace["work"]

    async def sample() -> float:
        began = time.thread_time()
        work(count)
        return time.thread_time() - began

    return sample, work(count)


def _guest(session: Session, count: int, expected: object) -> Sample:
    async def sample() -> float:
        outcome = await session.run(f"work({count})")
        if value_of(outcome) != expected:
            raise Failed("the guest came to another result")
        return outcome.usage.cpu_ms / 1e3

    return sample


@measure("cpu-loop", unit="ms", figures=("cpu-loop", "cpu-loop/native"), runs=15)
async def loop(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A loop over integers, 500,000 times `total += i * i % 7`."""
    native, expected = _native(LOOP, 500_000)
    async with open_sandbox(image=image) as session:
        value_of(await session.run(LOOP))
        yield {"cpu-loop": _guest(session, 500_000, expected), "cpu-loop/native": native}


@measure("cpu-mixed", unit="ms", figures=("cpu-mixed", "cpu-mixed/native"), runs=15)
async def mixed(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """Calls, strings, a dict and sorting, 100,000 times."""
    native, expected = _native(MIXED, 100_000)
    async with open_sandbox(image=image) as session:
        value_of(await session.run(MIXED))
        yield {"cpu-mixed": _guest(session, 100_000, expected), "cpu-mixed/native": native}

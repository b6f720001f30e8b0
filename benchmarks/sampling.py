"""How a measurement is taken: what it must offer, and whose turn it is.

The clock is `time.perf_counter` and is read by the measurement itself, right around what it measures. Here is what is
the same for all: warming up, taking turns, and keeping the garbage collector out of the way.
"""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from benchmarks.figures import UNITS, Figure
from sandbox import Outcome
from sandbox.image import Image

__all__ = ["Absent", "Failed", "Measure", "Rival", "Sample", "measure", "take", "value_of"]

type Sample = Callable[[], Awaitable[float]]
"""One sample, in seconds, bytes or things counted."""

LEAST: Final = 3  # rounds, however long they take
QUICK_SECONDS: Final = 0.5


class Failed(Exception):
    """Something could not be measured. The message says what went wrong; the other measurements go on."""


class Absent(Exception):
    """Something that need not be there is not, so figures are left out. The message says what, and how to get it."""


class Rival(Protocol):
    """A peer, as far as taking turns with it goes."""

    @property
    def offers(self) -> frozenset[str]:
        """The names of the figures that it can give samples for."""

    async def sample(self, figure: str) -> float:
        """One sample. Raises `Failed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measurement. `what` says what is timed; `units` has the figures that it gives, one or several that are
    compared, each with its unit.

    `open` prepares it and gives a way to sample each figure. It takes `runs` rounds, fewer if they take longer than
    `seconds`, after `warm` more that do not count.
    """

    name: str
    what: str
    units: Mapping[str, str]
    open: Callable[[Image], AbstractAsyncContextManager[Mapping[str, Sample]]]
    runs: int
    warm: int
    seconds: float
    only_full: bool

    def unit_of(self, figure: str) -> str:
        """The unit of one of its figures, or of a rival's of the same thing."""
        return self.units.get(figure) or self.units[figure.partition("/")[0]]


def measure(
    name: str,
    *,
    unit: str = "",
    figures: tuple[str, ...] = (),
    units: Mapping[str, str] | None = None,
    runs: int = 30,
    warm: int = 3,
    seconds: float = 4.0,
    only_full: bool = False,
) -> Callable[[Callable[[Image], AsyncIterator[Mapping[str, Sample]]]], Measure]:
    """Define a measurement: the generator below prepares it, yields its samples by figure, and cleans up. Its
    docstring says what is timed. The figures are `units`, or `figures` in one `unit`, or the measurement's own name.
    """
    given = dict.fromkeys(figures or (name,), unit) if units is None else units
    if unknown := set(given.values()) - set(UNITS):
        raise ValueError(f"there are no such units: {unknown}")

    def define(opened: Callable[[Image], AsyncIterator[Mapping[str, Sample]]]) -> Measure:
        return Measure(
            name=name,
            what=" ".join((opened.__doc__ or "").split()),
            units=given,
            open=asynccontextmanager(opened),
            runs=runs,
            warm=warm,
            seconds=seconds,
            only_full=only_full,
        )

    return define


@contextmanager
def collected() -> Iterator[None]:
    """A stretch in which the garbage collector does nothing, after it has done all that there was to do."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def take(
    measured: Measure,
    image: Image,
    rivals: tuple[Rival, ...] = (),
    *,
    quick: bool = False,
    progress: Callable[[float], None] = lambda _share: None,
) -> tuple[list[Figure], list[str]]:
    """The figures of a measurement, its rivals' among them, and sentences about rivals that failed. Raises `Failed`
    and `Absent`.

    `progress` is told the share that is done.
    """
    troubles: list[str] = []
    async with measured.open(image) as ours:
        contenders = dict(ours)
        for rival in rivals:
            for figure in sorted(rival.offers):
                if figure.partition("/")[0] in measured.units:
                    contenders[figure] = _sampler(rival, figure)
        # What lives as long as the measurement (100,000 messages, say) need not be looked at before each sample.
        gc.collect()
        gc.freeze()
        try:
            sampled = await _in_turns(contenders, measured, quick, troubles, progress)
        finally:
            gc.unfreeze()
    figures = [Figure.of(name, measured.unit_of(name), values) for name, values in sampled.items() if values]
    return figures, troubles


def _sampler(rival: Rival, figure: str) -> Sample:
    return lambda: rival.sample(figure)


async def _in_turns(
    contenders: dict[str, Sample],
    measured: Measure,
    quick: bool,
    troubles: list[str],
    progress: Callable[[float], None],
) -> dict[str, list[float]]:
    runs, warm = (min(measured.runs, LEAST), min(measured.warm, 1)) if quick else (measured.runs, measured.warm)
    seconds = min(measured.seconds, QUICK_SECONDS) if quick else measured.seconds
    sampled: dict[str, list[float]] = {name: [] for name in contenders}
    began = time.perf_counter()
    for turn in range(warm + runs):
        spent = time.perf_counter() - began
        if turn >= warm + LEAST and spent > seconds:
            break
        progress(max(turn / (warm + runs), min(spent / seconds, 1.0)))
        names = list(contenders)
        first = turn % len(names)  # nobody always comes after the same other one
        for name in (*names[first:], *names[:first]):
            try:
                with collected():
                    value = await contenders[name]()
            except Failed as failure:
                if "/" not in name:
                    raise
                troubles.append(f"{name}: {failure}")
                del contenders[name], sampled[name]
                continue
            if turn >= warm:
                sampled[name].append(value)
    return sampled


def value_of(outcome: Outcome) -> object:
    """The value of a cell that must have gone well. Raises `Failed`."""
    if outcome.error is not None:
        raise Failed(outcome.error.traceback or outcome.error.message)
    return outcome.value

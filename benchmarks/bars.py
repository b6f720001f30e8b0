"""The bars: what this project holds itself to, as data, and how figures are held against them.

A bar is a ratio between two figures of one run, or an absolute number. A figure's name is that of the measurement; a
peer's has the peer's behind a slash. Where a peer documents two ways to do the same, the bar is held against both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from benchmarks.figures import Figure

__all__ = ["BARS", "Bar", "Judgement", "judged", "ratio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """`figure` is at most `most`, or at least `least`: times the figure `against` if there is one, else in the
    figure's own unit.
    """

    figure: str
    against: str | None = None
    most: float | None = None
    least: float | None = None

    def __post_init__(self) -> None:
        if (self.most is None) == (self.least is None):
            raise ValueError("a bar is either an upper or a lower one")

    def is_met(self, value: float) -> bool:
        """Whether a ratio, or a median, reaches the bar."""
        return value <= self.most if self.most is not None else value >= (self.least or 0.0)

    def __str__(self) -> str:
        return f"<= {self.most:g}" if self.most is not None else f">= {self.least:g}"


BARS: Final = (
    Bar(figure="fresh", against="fresh/eryx", most=0.3),
    Bar(figure="fresh", against="fresh/eryx-factory", most=0.3),
    Bar(figure="warm", against="warm/monty", most=0.8),
    Bar(figure="warm", against="warm/monty-plain", most=0.8),
    Bar(figure="call", against="call/eryx", most=0.3),
    Bar(figure="call", against="call/monty", most=0.8),
    Bar(figure="call-gather", against="call-gather/eryx", most=0.15),
    Bar(figure="string", against="string/eryx", most=0.15),
    Bar(figure="string", against="string/monty", most=0.5),
    Bar(figure="rows-in", against="rows-in/monty", most=0.8),
    Bar(figure="rows-out", against="rows-out/monty", most=0.8),
    Bar(figure="cpu-loop", against="cpu-loop/native", most=1.4),
    Bar(figure="fork", most=3.0),
    Bar(figure="fork-waiting", most=3.0),
    Bar(figure="freeze", most=1.5),
    Bar(figure="suspend", most=1.5),
    Bar(figure="suspend-size", most=0.6),
    Bar(figure="idle-memory", most=1.2),
    Bar(figure="live-sandboxes", least=1000),
    Bar(figure="inherited-100000", against="inherited-0", most=1.05),
    Bar(figure="conversation-fork-10000", against="conversation-fork-10", most=1.5),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A bar, and the value that was held against it; None if it was not measured."""

    bar: Bar
    value: float | None

    @property
    def met(self) -> bool | None:
        """None if there was nothing to judge."""
        return None if self.value is None else self.bar.is_met(self.value)


def ratio(figure: Figure, against: Figure) -> float:
    """How many times `against` the figure is, by their medians. Raises ValueError for figures of two units."""
    if figure.unit != against.unit:
        raise ValueError(f"{figure.name} is in {figure.unit}, and {against.name} in {against.unit}")
    return figure.median / against.median if against.median else math.inf


def judged(figures: Iterable[Figure], bars: Iterable[Bar] = BARS) -> list[Judgement]:
    """Hold figures against the bars."""
    known = {figure.name: figure for figure in figures}
    judgements = []
    for bar in bars:
        figure = known.get(bar.figure)
        value = None
        if figure is not None and bar.against is None:
            value = figure.median
        elif figure is not None and bar.against in known:
            value = ratio(figure, known[bar.against])
        judgements.append(Judgement(bar=bar, value=value))
    return judgements

"""What is printed: a table of figures, each peer's below ours, and how the bars were met."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.bars import Judgement, judged, ratio
from benchmarks.figures import Figure

__all__ = ["conditions", "show", "warning"]

LOADED: Final = 1.0  # the load average from which on other programs are in the way


def conditions(peers: Iterable[str]) -> str:
    """Where this was measured: versions, processors, load."""
    load = os.getloadavg()[0]
    parts = (
        f"Branchpoint {version('branchpoint')}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"wasmtime {version('wasmtime')}",
        *peers,
        f"{os.cpu_count()} processors",
        f"load {load:.1f}",
    )
    return ", ".join(parts)


def warning() -> str | None:
    """What is wrong with measuring now, if anything is."""
    load = os.getloadavg()[0]
    if load < LOADED:
        return None
    return (
        f"Other programs are running (the load is {load:.1f}): times are too long, and ratios are rough. Measure again "
        f"when `uptime` shows a load below {LOADED:g}."
    )


def show(console: Console, figures: Sequence[Figure]) -> None:
    """Print the table and the sum of the bars."""
    by_pair = {
        (judgement.bar.figure, judgement.bar.against): judgement
        for judgement in judged(figures)
        if judgement.value is not None
    }
    known = {figure.name: figure for figure in figures}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("figure", no_wrap=True)
    table.add_column("unit")
    for column in ("median", "min", "max", "runs"):
        table.add_column(column, justify="right")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("bar", no_wrap=True)
    for figure in _ordered(figures):
        ours = known.get(figure.measure)
        compared, bar = "", Text()
        if figure.peer is not None and ours is not None:
            compared = f"{ratio(ours, figure):.3g} x"
            bar = _verdict(by_pair.get((ours.name, figure.name)))
        elif (judgement := _of_one(figure, by_pair.values())) is not None:
            if judgement.bar.against is not None:
                compared = f"{judgement.value:.3g} x {judgement.bar.against}"
            bar = _verdict(judgement)
        name = Text(figure.name) if figure.peer is None else Text(f"  {figure.peer}", style="dim")
        low, high = min(figure.samples), max(figure.samples)
        table.add_row(
            name,
            figure.unit,
            *(_number(value) for value in (figure.median, low, high)),
            str(len(figure.samples)),
            compared,
            bar,
        )
    console.print(table)
    for line in _sum(judged(figures), known):
        console.print(line, soft_wrap=True, highlight=False)


def _ordered(figures: Sequence[Figure]) -> list[Figure]:
    """Each of ours with its peers' below it."""
    order = list(dict.fromkeys(figure.measure for figure in figures))
    return sorted(figures, key=lambda figure: (order.index(figure.measure), figure.peer is not None))


def _of_one(figure: Figure, judgements: Iterable[Judgement]) -> Judgement | None:
    """The judgement that stands in a figure's own row: absolute, or against another figure of ours."""
    for judgement in judgements:
        bar = judgement.bar
        if bar.figure == figure.name and (bar.against is None or "/" not in bar.against):
            return judgement
    return None


def _verdict(judgement: Judgement | None) -> Text:
    if judgement is None:
        return Text()
    text = Text(f"{judgement.bar} ")
    return text.append("met", style="green") if judgement.met else text.append("missed", style="red")


def _number(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _sum(judgements: Sequence[Judgement], figures: Mapping[str, Figure]) -> Iterator[str]:
    met = sum(judgement.met is True for judgement in judgements)
    missed = [judgement for judgement in judgements if judgement.met is False]
    absent = len(judgements) - met - len(missed)
    yield f"\n{met} bars met, {len(missed)} missed, {absent} not measured. A ratio is our median to that in its row."
    for judgement in missed:
        bar = judgement.bar
        what = f"x {bar.against}" if bar.against else figures[bar.figure].unit
        yield f"Missed: {bar.figure} is {judgement.value:.3g} {what}, and the bar is {bar}."

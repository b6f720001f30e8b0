"""A figure: the samples of one measurement, and what is said of them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["UNITS", "Figure", "write"]

UNITS: Final = {
    "ms": 1e3,
    "us": 1e6,
    "MB": 1e-6,
    "sandboxes": 1.0,
    "tokens (computed)": 1.0,
    "tokens (measured)": 1.0,
}
"""How many of a unit make what is sampled: seconds, bytes, or things counted. 1 MB is 1,000,000 bytes."""

_DIGITS: Final = 6  # significant ones, in the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Samples of one thing, in its unit. There is at least one."""

    name: str
    unit: str
    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.samples:
            raise ValueError(f"no sample of {self.name}")
        if self.unit not in UNITS:
            raise ValueError(f"there is no unit {self.unit!r}")

    @classmethod
    def of(cls, name: str, unit: str, sampled: Iterable[float]) -> Figure:
        """The figure of what was sampled in seconds, bytes or things."""
        return cls(name=name, unit=unit, samples=tuple(value * UNITS[unit] for value in sampled))

    @property
    def measure(self) -> str:
        """The name without the peer's: of our own figure of the same thing."""
        return self.name.partition("/")[0]

    @property
    def peer(self) -> str | None:
        """Who was measured, with what, if it was not us."""
        return self.name.partition("/")[2] or None

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)

    def as_plain(self) -> dict[str, object]:
        """The figure as JSON data: {name, unit, median, min, max, runs}."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": _rounded(self.median),
            "min": _rounded(min(self.samples)),
            "max": _rounded(max(self.samples)),
            "runs": len(self.samples),
        }


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def write(figures: Iterable[Figure], file: Path) -> None:
    """Write figures as a JSON list. Raises OSError."""
    text = json.dumps([figure.as_plain() for figure in figures], indent=1)
    file.write_text(text + "\n", encoding="utf-8")

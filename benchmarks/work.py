"""The work that all contenders are given, so that they are given the same."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

__all__ = [
    "CALLS",
    "GATHERED",
    "GATHERS",
    "IDLE",
    "ROWS",
    "ROW_TRIPS",
    "TEXT",
    "TEXT_TRIPS",
    "Arrivals",
    "proportional_bytes",
]

CALLS: Final = 200  # in sequence, in one cell
GATHERED: Final = 100  # at once
GATHERS: Final = 8  # in one cell; one more than 9 would pass the peers' limits of 1,000 calls
TEXT: Final = 1_000_000  # characters, all ASCII
TEXT_TRIPS: Final = 6
ROW_TRIPS: Final = 2
IDLE: Final = 50  # sandboxes whose memory is taken together

ROWS: Final[list[dict[str, object]]] = [
    {"id": number, "name": f"row {number}", "score": number / 3, "active": number % 2 == 0} for number in range(10_000)
]


class Arrivals:
    """When calls arrived at the host. The time between two is what a call costs, the start of a cell left out."""

    def __init__(self) -> None:
        self._at: list[float] = []

    def arrived(self) -> None:
        """One has arrived."""
        self._at.append(time.perf_counter())

    def clear(self) -> None:
        """Forget them."""
        self._at.clear()

    def each(self, count: int, *, of: int = 1) -> float:
        """Seconds for one of `count` trips of `of` calls each; one more trip was made, since the last has no next.

        Raises ValueError if it was another number of calls.
        """
        if len(self._at) != (count + 1) * of:
            raise ValueError(f"{len(self._at)} calls arrived, and {(count + 1) * of} were made")
        return (self._at[count * of] - self._at[0]) / (count * of)


def proportional_bytes(process: int | str = "self") -> int:
    """The memory of a process: what it has for itself, and its share of what it shares (PSS). Linux only."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise ValueError("smaps_rollup has no line about Pss")

"""The guest's time. It never reads a clock of its own: it asks the world, and the world asks one of these.

`RealClock` follows trio's clock, so a sandbox under a test clock that jumps sees the jump. `VirtualClock` makes a run
repeatable: it starts at a fixed date and moves only when something sleeps (and by a microsecond whenever it is read).
"""

from __future__ import annotations

import time
from typing import Final, Protocol

__all__ = ["VIRTUAL_START", "Clock", "RealClock", "VirtualClock"]

SECOND: Final = 1_000_000_000
VIRTUAL_START: Final = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z
LATEST: Final = 1 << 62  # ns; what the guest's clocks can hold
VIRTUAL_LOOK: Final = 1_000  # ns that pass with each look, so that a loop that waits for time to pass ends


class Clock(Protocol):
    """What the world needs to know about time, in nanoseconds."""

    def enter(self, now: float) -> None:
        """The guest is about to run; `now` is trio's time in seconds."""

    def monotonic(self) -> int:
        """Time since an arbitrary start. Never goes back within a session, not even over suspend and resume."""

    def wall(self) -> int:
        """Time since 1970-01-01T00:00:00Z."""

    def slept(self, seconds: float) -> None:
        """Everything in the guest waited for so long."""

    @property
    def jumps(self) -> bool:
        """Whether waiting need not take real time."""


class RealClock:
    """Real time, continuing at `start` nanoseconds."""

    jumps: Final = False

    def __init__(self, start: int = 0) -> None:
        self._base = start
        self._origin: float | None = None
        self._entered = self._entered_at = 0

    def enter(self, now: float) -> None:
        """See `Clock`."""
        if self._origin is None:
            self._origin = now
        self._entered = max(
            self.monotonic() if self._entered_at else 0, self._base + int((now - self._origin) * SECOND)
        )
        self._entered_at = time.perf_counter_ns()

    def monotonic(self) -> int:
        """See `Clock`."""
        return self._entered + time.perf_counter_ns() - self._entered_at

    def wall(self) -> int:
        """See `Clock`."""
        return time.time_ns()

    def slept(self, seconds: float) -> None:
        """Nothing to do: real time has passed."""


class VirtualClock:
    """Time that moves by sleeping only, at `start` nanoseconds."""

    jumps: Final = True

    def __init__(self, start: int = 0) -> None:
        self._now = start

    def enter(self, now: float) -> None:
        """Real time does not matter."""

    def monotonic(self) -> int:
        """See `Clock`."""
        self._now += VIRTUAL_LOOK
        return self._now

    def wall(self) -> int:
        """See `Clock`."""
        return VIRTUAL_START + self.monotonic()

    def slept(self, seconds: float) -> None:
        """See `Clock`."""
        self._now = min(self._now + int(min(seconds, LATEST / SECOND) * SECOND), LATEST)

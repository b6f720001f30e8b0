"""What one cell may use. All limits are on by default; each has its own sentence when it is reached."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Final, Literal

__all__ = ["LimitWatch", "Limits", "Reason"]

NANO: Final = 1_000_000_000
LARGEST: Final = 1 << 32
Reason = Literal["cancelled", "cpu", "wall", "calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits per cell, unless said otherwise.

    cpu_seconds       time on the processor; it does not run while the guest waits on the host
    wall_seconds      time that passes, waiting included
    grace_seconds     how long code may clean up after the soft stage of either, before it is stopped hard
    memory_bytes      the interpreter's whole memory, per session (an empty one has about 50 MiB)
    output_bytes      stdout and stderr together; head and tail are kept, the middle is counted
    frame_bytes       one message across the boundary
    value_bytes       a cell's value, before it is shortened
    depth, items      nesting and number of items of one message's values
    calls             calls made or refused
    calls_at_once     calls in flight; further ones wait
    tasks             live asyncio tasks in the guest
    """

    cpu_seconds: float = 10.0
    wall_seconds: float = 120.0
    grace_seconds: float = 1.0
    memory_bytes: int = 256 << 20
    output_bytes: int = 1 << 20
    frame_bytes: int = 32 << 20
    value_bytes: int = 16 << 20
    depth: int = 100
    items: int = 1_000_000
    calls: int = 1_000
    calls_at_once: int = 128
    tasks: int = 10_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            seconds = field.name.endswith("_seconds")
            kinds = (int, float) if seconds else (int,)
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value <= LARGEST:
                what = "number of seconds" if seconds else "whole number"
                raise ValueError(f"{field.name} is a positive {what} up to {LARGEST:,}, not {value!r}")
        if self.memory_bytes > 1 << 32:
            raise ValueError("memory_bytes is at most 4 GiB")

    def within(self, other: Limits) -> Limits:
        """These limits, with time and memory no larger than the others'. For a session from elsewhere."""
        names = ("cpu_seconds", "wall_seconds", "grace_seconds", "memory_bytes")
        return replace(self, **{name: min(getattr(self, name), getattr(other, name)) for name in names})

    def for_guest(self) -> dict[str, int]:
        """Those that the guest checks itself, so that the agent reads about them at its own line."""
        return {
            name: getattr(self, name) for name in ("tasks", "depth", "items", "value_bytes", "frame_bytes", "calls")
        }


class LimitWatch:
    """The three stages of a limit, for one cell: looked at on the guest's thread, asked to stop from trio's.

    Soft: `look` says "interrupt" once, and the guest raises. Hard: after the grace it says "stop". What follows,
    putting the interpreter back, is the session's.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._soft_cpu = int(limits.cpu_seconds * NANO)
        self._soft_wall = time.perf_counter_ns() + int(limits.wall_seconds * NANO)
        self._hard_cpu = self._hard_wall = 0
        self._wanted: Reason | None = None
        self._used = 0
        self._entered = 0
        self.reason: Reason | None = None
        self.told = False  # whether the guest knows the reason

    # On the guest's thread

    def enter(self) -> None:
        """The guest starts to run on this thread."""
        self._entered = time.thread_time_ns()

    def leave(self) -> None:
        """It stops running here: the step is over, or it waits in a blocking call."""
        self._used += time.thread_time_ns() - self._entered

    def look(self) -> str:
        """See `guest.Watch`."""
        cpu = self._used + time.thread_time_ns() - self._entered
        now = time.perf_counter_ns()
        if self.reason is not None:
            return "stop" if cpu > self._hard_cpu or now > self._hard_wall else "go on"
        if cpu > self._soft_cpu:
            self.begin("cpu", cpu)
        elif now > self._soft_wall:
            self.begin("wall", cpu)
        elif self._wanted is not None:
            self.begin(self._wanted, cpu)
        else:
            return "go on"
        return "interrupt"

    # On either

    def begin(self, reason: Reason, cpu: int | None = None) -> None:
        """The soft stage starts."""
        grace = int(self._limits.grace_seconds * NANO)
        self.reason = reason
        self._hard_cpu = (self._used if cpu is None else cpu) + grace
        self._hard_wall = time.perf_counter_ns() + grace

    def want(self, reason: Reason) -> None:
        """Interrupt the guest at the next look, if it runs."""
        self._wanted = self._wanted or reason

    @property
    def cpu_seconds(self) -> float:
        """Processor time used so far."""
        return self._used / NANO

    @property
    def message(self) -> str:
        """The sentence for the limit that was reached."""
        limits = self._limits
        return {
            "cpu": f"the cell used more than {limits.cpu_seconds:g} s of processor time",
            "wall": f"the cell took longer than {limits.wall_seconds:g} s",
            "calls": f"the cell made more than {limits.calls} calls",
            "cancelled": "the run was cancelled",
            None: "",
        }[self.reason]

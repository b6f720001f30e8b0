"""How a cell's end becomes an outcome: which error it is, what was used, what is worth telling."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from guest_stdlib.channel import Done, Failed, Failure

from .cell import Cell, Crashed, Ending, Stopped, Suspended
from .limits import Limits
from .outcome import Outcome, State, Usage

__all__ = ["outcome_of"]


def outcome_of(cell: Cell, ending: Ending, state: State, limits: Limits, *, wall: float, memory: int) -> Outcome:
    """The outcome of a cell. `state` is what became of its session, `wall` is in seconds, `memory` in bytes."""
    watch = cell.watch
    outcome = Outcome(
        stdout=cell.output.text("stdout"),
        stderr=cell.output.text("stderr"),
        session=state,
        usage=Usage(
            cpu_ms=watch.cpu_seconds * 1e3,
            wall_ms=wall * 1e3,
            calls=cell.calls,
            rejected_calls=cell.rejected,
            memory_bytes=memory,
            output_bytes=cell.output.total,
            rounds=cell.rounds,
        ),
    )
    match ending:
        case Done() if watch.reason is None:
            return replace(outcome, value=ending.value, notices=(*ending.notices, *_cut(cell, limits)))
        case Done():  # the script swallowed the limit and ended within the grace
            failure = Failure(kind="limit", type="TimeLimit", message=watch.message)
            return replace(outcome, value=ending.value, error=failure, notices=ending.notices)
        case Failed():
            notices = (*ending.notices, *_cut(cell, limits))
            return replace(outcome, error=_with_limit(ending.failure, limits), notices=notices)
        case Stopped():
            cancelled = watch.reason == "cancelled"
            failure = Failure(
                kind="cancelled" if cancelled else "limit",
                type="CancelledError" if cancelled else "TimeLimit",
                message=f"{watch.message}, and did not end within {limits.grace_seconds:g} s of being told; "
                "it was stopped",
            )
        case Crashed():
            failure = Failure(kind="crash", type="Crash", message=ending.message)
        case Suspended():
            message = "the session was put to sleep in the middle of this cell"
            return replace(outcome, error=Failure(kind="cancelled", type="Suspended", message=message))
    return replace(outcome, error=failure, notices=_made(cell))


def _with_limit(failure: Failure, limits: Limits) -> Failure:
    """A MemoryError has no words of its own."""
    if failure.kind == "limit" and failure.type == "MemoryError" and failure.hint is None:
        return replace(failure, hint=f"The memory of this session is limited to {limits.memory_bytes / 2**20:.0f} MiB.")
    return failure


def _cut(cell: Cell, limits: Limits) -> tuple[str, ...]:
    """Output that is not kept is not missing silently."""
    if not (dropped := cell.output.dropped):
        return ()
    kept = f"of each stream, {limits.output_bytes:,} bytes are kept"
    return (f"In the middle of the output, {dropped:,} bytes were left out: {kept}.",)


def _made(cell: Cell) -> tuple[str, ...]:
    """A stopped cell's calls stay made: they are reported, not undone."""
    if not cell.made:
        return ()
    listed = ", ".join(f"{path} ({count})" if count > 1 else path for path, count in Counter(cell.made).items())
    return (f"Calls that were made before the cell was stopped, and are not undone: {listed}.",)

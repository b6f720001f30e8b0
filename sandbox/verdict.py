"""How a cell's end becomes an outcome: which error it is, what was used, what is worth telling."""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import replace
from typing import Final

from guest_stdlib.channel import Done, Failed, Failure

from .cell import Cell, Crashed, Ending, Stopped, Suspended
from .limits import Limits
from .outcome import Outcome, State, Usage
from .workspace import Files

__all__ = ["outcome_of"]

# How OSError begins in the guest, whose errno has other numbers than the host's.
_REFUSED: Final[dict[int | None, str]] = {
    errno.ENOSPC: "[Errno 51]",
    errno.EFBIG: "[Errno 22]",
    errno.EDQUOT: "[Errno 19]",
}


def outcome_of(
    cell: Cell, ending: Ending, state: State, limits: Limits, *, wall: float, memory: int, files: Files
) -> Outcome:
    """The outcome of a cell. `state` is what became of its session, `wall` is in seconds, `memory` in bytes; `files`
    are those that the cell worked with.
    """
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
            failure = _with_refusal(_with_limit(ending.failure, limits), files)
            return replace(outcome, error=failure, notices=notices)
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
    return replace(outcome, error=failure, notices=(*_made(cell), *_changed(files)))


def _with_limit(failure: Failure, limits: Limits) -> Failure:
    """A MemoryError has no words of its own."""
    if failure.kind == "limit" and failure.type == "MemoryError" and failure.hint is None:
        return replace(failure, hint=f"The memory of this session is limited to {limits.memory_bytes / 2**20:.0f} MiB.")
    return failure


def _with_refusal(failure: Failure, files: Files) -> Failure:
    """Nor has what libc says of a full workspace the number that was reached."""
    number, sentence = files.refusal or (None, "")
    if failure.type != "OSError" or not failure.message.startswith(_REFUSED.get(number, "-")):
        return failure
    return replace(failure, hint=f"{sentence[:1].upper()}{sentence[1:]}.")


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


def _changed(files: Files) -> tuple[str, ...]:
    """Files are shared, so they are not put back with the session that wrote them."""
    if not (names := files.changes):
        return ()
    return (f"Changes to files that are not undone: {', '.join(names)}.",)

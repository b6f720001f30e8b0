"""A cell that waits, as a value: what its calls wait for, what has been answered, and what it has written.

It is what goes along when a session is copied or put to sleep in the middle of a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from guest_stdlib.channel import Call, Failure, Return, Throw

__all__ = ["PendingCall", "Resting", "once"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that has no answer yet. `made` says that the capability was already asked."""

    call: Call
    made: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A cell that waits, as a value. `settled` are answers that the guest has not seen; `wake` is the time to its
    next timer in seconds; `output` is what it has written so far, as (stream, text).
    """

    number: int
    name: str
    pending: tuple[PendingCall, ...]
    settled: tuple[Return | Throw, ...] = ()
    wake: float | None = None
    calls: int = 0
    rounds: int = 0
    output: tuple[tuple[str, str], ...] = ()


def once(resting: Resting, repeatable: Callable[[str], bool]) -> Resting:
    """Each call is made at most once: one that was under way fails in the script, unless it is declared repeatable."""
    again = [waiting for waiting in resting.pending if not waiting.made or repeatable(waiting.call.path)]
    unknown = [waiting.call for waiting in resting.pending if waiting not in again]
    broken = tuple(
        Throw(
            call=call.call,
            failure=Failure(
                kind="script",
                type="CallInterrupted",
                message=f"{call.path} was under way when the session was put to sleep. It may or may not have "
                "taken effect, so it was not made again.",
            ),
        )
        for call in unknown
    )
    return replace(
        resting,
        pending=tuple(replace(waiting, made=False) for waiting in again),
        settled=(*resting.settled, *broken),
    )

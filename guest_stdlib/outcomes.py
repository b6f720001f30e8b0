"""What the host is told when a cell ended: its value, or why there is none.

Rules:

- A value that cannot go out whole still gives an outcome: shortened, with the way to the rest, or as its repr. What is
  in the session stays whole; `_` is bound to it.
- `sys.exit()` ends a cell well; `sys.exit` with a reason is a failure that gives it.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from guest_stdlib import failures, results
from guest_stdlib.channel.budget import CodecLimits
from guest_stdlib.channel.errors import TooLarge, Unsendable
from guest_stdlib.channel.events import Cancel, Done, Failed, Failure
from guest_stdlib.channel.values import Opaque
from guest_stdlib.running import Running, left_normally
from guest_stdlib.scope import Scope

__all__ = ["tell"]

type Put = Callable[[Done | Failed], None]


def tell(
    running: Running,
    scope: Scope,
    put: Put,
    *,
    unawaited: Sequence[str],
    left: Sequence[str],
    stop: Cancel | None,
    limits: CodecLimits,
) -> None:
    """Put the terminal event of a cell into the frame. `unawaited` and `left` are notices of things not done."""
    if running.error is None or left_normally(running.error):
        _done(running, scope, put, running.notices(unawaited, left), limits)
    else:
        hint = scope.hint(running.error, running.notice, unawaited)
        failure = failures.record(running.error, scope.sources, filename=running.filename, stop=stop, hint=hint)
        untold = [sentence for sentence in unawaited if sentence != hint]  # what is said once is enough
        _failed(running, failure, put, running.notices(untold, left))


def _done(running: Running, scope: Scope, put: Put, notices: tuple[str, ...], limits: CodecLimits) -> None:
    value = running.value if running.error is None else None
    if value is not None:
        scope.namespace["_"] = value
    if (unsent := _not_sent(value)) is not None:
        notices += (unsent,)
    done = Done(cell=running.number, value=value, notices=notices, rejected=running.rejected)
    try:
        put(done)
    except Unsendable as problem:
        if not isinstance(problem, TooLarge) or "itself" in problem.problem:
            notice = f"The cell's value was sent as its repr, because {_why(problem)}. It is bound to `_`."
            put(dataclasses.replace(done, value=_opaque(value), notices=(*notices, notice)))
            return
        target = running.cell.target if running.cell else None
        handle = target if target is not None and target.isidentifier() else "_"
        _put_shortened(put, done, handle, _why(problem), limits)
    except Exception as error:  # from the value: a property that raises, say
        notice = f"The cell's value was sent as its repr, because reading it raised {type(error).__name__}."
        put(dataclasses.replace(done, value=_opaque(value), notices=(*notices, notice)))


def _put_shortened(put: Put, done: Done, handle: str, why: str, limits: CodecLimits) -> None:
    shorter = results.shorten(done.value, handle, size=limits.value_bytes, items=limits.items, depth=limits.depth)
    for value in (*shorter, _opaque(done.value)):
        try:
            put(dataclasses.replace(done, value=value, notices=(*done.notices, results.notice(value, why))))
        except Unsendable:
            continue
        return


def _why(problem: Unsendable) -> str:
    where = problem.where.removeprefix("value")
    return f"`_{where}` {problem.problem}" if where else f"it {problem.problem}"


def _failed(running: Running, failure: Failure, put: Put, notices: tuple[str, ...]) -> None:
    if isinstance(running.error, SystemExit):
        message = f"The code ended itself with sys.exit({running.error.code!r})."
        failure = dataclasses.replace(failure, message=failures.shortened(message, 1000))
    failed = Failed(cell=running.number, failure=failure, notices=notices, rejected=running.rejected)
    try:
        put(failed)
    except Unsendable:  # fields that are too much
        put(dataclasses.replace(failed, failure=dataclasses.replace(failure, fields={})))


# Values that go as their repr

_CARRIED: Final = frozenset(
    (
        *(type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range),
        *(datetime, date, time, timedelta, timezone, ZoneInfo, Decimal, Fraction, UUID),
    )
)


def _not_sent(value: object) -> str | None:
    """The notice about a value whose type does not cross."""
    kind = type(value)
    if kind in _CARRIED or isinstance(value, enum.Enum) or dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return None
    return f"The cell's value is {_article(kind.__name__)}, which stays in the session as `_`; its repr was sent."


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _opaque(value: object) -> Opaque:
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return Opaque(type_name=type(value).__name__, text=failures.shortened(text, 1000))

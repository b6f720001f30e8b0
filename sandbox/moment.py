"""A session's interpreter as it stood at one moment, as a value from which sessions of others start.

A fork or a suspended session goes on as the session that it was: the same calls in flight, the same things in scope.
From a moment starts a *new* session, with settings of its own: other capabilities, another token, other limits. What
it takes over are names and values. Reasons:

- The guest that it starts from may have been anyone's, and keeps what it can reach of its old capabilities. So what it
  may do is decided outside: its calls are answered by the new session's callback, which knows no old token.
- A cell in the middle of which the moment was taken has no one to end for. The guest is opened anew (`Open`), and ends
  that cell by itself before it says that it is ready. That costs processor time of the new session's.
- The calls of that cell stay behind: they are another session's, and may be larger than this one's limits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from .errors import EngineError, GuestCrashed, GuestStopped, MomentError
from .guest import Template
from .interpreter import Frozen, Interpreter
from .limits import LimitWatch
from .settings import Settings

__all__ = ["Moment", "begin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The interpreter of a session, at rest. `cells` is the number of its latest cell, `monotonic` its clock in
    nanoseconds, `policy` what its cells were compiled under.
    """

    template: Template
    frozen: Frozen
    policy: Literal["open", "restricted"]
    cells: int
    monotonic: int


async def begin(moment: Moment, settings: Settings, thaw: Callable[[Frozen], Awaitable[Interpreter]]) -> Interpreter:
    """An interpreter that starts from a moment, opened with these settings. Raises MomentError."""
    size, most = moment.frozen.memory.size, settings.limits.memory_bytes
    if size > most:
        raise MomentError(f"it has {size >> 20} MiB of memory, and {most >> 20} MiB are allowed")
    if moment.policy != settings.policy:
        raise MomentError(f'its cells ran under policy "{moment.policy}", not "{settings.policy}"')
    try:
        interpreter = await thaw(replace(moment.frozen, channel={**moment.frozen.channel, "calls": []}))
    except EngineError as error:
        raise MomentError(str(error)) from error
    try:
        await interpreter.open(settings.opening(), LimitWatch(settings.limits))
    except GuestStopped as error:
        interpreter.close()
        raise MomentError("the cell in the middle of which it stood does not end in the time allowed") from error
    except GuestCrashed as error:
        interpreter.close()
        raise MomentError(f"it crashed when the cell in the middle of which it stood was ended: {error}") from error
    except BaseException:
        interpreter.close()
        raise
    return interpreter

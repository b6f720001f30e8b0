"""What the agent reads when its code failed: the exception as data, with its own lines and nothing of ours.

Rules:

- A traceback shows the agent's frames only, with source lines and carets as CPython prints them; chained and grouped
  exceptions too. A recursion is folded, and what is long is shortened with counts.
- `line` and `column` are those of what the agent sent in this cell, even if the exception came from deeper down.
- Recording never fails, whatever the agent's exception does when it is looked at.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, Final, cast

from guest_stdlib.cells import Sources
from guest_stdlib.channel.events import FAILURE_KINDS, Cancel, Failure, FailureKind
from guest_stdlib.interrupts import TimeLimit

__all__ = ["logged", "record", "shortened", "text"]

_MESSAGE: Final = 4000  # characters
_TRACEBACK: Final = 12_000
_KEPT: Final = 12  # frames at each end of a long stack
_FIELDS: Final = 100  # plain values in all fields together


def record(
    error: BaseException, sources: Sources, *, filename: str = "", stop: Cancel | None = None, hint: str | None = None
) -> Failure:
    """An exception that ended a cell, as data. `filename` is the cell's own, `stop` what the host last asked for."""
    kind = _kind(error, stop)
    if stop is not None and stop.reason != "cancelled" and isinstance(error, asyncio.CancelledError):
        error = TimeLimit(stop.message).with_traceback(error.__traceback__)  # there was no other way to raise it
    name, message = type(error).__name__, _message(error, sources)
    if stop is not None and isinstance(error, BaseExceptionGroup) and all(map(_stopped, _members(error))):
        name, message = "CancelledError" if stop.reason == "cancelled" else "TimeLimit", stop.message
    line, column = _place(error, sources, filename)
    return Failure(
        kind=kind,
        type=name,
        message=message,
        traceback=text(error, sources),
        line=line,
        column=column,
        hint=hint,
        fields=_fields(error),
    )


def shortened(string: str, limit: int) -> str:
    """A text of about `limit` characters: the middle of a long one is counted instead of shown."""
    if len(string) <= limit:
        return string
    head, tail = limit * 3 // 4, limit // 4
    return f"{string[:head]}... [{len(string) - head - tail:,} characters left out] ...{string[-tail:]}"


# What it was


def _members(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _members(member)
    else:
        yield error


def _family(error: BaseException) -> Iterator[BaseException]:
    """The exception, what is grouped in it, and what it was raised from or during."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions


def _stopped(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError | TimeLimit)


def _kind(error: BaseException, stop: Cancel | None) -> FailureKind:
    if stop is not None and any(map(_stopped, _family(error))):
        return "cancelled" if stop.reason == "cancelled" else "limit"
    for member in _members(error):
        if isinstance(member, MemoryError):
            return "limit"
        kind = getattr(member, "failure_kind", None)
        if kind in FAILURE_KINDS:
            return cast(FailureKind, kind)
    return "script"


def _message(error: BaseException, sources: Sources) -> str:
    try:
        message = str(error)
        if isinstance(error, SyntaxError) and type(error) in _SYNTAX_ERRORS and error.lineno is not None:
            inside = error.filename in sources
            column = (
                sources[error.filename].column(error.lineno, error.offset)
                if inside and error.filename
                else error.offset
            )
            where = "" if inside else f" of {error.filename}"
            message = f"{error.msg} (line {error.lineno}{f', column {column}' if column else ''}{where})"
    except BaseException:
        return "<the exception cannot be shown: its __str__ failed>"
    return shortened(message, _MESSAGE)


_SYNTAX_ERRORS: Final = (SyntaxError, IndentationError, TabError)


def _fields(error: BaseException) -> Mapping[str, object]:
    """The attributes that are plain data and small."""
    fields = {}
    budget = _FIELDS
    try:
        for name, value in vars(error).items():
            budget -= _count(value, budget)
            if budget < 0:
                break
            if not name.startswith("_") and _count(value, _FIELDS) <= _FIELDS:
                fields[name] = value
    except Exception:
        return {}
    return fields


def _count(value: object, budget: int) -> int:
    """How many plain values there are; more than `budget` if there is anything else, or too much."""
    if value is None or type(value) in (bool, int, float):
        return 1
    if type(value) is str:
        return 1 if len(value) <= _MESSAGE else budget + 1
    if type(value) in (list, tuple):
        inner = cast(list[object], value)
    elif type(value) is dict and all(type(key) is str for key in value):
        inner = list(value.values())
    else:
        return budget + 1
    total = 1
    for each in inner:
        if total > budget:
            break
        total += _count(each, budget - total)
    return total


# Where it was


def _is_agents(frame: FrameType, sources: Sources) -> bool:
    return frame.f_code.co_filename in sources or frame.f_globals.get("__name__") == "__main__"


def _place(error: BaseException, sources: Sources, filename: str) -> tuple[int | None, int | None]:
    """Line and column of the innermost frame in this cell, else of the innermost frame of the agent's at all."""
    if isinstance(error, SyntaxError) and error.filename == filename and filename in sources:
        return error.lineno, sources[filename].column(error.lineno, error.offset)
    here = anywhere = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == filename:
            here = step
        elif _is_agents(step.tb_frame, sources):
            anywhere = step
        step = step.tb_next
    found = here or anywhere
    return _position(found, sources) if found is not None else (None, None)


def _position(step: TracebackType, sources: Sources) -> tuple[int | None, int | None]:
    code = step.tb_frame.f_code
    positions = next(islice(code.co_positions(), step.tb_lasti // 2, None), (None, None, None, None))
    line, offset = positions[0] or step.tb_lineno, positions[2]
    if offset is None or code.co_filename not in sources:
        return line, None
    cleaned = sources[code.co_filename]
    lines = cleaned.text.split("\n")
    if not 0 < line <= len(lines):
        return line, None
    column = len(lines[line - 1].encode()[:offset].decode("utf-8", "replace")) + 1  # CPython counts in bytes of UTF-8
    return line, cleaned.column(line, column)


# The traceback


def text(error: BaseException, sources: Sources) -> str:
    """The traceback as CPython would print it, of the agent's own frames."""
    try:
        return shortened(_format(error, sources), _TRACEBACK)
    except BaseException as failure:
        return f"{type(error).__name__}: the traceback cannot be shown ({type(failure).__name__})\n"


def logged(context: Mapping[str, object], sources: Sources) -> str:
    """What asyncio's default exception handler would log."""
    error = context.get("exception")
    lines = [str(context.get("message") or "Unhandled exception in event loop")]
    lines += [f"{name}: {context[name]!r}" for name in ("future", "handle", "task") if name in context]
    traceback_text = text(error, sources) if isinstance(error, BaseException) else ""
    return "\n".join(lines) + "\n" + traceback_text


class _Stack(traceback.StackSummary):
    """Frames, some of which stand for several alike."""

    times: list[int]
    left_out: int

    def format(self, **options: Any) -> list[str]:
        """The frames as lines."""
        lines = []
        for number, frame in enumerate(self):
            if number == _KEPT and self.left_out:
                lines.append(f"  [{self.left_out:,} more frames]\n")
            lines.append(self.format_frame_summary(frame, **options))
            if self.times[number] > 1:
                lines.append(f"  [Previous line repeated {self.times[number] - 1:,} more times]\n")
        return lines


class _Trimmed:
    """A traceback without the frames that are not the agent's; runs of the same line are one frame."""

    def __init__(self, start: TracebackType | None, sources: Sources) -> None:
        steps: list[TracebackType] = []
        self.times: list[int] = []
        self.left_out = 0
        while start is not None:
            if _is_agents(start.tb_frame, sources):
                last = steps[-1] if steps else None
                if last and last.tb_frame.f_code is start.tb_frame.f_code and last.tb_lasti == start.tb_lasti:
                    self.times[-1] += 1
                else:
                    steps.append(start)
                    self.times.append(1)
            start = start.tb_next
        if len(steps) > 2 * _KEPT + 1:
            self.left_out = sum(self.times[_KEPT:-_KEPT])
            steps[_KEPT:-_KEPT], self.times[_KEPT:-_KEPT] = [], []
        self.traceback: TracebackType | None = None
        for step in reversed(steps):
            self.traceback = TracebackType(self.traceback, step.tb_frame, step.tb_lasti, step.tb_lineno)


def _format(error: BaseException, sources: Sources) -> str:
    family = list(_family(error))
    full = [each.__traceback__ for each in family]
    trimmed = {id(each): _Trimmed(each.__traceback__, sources) for each in family}
    try:
        for each in family:
            BaseException.with_traceback(each, trimmed[id(each)].traceback)
        shown = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    finally:  # the exceptions are the agent's, and may live on
        for each, original in zip(family, full, strict=True):
            BaseException.with_traceback(each, original)
    waiting: list[tuple[traceback.TracebackException | None, BaseException | None]] = [(shown, error)]
    while waiting:
        part, member = waiting.pop()
        if part is None or member is None:
            continue
        part.stack = stack = _Stack(part.stack)
        stack.times, stack.left_out = trimmed[id(member)].times, trimmed[id(member)].left_out
        match member:
            case SyntaxError(text=None, filename=str() as name, lineno=int() as line) if name in sources:
                # The compiler, unlike the parser, does not say what the line is.
                if shown_line := "".join(sources[name].text.split("\n")[line - 1 : line]):
                    part.text = shown_line
        waiting += [(part.__cause__, member.__cause__), (part.__context__, member.__context__)]
        if isinstance(member, BaseExceptionGroup):
            waiting += zip(part.exceptions or (), member.exceptions, strict=False)
    return "".join(shown.format())

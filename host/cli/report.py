"""Outcomes as people and programs read them: text on the terminal, one JSON object a file, an exit code."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from typing import Final

from guest_stdlib.channel import Failure
from host.cli.screen import Screen
from host.cli.values import jsonable, pretty
from sandbox import Outcome

__all__ = [
    "CRASH",
    "FAILED",
    "LIMIT",
    "OK",
    "USAGE",
    "as_json",
    "exit_code",
    "print_notices",
    "print_outcome",
    "print_rest",
]

OK, FAILED, USAGE, LIMIT, CRASH = range(5)
_CODES: Final = {"script": FAILED, "policy": FAILED, "cancelled": FAILED, "limit": LIMIT, "crash": CRASH}
_ERROR: Final = ("kind", "type", "message", "traceback", "line", "column", "hint")
_USAGE: Final = ("cpu_ms", "wall_ms", "calls", "rejected_calls", "memory_bytes", "output_bytes")
_PIPE_WIDTH: Final = 100


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """The gravest of them: 4 a crash, 3 a limit, 1 a script that failed, 0 all well."""
    return max((_CODES[outcome.error.kind] for outcome in outcomes if outcome.error is not None), default=OK)


def as_json(file: str, outcome: Outcome) -> str:
    """One line of JSON: file, ok, value, stdout, stderr, error, session, usage. `jsonable` says what
    a value becomes.
    """
    error = outcome.error
    fields = {
        "file": file,
        "ok": outcome.ok,
        "value": jsonable(outcome.value),
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "error": None if error is None else {name: getattr(error, name) for name in _ERROR},
        "session": outcome.session,
        "usage": {name: round(getattr(outcome.usage, name), 3) for name in _USAGE},
    }
    return json.dumps(fields, ensure_ascii=True, allow_nan=False)


def print_outcome(outcome: Outcome, screen: Screen) -> None:
    """The end of a run whose output was shown while it ran: the value, or the error with its hint, and the notices."""
    if outcome.error is not None:
        _print_error(outcome.error, screen)
    elif outcome.value is not None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH
        screen.say(pretty(outcome.value, width=width))
    print_notices(outcome, screen)


def print_rest(outcome: Outcome, screen: Screen) -> None:
    """The end of long output: while a script runs, only the first part of what is kept is shown."""
    for stream, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        rest = text.encode("utf-8", "surrogatepass")[screen.shown[stream] :]
        screen.show(stream, rest.decode("utf-8", "surrogatepass"))


def _print_error(error: Failure, screen: Screen) -> None:
    screen.say(error.traceback.rstrip("\n") or f"{error.type}: {error.message}", err=True, color="red")
    if error.hint:
        screen.say(f"Hint: {error.hint}", err=True, color="yellow")


def print_notices(outcome: Outcome, screen: Screen, *, of: str = "") -> None:
    """The notices, on standard error. `of` names the file where several are under way."""
    for notice in outcome.notices:
        screen.say(f"Note{f' ({of})' if of else ''}: {notice}", err=True, color="yellow")

"""Outcomes as people and programs read them: text on the terminal, one JSON object a file, an exit code."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Final

import click

from guest_stdlib.channel import Failure
from sandbox import Outcome

__all__ = ["CRASH", "FAILED", "LIMIT", "OK", "USAGE", "as_json", "exit_code", "print_outcome"]

OK, FAILED, USAGE, LIMIT, CRASH = range(5)
_CODES: Final = {"script": FAILED, "policy": FAILED, "cancelled": FAILED, "limit": LIMIT, "crash": CRASH}


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """The gravest of them: 4 a crash, 3 a limit, 1 a script that failed, 0 all well."""
    return max((_CODES[outcome.error.kind] for outcome in outcomes if outcome.error is not None), default=OK)


def as_json(file: str, outcome: Outcome) -> str:
    """One line of JSON. A value that JSON cannot hold is given by its repr."""
    error = outcome.error
    fields = {
        "file": file,
        "ok": outcome.ok,
        "value": jsonable(outcome.value),
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "error": None if error is None else _failure(error),
        "session": outcome.session,
        "usage": dataclasses.asdict(outcome.usage),
        "notices": list(outcome.notices),
    }
    return json.dumps(fields, ensure_ascii=True, allow_nan=False)


def _failure(error: Failure) -> dict[str, object]:
    names = ("kind", "type", "message", "traceback", "line", "column", "hint")
    fields: dict[str, object] = {name: getattr(error, name) for name in names}
    return fields | {"fields": jsonable(error.fields)}


def jsonable(value: object) -> object:
    """The value in JSON's types: records as objects, tuples and sets as arrays, everything else by its repr."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else repr(value)
        case list() | tuple():
            return [jsonable(item) for item in value]
        case set() | frozenset():
            return [jsonable(item) for item in sorted(value, key=repr)]
        case Mapping():
            return {key if isinstance(key, str) else repr(key): jsonable(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return repr(value)


def print_outcome(outcome: Outcome) -> None:
    """The end of a run whose output was shown while it ran: the value, or the error with its hint, and the notices."""
    if outcome.error is not None:
        error = outcome.error
        text = error.traceback.rstrip("\n") or f"{error.type}: {error.message}"
        click.secho(text, err=True, fg="red")
        if error.hint:
            click.secho(f"Hint: {error.hint}", err=True, fg="yellow")
    elif outcome.value is not None:
        click.echo(repr(outcome.value))
    for notice in outcome.notices:
        click.secho(f"Note: {notice}", err=True, fg="yellow")

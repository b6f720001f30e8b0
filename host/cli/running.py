"""From a command into trio and back: what went wrong in a task comes out as one sentence and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import click
import trio

from host.cli.inputs import clear_errors

__all__ = ["run_to_end"]

INTERRUPTED: Final = 130  # as shells report ctrl-C


def run_to_end[Result](main: Callable[[], Awaitable[Result]]) -> Result:
    """Run an async function. Ctrl-C cancels it, so that nothing is left half-written, and exits with 130."""
    with clear_errors():
        try:
            return trio.run(main)
        except BaseExceptionGroup as group:
            error = _only(group)
            if isinstance(error, KeyboardInterrupt):
                _interrupted()
            raise error from error.__cause__
        except KeyboardInterrupt:
            _interrupted()


def _interrupted() -> NoReturn:
    click.echo("branchpoint: interrupted.", err=True)
    sys.exit(INTERRUPTED)


def _only(error: BaseException) -> BaseException:
    """What a group of one holds, however deep; the group itself if there is more to tell."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error

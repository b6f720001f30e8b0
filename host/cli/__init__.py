"""The command line: `branchpoint run`, `demo`, `chat`, `resume`, `describe`, `check`, `inspect`, `lint`, `report`,
`image`.

Rules:

- What goes wrong because of what was given is one sentence on standard error and exit code 2, usage included.
- Ctrl-C ends in 130 and a closed pipe in 141, as shells report them, without a traceback.
- A command's module is imported when the command is used: asking for help must not cost what a sandbox costs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, override

import click

__all__ = ["main"]

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
_COMMANDS: Final = {
    "run": "host.cli.run",
    "demo": "host.cli.demo",
    "chat": "host.cli.chat",
    "rerun": "host.cli.rerun",
    "resume": "host.cli.resume",
    "describe": "host.cli.describe",
    "check": "host.cli.check",
    "inspect": "host.cli.inspect",
    "lint": "host.cli.lint",
    "report": "host.cli.worth",
    "image": "host.cli.images",
}


class _Branchpoint(click.Group):
    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(_COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)
        return command

    @override
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return _plainly(lambda: click.Group.make_context(self, info_name, args, parent, **extra))

    @override
    def invoke(self, ctx: click.Context) -> Any:
        return _plainly(lambda: click.Group.invoke(self, ctx))


def _plainly[Result](do: Callable[[], Result]) -> Result:
    """Do something and end as the rules say if that fails."""
    try:
        result = do()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise _Misused(error) from error
    except KeyboardInterrupt:
        click.echo("branchpoint: interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Nobody reads any more. What is still buffered must not fail once more when Python shuts down.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(BROKEN_PIPE)
    return result


class _Misused(click.ClickException):
    """A usage error, as one sentence."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(error.format_message())
        self._command = error.ctx.command_path if error.ctx is not None else "branchpoint"

    @override
    def show(self, file: object = None) -> None:
        message = self.message.rstrip(".")
        click.echo(f"{self._command}: {message[:1].lower()}{message[1:]} (see {self._command} --help).", err=True)


@click.group(
    "branchpoint", cls=_Branchpoint, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="branchpoint", message="branchpoint %(version)s")
def main() -> None:
    """Runs Python that agents write, in a sandbox, and lets its calls carry the conversation.

    \b
    Try first:
      branchpoint demo
    then your own:
      branchpoint run script.py --contacts people.vcf --files papers/ --outbox out/ --thread chat.json
      branchpoint chat --contacts people.vcf --files papers/ --outbox out/
    """

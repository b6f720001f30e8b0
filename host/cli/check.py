"""`branchpoint check`: what is wrong with agents.yaml, before anything runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Literal

import click

from host.agents import check as look
from host.agents import fix as mend
from host.agents import schema as json_schema
from host.cli.checking.data import as_json
from host.cli.checking.sarif import as_sarif
from host.cli.checking.text import as_text
from host.cli.inputs import BadInput, clear_errors
from host.cli.report import FAILED, OK
from host.cli.screen import Screen

__all__ = ["check"]


@click.command(
    short_help="Find what is wrong with agents.yaml.",
    epilog="Exit codes: 0 nothing, or warnings only, 1 errors, 2 bad usage or no file.",
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--fix", is_flag=True, help="Mend misspelt keys, and write the files that are generated.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="For people, for programs, or for code review (SARIF 2.1.0).",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of agents.yaml, for editors, and nothing else.")
def check(file: Path | None, fix: bool, form: Literal["text", "json", "sarif"], schema: bool) -> None:
    """Check FILE (a file, or a folder with agents.yaml in it; else agents.yaml here) and what it names.

    Each finding has the id of its rule, its line, and what to write instead. With --fix, keys that are misspelt and can
    mean only one thing are corrected in place, where everything else stays as it is; and fork-instructions.md, which
    shows what agents that fork are told, is written if it is missing, edited or out of date.
    """
    screen = Screen()
    if schema:
        if file is not None or fix or form != "text":
            raise click.UsageError("--schema goes alone: it is the same for all files.")
        screen.say(json.dumps(json_schema(), indent=2))
        return
    file = _found(file or Path("agents.yaml"))
    done: tuple[str, ...] = ()
    with clear_errors(about=file):
        checked = look(file)
        if fix:
            checked, done = mend(checked)
    match form:
        case "json":
            screen.say(as_json(checked, done))
        case "sarif":
            screen.say(as_sarif(checked))
            for each in done:  # a report of what is, not of what was
                screen.say(f"fixed: {each}", err=True)
        case "text":
            screen.say(as_text(checked, done, color=_in_color()))
    sys.exit(FAILED if checked.errors else OK)


def _found(file: Path) -> Path:
    if file.is_dir():
        file /= "agents.yaml"
    if not file.exists():
        raise BadInput(f"{file} does not exist.")
    return file


def _in_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

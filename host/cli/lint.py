"""`branchpoint lint`: whether work went where it should in recorded runs.

The exit codes are those of `check`: findings that put a result in doubt are errors and end it with 1, those about what
something cost are warnings and do not, unless `--fail-on` says so.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from host.cli.inputs import BadInput, clear_errors
from host.cli.report import FAILED
from host.cli.screen import Screen
from host.cli.traces import read_runs
from host.graph.rules import RULES
from host.graph.rules import lint as found_in
from host.graph.rules.telling import as_plain, as_sarif, render_text

__all__ = ["lint"]

_GRAVER: Final = {"error": ("error",), "warning": ("error", "warning"), "note": ("error", "warning", "note")}


@click.command(
    short_help="Judge how work was divided in recorded runs.",
    epilog="Exit codes: 0 nothing, or warnings and notes only, 1 errors, 2 bad usage or no run.",
)
@click.argument("runs", type=click.Path(path_type=Path), metavar="RUN...", nargs=-1)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="How to print what was found.",
)
@click.option("--json", "json_", is_flag=True, help="The same as --format json.")
@click.option(
    "--fail-on",
    type=click.Choice(list(_GRAVER)),
    default="error",
    show_default=True,
    help="End with exit code 1 from this severity on.",
)
@click.option(
    "--agents",
    type=click.Path(path_type=Path),
    metavar="AGENTS.yaml",
    help="The project that was run: specialists that no tool of the run names are known from it.",
)
@click.option("--rules", is_flag=True, help="List the rules, and end.")
def lint(runs: tuple[Path, ...], format_: str, json_: bool, fail_on: str, agents: Path | None, rules: bool) -> None:
    """Judge the runs in these files: forks that were missed, too small, or a sequence; branches that failed or did the
    same; hand-offs too early, back and forth, or for an answer.

    Each finding says where the fix goes, what the next run should show, and what it cost. The files may be records of
    ours or traces of others, as for `branchpoint inspect`.
    """
    screen = Screen()
    if rules:
        for rule in RULES:
            screen.say(f"{rule.id:<20} {rule.severity:<8} {rule.title}: {rule.sign}")
        return
    if not runs:
        raise click.UsageError("Missing argument 'RUN...'.", click.get_current_context())
    traces = read_runs(runs)
    known = {} if agents is None else _described(agents)
    found = [
        (path, trace, found_in(trace.events, agents=known, unknown=trace.unknown, offers=trace.offers))
        for path, trace in traces
    ]
    match "json" if json_ else format_:
        case "json":
            plain = [as_plain(findings, str(path), unknown=trace.unknown) for path, trace, findings in found]
            click.echo(json.dumps({"runs": plain}, ensure_ascii=True, allow_nan=False))
        case "sarif":
            listed = [(str(path), trace.form == "record", findings) for path, trace, findings in found]
            click.echo(json.dumps(as_sarif(listed, version("branchpoint")), ensure_ascii=True, allow_nan=False))
        case _:
            for path, trace, findings in found:
                screen.say(render_text(findings, str(path), unknown=trace.unknown))
    if any(finding.rule.severity in _GRAVER[fail_on] for _, _, findings in found for finding in findings):
        sys.exit(FAILED)


def _described(file: Path) -> dict[str, str]:
    """What each agent of a project is for. Projects take a while to import, so only whoever names one does."""
    from host.agents import check

    with clear_errors(about=file):
        project = check(file).project
    if project is None:
        raise BadInput(f"{file} cannot be used as it is: see branchpoint check {file}.")
    return {name: agent.description for name, agent in project.settings.agents.items()}

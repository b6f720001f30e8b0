"""`branchpoint report`: what the choices between fork and cold were worth in recorded runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from host.cli.screen import Screen
from host.cli.traces import read_runs
from host.record.worth import Report, worth_of

__all__ = ["report"]


@click.command(short_help="Tell what the choice between fork and cold was worth in recorded runs.")
@click.argument("runs", type=click.Path(path_type=Path), metavar="RUN...", nargs=-1, required=True)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of the text.")
def report(runs: tuple[Path, ...], json_: bool) -> None:
    """Tell how often forks used what they inherited, and how often cold children asked back or guessed, over all runs
    in these files.

    The verdicts are told from words, so look at single ones before you trust the counts. They need what the children
    were sent, which traces of others do not always say.
    """
    traces = read_runs(runs)
    choices = [(str(path), worth_of(trace.events)) for path, trace in traces]
    made = Report(choices=tuple([each for _, found in choices for each in found]))
    screen = Screen()
    if json_:
        plain = made.as_plain() | {
            "runs": [{"source": path, "choices": [each.as_plain() for each in found]} for path, found in choices]
        }
        click.echo(json.dumps(plain, ensure_ascii=True, allow_nan=False))
    else:
        screen.say(made.render_text())
    for path, trace in traces:
        if trace.torn:
            screen.say(f"Note: {path} was cut off while it was recorded.", err=True, color="yellow")

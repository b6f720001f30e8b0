"""`branchpoint inspect`: what happened in a recorded run, as a tree of its loops."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from host.cli.inputs import BadInput
from host.cli.screen import Screen
from host.cli.traces import read_runs
from host.graph import as_plain as graph_as_plain
from host.graph import read_run, render_page, render_text

__all__ = ["inspect"]


@click.command(short_help="Show what happened in a recorded run.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of the text.")
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write one page that holds everything, the texts too, and needs no network.",
)
@click.option("--force", is_flag=True, help="Write over FILE.html if it exists.")
def inspect(run: Path, json_: bool, html: Path | None, force: bool) -> None:
    """Show the run in the file RUN: its agents, requests, calls, forks, joins and hand-offs, who inherited what, how
    long it took, and how many tokens.

    RUN may also be the name of a run that `chat` or `run` has recorded, or "last". A file is a record of ours, a trace
    of the OpenAI Agents SDK, a session of Anthropic's coding agent, or saved messages of OpenAI, Anthropic or
    LangChain. What such a file does not say is called unknown.
    """
    ((_, trace),) = read_runs((run,))
    graph = read_run(trace.events)
    screen = Screen()
    if html is not None:
        _write(html, render_page(graph, source=trace.source, form=trace.form, unknown=trace.unknown), force=force)
    if json_:
        plain = {
            "source": trace.source,
            "form": trace.form,
            "unknown": sorted(trace.unknown),
            "torn": trace.torn,
            **graph_as_plain(graph),
        }
        click.echo(json.dumps(plain, ensure_ascii=True, allow_nan=False))
    elif html is None:
        screen.say(render_text(graph) or f"{trace.source} holds no loop.")
        if trace.unknown:
            screen.say(f"not in this file: {', '.join(sorted(trace.unknown))}")
    if trace.torn:
        screen.say(
            "Note: the run was cut off while it was recorded; its last entry is left out.", err=True, color="yellow"
        )


def _write(path: Path, page: str, *, force: bool) -> None:
    """Write the page. It holds conversations, so it is its owner's alone, as records are."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(page)
    except FileExistsError:
        raise BadInput(f"{path} exists: choose another name, or write over it with --force.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from None

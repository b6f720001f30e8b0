"""`branchpoint describe`: what a script, or the model that writes it, is told that it may call."""

from __future__ import annotations

import json
from pathlib import Path

import click

from host.capability import describe as stub
from host.capability import schemas
from host.cli.inputs import BadInput, Places, capability_options, opened
from host.cli.running import run_to_end

__all__ = ["describe"]


@click.command(short_help="Print what a model is told that it may call.")
@capability_options
@click.option("--json", "json_", is_flag=True, help="JSON schemas of tools instead of the stub text.")
def describe(contacts: Path | None, files: Path | None, outbox: Path | None, json_: bool) -> None:
    """Print the stub text that a model is shown: signatures, descriptions, the choice of context, errors."""
    places = Places(contacts=contacts, files=files, outbox=outbox)
    if places == Places():
        raise BadInput("there is nothing to describe: give --contacts, --files or --outbox.")

    async def main() -> str:
        async with opened(places) as capabilities:
            return json.dumps(schemas(capabilities), indent=2) if json_ else stub(capabilities).rstrip("\n")

    click.echo(run_to_end(main))

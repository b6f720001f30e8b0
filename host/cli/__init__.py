"""The command line: `branchpoint run`, `demo`, `resume`, `describe`, `image`."""

from __future__ import annotations

import click

from host.cli.demo import demo
from host.cli.describe import describe
from host.cli.images import image
from host.cli.resume import resume
from host.cli.run import run

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="branchpoint", message="branchpoint %(version)s")
def main() -> None:
    """Runs Python that agents write, in a sandbox, and lets its calls carry the conversation.

    \b
    Try first:
      branchpoint demo                     the same script twice: forked and cold
      branchpoint run script.py --contacts people.vcf --files papers/ --outbox out/ --thread chat.json
      branchpoint describe --contacts people.vcf      what such a script may call
    """


for command in (run, demo, resume, describe, image):
    main.add_command(command)

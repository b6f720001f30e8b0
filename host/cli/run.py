"""`branchpoint run`: each file in a fresh sandbox, with the capabilities and the conversation that were given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from host.cli.inputs import (
    BadInput,
    Places,
    capability_options,
    find_image,
    limit_options,
    limits_from,
    opened,
    read_script,
    read_thread,
)
from host.cli.recordings import Kept, record_options, recording
from host.cli.running import Suspension, play, run_to_end
from host.cli.screen import Screen
from host.loop.tree import Tree
from host.opening import open_host
from sandbox import Limits
from sandbox.image import DEFAULT

__all__ = ["run"]


@click.command(
    short_help="Run files of code, each in a fresh sandbox.",
    epilog="Exit codes: 0 all ok, 1 a script failed, 2 bad usage or input, 3 a limit was reached, 4 a crash; "
    "of several files, the highest.",
)
@click.argument("code", nargs=-1, required=True, metavar="CODE.py...")
@capability_options
@click.option(
    "--thread",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The conversation that the code inherits: OpenAI chat or Responses, Anthropic, or LangChain, as JSON.",
)
@click.option(
    "--context",
    type=click.Choice(["fork", "cold"]),
    default="fork",
    show_default=True,
    help="Whether calls that delegate receive that conversation, or nothing.",
)
@click.option(
    "--policy",
    type=click.Choice(["open", "restricted"]),
    default="open",
    show_default=True,
    help="Full Python, or the part that RestrictedPython allows.",
)
@limit_options(Limits())
@click.option(
    "--seed",
    metavar="N",
    type=int,
    help="Repeat a run: random numbers follow from N, and the clock starts at 2026-01-01 and moves only by sleeping.",
)
@click.option(
    "--image",
    "image_name",
    metavar="NAME",
    default=DEFAULT,
    show_default=True,
    help="The image to run on (`branchpoint image info`).",
)
@click.option(
    "--suspend-on",
    nargs=2,
    metavar="NAME FILE",
    help="Put the session to sleep in FILE the first time that it waits on capability NAME (contacts, or "
    "contacts.ask); `branchpoint resume FILE` goes on.",
)
@record_options
@click.option(
    "--keep-states",
    is_flag=True,
    help="Keep the interpreter at each delegating call, some milliseconds each, so that rerun can go on from there.",
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object for each file instead of its output.")
def run(
    code: tuple[str, ...],
    contacts: Path | None,
    files: Path | None,
    outbox: Path | None,
    thread: Path | None,
    context: Literal["fork", "cold"],
    policy: Literal["open", "restricted"],
    timeout: float,
    wall: float,
    memory: int,
    seed: int | None,
    image_name: str,
    suspend_on: tuple[str, str] | None,
    record: Path | None,
    no_record: bool,
    keep_states: bool,
    json_: bool,
) -> None:
    """Run each CODE.py in a fresh sandbox; `-` reads standard input.

    What a script can use is in scope already, if the option for it is given:

    \b
      --contacts   contacts.find(name), contacts.ask(question)
      --files      search.files(query), search.read(path), search.ask(question)
      --outbox     outbox.send(to, subject, body, attach)

    All are awaited. `ask` delegates: a model of its own answers, and sees the --thread, unless the call says
    context="cold". If it cannot tell, it raises NeedsClarification.
    """
    if code.count("-") > 1:
        raise BadInput("standard input can be read once: give `-` once.")
    if suspend_on is not None and len(code) > 1:
        raise BadInput("--suspend-on stores one session, so it goes with one file of code.")
    scripts = [read_script(name) for name in code]
    inherited = read_thread(thread, context)
    limits = limits_from(timeout, wall, memory)
    places = Places(contacts=contacts, files=files, outbox=outbox)
    suspension = Suspension(name=suspend_on[0], file=Path(suspend_on[1])) if suspend_on else None
    # A name is looked up before anything is done; the default image, which may have to be built, after all was checked.
    image = None if image_name == DEFAULT else find_image(image_name)

    async def main(kept: Kept) -> int:
        codes = []
        tree = Tree(observe=kept.observe)
        async with opened(places) as capabilities:
            held = suspension.paths(capabilities) if suspension else frozenset()
            found = image or find_image()
            async with open_host(capabilities=capabilities, image=found, policy=policy, limits=limits) as host:
                for script in scripts:
                    if len(scripts) > 1 and not json_:
                        Screen().say(f"== {script.name}", err=True, bold=True)
                    async with host.session(inherited=inherited, seed=seed, held=held, rollback=False) as session:
                        note: dict[str, object] = {"name": script.name, "places": places.to_plain()}
                        codes.append(
                            await play(
                                session,
                                script,
                                json=json_,
                                suspension=suspension,
                                note=note,
                                tree=tree,
                                keep=kept.keep if keep_states else None,
                            )
                        )
        return max(codes)

    given = {"code": " ".join(code), **places.to_plain(), "image": image_name, "thread": thread, "policy": policy}
    with recording("run", given, file=record, wanted=not no_record) as kept:
        ended = run_to_end(lambda: main(kept))
    sys.exit(ended)

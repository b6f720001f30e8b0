"""`branchpoint run`: each file in a fresh sandbox, with the capabilities and the conversation that were given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click
import trio

from host.capability import Capability
from host.cli.inputs import (
    BadInput,
    Places,
    Script,
    capability_options,
    find_image,
    limit_options,
    limits_from,
    opened,
    read_script,
    read_thread,
)
from host.cli.report import as_json, exit_code, print_outcome
from host.cli.running import run_to_end
from host.context import Inherited
from host.opening import Host, open_host
from host.session import HostSession
from sandbox import Limits, Outcome
from sandbox.image import Image

__all__ = ["play", "run", "write_stored"]


@click.command(
    epilog="Exit codes: 0 all ok, 1 a script failed, 2 bad usage or input, 3 a limit was reached, 4 a crash."
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
@limit_options
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
    default="default",
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
    json_: bool,
) -> None:
    """Run each CODE.py in a fresh sandbox; `-` reads standard input.

    \b
    What a script can use is in scope already, if the option for it is given:
      contacts.find(name), contacts.ask(question)          --contacts
      search.files(query), search.read(path), search.ask(question)    --files
      outbox.send(to, subject, body, attach)               --outbox
    `ask` delegates: a model of its own answers, and sees the --thread, unless the call says context="cold".
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

    async def main() -> list[Outcome]:
        async with opened(places) as capabilities:
            held = suspension.paths(capabilities) if suspension else frozenset()
            image = find_image(image_name)
            job = _Job(
                image=image, limits=limits, policy=policy, seed=seed, inherited=inherited, json=json_, places=places
            )
            async with open_host(capabilities=capabilities, image=image, policy=policy, limits=limits) as host:
                return [await job.run(host, script, held, suspension, several=len(scripts) > 1) for script in scripts]

    sys.exit(exit_code(run_to_end(main)))


class Suspension:
    """Where a session is to be stored, and on which capability's calls."""

    def __init__(self, *, name: str, file: Path) -> None:
        self.name, self.file = name, file
        if not file.absolute().parent.is_dir():
            raise BadInput(f"{file} cannot be written: its folder does not exist.")
        if file.is_dir():
            raise BadInput(f"{file} is a folder, and a session is stored in a file.")

    def paths(self, capabilities: list[Capability]) -> frozenset[str]:
        """The calls that NAME means."""
        from host.capability import declared

        known = [f"{each.name}.{method.name}" for each in map(declared, capabilities) for method in each.methods]
        found = frozenset(path for path in known if path == self.name or path.partition(".")[0] == self.name)
        if not found:
            offered = ", ".join(sorted({path.partition(".")[0] for path in known} | set(known))) or "none"
            raise BadInput(f"--suspend-on {self.name}: there is no such capability here. Known: {offered}.")
        return found


class _Job:
    def __init__(
        self,
        *,
        image: Image,
        limits: Limits,
        policy: str,
        seed: int | None,
        inherited: Inherited,
        json: bool,
        places: Places,
    ) -> None:
        self._image, self._limits, self._policy, self._seed = image, limits, policy, seed
        self._inherited, self._json, self._places = inherited, json, places

    async def run(
        self, host: Host, script: Script, held: frozenset[str], suspension: Suspension | None, *, several: bool
    ) -> Outcome:
        """One script, from its first line to its report."""
        if several and not self._json:
            click.secho(f"== {script.name}", err=True, bold=True)
        async with host.session(inherited=self._inherited, seed=self._seed, held=held, rollback=False) as session:
            return await play(
                session,
                script,
                json=self._json,
                suspend_to=suspension.file if suspension else None,
                note={"name": script.name, "places": self._places.to_plain()},
            )


async def play(
    session: HostSession,
    script: Script,
    *,
    json: bool,
    suspend_to: Path | None,
    note: dict[str, object],
    resume: bool = False,
) -> Outcome:
    """Run a script in a session (or go on with one) and report it. Stores the session if it comes to wait on a held
    call.
    """
    on_output = None if json else _show
    ended: list[Outcome] = []
    async with trio.open_nursery() as nursery:
        if suspend_to is not None:
            nursery.start_soon(_store_when_held, session, suspend_to, note)
        if resume:
            ended.append(await session.finish(on_output=on_output))
        else:
            ended.append(await session.run(script.source, name=script.name, on_output=on_output))
        nursery.cancel_scope.cancel()
    outcome = ended[0]
    if outcome.error is not None and outcome.error.type == "Suspended":
        click.secho(f"The session sleeps in {suspend_to}. Go on with: branchpoint resume {suspend_to}", err=True)
        if json:
            click.echo(as_json(script.name, outcome))
        return Outcome(session="kept", usage=outcome.usage)
    if json:
        click.echo(as_json(script.name, outcome))
    else:
        print_outcome(outcome)
    return outcome


async def _store_when_held(session: HostSession, file: Path, note: dict[str, object]) -> None:
    with trio.CancelScope(shield=True) as shield:
        shield.shield = False
        await session.held()
        shield.shield = True
        write_stored(file, await session.suspend(note=note))


def write_stored(file: Path, data: bytes) -> None:
    """Write a stored session: whole or not at all."""
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise BadInput(f"{file} cannot be written: {error.strerror}.") from error


def _show(stream: str, text: str) -> None:
    click.echo(text, nl=False, err=stream == "stderr")

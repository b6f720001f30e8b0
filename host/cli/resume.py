"""`branchpoint resume`: go on with a session that sleeps in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import click

from host.cli.inputs import BadInput, Places, Script, capability_options, clear_errors, opened
from host.cli.progress import image_progress
from host.cli.report import exit_code
from host.cli.run import Suspension, play
from host.cli.running import run_to_end
from host.opening import open_host
from sandbox import Outcome, read_suspended
from sandbox.image import find
from sandbox.stored import Stored

__all__ = ["resume"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@capability_options
@click.option(
    "--suspend-on", nargs=2, metavar="NAME FILE", help="Put it to sleep again, the next time that it waits on NAME."
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of the output.")
def resume(
    file: Path,
    contacts: Path | None,
    files: Path | None,
    outbox: Path | None,
    suspend_on: tuple[str, str] | None,
    json_: bool,
) -> None:
    """Go on with the session in FILE, which `run --suspend-on` stored: in the very await in which it fell asleep.

    The capabilities are made from the same places as then, unless others are given here. The file stays as it is: a
    session can be gone on with more than once, each time from the same moment.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from None
    with clear_errors():
        stored = read_suspended(data)
    name, before = _note(stored)
    places = Places(contacts=contacts or before.contacts, files=files or before.files, outbox=outbox or before.outbox)
    suspension = Suspension(name=suspend_on[0], file=Path(suspend_on[1])) if suspend_on else None

    async def main() -> Outcome:
        with clear_errors(), image_progress() as progress:
            image = find(stored.memory.image, progress=progress)
        async with (
            opened(places) as capabilities,
            open_host(capabilities=capabilities, image=image, limits=stored.settings.limits) as host,
        ):
            held = suspension.paths(capabilities) if suspension else frozenset()
            with clear_errors():
                waking = host.resume(data, held=held)
                session = await waking.__aenter__()
            try:
                if not session.waiting:
                    raise BadInput(f"{file} holds a session between two cells: there is nothing to go on with.")
                return await play(
                    session,
                    Script(name=name, source=""),
                    json=json_,
                    suspend_to=suspension.file if suspension else None,
                    note={"name": name, "places": places.to_plain()},
                    resume=True,
                )
            finally:
                await waking.__aexit__(None, None, None)

    sys.exit(exit_code([run_to_end(main)]))


def _note(stored: Stored) -> tuple[str, Places]:
    note = stored.note.get("note")
    if not isinstance(note, dict) or not isinstance(note.get("places"), dict):
        raise BadInput("this session was stored by a program, which alone can go on with it.")
    places = cast("dict[str, str]", note["places"])
    return str(note.get("name", "<stored>")), Places(
        **{key: Path(value) for key, value in places.items() if key in ("contacts", "files", "outbox")}
    )

"""`branchpoint resume`: go on with a session that sleeps in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from host.cli.inputs import (
    BadInput,
    Places,
    Script,
    capability_options,
    clear_errors,
    limit_options,
    limits_from,
    opened,
)
from host.cli.progress import image_progress
from host.cli.running import Suspension, play, run_to_end
from host.opening import open_host
from sandbox import read_suspended
from sandbox.image import find
from sandbox.opening import MAX_MEMORY
from sandbox.stored import Stored

__all__ = ["resume"]

_OPTIONS: Final = {"contacts": "--contacts FILE.vcf", "files": "--files DIR", "outbox": "--outbox DIR"}


@click.command(short_help="Go on with a session that was put to sleep.")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@capability_options
@limit_options(None)
@click.option(
    "--suspend-on", nargs=2, metavar="NAME FILE", help="Put it to sleep again, the next time that it waits on NAME."
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of the output.")
def resume(
    file: Path,
    contacts: Path | None,
    files: Path | None,
    outbox: Path | None,
    timeout: float | None,
    wall: float | None,
    memory: int | None,
    suspend_on: tuple[str, str] | None,
    json_: bool,
) -> None:
    """Go on with the session in FILE, which `run --suspend-on` stored: in the very await in which it fell asleep.

    The capabilities are made from the same places as then, unless others are given here, and it is bound by the same
    limits, or narrower ones. The file stays as it is: a session can be gone on with more than once, each time from the
    same moment.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from None
    with clear_errors(ours=True, about=file):
        stored = read_suspended(data, max_memory=memory or MAX_MEMORY)
    limits = limits_from(timeout, wall, memory, before=stored.settings.limits)
    name, before = _note(file, stored)
    if stored.resting is None:
        raise BadInput(f"the session in {file} sleeps between two cells: there is nothing to go on with.")
    places = before.updated(Places(contacts=contacts, files=files, outbox=outbox))
    for what in ("contacts", "files"):
        place = getattr(before, what)
        if place == getattr(places, what) and place is not None and not place.exists():
            raise BadInput(
                f"the session in {file} was run with {place}, which is gone: say where it is by {_OPTIONS[what]}."
            )
    suspension = Suspension(name=suspend_on[0], file=Path(suspend_on[1])) if suspend_on else None

    async def main() -> int:
        with clear_errors(ours=True, about=file), image_progress() as progress:
            image = find(stored.memory.image, progress=progress)
        async with (
            opened(places) as capabilities,
            open_host(capabilities=capabilities, image=image, limits=limits) as host,
        ):
            held = suspension.paths(capabilities) if suspension else frozenset()
            async with host.resume(data, held=held) as session:
                return await play(
                    session,
                    Script(name=name, source=""),
                    json=json_,
                    suspension=suspension,
                    note={"name": name, "places": places.to_plain()},
                    resting=stored.resting,
                )

    sys.exit(run_to_end(main))


def _note(file: Path, stored: Stored) -> tuple[str, Places]:
    """What `run` noted beside the session: the script's name and the places."""
    match stored.note.get("note"):
        case {"name": str() as name, "places": dict() as places}:
            known = {key: Path(place) for key, place in places.items() if key in _OPTIONS and isinstance(place, str)}
            return name, Places(**known)
    raise BadInput(f"the session in {file} was stored by a program, which alone can go on with it.")

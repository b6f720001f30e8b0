"""`branchpoint rerun`: a recorded conversation repeated from one of its branch points with the other choice."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from host.cli.chatting.setting import Setting
from host.cli.inputs import BadInput, clear_errors
from host.cli.recordings import find_run, states_of
from host.cli.running import run_to_end
from host.context import COLD, COMPACT, FORK, ContextChoice
from host.errors import HostError
from host.events import Delegated, Event, LoopBegan, RunBegan
from host.loop.recorded import point_of
from host.loop.rerun import Grounds, Rerun, Side
from host.record import Record

__all__ = ["rerun"]

_CHOICES: Final = {"fork": FORK, "compact": COMPACT, "cold": COLD}


@click.command(short_help="Repeat a recorded run from a call, with the other choice.")
@click.argument("run", required=False)
@click.option("--at", metavar="CALL", help="Which delegating call: its number in the list, or its id.")
@click.option("--context", type=click.Choice(list(_CHOICES)), help="The choice this time (by default the other one).")
@click.option(
    "--outbox",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where mail goes that the repeated run sends (by default nowhere that stays).",
)
def rerun(run: str | None, at: str | None, context: str | None, outbox: Path | None) -> None:
    """Make one delegating call of a recorded conversation again with the other choice of context, go on from there, and
    compare: answers, tokens, time.

    RUN is a record's file, its name, or "last". Without --at the calls that can be repeated are listed.

    \b
      branchpoint chat --sample board
      branchpoint rerun last
      branchpoint rerun last --at 2 --context cold
    """
    place = find_run(run)
    with clear_errors(about=place):
        record = Record.load(place)
    began = next((event for event in record if isinstance(event, RunBegan)), None)
    if began is None or began.command != "chat":
        raise BadInput(f"{place.name} is no record of a chat, and only those can be put up again.")
    calls = [event for event in record if isinstance(event, Delegated)]
    if not calls:
        raise BadInput(f"{place.name} has no delegating call: there is nothing to repeat.")
    if at is None:
        _list(record.events, calls)
        return
    chosen = _chosen(calls, at)
    other = context or ("cold" if chosen.context == "fork" else "fork")
    _show(_again(place, began, record.events, chosen, _CHOICES[other], outbox))


def _list(events: Sequence[Event], calls: Sequence[Delegated]) -> None:
    began = {event.loop: event for event in events if isinstance(event, LoopBegan)}
    asked = {event.delegation: event.request for event in began.values()}
    table = Table(box=None, pad_edge=False)
    for name in ("", "by", "call", "context", "decided by", "history", "request"):
        table.add_column(name, justify="right" if name in ("", "history") else "left", no_wrap=name != "request")
    for number, call in enumerate(calls, start=1):
        agent = began[call.loop].agent if call.loop in began else call.loop
        tokens = "" if call.inherited.is_cold else f"{call.inherited.tokens:,} tokens"
        request = Text(asked.get(call.id, ""), overflow="ellipsis", no_wrap=True)
        table.add_row(str(number), Text(agent), Text(call.path), call.context, call.chooser, tokens, request)
    console = Console()
    console.print(table)
    console.print("Repeat one with --at NUMBER.")


def _chosen(calls: Sequence[Delegated], at: str) -> Delegated:
    if at.isdecimal() and 1 <= int(at) <= len(calls):
        return calls[int(at) - 1]
    found = [call for call in calls if call.id == at]
    if not found:
        raise BadInput(f"there is no call {at!r}: give a number from 1 to {len(calls)}, or an id.")
    return found[0]


def _again(
    place: Path,
    began: RunBegan,
    events: Sequence[Event],
    chosen: Delegated,
    choice: ContextChoice,
    outbox: Path | None,
) -> Rerun:
    async def main() -> Rerun:
        with tempfile.TemporaryDirectory(prefix="branchpoint-rerun-") as folder:
            setting = Setting.read(dict(began.options)).elsewhere(outbox or Path(folder) / "outbox")
            async with setting.staff(setting.model()) as staff:
                grounds = Grounds(budget=staff.budget, crew=staff.crew, image=setting.image, workspace=staff.workspace)
                try:
                    point = point_of(
                        events, chosen.id, grounds, state=lambda name: (states_of(place) / Path(name).name).read_bytes()
                    )
                    return await point.rerun(context=choice)
                except (HostError, OSError) as error:
                    raise BadInput(f"this call cannot be repeated: {error}.") from error

    return run_to_end(main)


def _show(again: Rerun) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    for name in ("", "context", "requests", "tokens in", "from a cache", "tokens out", "seconds"):
        table.add_column(name, justify="left" if name in ("", "context") else "right")
    sides = (("as it was", again.original), ("this time", again.repeated))
    for name, side in sides:
        table.add_row(*_row(name, side))
    console.print(table)
    answers = Table.grid(expand=True, padding=(0, 1))
    for _ in sides:
        answers.add_column(ratio=1, overflow="fold")
    answers.add_row(*[Panel(Text(side.answer), title=f"{name}: {side.context}") for name, side in sides])
    console.print(answers)


def _row(name: str, side: Side) -> tuple[str, ...]:
    usage = side.usage
    cached = "unknown" if usage.cached is None else f"{usage.cached:,}"
    return (
        name,
        side.context,
        str(side.requests),
        f"{usage.input:,}",
        cached,
        f"{usage.output:,}",
        f"{side.seconds:.1f}",
    )

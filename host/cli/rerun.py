"""`branchpoint rerun`: a recorded run repeated from one of its branch points with the other choice."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import click
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from host.cli.chatting.setting import Setting
from host.cli.inputs import BadInput, clear_errors, opened
from host.cli.recordings import find_run, states_of
from host.cli.running import run_to_end
from host.context import COLD, COMPACT, FORK, ContextChoice
from host.errors import HostError
from host.events import Delegated, Event, LoopBegan, Replied, RunBegan, StateKept
from host.loop.code import shown
from host.loop.recorded import point_of
from host.loop.rerun import Grounds, Rerun, Side, rest, side
from host.loop.script import ScriptRun
from host.loop.tree import Tree
from host.opening import open_host
from host.record import Record
from sandbox import SandboxError

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
    """Make one delegating call of a recorded run again with the other choice of context, go on from there, and compare:
    answers, tokens, time.

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
    if began is None:
        raise BadInput(f"{place.name} does not say how its run was begun, so it cannot be put up again.")
    calls = [event for event in record if isinstance(event, Delegated)]
    if not calls:
        raise BadInput(f"{place.name} has no delegating call: there is nothing to repeat.")
    if at is None:
        _list(record.events, calls)
        return
    chosen = _chosen(calls, at)
    other = context or ("cold" if chosen.context == "fork" else "fork")
    wanted = _Wanted(place=place, began=began, events=record.events, chosen=chosen, choice=_CHOICES[other])
    _show(_again(wanted, outbox))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is to be repeated: the call `chosen` of the record at `place`, with another choice."""

    place: Path
    began: RunBegan
    events: Sequence[Event]
    chosen: Delegated
    choice: ContextChoice

    def state(self, name: str) -> bytes:
        """A kept interpreter."""
        return (states_of(self.place) / Path(name).name).read_bytes()


def _again(wanted: _Wanted, outbox: Path | None) -> Rerun:
    again = _chat_again if wanted.began.command == "chat" else _script_again

    async def main() -> Rerun:
        with tempfile.TemporaryDirectory(prefix="branchpoint-rerun-") as folder:
            try:
                return await again(wanted, outbox or Path(folder) / "outbox")
            except (HostError, SandboxError, OSError) as error:
                raise BadInput(f"this call cannot be repeated: {error}.") from error

    return run_to_end(main)


async def _chat_again(wanted: _Wanted, outbox: Path) -> Rerun:
    setting = Setting.read(dict(wanted.began.options)).elsewhere(outbox)
    async with setting.staff(setting.model()) as staff:
        grounds = Grounds(budget=staff.budget, crew=staff.crew, image=setting.image, workspace=staff.workspace)
        point = point_of(wanted.events, wanted.chosen.id, grounds, state=wanted.state)
        return await point.rerun(context=wanted.choice)


async def _script_again(wanted: _Wanted, outbox: Path) -> Rerun:
    """A script goes on from the interpreter that waited on the call."""
    events, chosen = wanted.events, wanted.chosen
    kept = next((event for event in events if isinstance(event, StateKept) and event.delegation == chosen.id), None)
    if kept is None:
        raise HostError("the run did not keep its interpreter at this call: `run --keep-states` does")
    original = rest(events[events.index(chosen) :], chosen)
    setting = Setting.read(dict(wanted.began.options)).elsewhere(outbox)
    policy: Literal["open", "restricted"] = (
        "restricted" if dict(wanted.began.options).get("policy") == "restricted" else "open"
    )
    told: list[Event] = []
    async with (
        opened(setting.places) as capabilities,
        open_host(capabilities=capabilities, image=setting.image, policy=policy) as host,
        host.resume(wanted.state(kept.file), choices={kept.number: wanted.choice}) as session,
    ):
        tree = Tree(observe=told.append)
        script = ScriptRun(wanted.began.command, "", tree)
        outcome = await session.finish(record=script.record, around=script.around)
        script.ended(outcome)
    replies = [event for event in told if isinstance(event, Replied)]
    repeated = side(str(wanted.choice), shown(outcome), replies, tree.now())
    return Rerun(original=original, repeated=repeated, events=tuple(told))


def _show(again: Rerun) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    for name in ("", "context", "requests", "tokens in", "from a cache", "tokens out", "seconds"):
        table.add_column(name, justify="left" if name in ("", "context") else "right")
    sides = (("as it was", again.original), ("this time", again.repeated))
    for name, one in sides:
        table.add_row(*_row(name, one))
    console.print(table)
    answers = Table.grid(expand=True, padding=(0, 1))
    for _ in sides:
        answers.add_column(ratio=1, overflow="fold")
    answers.add_row(*[Panel(Text(one.answer), title=f"{name}: {one.context}") for name, one in sides])
    console.print(answers)


def _row(name: str, one: Side) -> tuple[str, ...]:
    usage = one.usage
    cached = "unknown" if usage.cached is None else f"{usage.cached:,}"
    return (
        name,
        one.context,
        str(one.requests),
        f"{usage.input:,}",
        cached,
        f"{usage.output:,}",
        f"{one.seconds:.1f}",
    )

"""The command: `python -m benchmarks`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.everything import MEASURES
from benchmarks.figures import Figure, write
from benchmarks.peers.client import Peer, importable, open_peer
from benchmarks.sampling import Absent, Failed, Measure, take
from benchmarks.table import conditions, show, warning
from host.cli.progress import image_progress
from host.cli.running import run_to_end
from sandbox.image import Image, ensure

__all__ = ["Measured", "main", "run"]

WIDTH: Final = 120  # characters, where there is no terminal to ask
RESULTS: Final = Path(__file__).parent / "results.json"


@dataclass(slots=True, kw_only=True)
class Measured:
    """What a run gave: figures, and sentences about what was left out because something is not installed, and about
    what could not be measured.
    """

    figures: list[Figure] = field(default_factory=list)
    absences: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


class _Taught(click.Command):
    """A command whose help lists what is measured, and how."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click."""
        with formatter.section("What is measured (* only with --full)"):
            formatter.write_dl([(f"{item.name}{' *' if item.only_full else ''}", item.what) for item in MEASURES])
        super().format_epilog(ctx, formatter)


@click.command(
    cls=_Taught,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 all was measured, 1 something could not be, 2 bad usage. A bar that is missed is no error.",
)
@click.option("--quick", is_flag=True, help="Three samples of each: to see that it works, not to be quoted.")
@click.option("--full", is_flag=True, help="Measure also what needs minutes or gigabytes (* below).")
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    type=click.Choice([item.name for item in MEASURES]),
    help="Measure this and nothing else. May be given several times; the names are below.",
)
@click.option(
    "--json",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the figures are written. Without it a whole run writes benchmarks/results.json, and one that is "
    "--quick or --only writes nothing.",
)
@click.option("--peers/--no-peers", default=True, show_default=True, help="Measure other sandboxes where installed.")
def main(quick: bool, full: bool, only: Sequence[str], file: Path | None, peers: bool) -> None:
    """Measure what Branchpoint costs, print a table, and write the figures as JSON: a list of
    {name, unit, median, min, max, runs}.

    Below each figure stand those of other sandboxes that do the same, if they are installed (`uv run --group peers
    python -m benchmarks`). They take turns with ours, sample by sample. The ratio is that of our median to theirs; the
    bar is what this project wants it to be (benchmarks/bars.py).

    \b
    Examples:
      python -m benchmarks                            two minutes, on a machine that does nothing else
      python -m benchmarks --only call --only fork    just these
      python -m benchmarks --quick --no-peers         does it work?
    """
    if quick and full:
        raise click.UsageError("--quick and --full exclude each other.")
    chosen = [item for item in MEASURES if (item.name in only if only else full or not item.only_full)]
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    with image_progress() as progress:
        image = ensure(progress=progress)
    kinds = importable() if peers else ()
    console.print(conditions(kind.title for kind in kinds), soft_wrap=True, highlight=False)
    if loaded := warning():
        console.print(loaded, style="yellow", soft_wrap=True)
    measured = run_to_end(functools.partial(run, image, chosen, peers=peers, quick=quick))
    show(console, measured.figures)
    for absence in measured.absences:
        console.print(f"Left out: {absence}", style="yellow", soft_wrap=True, markup=False, highlight=False)
    for trouble in measured.troubles:
        console.print(f"Not measured: {trouble}", style="red", soft_wrap=True, markup=False, highlight=False)
    if file is None and not (quick or only):
        file = RESULTS
    if file is not None:
        _write(measured.figures, file)
    sys.exit(1 if measured.troubles else 0)


def _write(figures: Sequence[Figure], file: Path) -> None:
    try:
        write(figures, file)
    except OSError as error:
        raise click.FileError(str(file), hint=error.strerror or "it cannot be written") from error


async def run(image: Image, chosen: Sequence[Measure], *, peers: bool = True, quick: bool = False) -> Measured:
    """Take the chosen measurements, one after another, with the installed peers beside them."""
    measured = Measured()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn())
    console = Console(stderr=True)
    async with AsyncExitStack() as stack:
        bar = stack.enter_context(Progress(*columns, console=console, transient=True, disable=not console.is_terminal))
        task = bar.add_task("starting", total=len(chosen))
        rivals: list[Peer] = []
        for kind in importable() if peers else ():
            bar.update(task, description=f"starting {kind.distribution}")
            try:
                rivals.append(await stack.enter_async_context(open_peer(kind)))
            except Failed as failure:
                measured.troubles.append(f"{kind.title}: {failure}")
        for number, item in enumerate(chosen):
            bar.update(task, description=item.name)
            try:
                figures, troubles = await take(item, image, tuple(rivals), quick=quick, progress=_share(bar, number))
            except Absent as absence:
                measured.absences.append(f"{item.name}: {absence}")
                continue
            except Exception as failure:  # one that fails takes no other with it
                measured.troubles.append(f"{item.name}: {_sentence(failure)}")
                continue
            measured.figures += figures
            measured.troubles += troubles
    return measured


def _sentence(failure: Exception) -> str:
    return str(failure) if isinstance(failure, Failed) else f"{type(failure).__name__}: {failure}"


def _share(bar: Progress, number: int) -> Callable[[float], None]:
    """Progress within one of several measurements."""
    (task,) = bar.task_ids
    return lambda share: bar.update(task, completed=number + share)


if __name__ == "__main__":
    main()

"""`branchpoint image`: what sandboxes run on. Build one with packages, list them, move them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from host.cli.inputs import BadInput, clear_errors
from host.cli.progress import image_progress
from sandbox import image as images
from sandbox.image import DEFAULT, Image

__all__ = ["image"]

_PIPE_WIDTH: Final = 160


@click.group(short_help="Build, list, export and import what sandboxes run on.")
def image() -> None:
    """The images that sandboxes run on.

    `default` has CPython and its whole standard library, and builds itself at first use. Others have packages baked in.
    """


@image.command()
@click.option(
    "--with",
    "packages",
    multiple=True,
    metavar="PKG",
    help="A requirement (attrs>=23) or a .whl file; may be given more than once. Pure Python only.",
)
@click.option("--name", metavar="NAME", help="What `run --image` calls it [default: the first package's name].")
def build(packages: tuple[str, ...], name: str | None) -> None:
    """Build an image with packages and all that they need, and check that they can be imported."""
    chosen = name or (_bare(packages[0]) if packages else DEFAULT)
    if packages and chosen == DEFAULT:
        raise BadInput(f"the image {DEFAULT!r} has no packages of its own: give another --name.")
    with clear_errors(), image_progress(f"Building the image {chosen}") as progress:
        built = images.build(chosen, packages, progress=progress) if packages else images.ensure(progress=progress)
    click.echo(f"{built.name}: {_contents(built)}")
    click.echo(f"Use it with: branchpoint run --image {built.name} CODE.py", err=True)


def _bare(requirement: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement

    if requirement.endswith(".whl"):
        return Path(requirement).name.partition("-")[0]
    try:
        return Requirement(requirement).name
    except InvalidRequirement:
        raise BadInput(f"{requirement!r} is no requirement, like attrs>=23, and no .whl file.") from None


def _contents(shown: Image) -> str:
    packages = ", ".join(f"{package.name} {package.version}" for package in shown.manifest.packages)
    return packages or "the standard library"


@image.command()
@click.argument("name", required=False)
@click.option("--json", "json_", is_flag=True, help="As JSON.")
def info(name: str | None, json_: bool) -> None:
    """Show the images there are, or one of them in full."""
    with clear_errors():
        found = [shown for shown in images.installed() if name in (None, shown.name)]
    if name is not None and not found:
        known = ", ".join(shown.name for shown in images.installed())
        raise BadInput(f"There is no image {name!r}. There are: {known or 'none'}.")
    if json_:
        click.echo(json.dumps([_plain(shown) for shown in found], indent=2))
    elif name is not None:
        for key, value in _plain(found[0]).items():
            click.echo(f"{key:15} {value}")
    elif not found:
        click.echo(f"There is no image in {images.cache_folder()} yet. The first run builds one (half a minute).")
    else:
        table = Table(box=None, pad_edge=False)
        for heading in ("name", "packages", "size", "built", "content"):
            table.add_column(heading)
        for shown in found:
            size = shown.manifest.wasm_bytes + shown.manifest.compiled_bytes
            row = (
                shown.name,
                _contents(shown),
                f"{size / 1e6:.0f} MB",
                shown.manifest.built[:16],
                shown.content_hash[:12],
            )
            table.add_row(*row)
        Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)


def _plain(shown: Image) -> dict[str, object]:
    manifest = shown.manifest
    return {
        "name": shown.name,
        "packages": [f"{package.name}=={package.version}" for package in manifest.packages],
        "content": shown.content_hash,
        "built": manifest.built,
        "current": shown.current,
        "wasm_bytes": manifest.wasm_bytes,
        "compiled_bytes": manifest.compiled_bytes,
        "seconds": dict(manifest.seconds),
        "engine": manifest.engine,
        "folder": str(shown.compiled.parent),
    }


@image.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def export(name: str, file: Path) -> None:
    """Write the image NAME to FILE. Sessions that sleep can then be woken elsewhere."""
    if not file.absolute().parent.is_dir():
        raise BadInput(f"{file} cannot be written: its folder does not exist.")
    with clear_errors():
        images.export_image(name, file)
    click.echo(f"{file}: {file.stat().st_size / 1e6:.0f} MB")


@image.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", metavar="NAME", help="What it is called here [default: as it was exported].")
def import_(file: Path, name: str | None) -> None:
    """Take in an image from FILE. Its machine code is made anew here: none from elsewhere is ever run."""
    with clear_errors(), image_progress("Taking in the image") as progress:
        taken = images.import_image(file, name=name, progress=progress)
    click.echo(f"{taken.name}: {_contents(taken)}")

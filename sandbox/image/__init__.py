"""Images: the memory of a CPython that is started, warm, and has everything imported, as one WebAssembly module.

Every guest is an instance of one. `ensure` gives the image of a name and builds it first where that is needed (half a
minute); after that it takes some milliseconds. All functions here block: call them in a thread.

The images are in the user's cache folder, or in the one that BRANCHPOINT_CACHE names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from .build import ComponentizeBuilder, Progress
from .cache import DEFAULT, Cache
from .errors import (
    CacheError,
    ImageBuildError,
    ImageError,
    ImageFileError,
    LinkError,
    PackageError,
    UnknownImageError,
)
from .manifest import Image, Manifest, Package

__all__ = [
    "DEFAULT",
    "CacheError",
    "Image",
    "ImageBuildError",
    "ImageError",
    "ImageFileError",
    "LinkError",
    "Manifest",
    "Package",
    "PackageError",
    "Progress",
    "UnknownImageError",
    "build",
    "cache_folder",
    "ensure",
    "export_image",
    "find",
    "import_image",
    "installed",
]


def cache_folder() -> Path:
    """Where images are kept."""
    chosen = os.environ.get("BRANCHPOINT_CACHE")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("branchpoint")


def ensure(name: str = DEFAULT, *, progress: Progress | None = None) -> Image:
    """The image of this name, built first if it is missing, damaged, or made of other sources or versions than these.

    `progress` is called with what is being done and how much of the whole is done, 0 to 1. Raises `UnknownImageError`
    for a name that nothing was built under, `CacheError`, `ImageBuildError`.
    """
    return _cache().ensure(name, progress=progress or _unseen)


def build(name: str, packages: Sequence[str], *, progress: Progress | None = None) -> Image:
    """An image with packages baked in: requirements (`attrs>=23`) or paths of .whl files, with all that they depend on.

    Raises `PackageError` for a package that cannot be in an image; nothing has changed then.
    """
    from .resolve import fetch  # rarely needed, and slow to import

    progress = progress or _unseen
    with tempfile.TemporaryDirectory(prefix="branchpoint-wheels-") as folder:
        progress("finding packages", 0.0)
        return _cache().build(name, fetch(packages, Path(folder)), progress=progress)


def installed() -> list[Image]:
    """The images that can be loaded at once, by name."""
    return _cache().installed()


def find(content_hash: str, *, progress: Progress | None = None) -> Image:
    """The image with this content, for a session that was suspended on it. Raises `UnknownImageError`."""
    return _cache().find(content_hash, progress=progress or _unseen)


def export_image(name: str, file: Path) -> None:
    """Write the image of this name to one file, for `import_image` elsewhere."""
    from . import transfer

    transfer.export_image(ensure(name), file)


def import_image(file: Path, *, name: str | None = None, progress: Progress | None = None) -> Image:
    """Take in an exported image. Its machine code is made here. Raises `ImageFileError`."""
    from . import transfer

    return transfer.import_image(_cache(), file, name, progress or _unseen)


def _cache() -> Cache:
    return Cache(cache_folder(), ComponentizeBuilder())


def _unseen(_stage: str, _fraction: float) -> None:
    """Progress that nobody looks at."""

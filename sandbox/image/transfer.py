"""One image as one file, to be carried to another machine.

The file is a zip archive with the image's module and its manifest. It holds no machine code: that would have to be
trusted. The module need not be, since a guest is held to be hostile anyway; what is checked is that it is what its
manifest says, and an image at all.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Final

from .build import Progress
from .cache import DEFAULT, Cache
from .errors import ImageFileError, LinkError
from .manifest import Image, Manifest
from .module import Kind, read_module

__all__ = ["export_image", "import_image"]

WASM, MANIFEST = "image.wasm", "manifest.json"
LARGEST: Final = {WASM: 1 << 30, MANIFEST: 1 << 24}  # bytes, unpacked
EXPORTS: Final = frozenset({"step", "realloc", "memory", "interrupt", "stack_pointer"})


def export_image(image: Image, file: Path) -> None:
    """Write the image to `file`, whole or not at all."""
    part = file.with_name(f".{file.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            archive.writestr(MANIFEST, json.dumps({"name": image.name}) + "\n" + image.manifest.as_json().decode())
            archive.write(image.wasm, WASM)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def import_image(cache: Cache, file: Path, name: str | None, progress: Progress) -> Image:
    """Take in an exported image, under its own name or this one. Raises `ImageFileError`.

    The default image of another machine is named after its content, since there is a default here too.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            for item, largest in LARGEST.items():
                if archive.getinfo(item).file_size > largest:
                    raise ImageFileError(f"{file} is no exported image: its {item} is too large.")
            head, _, rest = archive.read(MANIFEST).decode().partition("\n")
            wasm = archive.read(WASM)
        own_name = json.loads(head)["name"]
        manifest = Manifest.from_plain(json.loads(rest))
    except FileNotFoundError:
        raise ImageFileError(f"There is no file {file}.") from None
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise ImageFileError(f"{file} is no exported image, or it is damaged: {error}") from error
    if manifest is None or not isinstance(own_name, str):
        raise ImageFileError(f"{file} is no exported image, or it was exported by another version.")
    if hashlib.sha256(wasm).hexdigest() != manifest.content_hash:
        raise ImageFileError(f"{file} is damaged: its image is not the one that its manifest names.")
    _check(file, wasm)
    if name is None:
        name = f"{DEFAULT}-{manifest.content_hash[:12]}" if own_name == DEFAULT else own_name
    return cache.adopt(name, wasm, manifest, progress=progress)


def _check(file: Path, wasm: bytes) -> None:
    """It must be a module like those that `link` writes."""
    try:
        module = read_module(wasm)
    except LinkError as error:
        raise ImageFileError(f"{file} holds no image: {error}") from error
    for item in module.imports:
        if item.module != "host" or item.kind is not Kind.FUNCTION:
            raise ImageFileError(f"{file} holds no image: it imports {item.module}.{item.name}.")
    if missing := EXPORTS - module.exports.keys():
        raise ImageFileError(f"{file} holds no image: it does not export {', '.join(sorted(missing))}.")

"""Making an image: from Python sources and wheels to one core module, and from that to machine code.

componentize-py starts CPython in Wasm, imports `guest_stdlib.entry` and stores the interpreter's memory as it is then.
What the guest can import is put into a temporary folder first, so that nothing else of this machine gets in: the
guest's own sources, the pure-Python packages that they use, and the packages to be baked in. The tool runs as a process
of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, Protocol

from wasmtime import Module, WasmtimeError

from sandbox.engine import FINGERPRINT, new_engine

from .errors import ImageBuildError, PackageError
from .manifest import Wheel

__all__ = ["Builder", "ComponentizeBuilder", "Progress"]

type Progress = Callable[[str, float], None]

APP: Final = "guest_stdlib.entry"
GUEST_PACKAGES: Final = ("msgpack", "RestrictedPython", "tzdata")
TOOLS: Final = ("componentize-py", "wasmtime", *GUEST_PACKAGES)
LINKER: Final = (
    "wasm.py",
    "module.py",
    "instructions.py",
    "component.py",
    "lasting.py",
    "link.py",
    "packages.py",
    "build.py",
)
COMPONENTIZE: Final = "from componentize_py import script; script()"  # what its console script does
EXPECTED: Final = 12.0  # seconds that componentize-py takes, for the progress shown meanwhile


class Builder(Protocol):
    """What the cache needs to make images. The real one is below; `sandbox.image.testing` has another."""

    @property
    def engine(self) -> str:
        """The settings of the engine that compiled code is for."""

    def inputs(self) -> Mapping[str, str]:
        """All that goes into every image, by name: versions, hashes of sources."""

    def build(self, wheels: Sequence[Wheel], progress: Progress) -> bytes:
        """An image with these packages: a core module. Progress is called with ("...", 0 to 1)."""

    def compile(self, wasm: bytes) -> bytes:
        """The image's machine code."""


class ComponentizeBuilder:
    """Builds with componentize-py, links, and compiles with Wasmtime."""

    engine = FINGERPRINT

    def inputs(self) -> Mapping[str, str]:
        """Versions of tools and packages, and a hash over the sources of guest and linker. Takes about 3 ms."""
        sources, linker = hashlib.sha256(), Path(__file__).parent
        for path in [*_guest_sources(), *(linker / name for name in LINKER)]:
            content = path.read_bytes()
            sources.update(f"{path.relative_to(linker.parent.parent)} {len(content)}\n".encode() + content)
        return {"sources": sources.hexdigest(), **{tool: version(tool) for tool in TOOLS}}

    def build(self, wheels: Sequence[Wheel], progress: Progress) -> bytes:
        """Build and link. Raises `ImageBuildError` with the tool's output, `PackageError`, or `LinkError`."""
        from .link import link  # as below: what only building needs is imported where it is needed

        with tempfile.TemporaryDirectory(prefix="branchpoint-build-") as folder:
            stage = Path(folder)
            _stage(stage, wheels)
            for fraction in _componentize(stage):
                progress("building the guest", fraction * 0.95)
            component = (stage / "guest.wasm").read_bytes()
        progress("linking", 0.95)
        return link(component)

    def compile(self, wasm: bytes) -> bytes:
        """Compile, on all cores."""
        try:
            return bytes(Module(new_engine(), wasm).serialize())
        except WasmtimeError as error:
            raise ImageBuildError(f"Wasmtime does not compile the image: {error}") from error


def _folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ImageBuildError(f"The package {package}, which goes into every image, is not installed.")
    return Path(spec.origin).parent


def _guest_sources() -> Iterator[Path]:
    for path in sorted(_folder_of("guest_stdlib").rglob("*")):
        if path.suffix in (".py", ".wit"):
            yield path


def _stage(stage: Path, wheels: Sequence[Wheel]) -> None:
    """Lay out what componentize-py is given: `app`, `baked`, and an empty environment, or it would take in ours."""
    from .packages import unpack

    app, baked = stage / "app", stage / "baked"
    guest, unwanted = _folder_of("guest_stdlib"), shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for path in _guest_sources():
        target = app / "guest_stdlib" / path.relative_to(guest)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for package in GUEST_PACKAGES:
        shutil.copytree(_folder_of(package), app / package, ignore=unwanted)
    baked.mkdir()
    listed = [
        {"name": wheel.package.name, "version": wheel.package.version, "modules": unpack(wheel, baked)}
        for wheel in wheels
    ]
    (app / "baked.json").write_text(json.dumps(listed), encoding="utf-8")
    (stage / "environment" / "lib" / "python3" / "site-packages").mkdir(parents=True)


def _componentize(stage: Path) -> Iterator[float]:
    """Run the tool to its end, yielding how far it may be."""
    command = [
        *(sys.executable, "-I", "-c", COMPONENTIZE),
        *("--wit-path", "app/guest_stdlib/guest.wit", "--world", "sandbox"),
        *("componentize", APP, "--python-path", "app", "--python-path", "baked", "--output", "guest.wasm"),
    ]
    environment = {**os.environ, "VIRTUAL_ENV": str(stage / "environment"), "RUST_BACKTRACE": "0"}
    log = stage / "log"
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - every argument is ours
            command, cwd=stage, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None:
                yield 1 - math.exp((started - time.monotonic()) / EXPECTED)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.25)
        finally:
            if process.poll() is None:  # the reader of our progress gave up
                process.kill()
                process.wait()
    if process.returncode or not (stage / "guest.wasm").is_file():
        raise _failure(log.read_text(encoding="utf-8", errors="replace"))


def _failure(output: str) -> ImageBuildError | PackageError:
    """What a failed run means: a package that does not import, or anything else."""
    if found := re.search(r"^(?:\S+\.)?BakingFailed: (.+)$", output, re.MULTILINE):
        return PackageError(f"The image cannot be built with {found[1]}.")
    said = output.partition("Stack backtrace:")[0]  # the tool's own, which helps nobody
    return ImageBuildError(f"componentize-py could not build the guest:\n{said.strip()}")

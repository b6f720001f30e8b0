"""A builder that builds nothing, for tests of what is around building."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .build import Progress
from .manifest import Wheel

__all__ = ["RehearsedBuilder"]


class RehearsedBuilder:
    """Makes "images" of a few bytes and remembers what it was asked for.

    No two builds give the same bytes, as with the real one. `sources` stands for everything that goes into an image,
    `during` is called while one is being built.
    """

    def __init__(self, *, engine: str = "rehearsal", sources: str = "1", during: Callable[[], object] = int) -> None:
        self.engine = engine
        self.sources = sources
        self.during = during
        self.built: list[tuple[str, ...]] = []
        self.compiled: list[bytes] = []

    def inputs(self) -> Mapping[str, str]:
        """Only the sources."""
        return {"sources": self.sources}

    def build(self, wheels: Sequence[Wheel], progress: Progress) -> bytes:
        """Remember the files of the wheels."""
        progress("building the guest", 0.5)
        self.during()
        self.built.append(tuple(wheel.package.file for wheel in wheels))
        return f"image {self.sources}, build {len(self.built)}".encode()

    def compile(self, wasm: bytes) -> bytes:
        """Remember the image."""
        self.compiled.append(wasm)
        return b"compiled " + wasm

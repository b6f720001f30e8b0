"""What an image is made of, and where it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["Image", "Manifest", "Package", "Wheel"]

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A baked-in package. `file` is the name of its wheel, `sha256` the wheel's hash."""

    name: str
    version: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel that the guest can use. `requires` are its requirements as its metadata has them, markers included."""

    package: Package
    path: Path
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """How an image came about. Hashes are SHA-256, sizes bytes; `seconds` is what each step took, `built` when, in UTC.

    `key` is a hash over all that went in, `inputs` the versions and source hashes among that, `engine` the settings of
    the engine that the compiled code is for.
    """

    key: str
    content_hash: str
    wasm_bytes: int
    engine: str
    inputs: Mapping[str, str]
    packages: tuple[Package, ...]
    built: str
    compiled_hash: str = ""
    compiled_bytes: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    format: int = FORMAT

    def as_json(self) -> bytes:
        """The form on disk."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any] | None) -> Manifest | None:
        """The inverse, from the parsed JSON; None for what is no manifest of this format."""
        try:
            fields = dict(plain or {})
            packages = tuple(Package(**package) for package in fields.pop("packages"))
            manifest = cls(packages=packages, **fields)
        except (TypeError, KeyError):
            return None
        return manifest if manifest.format == FORMAT else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that can be loaded: its files were verified when this was made.

    `content_hash` is what suspended sessions call it by. `current` is False if sources or versions have changed since
    it was built: such an image only resumes sessions that were suspended on it, and `ensure` builds a new one.
    """

    name: str
    content_hash: str
    compiled: Path
    wasm: Path
    manifest: Manifest
    current: bool = True

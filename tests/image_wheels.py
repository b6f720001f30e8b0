"""Wheels made by hand, for tests: nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["make_wheel"]


def make_wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str | bytes],
    *,
    version: str = "1.0",
    tag: str = "py3-none-any",
    metadata: str = "",
    damaged: bool = False,
) -> Path:
    """A wheel with these files and further lines of metadata. A damaged one has other contents than it records."""
    info = f"{name}-{version}.dist-info"
    contents = {path: content.encode() if isinstance(content, str) else content for path, content in files.items()}
    contents[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}".encode()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    record = "".join(f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in contents.items())
    if damaged:
        first = next(iter(contents))
        contents[first] = contents[first] + b"# changed\n"
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for item, content in contents.items():
            archive.writestr(item, content)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

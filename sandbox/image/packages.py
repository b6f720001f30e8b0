"""Packages for an image of their own: one wheel each, read, checked and unpacked.

The guest is CPython 3.14 in Wasm and loads no native code, so a package must be a pure-Python wheel. Wheels are read
and unpacked with pyodide-build's tools; which wheels a request needs is found out in `resolve.py`.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pyodide_build.common import (  # type: ignore[import-untyped]  # it has no py.typed
    extract_wheel_metadata_file,
    find_matching_wheel,
    parse_top_level_import_name,
    unpack_wheel,
)

from .errors import PackageError
from .manifest import Package, Wheel

__all__ = ["GUEST_PYTHON", "read_wheel", "unpack"]

GUEST_PYTHON: Final = "3.14"
PURE_TAGS: Final = sorted(
    {tag for minor in range(15) for tag in parse_tag(f"py3.py3{minor}.cp3{minor}-none-any")}, key=str
)
NATIVE: Final = (".so", ".pyd", ".dylib", ".dll")
INCIDENTAL: Final = {"tests", "test", "docs", "doc", "examples", "benchmarks"}  # packed by mistake, as a rule


def read_wheel(path: Path) -> Wheel:
    """Read a wheel and check that it is one for the guest. Raises `PackageError` with its name and the reason."""
    if not path.is_file():
        raise PackageError(f"There is no wheel {path}.")
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename:
        raise PackageError(f"{path.name} has not the name of a wheel (name-version-python-abi-platform.whl).") from None
    if find_matching_wheel([path], PURE_TAGS) is None:
        raise PackageError(
            f"{name} {version} cannot be baked in: {path.name} is a native wheel, and the sandbox runs no native code."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            native = [item for item in archive.namelist() if item.endswith(NATIVE)]
        with tempfile.TemporaryDirectory() as folder:
            extract_wheel_metadata_file(path, Path(folder, "METADATA"))
            metadata = HeaderParser().parsestr(Path(folder, "METADATA").read_text(encoding="utf-8"))
    except (zipfile.BadZipFile, RuntimeError, KeyError, OSError, UnicodeDecodeError) as error:
        raise PackageError(f"{path.name} is a damaged wheel: {error}") from error
    if native:
        raise PackageError(
            f"{name} {version} cannot be baked in: {path.name} says that it is pure Python, but holds {native[0]}, "
            "and the sandbox runs no native code."
        )
    wanted = metadata.get("Requires-Python")
    if wanted is not None and not _fits(wanted):
        raise PackageError(
            f"{name} {version} cannot be baked in: it asks for Python {wanted}, and the sandbox runs {GUEST_PYTHON}."
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Wheel(
        package=Package(name=canonicalize_name(name), version=str(version), file=path.name, sha256=digest),
        path=path,
        requires=tuple(metadata.get_all("Requires-Dist", ())),
    )


def _fits(requires_python: str) -> bool:
    try:
        return SpecifierSet(requires_python).contains(f"{GUEST_PYTHON}.0")
    except InvalidSpecifier:
        return True  # as pip does: a specifier that nobody can read excludes nothing


def unpack(wheel: Wheel, site: Path) -> list[str]:
    """Unpack a wheel into the folder `site` and return the names of its top-level modules.

    pyodide-build checks each file against the hash that the wheel records for it.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack_wheel(wheel.path, Path(folder), verbose=False)
        except SystemExit:  # how pyodide-build says that it failed
            raise PackageError(f"{wheel.path.name} is a damaged wheel: it does not hold what it records.") from None
        (unpacked,) = Path(folder).iterdir()
        schemes = [
            # What else there may be in a data folder (scripts, headers) has no place in the guest.
            scheme
            for data in unpacked.glob("*.data")
            for scheme in (data / "purelib", data / "platlib")
            if scheme.is_dir()
        ]
        for source in (unpacked, *schemes):
            shutil.copytree(source, site, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.data"))
    modules = parse_top_level_import_name(wheel.path) or []
    return sorted(set(modules) - INCIDENTAL) or sorted(modules)

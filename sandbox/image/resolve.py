"""Which wheels a request needs, and fetching them.

1. pip resolves the request as if for Linux, native wheels included. Allowed nothing but pure ones, it would quietly go
   back to some version of years ago that happened to be pure.
2. What it chose is fetched as pure wheels of exactly those versions. A package that has none is refused by its name.
3. Which dependencies are needed depends on markers (`sys_platform == "win32"`), which pip judges by the interpreter
   that it runs in. They are judged again here by the guest's own; what is missing then is asked for in another round.

pip is the one that virtualenv carries, since an environment made by uv has none. It reads the user's configuration.
"""

from __future__ import annotations

import atexit
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from virtualenv.seed.wheels.embed import get_embed_wheel

from .errors import PackageError
from .manifest import Wheel
from .packages import GUEST_PYTHON, read_wheel

__all__ = ["fetch"]

MARKERS: Final = {
    "implementation_name": "cpython",
    "implementation_version": f"{GUEST_PYTHON}.0",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_release": "0.0.0",
    "platform_system": "wasi",
    "platform_version": "0.0.0",
    "python_full_version": f"{GUEST_PYTHON}.0",
    "python_version": GUEST_PYTHON,
    "sys_platform": "wasi",
}
OWN: Final = frozenset({"msgpack", "restrictedpython", "tzdata"})  # every image has these
LINUX: Final = [f"--platform=manylinux_2_{minor}_x86_64" for minor in (5, 12, 17, 24, 28, 31, 34)]
ANYWHERE: Final = ["--only-binary=:all:", f"--python-version={GUEST_PYTHON}", "--platform=any", "--abi=none"]
ANY_WHEEL: Final = [*ANYWHERE, "--implementation=cp", f"--abi=cp{GUEST_PYTHON.replace('.', '')}", "--abi=abi3", *LINUX]
PURE_WHEEL: Final = [*ANYWHERE, "--implementation=py"]
ROUNDS: Final = 5

type _Chosen = dict[str, Mapping[str, Any]]  # by canonical name: pip's report of what it would install


def fetch(requests: Sequence[str], folder: Path) -> list[Wheel]:
    """The wheels for these requests (`attrs>=23`, or the path of a .whl file), dependencies included, fetched into
    `folder`.

    Sorted by name. Raises `PackageError`, which names the package that is in the way.
    """
    asked, roots = list[str](), list[Requirement]()
    for request in requests:
        if request.endswith(".whl"):
            wheel = read_wheel(Path(request))
            asked.append(str(wheel.path.resolve()))
            roots.append(Requirement(wheel.package.name))
        else:
            roots.append(_requirement(request))
            asked.append(request)
    chosen, needed = _resolve(asked, roots)
    exact = [
        item["download_info"]["url"] if item["is_direct"] else f"{name}=={item['metadata']['version']}"
        for name in needed
        for item in (chosen[name],)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    if exact:
        ended = _pip("download", "--no-deps", f"--dest={folder}", *PURE_WHEEL, *exact)
        if ended.returncode:
            _refuse_native(ended, chosen)
    return sorted((read_wheel(path) for path in folder.iterdir()), key=lambda wheel: wheel.package.name)


def _requirement(request: str) -> Requirement:
    try:
        return Requirement(request)
    except InvalidRequirement:
        raise PackageError(
            f"{request!r} names no package. Write it like 'attrs' or 'attrs>=23', or give the path of a .whl file."
        ) from None


def _resolve(asked: list[str], roots: Iterable[Requirement]) -> tuple[_Chosen, list[str]]:
    """What pip would install, and the names of what the guest needs of it."""
    for _ in range(ROUNDS):
        chosen = _choose(asked)
        needed, missing = _needed(roots, chosen)
        if not missing:
            return chosen, sorted(needed - OWN)
        asked = [*asked, *missing]
    raise PackageError(f"After {ROUNDS} rounds packages are still missing: {', '.join(missing)}.")


def _needed(roots: Iterable[Requirement], chosen: _Chosen) -> tuple[set[str], list[str]]:
    """The names that the guest needs of what was chosen, and the requirements that nothing chosen fulfils."""
    needed, missing = set[str](), list[str]()
    seen, waiting = set[tuple[str, str]](), list(roots)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found = chosen.get(name)
        if found is None or not requirement.specifier.contains(found["metadata"]["version"], prereleases=True):
            requirement.marker = None
            missing.append(str(requirement))
            continue
        needed.add(name)
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for line in found["metadata"].get("requires_dist", ()):
                further = Requirement(line)
                if further.marker is None or further.marker.evaluate({**MARKERS, "extra": extra}):
                    waiting.append(further)
    return needed, missing


def _choose(asked: Sequence[str]) -> _Chosen:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        ended = _pip(
            "install", "--dry-run", "--ignore-installed", f"--report={report}", f"--target={folder}", *ANY_WHEEL, *asked
        )
        if ended.returncode:
            _refuse(ended)
        install: list[Mapping[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {canonicalize_name(item["metadata"]["name"]): item for item in install}


@functools.cache
def _unpacked_pip() -> Path:
    """It would run from its wheel, too, but compile itself at each start, which takes three times as long."""
    wheel = get_embed_wheel("pip", f"{sys.version_info.major}.{sys.version_info.minor}")
    if wheel is None:
        raise PackageError("virtualenv carries no pip for this version of Python.")
    folder = tempfile.mkdtemp(prefix="branchpoint-pip-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.unpack_archive(wheel.path, folder, "zip")
    return Path(folder, "pip")


def _pip(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ["--quiet", "--no-input", "--disable-pip-version-check"]
    return subprocess.run(  # noqa: S603 - the requirements were parsed, so none of them is an option
        [sys.executable, "-I", str(_unpacked_pip()), command, *options, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def _refuse(ended: subprocess.CompletedProcess[str]) -> NoReturn:
    """Say why pip found no way. Its errors are on standard error, one a line, among warnings."""
    errors = [line.removeprefix("ERROR: ") for line in ended.stderr.splitlines() if line.startswith("ERROR: ")]
    text = "\n".join(errors)
    wrong = re.search(r"Package '([^']+)' requires a different Python: .+ not in '([^']+)'", text)
    if wrong:  # so pip says it of a wheel that it looked into; what an index says of it comes below
        raise PackageError(_other_python(wrong[1], wrong[2]))
    if not (found := re.search(r"No matching distribution found for (.+)", text)):
        raise PackageError(f"pip cannot find these packages: {text or ended.stderr.strip()}")
    wanted = _requirement(found[1].strip())
    origin = re.search(rf"requirement {re.escape(found[1].strip())} \(from ([^)]+)\) \(from versions", text)
    by = f" (which {origin[1]} needs)" if origin else ""
    if ignored := re.search(r"require a different python version: .*Requires-Python (.+)", text):
        raise PackageError(_other_python(f"{wanted.name}{by}", ignored[1]))
    if "(from versions: none)" not in text:
        raise PackageError(f"{wanted.name}{by} has no version that fits {wanted.specifier}.")
    if _pip("index", "versions", wanted.name, "--no-binary=:all:").returncode == 0:
        raise PackageError(
            f"{wanted.name}{by} cannot be baked in: it has no wheel for Python {GUEST_PYTHON}, only sources that would "
            "have to be built. Build a pure-Python wheel of it and give that file's path."
        )
    raise PackageError(f"{wanted.name}{by} is in no package index that pip knows.")


def _other_python(name: str, wanted: str) -> str:
    return f"{name} cannot be baked in: it asks for Python {wanted}, and the sandbox runs {GUEST_PYTHON}."


def _refuse_native(ended: subprocess.CompletedProcess[str], chosen: _Chosen) -> NoReturn:
    """All of these versions were found before, so what is not found now has native wheels only."""
    if not (found := re.search(r"No matching distribution found for ([^=\s]+)==(\S+)", ended.stderr)):
        raise PackageError(f"pip cannot fetch the packages: {ended.stderr.strip()}")
    name = canonicalize_name(found[1])
    users = [
        item["metadata"]["name"]
        for item in chosen.values()
        for line in item["metadata"].get("requires_dist", ())
        if canonicalize_name(Requirement(line).name) == name
    ]
    by = "" if chosen[name]["requested"] or not users else f" (which {users[0]} needs)"
    raise PackageError(
        f"{name} {found[2]}{by} cannot be baked in: it has native wheels only, and the sandbox runs no native code."
    )

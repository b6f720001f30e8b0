"""Any sequence of work on files gives in the guest what it gives in this Python, in a folder of the system's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import open_sandbox
from sandbox.image import Image
from sandbox.workspace import Workspace

PROGRAM = """
import errno, glob, os, random, shutil

def run(seed, steps):
    chance = random.Random(seed)
    names = ["a", "b", "d", "d/a", "d/e", "d/e/f", "./d/../b", "d//a", "g/"]
    name = lambda: chance.choice(names)
    data = lambda: bytes(chance.randrange(256) for _ in range(chance.randrange(6)))

    def write(mode):
        with open(name().rstrip("/"), mode) as file:
            return file.write(data()), file.tell()

    def read():
        with open(name(), "rb") as file:
            file.seek(chance.randrange(10))
            return file.read(chance.randrange(50)), file.read(), file.tell()

    def change():
        with open(name(), "r+b", buffering=chance.choice([0, -1])) as file:
            file.seek(chance.randrange(60))
            file.write(data())
            file.truncate(chance.choice([None, 5, 70]))
            file.seek(0)
            return file.read()

    def removed_while_open():
        path = name()
        with open(path, "a+b") as file:
            os.remove(path)
            file.write(b"still there")
            file.seek(0)
            return file.read()

    def size():
        path = name()
        return os.stat(path).st_size if os.path.isfile(path) else None

    steps_known = [
        lambda: write("wb"), lambda: write("ab"), lambda: write("xb"), read, change, removed_while_open,
        lambda: os.mkdir(name()), lambda: os.makedirs(name(), exist_ok=True), lambda: os.rmdir(name()),
        lambda: os.remove(name()), lambda: os.rename(name(), name()), lambda: os.replace(name(), name()),
        lambda: sorted(os.listdir(name())), lambda: os.path.exists(name()), lambda: os.path.isdir(name()),
        lambda: os.path.isfile(name()), lambda: os.truncate(name(), chance.randrange(50)),
        lambda: sorted(glob.glob("**", recursive=True)), lambda: shutil.copyfile(name(), name()),
        lambda: shutil.rmtree(name()), lambda: sorted((top, sorted(folders), sorted(files)) for top, folders, files in os.walk(name())),
        size,
    ]
    seen = []
    for _ in range(steps):
        number = chance.randrange(len(steps_known))
        try:
            seen.append((number, repr(steps_known[number]())))
        except OSError as error:
            # Of two names, systems look at either one first.
            seen.append((number, number in (10, 11, 18) or (type(error).__name__, errno.errorcode.get(error.errno))))
        except shutil.SameFileError:
            seen.append((number, "same"))
    return seen
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other errors")
@pytest.mark.parametrize("seed", range(6))
async def test_the_guest_does_with_files_what_any_python_does(image: Image, tmp_path: Path, seed: int) -> None:
    """The same results, the same classes of errors, the same files at the end."""
    real, shared = tmp_path / "real", tmp_path / "shared"
    real.mkdir()
    shared.mkdir()
    call = f"run({seed}, 250)"
    command = [sys.executable, "-I", "-c", f"{PROGRAM}\nprint({call})"]
    natively = subprocess.run(command, cwd=real, capture_output=True, text=True, check=True)  # noqa: ASYNC221
    with Workspace(shared) as workspace:
        async with open_sandbox(image=image, workspace=workspace, rollback=False) as session:
            outcome = await session.run(f"{PROGRAM}\nprint({call})")
            assert outcome.error is None, outcome.error
            assert session._interpreter is not None
            assert session._interpreter.files.opened == ()
        size, entries = workspace._used
        assert workspace.used == (size, entries)  # counted along as it is measured
    for mine, theirs in zip(eval(outcome.stdout), eval(natively.stdout), strict=True):
        assert mine == theirs
    assert {path.relative_to(shared): path.is_file() and path.read_bytes() for path in shared.rglob("*")} == {
        path.relative_to(real): path.is_file() and path.read_bytes() for path in real.rglob("*")
    }

"""The archive: modules and data files are read from memory once their folder is gone. Runs natively, without a guest."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import inspect
import pkgutil
import shutil
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from guest_stdlib.archive import Archive
from tests.image_wheels import make_wheel

FILES = {
    "shelf/__init__.py": '"""A package."""\nBOOKS = 3\n',
    "shelf/books.py": "from . import BOOKS\n\n\ndef title():\n    return 'one of ' + str(BOOKS)\n",
    "shelf/data/list.txt": "æ, b\n",
    "shelf/data/raw.bin": "\0\1",
    "shelf/__pycache__/books.cpython-314.pyc": "",
    "shelf/fast.so": "",
    "single.py": "VALUE = 1\n",
    "broken.py": "def (:\n",
    "space/inner/__init__.py": "",
    "space/inner/deep.py": "NAME = __name__\n",
    "skipped/__init__.py": "",
    "bare-folder/file.txt": "x",
}
MODULES = ("shelf", "single", "broken", "space", "skipped")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """Installed, with all its files gone; the interpreter is put back afterwards."""
    root = tmp_path / "root"
    for path, content in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    shutil.unpack_archive(make_wheel(tmp_path, "Wood_Shelf", {}, version="2.5"), root, "zip")
    before = (sys.meta_path[:], sys.path_hooks[:], sys.path[:])
    archive = Archive()
    archive.add(str(root), without={"skipped"}, sources=True)
    archive.install()
    sys.meta_path[:] = [archive, *before[0]]  # what tests import meanwhile is not in the archive
    sys.path_hooks[:] = [*sys.path_hooks, *before[1]]
    sys.path[:] = before[2]
    shutil.rmtree(root)
    yield archive
    sys.meta_path[:], sys.path_hooks[:], sys.path[:] = before
    sys.path_importer_cache.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in MODULES]:
        del sys.modules[name]


def load(name: str) -> object:
    return importlib.import_module(name)


def test_modules_are_imported_from_memory(archive: Archive) -> None:
    """Packages, modules in them, and what they import of each other."""
    books = load("shelf.books")
    assert books.title() == "one of 3"  # type: ignore[attr-defined]
    assert load("single").VALUE == 1  # type: ignore[attr-defined]
    assert sys.modules["shelf"].__doc__ == "A package."


def test_a_folder_without_init_is_a_namespace_package(archive: Archive) -> None:
    """As it would be on disk."""
    assert load("space.inner.deep").NAME == "space.inner.deep"  # type: ignore[attr-defined]
    assert sys.modules["space"].__file__ is None


def test_what_is_not_there_is_not_found(archive: Archive) -> None:
    """A folder that was left out is not there; one whose name is no identifier is no package."""
    for name in ("skipped", "bare-folder", "shelf.nothing", "shelf.fast"):
        with pytest.raises(ModuleNotFoundError):
            load(name)


def test_a_module_that_does_not_compile_fails_when_it_is_imported(archive: Archive) -> None:
    """Not before: a package may hold files that nobody imports."""
    with pytest.raises(SyntaxError) as caught:
        load("broken")
    assert caught.value.lineno == 1


def test_modules_say_where_they_came_from(archive: Archive, tmp_path: Path) -> None:
    """The names of files are those of build time."""
    books = load("shelf.books")
    assert inspect.getfile(books) == str(tmp_path / "root/shelf/books.py")  # type: ignore[arg-type]
    assert sys.modules["shelf"].__path__ == [str(tmp_path / "root/shelf")]


def test_kept_sources_are_shown(archive: Archive) -> None:
    """By inspect, and by tracebacks."""
    shelf = load("shelf.books")
    assert inspect.getsource(shelf.title) == "def title():\n    return 'one of ' + str(BOOKS)\n"  # type: ignore[attr-defined]
    shelf.BOOKS = property()  # type: ignore[attr-defined]
    del shelf.BOOKS  # type: ignore[attr-defined]
    try:
        shelf.title()  # type: ignore[attr-defined]
    except NameError:
        assert "return 'one of ' + str(BOOKS)" in traceback.format_exc()


def test_data_is_read_with_importlib_resources(archive: Archive) -> None:
    """Text and bytes, by name and by listing."""
    load("shelf")
    folder = importlib.resources.files("shelf") / "data"
    assert (folder / "list.txt").read_text(encoding="utf-8") == "æ, b\n"
    assert folder.joinpath("raw.bin").read_bytes() == b"\0\1"
    assert [item.name for item in folder.iterdir()] == ["list.txt", "raw.bin"]
    assert folder.is_dir()
    assert (folder / "list.txt").is_file()
    assert not (folder / "other.txt").is_file()
    with (folder / "list.txt").open("r", encoding="utf-8") as file:
        assert file.readline() == "æ, b\n"
    with importlib.resources.open_binary("shelf", "data/raw.bin") as file:
        assert file.read(1) == b"\0"


def test_data_that_is_not_there_is_not_found(archive: Archive) -> None:
    """And nothing there can be written."""
    load("shelf")
    folder = importlib.resources.files("shelf")
    with pytest.raises(FileNotFoundError):
        (folder / "data" / "other.txt").read_bytes()
    with pytest.raises(ValueError, match="can only be read"):
        (folder / "data" / "list.txt").open("w")  # type: ignore[call-overload]
    with pytest.raises(NotADirectoryError):
        list((folder / "data" / "list.txt").iterdir())
    assert not (folder / ".." / ".." / ".." / "etc").is_dir()


def test_data_is_read_with_pkgutil(archive: Archive) -> None:
    """By a path below the package."""
    assert pkgutil.get_data("shelf", "data/raw.bin") == b"\0\1"


def test_modules_of_a_package_are_listed(archive: Archive) -> None:
    """Plugins are found that way."""
    shelf = load("shelf")
    assert [found.name for found in pkgutil.iter_modules(shelf.__path__)] == ["books"]  # type: ignore[attr-defined]
    names = [found.name for found in pkgutil.iter_modules()]
    assert "single" in names
    assert "shelf" in names


def test_distributions_are_found(archive: Archive) -> None:
    """By any spelling of their name."""
    assert importlib.metadata.version("wood-shelf") == "2.5"
    assert importlib.metadata.metadata("Wood.Shelf")["Name"] == "Wood_Shelf"
    assert "Wood_Shelf" in [found.name for found in importlib.metadata.distributions()]


def test_what_was_added_first_goes_first(tmp_path: Path) -> None:
    """A baked package cannot replace a module of the standard library or of the guest."""
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "single.py").write_text(f"VALUE = {number}\n")
    archive = Archive()
    archive.add(str(tmp_path / "1"))
    archive.add(str(tmp_path / "2"))
    assert archive.get_filename("single") == str(tmp_path / "1" / "single.py")


def test_modules_imported_before_are_told_where_they_come_from(archive: Archive) -> None:
    """What was imported from files can be reloaded once they are gone."""
    shelf = load("shelf")
    archive.install()
    assert importlib.reload(shelf).BOOKS == 3  # type: ignore[arg-type]
    assert shelf.__loader__ is archive  # type: ignore[attr-defined]

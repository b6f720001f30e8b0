"""Packages for an image: found with all that they need, and refused by name if the guest cannot use them.

pip runs for real, on a folder of wheels made here.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from sandbox.image import PackageError
from sandbox.image.packages import read_wheel, unpack
from sandbox.image.resolve import fetch
from tests.image_wheels import make_wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def names(requests: list[str], tmp_path: Path) -> list[str]:
    return [f"{wheel.package.name} {wheel.package.version}" for wheel in fetch(requests, tmp_path / "fetched")]


def test_a_package_comes_with_what_it_needs(index: Path, tmp_path: Path) -> None:
    """Dependencies, and theirs; what an extra needs only if the extra is asked for."""
    make_wheel(
        index, "office", {"office.py": ""}, metadata="Requires-Dist: paper\nRequires-Dist: ink; extra == 'colour'\n"
    )
    make_wheel(index, "paper", {"paper.py": ""}, metadata="Requires-Dist: wood>=2\n")
    make_wheel(index, "wood", {"wood.py": ""}, version="1.0")
    make_wheel(index, "wood", {"wood.py": ""}, version="2.1")
    make_wheel(index, "ink", {"ink.py": ""})
    assert names(["office"], tmp_path / "plain") == ["office 1.0", "paper 1.0", "wood 2.1"]
    assert names(["office[colour]"], tmp_path / "extra") == ["ink 1.0", "office 1.0", "paper 1.0", "wood 2.1"]


def test_markers_are_judged_by_the_guest(index: Path, tmp_path: Path) -> None:
    """Not by the interpreter that pip runs in: a package may need something just there, or just not there."""
    make_wheel(
        index,
        "office",
        {"office.py": ""},
        metadata="Requires-Dist: here; sys_platform == 'wasi'\n"
        "Requires-Dist: newest; python_version >= '3.14'\n"
        "Requires-Dist: linux-only; sys_platform == 'linux'\n",
    )
    for name in ("here", "newest", "linux_only"):
        make_wheel(index, name, {f"{name}.py": ""})
    assert names(["office"], tmp_path) == ["here 1.0", "newest 1.0", "office 1.0"]


def test_a_wheel_is_given_by_its_path(index: Path, tmp_path: Path) -> None:
    """What it needs is fetched."""
    make_wheel(index, "paper", {"paper.py": ""})
    local = make_wheel(tmp_path, "office", {"office.py": ""}, metadata="Requires-Dist: paper\n")
    assert names([str(local)], tmp_path) == ["office 1.0", "paper 1.0"]


def test_what_every_image_has_is_not_baked_in_again(index: Path, tmp_path: Path) -> None:
    """Time zones, say."""
    make_wheel(index, "tzdata", {"tzdata/__init__.py": ""}, version="2020.1")
    make_wheel(index, "office", {"office.py": ""}, metadata="Requires-Dist: tzdata\n")
    assert names(["office"], tmp_path) == ["office 1.0"]


def refusal(requests: list[str], tmp_path: Path) -> str:
    with pytest.raises(PackageError) as caught:
        fetch(requests, tmp_path / "fetched")
    return str(caught.value)


def test_a_native_package_is_refused_by_name(index: Path, tmp_path: Path) -> None:
    """Even if an old version of it was pure."""
    make_wheel(index, "numbers", {"numbers.py": ""}, version="0.1")
    make_wheel(index, "numbers", {"numbers.so": b""}, version="2.0", tag="cp314-cp314-manylinux_2_28_x86_64")
    assert refusal(["numbers"], tmp_path) == (
        "numbers 2.0 cannot be baked in: it has native wheels only, and the sandbox runs no native code."
    )


def test_a_native_dependency_is_refused_with_who_needs_it(index: Path, tmp_path: Path) -> None:
    """Nobody asked for it by name."""
    make_wheel(index, "office", {"office.py": ""}, metadata="Requires-Dist: numbers\n")
    make_wheel(index, "numbers", {"numbers.so": b""}, version="2.0", tag="cp314-cp314-manylinux_2_28_x86_64")
    assert refusal(["office"], tmp_path) == (
        "numbers 2.0 (which office needs) cannot be baked in: it has native wheels only, "
        "and the sandbox runs no native code."
    )


def test_the_pure_wheel_of_a_package_that_has_both_is_taken(index: Path, tmp_path: Path) -> None:
    """As long as it is the same version."""
    make_wheel(index, "both", {"both.so": b""}, tag="cp314-cp314-manylinux_2_28_x86_64")
    make_wheel(index, "both", {"both.py": ""})
    (wheel,) = fetch(["both"], tmp_path / "fetched")
    assert wheel.package.file == "both-1.0-py3-none-any.whl"


def test_a_package_that_has_only_sources_is_refused(index: Path, tmp_path: Path) -> None:
    """It would have to be built, and building runs its code here."""
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: sourced\nVersion: 1.0\n")
    with tarfile.open(index / "sourced-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "PKG-INFO", "sourced-1.0/PKG-INFO")
    assert refusal(["sourced"], tmp_path) == (
        "sourced cannot be baked in: it has no wheel for Python 3.14, only sources that would have to be built. "
        "Build a pure-Python wheel of it and give that file's path."
    )


def test_a_package_for_other_versions_of_python_is_refused(index: Path, tmp_path: Path) -> None:
    """By name, with what it asks for."""
    make_wheel(index, "old", {"old.py": ""}, metadata="Requires-Python: <3.14\n")
    assert refusal(["old"], tmp_path) == (
        "old cannot be baked in: it asks for Python <3.14, and the sandbox runs 3.14."
    )


def test_a_package_that_an_index_has_for_other_versions_of_python_is_refused(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Indexes say it beside the link, and pip does not look at the wheel."""
    wheel = make_wheel(index, "old", {"old.py": ""}, metadata="Requires-Python: <3.14\n")
    (tmp_path / "simple" / "old").mkdir(parents=True)
    (tmp_path / "simple" / "old" / "index.html").write_text(
        f'<!DOCTYPE html><a href="{wheel.as_uri()}" data-requires-python="&lt;3.14">{wheel.name}</a>'
    )
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert refusal(["old"], tmp_path) == (
        "old cannot be baked in: it asks for Python <3.14, and the sandbox runs 3.14."
    )


def test_a_package_that_does_not_exist_is_named(index: Path, tmp_path: Path) -> None:
    """So is a version that does not."""
    make_wheel(index, "paper", {"paper.py": ""})
    assert refusal(["papper"], tmp_path) == "papper is in no package index that pip knows."
    assert refusal(["paper>=7"], tmp_path) == "paper has no version that fits >=7."


def test_packages_that_contradict_each_other_are_refused(index: Path, tmp_path: Path) -> None:
    """In pip's words."""
    make_wheel(index, "office", {"office.py": ""}, metadata="Requires-Dist: paper<2\n")
    make_wheel(index, "paper", {"paper.py": ""}, version="1.0")
    make_wheel(index, "paper", {"paper.py": ""}, version="2.0")
    assert "conflicting dependencies" in refusal(["office", "paper>=2"], tmp_path)


@pytest.mark.parametrize("request_", ["not a name", "--index-url=x", "", "-r file"])
def test_what_is_no_requirement_is_refused(index: Path, tmp_path: Path, request_: str) -> None:
    """Nor can it be an option of pip's."""
    assert refusal([request_], tmp_path) == (
        f"{request_!r} names no package. Write it like 'attrs' or 'attrs>=23', or give the path of a .whl file."
    )


# A wheel alone


def test_a_native_wheel_is_refused_by_name(tmp_path: Path) -> None:
    """By its tags."""
    path = make_wheel(tmp_path, "numbers", {"numbers.so": b""}, tag="cp314-cp314-manylinux_2_28_x86_64")
    with pytest.raises(PackageError) as caught:
        read_wheel(path)
    assert str(caught.value) == (
        "numbers 1.0 cannot be baked in: numbers-1.0-cp314-cp314-manylinux_2_28_x86_64.whl is a native wheel, "
        "and the sandbox runs no native code."
    )


def test_a_wheel_that_only_says_that_it_is_pure_is_refused(tmp_path: Path) -> None:
    """By what it holds."""
    path = make_wheel(tmp_path, "numbers", {"numbers/__init__.py": "", "numbers/fast.so": b"\x7fELF"})
    with pytest.raises(PackageError, match=r"says that it is pure Python, but holds numbers/fast\.so"):
        read_wheel(path)


def test_a_wheel_for_other_versions_of_python_is_refused(tmp_path: Path) -> None:
    """By its metadata."""
    path = make_wheel(tmp_path, "old", {"old.py": ""}, metadata="Requires-Python: <3.14\n")
    with pytest.raises(PackageError, match=r"old 1\.0 cannot be baked in: it asks for Python <3\.14, and the sandbox"):
        read_wheel(path)


def test_no_wheel_and_no_wheels_name_are_refused(tmp_path: Path) -> None:
    """Each with its sentence."""
    with pytest.raises(PackageError, match="There is no wheel"):
        read_wheel(tmp_path / "missing-1.0-py3-none-any.whl")
    (tmp_path / "strange.whl").write_bytes(b"")
    with pytest.raises(PackageError, match=r"strange\.whl has not the name of a wheel"):
        read_wheel(tmp_path / "strange.whl")


def test_a_wheel_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    """Cut off on its way here, say."""
    path = tmp_path / "cut-1.0-py3-none-any.whl"
    path.write_bytes(b"PK")
    with pytest.raises(PackageError, match="is a damaged wheel"):
        read_wheel(path)


def test_a_wheel_that_does_not_hold_what_it_records_is_refused(tmp_path: Path) -> None:
    """Each file has its hash in the wheel's record."""
    wheel = read_wheel(make_wheel(tmp_path, "changed", {"changed.py": "x = 1\n"}, damaged=True))
    (tmp_path / "site").mkdir()
    with pytest.raises(PackageError, match=r"changed-1\.0-py3-none-any\.whl is a damaged wheel"):
        unpack(wheel, tmp_path / "site")


def test_unpacking_says_which_modules_there_are(tmp_path: Path) -> None:
    """The packages and modules at the top; tests that were packed by mistake are not meant to be imported."""
    files = {
        "office/__init__.py": "",
        "office/data/letters.txt": "abc",
        "stamp.py": "",
        "tests/test_office.py": "",
        "office-1.0.data/purelib/hidden.py": "",
        "office-1.0.data/scripts/run": "",
    }
    site = tmp_path / "site"
    site.mkdir()
    assert unpack(read_wheel(make_wheel(tmp_path, "office", files)), site) == ["office", "stamp"]
    assert sorted(path.name for path in site.iterdir()) == [
        "hidden.py", "office", "office-1.0.dist-info", "stamp.py", "tests",
    ]  # fmt: skip

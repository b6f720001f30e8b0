"""The cache: an image is built once, found again, mended when damaged, and never loaded if it is not ours."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sandbox.image
from sandbox.image import CacheError, Image, ImageError, ImageFileError, UnknownImageError
from sandbox.image.cache import Cache
from sandbox.image.manifest import Package, Wheel
from sandbox.image.store import private_folder, write
from sandbox.image.testing import RehearsedBuilder
from sandbox.image.transfer import export_image, import_image


def unseen(_stage: str, _fraction: float) -> None:
    pass


@pytest.fixture
def builder() -> RehearsedBuilder:
    return RehearsedBuilder()


@pytest.fixture
def cache(tmp_path: Path, builder: RehearsedBuilder) -> Cache:
    return Cache(tmp_path / "cache", builder)


def wheel(folder: Path, name: str, content: bytes = b"wheel") -> Wheel:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return Wheel(package=Package(name=name, version="1.0", file=path.name, sha256=digest), path=path)


def ensure(cache: Cache, name: str = "default") -> Image:
    return cache.ensure(name, progress=unseen)


# Building


def test_an_image_is_built_once(cache: Cache, builder: RehearsedBuilder) -> None:
    """The second time it is only opened."""
    first, second = ensure(cache), ensure(cache)
    assert first == second
    assert len(builder.built) == len(builder.compiled) == 1
    assert first.wasm.read_bytes() == b"image 1, build 1"
    assert first.compiled.read_bytes() == b"compiled image 1, build 1"


def test_an_image_is_built_anew_when_what_goes_into_it_changes(cache: Cache, builder: RehearsedBuilder) -> None:
    """Sources and versions are part of its key; so are the engine's settings."""
    first = ensure(cache)
    builder.sources = "2"
    second = ensure(cache)
    builder.engine = "another"
    third = ensure(cache)
    assert len({first.content_hash, second.content_hash, third.content_hash}) == 3
    builder.sources, builder.engine = "1", "rehearsal"
    assert ensure(cache) == first


def test_progress_goes_from_building_to_done(cache: Cache) -> None:
    """Fractions of the whole, which never go back."""
    seen: list[tuple[str, float]] = []
    cache.ensure(progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert [stage for stage, _ in seen] == ["building the guest", "compiling", "writing", "done"]
    assert [fraction for _, fraction in seen] == sorted(fraction for _, fraction in seen)
    assert seen[-1][1] == 1.0


def test_a_build_that_fails_leaves_nothing(cache: Cache, builder: RehearsedBuilder) -> None:
    """The error goes to the caller, and the next one builds."""

    def fail() -> None:
        raise ImageError("no")

    builder.during = fail
    with pytest.raises(ImageError, match="no"):
        ensure(cache)
    assert cache.installed() == []
    builder.during = int
    assert ensure(cache).content_hash


def test_two_processes_at_once_build_once(tmp_path: Path) -> None:
    """Of two that miss an image one builds it, and the other waits and opens it."""
    program = """
import sys
from pathlib import Path
from sandbox.image.cache import Cache
from sandbox.image.testing import RehearsedBuilder

def during():
    print("building", flush=True)
    sys.stdin.readline()

cache = Cache(Path(sys.argv[1]), RehearsedBuilder(during=during))
image = cache.ensure(progress=lambda stage, fraction: print(stage, flush=True) if "waiting" in stage else None)
print(image.content_hash, flush=True)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "cache")]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start() as first:
        assert first.stdout
        assert first.stdout.readline() == "building\n"
        with start() as second:
            assert second.stdout
            assert second.stdout.readline() == "waiting for another process\n"
            said, _ = first.communicate("go on\n", timeout=60)
            also_said, _ = second.communicate(timeout=60)
    assert said == also_said
    assert len(said.strip()) == 64


# Damage


@pytest.mark.parametrize("damage", [b"", b"compiled image 1, build 9", None])
def test_damaged_machine_code_is_compiled_again(cache: Cache, builder: RehearsedBuilder, damage: bytes | None) -> None:
    """Cut off, changed, or gone: the image itself is whole, so it is not built again."""
    image = ensure(cache)
    image.compiled.unlink() if damage is None else image.compiled.write_bytes(damage)
    again = ensure(cache)
    assert again.content_hash == image.content_hash
    assert again.compiled.read_bytes() == b"compiled image 1, build 1"
    assert (len(builder.built), len(builder.compiled)) == (1, 2)


def test_machine_code_of_another_engine_is_compiled_again(cache: Cache, builder: RehearsedBuilder) -> None:
    """A session that was suspended before Wasmtime changed still finds its image."""
    image = ensure(cache)
    builder.engine = "newer"
    found = cache.find(image.content_hash, progress=unseen)
    assert found.manifest.engine == "newer"
    assert not found.current
    assert (len(builder.built), len(builder.compiled)) == (1, 2)


@pytest.mark.parametrize("name", ["image.wasm", "manifest.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", b"image 1, build 9", None])
def test_a_damaged_image_is_built_again(
    cache: Cache, builder: RehearsedBuilder, name: str, damage: bytes | None
) -> None:
    """Nothing of it is used."""
    image = ensure(cache)
    path = image.wasm.with_name(name)
    path.unlink() if damage is None else path.write_bytes(damage)
    again = ensure(cache)
    assert len(builder.built) == 2
    assert again.wasm.read_bytes() == b"image 1, build 2"


def test_machine_code_that_changed_keeping_size_and_time_is_noticed(cache: Cache) -> None:
    """A copy with the old modification time is another file all the same."""
    image = ensure(cache)
    before, content = image.compiled.stat(), image.compiled.read_bytes()
    image.compiled.write_bytes(content[::-1])
    os.utime(image.compiled, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ensure(cache).compiled.read_bytes() == content


def test_a_moved_cache_is_checked_in_full_and_used(cache: Cache, builder: RehearsedBuilder, tmp_path: Path) -> None:
    """The notes on what was checked name files by their identity; a copy is hashed, and then trusted."""
    image = ensure(cache)
    subprocess.run(["cp", "-r", tmp_path / "cache", tmp_path / "copy"], check=True)
    again = ensure(Cache(tmp_path / "copy", builder))
    assert again.content_hash == image.content_hash
    assert (len(builder.built), len(builder.compiled)) == (1, 1)


# Foreign files


def test_a_file_that_others_can_write_is_not_loaded(cache: Cache) -> None:
    """It is made again, with our permissions."""
    image = ensure(cache)
    image.compiled.chmod(0o666)
    assert ensure(cache).compiled.stat().st_mode & 0o022 == 0


def test_a_link_in_place_of_a_file_is_not_followed(cache: Cache, tmp_path: Path) -> None:
    """What it points to may change later."""
    image = ensure(cache)
    elsewhere = tmp_path / "elsewhere"
    image.compiled.rename(elsewhere)
    image.compiled.symlink_to(elsewhere)
    assert not ensure(cache).compiled.is_symlink()


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path, builder: RehearsedBuilder) -> None:
    """The sentence says what to do."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(CacheError, match=r"can be written by other users.*chmod go-w .*open"):
        ensure(Cache(folder, builder))
    assert builder.built == []


def test_an_image_folder_that_others_can_write_is_refused(cache: Cache) -> None:
    """It is the same with every folder inside."""
    image = ensure(cache)
    image.compiled.parent.chmod(0o777)
    with pytest.raises(CacheError, match="can be written by other users"):
        ensure(cache)


def test_a_cache_of_another_user_is_refused(tmp_path: Path) -> None:
    """Whoever it is."""
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 12345, -1)
    with pytest.raises(CacheError, match="another user's"):
        private_folder(folder)


def test_a_cache_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Even to a folder of our own."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(CacheError, match="but a link"):
        private_folder(tmp_path / "link")


def test_the_cache_is_made_for_this_user_alone(cache: Cache, tmp_path: Path) -> None:
    """Whatever the umask."""
    ensure(cache)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """What was there stays if writing fails, and nothing else is left."""
    path = tmp_path / "file"
    write(path, b"old")
    with pytest.raises(TypeError):
        write(path, "text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# Names


def test_an_image_with_packages_has_a_name(cache: Cache, builder: RehearsedBuilder, tmp_path: Path) -> None:
    """It is another image than the default one, and is found by its name from then on."""
    image = cache.build("office", [wheel(tmp_path, "attrs")], progress=unseen)
    assert builder.built == [("attrs-1.0-py3-none-any.whl",)]
    assert [package.name for package in image.manifest.packages] == ["attrs"]
    assert ensure(cache, "office") == image
    assert ensure(cache).content_hash != image.content_hash
    assert [installed.name for installed in cache.installed()] == ["default", "office"]


def test_an_unknown_name_says_which_there_are(cache: Cache, tmp_path: Path) -> None:
    """Nothing is built for it."""
    cache.build("office", [wheel(tmp_path, "attrs")], progress=unseen)
    with pytest.raises(UnknownImageError) as caught:
        ensure(cache, "offices")
    assert str(caught.value) == "There is no image 'offices'. There are: default, office."


@pytest.mark.parametrize("name", ["", "../x", "a/b", "Ä", "a" * 65, ".hidden"])
def test_a_name_is_no_path(cache: Cache, name: str) -> None:
    """It is part of a file's name."""
    with pytest.raises(ImageError, match="is no name for an image"):
        cache.build(name, [], progress=unseen)
    with pytest.raises(UnknownImageError):
        ensure(cache, name)


def test_the_default_image_has_no_packages(cache: Cache, tmp_path: Path) -> None:
    """Or every run would have them."""
    with pytest.raises(ImageError, match="Give the image another name"):
        cache.build("default", [wheel(tmp_path, "attrs")], progress=unseen)


def test_an_image_with_packages_is_rebuilt_from_kept_wheels(
    cache: Cache, builder: RehearsedBuilder, tmp_path: Path
) -> None:
    """When our sources change, no package needs to be fetched again."""
    baked = wheel(tmp_path, "attrs")
    image = cache.build("office", [baked], progress=unseen)
    baked.path.unlink()
    builder.sources = "2"
    assert [found.current for found in cache.installed()] == [False]
    assert ensure(cache, "office").content_hash != image.content_hash
    assert builder.built == [("attrs-1.0-py3-none-any.whl",)] * 2
    assert [found.current for found in cache.installed()] == [True]


def test_an_image_whose_wheels_are_gone_says_so(cache: Cache, builder: RehearsedBuilder, tmp_path: Path) -> None:
    """It cannot be built again without them."""
    cache.build("office", [wheel(tmp_path, "attrs")], progress=unseen)
    (kept,) = (tmp_path / "cache" / "wheels").glob("*/*.whl")
    kept.write_bytes(b"changed")
    builder.sources = "2"
    with pytest.raises(ImageError, match=r"must be built again .* attrs-1.0-py3-none-any.whl is gone or damaged"):
        ensure(cache, "office")


# By content


def test_a_suspended_session_finds_its_image_after_it_was_superseded(cache: Cache, builder: RehearsedBuilder) -> None:
    """By the hash of its content. A few are kept, the oldest go."""
    hashes = []
    for number in range(6):
        builder.sources = str(number)
        hashes.append(ensure(cache).content_hash)
    for known in hashes[-4:]:
        assert cache.find(known, progress=unseen).content_hash == known
    for gone in hashes[:2]:
        with pytest.raises(UnknownImageError, match=f"The image {gone[:12]} is not here"):
            cache.find(gone, progress=unseen)


# From one machine to another


def test_an_exported_image_is_imported_elsewhere(cache: Cache, tmp_path: Path) -> None:
    """With its content and packages; its machine code is made there."""
    image = cache.build("office", [wheel(tmp_path, "attrs")], progress=unseen)
    export_image(image, tmp_path / "office.image")
    there = RehearsedBuilder(sources="another version")
    other = Cache(tmp_path / "other", there)
    with pytest.raises(ImageFileError, match="holds no image: this is no WebAssembly core module"):
        import_image(other, tmp_path / "office.image", None, unseen)  # the rehearsal's images are none
    imported = other.adopt("office", image.wasm.read_bytes(), image.manifest, progress=unseen)
    assert imported.content_hash == image.content_hash
    assert (len(there.built), len(there.compiled)) == (0, 1)
    assert ensure(other, "office") == imported
    assert other.find(image.content_hash, progress=unseen) == imported


def test_an_imported_image_that_is_damaged_is_not_built(
    cache: Cache, builder: RehearsedBuilder, tmp_path: Path
) -> None:
    """It was made of other sources; only its machine code can be made again."""
    image = ensure(cache)
    other = Cache(tmp_path / "other", builder)
    imported = other.adopt("theirs", image.wasm.read_bytes(), image.manifest, progress=unseen)
    imported.compiled.unlink()
    assert ensure(other, "theirs").content_hash == image.content_hash
    imported.wasm.write_bytes(b"damaged")
    with pytest.raises(ImageError, match=r"was imported, and is damaged\. Import it again"):
        ensure(other, "theirs")


def test_an_import_does_not_take_a_name_away(cache: Cache, builder: RehearsedBuilder, tmp_path: Path) -> None:
    """Another image of that name stays what it is."""
    image = ensure(cache)
    builder.sources = "2"
    mine = cache.build("office", [], progress=unseen)
    with pytest.raises(ImageError, match="There is another image 'office' already"):
        cache.adopt("office", image.wasm.read_bytes(), image.manifest, progress=unseen)
    assert ensure(cache, "office") == mine


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "is no exported image"),
        ({"manifest.json": b"{}\n{}"}, "is no exported image"),
        ({"manifest.json": b'{"name": "x"}\n{}', "image.wasm": b""}, "exported by another version"),
        ({"manifest.json": b"\xff", "image.wasm": b""}, "is no exported image"),
    ],
)
def test_a_file_that_is_no_image_is_refused(
    cache: Cache, tmp_path: Path, files: dict[str, bytes], message: str
) -> None:
    """Whatever is missing in it."""
    path = tmp_path / "x.image"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    with pytest.raises(ImageFileError, match=message):
        import_image(cache, path, None, unseen)
    assert cache.installed() == []


def test_no_file_and_no_archive_are_refused(cache: Cache, tmp_path: Path) -> None:
    """Each with its sentence."""
    with pytest.raises(ImageFileError, match="There is no file"):
        import_image(cache, tmp_path / "missing", None, unseen)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ImageFileError, match="is no exported image"):
        import_image(cache, tmp_path / "text", None, unseen)


def test_an_exported_image_that_was_changed_is_refused(cache: Cache, tmp_path: Path) -> None:
    """Its manifest names another content."""
    image = ensure(cache)
    with zipfile.ZipFile(tmp_path / "x.image", "w") as archive:
        archive.writestr("manifest.json", '{"name": "x"}\n' + image.manifest.as_json().decode())
        archive.writestr("image.wasm", b"something else")
    with pytest.raises(ImageFileError, match="is damaged"):
        import_image(cache, tmp_path / "x.image", None, unseen)


def test_these_are_the_public_names() -> None:
    """Adding one is a decision."""
    assert sandbox.image.__all__ == [
        "DEFAULT", "CacheError", "Image", "ImageBuildError", "ImageError", "ImageFileError", "LinkError", "Manifest",
        "Package", "PackageError", "Progress", "UnknownImageError", "build", "cache_folder", "ensure", "export_image",
        "find", "import_image", "installed",
    ]  # fmt: skip
    assert all(hasattr(sandbox.image, name) for name in sandbox.image.__all__)

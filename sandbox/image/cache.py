"""The images that there are: built when they are missing, found again by name or by content.

    images/KEY/       image.wasm, image.cwasm (its machine code), manifest.json; KEY is a hash over all that went in
    names/NAME.json   which packages the image of that name has, and its KEY when it was last made wheels/HASH/      the
    wheels of those packages: after a change of our own sources an image is rebuilt without a network lock
    held while something is made, so that of two processes that miss an image one builds and one waits

Builds are not reproducible byte for byte. So a suspended session, which is a difference to its image, names that by the
hash of its content; images that were superseded are kept for a while, to resume such sessions on.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from .build import Builder, Progress
from .errors import ImageError, UnknownImageError
from .manifest import FORMAT, Image, Manifest, Package, Wheel
from .store import digest, private_folder, read_json, verified, write

__all__ = ["DEFAULT", "Cache"]

DEFAULT: Final = "default"
WASM, COMPILED, MANIFEST = "image.wasm", "image.cwasm", "manifest.json"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
SUPERSEDED_KEPT: Final = 3
BUILDING: Final = 0.75  # the share of the time that building takes; the rest is compiling


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """A name. `fixed` is an image that was imported: it is what it is, and cannot be built here."""

    key: str = ""
    packages: tuple[Package, ...] = ()
    fixed: bool = False


class Cache:
    """Images in a folder, made by a builder."""

    def __init__(self, folder: Path, builder: Builder) -> None:
        self._root = folder
        self._builder = builder

    def ensure(self, name: str = DEFAULT, *, progress: Progress) -> Image:
        """The image of this name; made first if sources or versions have changed, or files were damaged.

        Raises `UnknownImageError`, `CacheError`, and what the builder raises.
        """
        record = self._record(name)
        if record is None:
            if name != DEFAULT:
                known = ", ".join(sorted({DEFAULT, *self._names()}))
                raise UnknownImageError(f"There is no image {name!r}. There are: {known}.")
            record = _Record()
        image = self._open(name, self._key(record)) or self._made(name, record, progress)
        if image.manifest.key != record.key:
            self._name(name, replace(record, key=image.manifest.key))
        return image

    def build(self, name: str, wheels: Sequence[Wheel], *, progress: Progress) -> Image:
        """An image with these packages, under this name from now on. Raises what the builder raises."""
        if not NAME.fullmatch(name):
            raise ImageError(f"{name!r} is no name for an image: use up to 64 of a-z, 0-9, '.', '_' and '-'.")
        if name == DEFAULT and wheels:
            raise ImageError("The default image has no packages of its own. Give the image another name.")
        for wheel in wheels:
            folder = private_folder(self._root / "wheels" / wheel.package.sha256)
            write(folder / wheel.package.file, wheel.path.read_bytes())
        record = _Record(packages=tuple(wheel.package for wheel in wheels))
        image = self._open(name, self._key(record)) or self._made(name, record, progress)
        self._name(name, replace(record, key=image.manifest.key))
        return image

    def adopt(self, name: str, wasm: bytes, manifest: Manifest, *, progress: Progress) -> Image:
        """Take in an image that was built elsewhere. Its machine code is made here."""
        if not NAME.fullmatch(name):
            raise ImageError(f"{name!r} is no name for an image: use up to 64 of a-z, 0-9, '.', '_' and '-'.")
        record = _Record(key=_hash(["imported", manifest.content_hash]), packages=manifest.packages, fixed=True)
        known = self._record(name)
        if known is not None and known.key != record.key:
            raise ImageError(f"There is another image {name!r} already. Import this one under another name.")
        with self._lock(progress):
            self._compile(replace(manifest, key=record.key), wasm, _Stopwatch(progress, manifest.seconds))
        self._name(name, record)
        return self._opened(name, record.key)

    def installed(self) -> list[Image]:
        """The images that can be loaded at once, by name."""
        images = []
        for name in self._names():
            record = self._record(name)
            image = self._open(name, record.key) if record else None
            if record and image:
                images.append(replace(image, current=record.key == self._key(record)))
        return images

    def find(self, content_hash: str, *, progress: Progress) -> Image:
        """The image with this content, under whatever name, superseded ones included. Raises `UnknownImageError`."""
        records = {name: record for name in self._names() if (record := self._record(name))}
        names = {record.key: name for name, record in records.items()}
        current = {self._key(record) for record in records.values()}
        for folder in self._folders():
            manifest = self._manifest(folder.name)
            if manifest and manifest.content_hash == content_hash:
                name = names.get(folder.name, content_hash[:12])
                image = self._open(name, folder.name)
                if image is None:
                    with self._lock(progress):
                        image = self._mended(name, folder.name, progress)
                if image:
                    return replace(image, current=folder.name in current)
        raise UnknownImageError(
            f"The image {content_hash[:12]} is not here. Export it where the session was suspended, and import it."
        )

    # names

    def _names(self) -> list[str]:
        return sorted(path.stem for path in self._folder("names").glob("*.json"))

    def _record(self, name: str) -> _Record | None:
        if not NAME.fullmatch(name):
            return None
        fields: Any = read_json(self._folder("names") / f"{name}.json")
        try:
            packages = tuple(Package(**package) for package in fields["packages"])
            return _Record(key=fields["key"], packages=packages, fixed=fields["fixed"])
        except (TypeError, KeyError):
            return None

    def _name(self, name: str, record: _Record) -> None:
        write(self._folder("names") / f"{name}.json", json.dumps(asdict(record)).encode())
        kept = {other.key for known in self._names() if (other := self._record(known))}
        superseded = [folder for folder in self._folders() if folder.name not in kept]
        for folder in superseded[SUPERSEDED_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)

    def _key(self, record: _Record) -> str:
        if record.fixed:
            return record.key
        packages = [asdict(package) for package in record.packages]
        return _hash([FORMAT, self._builder.engine, dict(self._builder.inputs()), packages])

    # files

    def _folder(self, *parts: str) -> Path:
        private_folder(self._root)
        return private_folder(self._root.joinpath(*parts))

    def _folders(self) -> list[Path]:
        """The folders of all images, the one used last first."""
        folders = [path for path in self._folder("images").iterdir() if (path / MANIFEST).is_file()]
        return sorted(folders, key=lambda path: (path / MANIFEST).stat().st_mtime_ns, reverse=True)

    def _manifest(self, key: str) -> Manifest | None:
        manifest = Manifest.from_plain(read_json(self._folder("images", key) / MANIFEST))
        return manifest if manifest and manifest.key == key else None

    def _open(self, name: str, key: str) -> Image | None:
        """The image if it is there, whole, and for this engine."""
        manifest = self._manifest(key) if key else None
        if manifest is None or manifest.engine != self._builder.engine:
            return None
        folder = self._root / "images" / key
        hashes = {WASM: manifest.content_hash, COMPILED: manifest.compiled_hash}
        if verified(folder, hashes) != set(hashes):
            return None
        return Image(
            name=name,
            content_hash=manifest.content_hash,
            compiled=folder / COMPILED,
            wasm=folder / WASM,
            manifest=manifest,
        )

    def _opened(self, name: str, key: str) -> Image:
        image = self._open(name, key)
        if image is None:
            raise ImageError(f"The image {name!r} was changed by somebody else as soon as it was written.")
        return image

    # making

    @contextmanager
    def _lock(self, progress: Progress) -> Iterator[None]:
        from filelock import FileLock, Timeout  # a warm start does without

        lock = FileLock(private_folder(self._root) / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress("waiting for another process", 0.0)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _made(self, name: str, record: _Record, progress: Progress) -> Image:
        """The image, with whatever is missing made, unless another process made it first."""
        with self._lock(progress):
            key = self._key(record)  # waiting for the lock may have taken long enough for sources to change
            if image := self._mended(name, key, progress):
                return image
            if record.fixed:
                raise ImageError(f"The image {name!r} was imported, and is damaged. Import it again.")
            watch = _Stopwatch(progress)
            wheels = [self._wheel(name, package) for package in record.packages]
            wasm = self._builder.build(wheels, lambda stage, fraction: watch(stage, fraction * BUILDING))
            manifest = Manifest(
                key=key,
                content_hash=hashlib.sha256(wasm).hexdigest(),
                wasm_bytes=len(wasm),
                engine=self._builder.engine,
                inputs=dict(self._builder.inputs()),
                packages=record.packages,
                built=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            self._compile(manifest, wasm, watch)
            return self._opened(name, key)

    def _mended(self, name: str, key: str, progress: Progress) -> Image | None:
        """The image as it is, or compiled again if its content is whole; else None. Called with the lock held."""
        if image := self._open(name, key):
            return image
        manifest, folder = self._manifest(key), self._root / "images" / key
        if manifest is None or not verified(folder, {WASM: manifest.content_hash}):
            return None
        self._compile(manifest, (folder / WASM).read_bytes(), _Stopwatch(progress, manifest.seconds))
        return self._opened(name, key)

    def _compile(self, manifest: Manifest, wasm: bytes, watch: _Stopwatch) -> None:
        """Write all of an image's files. The manifest comes last: without it there is no image."""
        watch("compiling", BUILDING)
        compiled = self._builder.compile(wasm)
        watch("writing", 0.99)
        folder = self._folder("images", manifest.key)
        (folder / MANIFEST).unlink(missing_ok=True)
        write(folder / WASM, wasm)
        write(folder / COMPILED, compiled)
        watch("done", 1.0)
        manifest = replace(
            manifest,
            compiled_hash=hashlib.sha256(compiled).hexdigest(),
            compiled_bytes=len(compiled),
            engine=self._builder.engine,
            seconds=watch.seconds,
        )
        write(folder / MANIFEST, manifest.as_json())

    def _wheel(self, name: str, package: Package) -> Wheel:
        path = self._root / "wheels" / package.sha256 / package.file
        if not path.is_file() or digest(path) != package.sha256:
            raise ImageError(
                f"The image {name!r} must be built again with its packages: {package.file} is gone or damaged."
            )
        return Wheel(package=package, path=path)


class _Stopwatch:
    """Progress that also takes the time of each stage."""

    def __init__(self, progress: Progress, before: Mapping[str, float] | None = None) -> None:
        self._progress = progress
        self._stage, self._since = "", time.monotonic()
        self.seconds = dict(before or {})

    def __call__(self, stage: str, fraction: float) -> None:
        """A stage goes on or begins."""
        if stage != self._stage:
            now = time.monotonic()
            if self._stage:
                self.seconds[self._stage] = round(now - self._since, 2)
            self._stage, self._since = stage, now
        self._progress(stage, fraction)


def _hash(plain: object) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

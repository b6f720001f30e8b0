"""A live interpreter as a value: the pages that differ from the image, and a few globals.

Between two steps a guest has no native stack, so its memory is all there is. `Snapshot` is that in this process;
`pack` and `unpack` are its form on disk, which names the image by content hash and is refused if anything is off.
Whoever crafts such bytes gains nothing but a guest of their own making: the wall around it is the same.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
import zlib
from dataclasses import dataclass, replace
from typing import Final

import msgpack  # type: ignore[import-untyped]

from .errors import SuspendedError

__all__ = ["PAGE", "Snapshot", "dirty_runs", "pack", "unpack"]

PAGE: Final = 4096  # bytes; a multiple of it is what the kernel copies on write
WASM_PAGE: Final = 65536
MAGIC: Final = b"branchpoint session 1\n"
DIGEST: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A guest at rest.

    `size` is the memory's size in bytes; `runs` are (address, length) in rising order, multiples of `PAGE`, and `pages`
    their contents one after another; `globals` are the image's mutable globals in the order of its exports.
    """

    image: str
    size: int
    globals: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]
    pages: bytes

    def against(self, original: bytes) -> Snapshot:
        """With each page's difference from the image's own in its place, or the reverse: exclusive or, which is its own
        inverse. Most pages differ in a few reference counts, so this is what goes to disk: it compresses far better.
        """
        size = len(self.pages)
        mixed = int.from_bytes(self.pages, "little") ^ int.from_bytes(original, "little")
        return replace(self, pages=mixed.to_bytes(size, "little"))


def dirty_runs(base: int, size: int, pristine: bytes | None) -> tuple[tuple[int, int], ...]:
    """The (address, length) of all pages that the guest wrote to.

    The kernel knows: a page that is present but no longer backed by the image's file was copied on write. Where there
    is no pagemap, `pristine` (the image's initial memory) is compared instead.
    """
    return _by_pagemap(base, size) if pristine is None else _by_comparison(base, size, pristine)


def pagemap_available() -> bool:
    """Whether this system tells which pages were written to."""
    return os.path.exists("/proc/self/pagemap") and os.sysconf("SC_PAGE_SIZE") == PAGE  # noqa: PTH110


# The flags of a page are in the highest byte of its entry: 0x80 present, 0x40 swapped out, 0x20 from a file (or shared
# with another process, which guest memory never is). A page was written if it is present and from no file, or swapped.
_WRITTEN: Final = re.compile(
    b"[%b]+" % re.escape(bytes(flags for flags in range(256) if flags & 0xA0 == 0x80 or flags & 0x40))
)


def _by_pagemap(base: int, size: int) -> tuple[tuple[int, int], ...]:
    descriptor = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    try:
        entries = os.pread(descriptor, size // PAGE * 8, base // PAGE * 8)
    finally:
        os.close(descriptor)
    # A guest has some ten thousand pages, so they are searched at the speed of C: one byte of each entry.
    flags = entries[7::8] if sys.byteorder == "little" else entries[::8]
    return tuple((found.start() * PAGE, len(found[0]) * PAGE) for found in _WRITTEN.finditer(flags))


def _by_comparison(base: int, size: int, pristine: bytes) -> tuple[tuple[int, int], ...]:
    zero = bytes(PAGE)
    original = memoryview(pristine)
    flags = bytes(
        ctypes.string_at(base + at, PAGE) != (original[at : at + PAGE] if at < len(pristine) else zero)
        for at in range(0, size, PAGE)
    )
    return tuple((found.start() * PAGE, len(found[0]) * PAGE) for found in re.finditer(b"\x01+", flags))


def pack(snapshot: Snapshot, state: dict[str, object]) -> bytes:
    """Bytes for the disk: the snapshot, and the session's own plain `state` beside it."""
    header: bytes = msgpack.packb(
        {
            "image": snapshot.image,
            "size": snapshot.size,
            "globals": list(snapshot.globals),
            "runs": [list(run) for run in snapshot.runs],
            "state": state,
        }
    )
    body = len(header).to_bytes(8, "little") + header + zlib.compress(snapshot.pages, 1)
    return MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes, *, max_memory: int) -> tuple[Snapshot, dict[str, object]]:
    """The inverse of `pack`. Raises `SuspendedError` for anything that `pack` did not write."""
    body = memoryview(data)[len(MAGIC) + DIGEST :]
    if not data.startswith(MAGIC):
        raise SuspendedError("these bytes are no suspended session (or one of another version)")
    if hashlib.sha256(body).digest() != data[len(MAGIC) : len(MAGIC) + DIGEST]:
        raise SuspendedError("this suspended session is damaged: its checksum does not match")
    try:
        length = int.from_bytes(body[:8], "little")
        header = msgpack.unpackb(body[8 : 8 + length], strict_map_key=True)
        snapshot = Snapshot(
            image=str(header["image"]),
            size=int(header["size"]),
            globals=tuple(int(value) for value in header["globals"]),
            runs=tuple((int(at), int(size)) for at, size in header["runs"]),
            pages=b"",
        )
        state = header["state"]
    except Exception as error:
        raise SuspendedError(f"this suspended session is malformed ({type(error).__name__})") from error
    if not isinstance(state, dict):
        raise SuspendedError("this suspended session is malformed (its state)")
    _validate(snapshot, max_memory)  # before anything of that size is made
    pages = _inflate(body[8 + length :], sum(size for _, size in snapshot.runs))
    return replace(snapshot, pages=pages), state


def _inflate(data: memoryview, size: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        pages = inflater.decompress(data, size) if size else b""
    except zlib.error as error:
        raise SuspendedError("this suspended session is malformed (its pages)") from error
    if len(pages) != size:
        raise SuspendedError("this suspended session is malformed (its pages)")
    return pages


def _validate(snapshot: Snapshot, max_memory: int) -> None:
    if snapshot.size > max_memory:
        raise SuspendedError(
            f"this suspended session needs {snapshot.size >> 20} MiB of memory, "
            f"and the limit here is {max_memory >> 20} MiB"
        )
    end = 0
    for at, size in snapshot.runs:
        if at < end or size <= 0 or at % PAGE or size % PAGE or at + size > snapshot.size:
            raise SuspendedError("this suspended session is malformed (its pages)")
        end = at + size
    if snapshot.size % WASM_PAGE or snapshot.size <= 0:
        raise SuspendedError("this suspended session is malformed (its size)")

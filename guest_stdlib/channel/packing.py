"""msgpack, by whatever is fast here.

- On the host it is the msgpack package with its C code: a small frame takes half a microsecond.
- In the guest that package has only its pure-Python half, and 30 of the 70 microseconds of a call went there (packing a
  call 20 us and unpacking its answer 11 us in Wasm; `Lean` below takes 5 us and 3 us). `Lean` is the same format for
  the same few types, without streams, options and buffers. Where the C code is missing, the host uses it too.

What is packed is a *tree*: None, bool, int, float, str and bytes of exactly these types, in lists and in dicts, and
tags. A tag is an empty msgpack extension; it only ever stands first in a list and says what that list is (values.py has
the list of tags). So no value is packed into bytes that are packed again, and an extension with a body is a sign of a
hostile peer. Two things that msgpack has no word for are settled here: an integer beyond 64 bits is the list
`[BIG_INTEGER, its bytes]`, and a lone surrogate in a string is encoded as if it were a character (`surrogatepass`), as
CPython itself does it in `marshal`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, Protocol

import msgpack  # type: ignore[import-untyped]

__all__ = ["BIG_INTEGER", "FASTEST", "Builder", "Lean", "Msgpack", "Packing", "Tag", "tag"]

Tag: Final[type] = msgpack.ExtType

_TAGS: Final = tuple(msgpack.ExtType(code, b"") for code in range(32))
_PACKED_TAGS: Final = tuple(bytes((0xC7, 0, code)) for code in range(32))


def tag(code: int) -> object:
    """The one object that stands for a tag. IndexError if there is no such tag."""
    return _TAGS[code]


BIG_INTEGER: Final = tag(1)


def _big_integer(number: object) -> list[object]:
    if type(number) is not int:
        raise TypeError(f"a {type(number).__name__} in a tree")
    return [BIG_INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)]


class Builder(Protocol):
    """What a reader of frames calls while it reads, innermost first. It may raise."""

    def on_list(self, items: list[object]) -> object:
        """A list was read; called at least for each list that opens with a tag."""

    def on_pairs(self, pairs: list[tuple[object, object]]) -> object:
        """A dict was read."""

    def on_extension(self, code: int, body: bytes) -> object:
        """An extension was read."""


class Packing(Protocol):
    """A tree to bytes and back."""

    def pack(self, tree: object, out: list[bytes]) -> None:
        """Append the tree's bytes to `out`, in as many pieces as are at hand."""

    def unpack(self, frame: bytes, builder: Builder) -> object:
        """The inverse. ValueError, TypeError or what the builder raises, for bytes that are not one packed tree."""


class Msgpack:
    """The msgpack package: `module` is `msgpack`, or `msgpack.fallback` for its pure-Python half."""

    def __init__(self, module: ModuleType) -> None:
        self._packer, self._unpackb = module.Packer, module.unpackb

    def pack(self, tree: object, out: list[bytes]) -> None:
        """Packs with a packer of its own each time: a kept one holds on to the largest frame that it ever made."""
        try:
            out.append(self._packer(default=_big_integer, buf_size=512).pack(tree))
        except UnicodeEncodeError:
            out.append(self._packer(default=_big_integer, unicode_errors="surrogatepass").pack(tree))

    def unpack(self, frame: bytes, builder: Builder) -> object:
        """Strings and sizes are bounded by the frame's size, which the package does by itself."""
        return self._unpackb(
            frame,
            list_hook=builder.on_list,
            object_pairs_hook=builder.on_pairs,
            ext_hook=builder.on_extension,
            strict_map_key=False,
            unicode_errors="surrogatepass",
        )


_ONE: Final = tuple(bytes((byte,)) for byte in range(256))
_PACK_8: Final = struct.Struct(">BB").pack
_PACK_16: Final = struct.Struct(">BH").pack
_PACK_32: Final = struct.Struct(">BI").pack
_PACK_U64: Final = struct.Struct(">BQ").pack
_PACK_I64: Final = struct.Struct(">Bq").pack
_PACK_FLOAT: Final = struct.Struct(">Bd").pack


def _head(size: int, short: int, shortest: int, wide: int) -> bytes:
    """The head of a sized token. `short` is its first byte while `size` is below `shortest`, `wide` that of 16 bits."""
    if size < shortest:
        return _ONE[short + size]
    if size < 1 << 16:
        return _PACK_16(wide, size)
    return _PACK_32(wide + 1, size)


def _pack(tree: Any, put: Callable[[bytes], object]) -> None:
    # One function, since a call costs as much as a branch; the branches stand in the order of how often they are taken.
    kind = type(tree)
    if kind is str:
        try:
            text = tree.encode()
        except UnicodeEncodeError:
            text = tree.encode("utf-8", "surrogatepass")
        size = len(text)
        if size < 32:
            put(_ONE[0xA0 + size])
        elif size < 256:
            put(_PACK_8(0xD9, size))
        else:
            put(_head(size, 0, 0, 0xDA))
        put(text)
    elif kind is int:
        if 0 <= tree < 128:
            put(_ONE[tree])
        elif -32 <= tree < 0:
            put(_ONE[256 + tree])
        elif 0 <= tree < 1 << 32:
            put(_PACK_8(0xCC, tree) if tree < 256 else _PACK_16(0xCD, tree) if tree < 65536 else _PACK_32(0xCE, tree))
        elif -(1 << 63) <= tree < 1 << 63:
            put(_PACK_I64(0xD3, tree))
        elif 0 <= tree < 1 << 64:
            put(_PACK_U64(0xCF, tree))
        else:
            _pack(_big_integer(tree), put)
    elif kind is list:
        put(_head(len(tree), 0x90, 16, 0xDC))
        for item in tree:
            _pack(item, put)
    elif kind is dict:
        put(_head(len(tree), 0x80, 16, 0xDE))
        for key, value in tree.items():
            _pack(key, put)
            _pack(value, put)
    elif tree is None:
        put(b"\xc0")
    elif tree is True:
        put(b"\xc3")
    elif tree is False:
        put(b"\xc2")
    elif kind is float:
        put(_PACK_FLOAT(0xCB, tree))
    elif kind is Tag:
        put(_PACKED_TAGS[tree.code])
    elif kind is bytes:
        size = len(tree)
        put(_PACK_8(0xC4, size) if size < 256 else _head(size, 0, 0, 0xC5))
        put(tree)
    else:
        raise TypeError(f"a {kind.__name__} in a tree")


_NUMBERS: Final = {
    0xCA: struct.Struct(">f"),
    0xCB: struct.Struct(">d"),
    0xCC: struct.Struct(">B"),
    0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"),
    0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"),
    0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"),
    0xD3: struct.Struct(">q"),
}
_CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}
_WIDTHS: Final = {
    0xC4: 1,
    0xC5: 2,
    0xC6: 4,
    0xC7: 1,
    0xC8: 2,
    0xC9: 4,
    0xD9: 1,
    0xDA: 2,
    0xDB: 4,
    0xDC: 2,
    0xDD: 4,
    0xDE: 2,
    0xDF: 4,
}
_COPIED: Final = 1 << 12  # from this size on, a string is decoded from where it lies instead of from a copy


def _text(encoded: bytes | memoryview) -> str:
    try:
        return str(encoded, "utf-8")
    except UnicodeDecodeError:
        return str(encoded, "utf-8", "surrogatepass")


class Lean:
    """msgpack in Python, for trees only. See the numbers at the top."""

    def pack(self, tree: object, out: list[bytes]) -> None:
        """As `Packing.pack`: a large string is a piece of its own, and copied once, when the frame is joined."""
        _pack(tree, out.append)

    def unpack(self, frame: bytes, builder: Builder) -> object:
        """As `Packing.unpack`. It allocates nothing for what a header only promises."""
        position = 0

        # It is given itself: as a name of its own closure it would hold the frame until the collector comes by.
        def read(again: Any) -> Any:
            nonlocal position
            byte = frame[position]
            position += 1
            if byte < 0x80:
                return byte
            if 0xA0 <= byte < 0xC0:
                start = position
                position += byte - 0xA0
                try:
                    return frame[start:position].decode()
                except UnicodeDecodeError:
                    return _text(frame[start:position])
            if byte < 0xA0:
                if byte < 0x90:
                    return builder.on_pairs([(again(again), again(again)) for _ in range(byte - 0x80)])
                items = [again(again) for _ in range(byte - 0x90)]
                return builder.on_list(items) if items and type(items[0]) is Tag else items
            if byte in _CONSTANTS:
                return _CONSTANTS[byte]
            if byte >= 0xE0:
                return byte - 256
            start = position
            if byte in _NUMBERS:
                number = _NUMBERS[byte]
                position += number.size
                return number.unpack_from(frame, start)[0]
            if 0xD4 <= byte <= 0xD8:
                size = 1 << byte - 0xD4
            else:
                if byte not in _WIDTHS:
                    raise ValueError(f"it has a token of no kind (0x{byte:02x})")
                start += _WIDTHS[byte]
                size = int.from_bytes(frame[position:start])
            if byte >= 0xDC:
                position = start
                if byte >= 0xDE:
                    return builder.on_pairs([(again(again), again(again)) for _ in range(size)])
                items = [again(again) for _ in range(size)]
                return builder.on_list(items) if items and type(items[0]) is Tag else items
            position = start + size
            if byte >= 0xD9:
                return _text(memoryview(frame)[start:position] if size > _COPIED else frame[start:position])
            if byte <= 0xC6:
                return frame[start:position]
            position += 1  # an extension's type stands before its body
            return builder.on_extension(frame[start], frame[start + 1 : position])

        try:
            tree = read(read)
        except (IndexError, struct.error):
            raise ValueError("it ends early") from None
        if position != len(frame):
            raise ValueError("it ends early" if position > len(frame) else "bytes follow its end")
        return tree


# The package interns the keys of dicts, and in Python 3.12 what is interned stays for ever: a guest could fill the
# host's memory with names. So the package is used from 3.13 on.
_IN_C: Final = msgpack.Packer.__module__ != "msgpack.fallback" and sys.version_info >= (3, 13)
FASTEST: Final[Packing] = Msgpack(msgpack) if _IN_C else Lean()

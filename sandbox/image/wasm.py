"""The WebAssembly binary format: numbers, names, vectors and sections, read and written.

Source: the WebAssembly core specification 2.0, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .errors import LinkError

__all__ = ["Reader", "name", "section", "sint", "uint"]


class Reader:
    """A cursor over part of a binary. Reading past the end raises `LinkError`."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = start
        self.end = len(data) if end is None else end
        if self.end > len(data):
            raise LinkError(f"a part ends at byte {self.end}, but there are only {len(data)} bytes")

    def byte(self) -> int:
        """One byte."""
        if self.at >= self.end:
            raise LinkError(f"the part that ends at byte {self.end} is cut off")
        self.at += 1
        return self.data[self.at - 1]

    def uint(self) -> int:
        """An unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def sint(self) -> int:
        """A signed LEB128 number."""
        start, value = self.at, self.uint()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def take(self, size: int) -> bytes:
        """`size` bytes."""
        if size > self.end - self.at:
            raise LinkError(f"the part that ends at byte {self.end} is cut off")
        self.at += size
        return self.data[self.at - size : self.at]

    def name(self) -> str:
        """A length and that many bytes of UTF-8."""
        try:
            return self.take(self.uint()).decode()
        except UnicodeDecodeError as error:
            raise LinkError(f"a name before byte {self.at} is not UTF-8") from error

    def vector[T](self, item: Callable[[Reader], T]) -> list[T]:
        """A count and that many items, each read by `item`."""
        return [item(self) for _ in range(self.uint())]

    def sections(self) -> Iterator[tuple[int, Reader]]:
        """(section id, reader of its contents) until the end."""
        while self.at < self.end:
            identifier, size = self.byte(), self.uint()
            yield identifier, Reader(self.data, self.at, self.at + size)
            self.at += size

    def finish(self, what: str) -> None:
        """Nothing may be left over."""
        if self.at != self.end:
            raise LinkError(f"{what} is longer than what it says it holds")


def uint(value: int) -> bytes:
    """An unsigned number in LEB128."""
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def sint(value: int) -> bytes:
    """A signed number in LEB128: its last byte shows the sign."""
    encoded = bytearray()
    while not -0x40 <= value < 0x40:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value & 0x7F)
    return bytes(encoded)


def name(text: str) -> bytes:
    """A name with its length."""
    encoded = text.encode()
    return uint(len(encoded)) + encoded


def section(identifier: int, items: Iterable[bytes]) -> bytes:
    """A section that holds a vector of encoded items; nothing at all if there are none."""
    entries = list(items)
    if not entries:
        return b""
    body = uint(len(entries)) + b"".join(entries)
    return bytes((identifier,)) + uint(len(body)) + body

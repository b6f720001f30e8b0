"""What may be in a frame, and the look at a frame before anything of it is made.

Rules and reasons:

- Cap before allocating. A msgpack array of 5 bytes may say that it holds four thousand million items, and C code
  believes it.
- Bytes alone are no budget: 16 MB of empty dicts are 16 MB in a frame and 1 GB in memory. So items count too.
- The look (`weigh`) reads every header and skips every body, so it costs by the item, not by the byte: a frame with one
  large string costs nothing. Small frames are the hot path and are bounded by their size; for them counting bytes at C
  speed is enough.
- Both ends count alike. What an honest guest was allowed to send, the host never refuses.

An *item* is one element of a list, tuple or set, or one key or value of a dict, however deep.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from guest_stdlib.channel.errors import PeerError

__all__ = ["LARGEST", "CodecLimits", "weigh"]

LARGEST: Final = 1 << 31
_SMALL: Final = 4096
_MOST_DEPTH: Final = 200  # msgpack's own C code nests 511 deep, and a record takes two levels
_OVERHEAD_DEPTH: Final = 8  # frame, event, arguments, tags


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecLimits:
    """Limits of one frame and of the values in it; the sender holds itself to the same ones that the receiver enforces.

    `frame_bytes`: one frame from the guest. `value_bytes`: what one event may carry (one call's arguments, one answer).
    `items`: in all values of one frame. `depth`: how deep values may nest.
    """

    frame_bytes: int = 16 << 20
    value_bytes: int = 8 << 20
    items: int = 1_000_000
    depth: int = 100

    def __post_init__(self) -> None:
        for name, least, most in (
            ("frame_bytes", 1 << 10, LARGEST),
            ("value_bytes", 1 << 10, LARGEST),
            ("items", 1000, LARGEST),
            ("depth", 1, _MOST_DEPTH),
        ):
            number = getattr(self, name)
            if type(number) is not int or not least <= number <= most:
                raise ValueError(f"{name} is an integer from {least:,} to {most:,}, not {number!r}")

    def as_numbers(self) -> dict[str, int]:
        """The limits by name, as `Open` tells them to the guest."""
        return asdict(self)


def _sizes() -> tuple[int, ...]:
    """For each first byte the size of the whole token, where the byte says it; 0 where more must be looked at."""
    sizes = [0] * 256
    for byte in (*range(0x80), 0xC0, 0xC2, 0xC3, *range(0xE0, 0x100)):
        sizes[byte] = 1
    for byte in range(0xA0, 0xC0):
        sizes[byte] = 1 + byte - 0xA0
    for byte, size in (
        (0xCA, 5),
        (0xCB, 9),
        (0xCC, 2),
        (0xCD, 3),
        (0xCE, 5),
        (0xCF, 9),
        (0xD0, 2),
        (0xD1, 3),
        (0xD2, 5),
        (0xD3, 9),
    ):
        sizes[byte] = size
    return tuple(sizes)


_SIZES: Final = _sizes()
_LENGTHS: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}  # bytes and strings: the size of their length
_COUNTS: Final = {
    0xDC: (2, 1),
    0xDD: (4, 1),
    0xDE: (2, 2),
    0xDF: (4, 2),
}  # arrays and maps: that of their count, and items for each
_TAG: Final = b"\xc7\x00"  # the one extension in use: empty, a tag that opens a list (see values.py)
_BIG_INTEGER: Final = 1  # the tag of an integer beyond 64 bits; with its bytes it counts as the one item that it is

_CONTAINERS: Final = frozenset((*range(0x80, 0xA0), *range(0xDC, 0xE0)))
_EXTENSIONS: Final = bytes((0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8))
_HARMLESS: Final = bytes(
    byte for byte in range(256) if byte not in _CONTAINERS and byte not in _EXTENSIONS and byte != 0xC7
)


def weigh(frame: bytes, limits: CodecLimits) -> int:
    """The number of items that the frame holds, as far as it must be known; raises PeerError where a limit is passed.

    A malformed frame is found here or, where the frame is small, when it is decoded.
    """
    if len(frame) > limits.frame_bytes:
        raise PeerError(f"the frame has {len(frame):,} bytes, {limits.frame_bytes:,} are allowed")
    if len(frame) <= _SMALL and len(frame) <= limits.items:
        # Bytes that open a container or an extension, wherever they stand, are at least as many as there are of those.
        suspects = frame.translate(None, _HARMLESS)
        tagged_only = suspects.count(b"\xc7") == frame.count(_TAG) and len(
            suspects.translate(None, _EXTENSIONS)
        ) == len(suspects)
        if tagged_only and len(suspects) <= limits.depth:
            return 0
    return _weigh(frame, limits)


def _weigh(frame: bytes, limits: CodecLimits) -> int:
    end, most_items, most_depth = len(frame), limits.items, 2 * limits.depth + _OVERHEAD_DEPTH
    items, position, left = 0, 0, 1
    outer: list[int] = []  # what is left to read in the containers around the current one
    while True:
        while not left:
            if not outer:
                if position != end:
                    raise PeerError(f"the frame ends early, or has {abs(end - position):,} bytes too many")
                return items
            left = outer.pop()
        left -= 1
        if position >= end:
            raise PeerError("the frame ends early")
        byte = frame[position]
        if size := _SIZES[byte]:
            position += size
            continue
        position += 1
        if byte in _CONTAINERS:
            if byte < 0xA0:
                count = byte & 0x0F if byte >= 0x90 else (byte & 0x0F) * 2
            else:
                width, each = _COUNTS[byte]
                count = int.from_bytes(frame[position : position + width]) * each
                position += width
            items += count
            if count > end - position:
                raise PeerError("the frame ends early")
            if items > most_items:
                raise PeerError(f"the frame holds more than {most_items:,} items")
            outer.append(left)
            if len(outer) > most_depth:
                raise PeerError(f"the frame nests more than {most_depth} levels deep")
            left = count
        elif width := _LENGTHS.get(byte, 0):
            length = int.from_bytes(frame[position : position + width])
            if length > limits.value_bytes:
                raise PeerError(f"the frame holds a string of {length:,} bytes, {limits.value_bytes:,} are allowed")
            position += width + length
        elif byte == 0xC7 and frame[position : position + 1] == b"\x00" and position + 1 < end:
            if frame[position + 1] == _BIG_INTEGER:
                items -= 2
            position += 2
        else:
            raise PeerError(f"the frame has a token of a kind that is not used here (0x{byte:02x})")

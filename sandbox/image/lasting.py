"""Making the objects of an image last: references to them are no longer counted, so that guests need not write to them.

CPython keeps an object's reference count in its first word. From a certain height on (2^30) the object counts as
immortal, and the count is neither raised nor lowered. The guest lists its objects at the end of the build
(`guest_stdlib.settling`, which gives the reasons); here their counts are set, in the memory as it was stored.

An object that died after the census would be harmed: its block is free, and its first word is the allocator's. Such a
block is known by that word, which is then zero or an address, and addresses begin above the stack, higher than any
count. An object's second word is its type, which must be in the census too.

Source: CPython 3.14, Include/refcount.h, for builds of 32 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from guest_stdlib.settling import mark

from .errors import LinkError

__all__ = ["PAGE", "flat", "make_lasting", "segments"]

IMMORTAL: Final = 5 << 28
PAGE: Final = 4096
LARGEST: Final = 1 << 30  # bytes of initial memory: many times more than an image has


def flat(parts: Iterable[tuple[int, bytes]]) -> bytearray:
    """The memory that these parts (address, content) make, from address 0 on."""
    memory = bytearray()
    for address, content in parts:
        end = address + len(content)
        if not 0 <= address <= end <= LARGEST:
            raise LinkError(f"the memory has content at {address:#x}, which is too far")
        if end > len(memory):
            memory.extend(bytes(end - len(memory)))
        memory[address:end] = content
    return memory


def make_lasting(memory: bytearray, lowest: int) -> int:
    """Make the objects of the census immortal, and erase the census. Returns how many it made so; 0 without a census.

    `lowest` is the address above which the heap lies.
    """
    word, border = struct.Struct("<I"), mark()
    start = -1
    while (start := memory.find(border, start + 1)) >= 0:
        listed = start + len(border) + word.size
        if listed > len(memory):
            return 0
        (count,) = word.unpack_from(memory, listed - word.size)
        end = listed + word.size * count
        if memory[end : end + len(border)] == border:
            break
    else:
        return 0
    addresses = struct.unpack_from(f"<{count}I", memory, listed)
    known, made = set(addresses), 0
    for address in addresses:
        if address + 2 * word.size > len(memory):
            raise LinkError(f"the census has an object at {address:#x}, where there is no memory")
        references, kind = struct.unpack_from("<II", memory, address)
        if 0 < references < lowest and kind in known:
            word.pack_into(memory, address, IMMORTAL)
            made += 1
    memory[start : end + len(border)] = bytes(end + len(border) - start)
    return made


def segments(memory: bytearray) -> Iterator[tuple[int, bytes]]:
    """The parts (address, content) of the memory that hold anything, in whole pages."""
    empty, start = bytes(PAGE), None
    for address in range(0, len(memory) + PAGE, PAGE):
        page = memory[address : address + PAGE]
        used = page != empty[: len(page)]
        if used and start is None:
            start = address
        elif not used and start is not None:
            yield start, bytes(memory[start:address])
            start = None

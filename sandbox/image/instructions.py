"""Function bodies: where in them something of the module is named by its number.

Merging modules changes the numbers of functions, types, tables and globals; everything else in a body stays as it is.
So a body is scanned once for its *uses*, and written again with other numbers in their places.

The scan must know the length of every instruction, or it would take an operand for an opcode. The long stretches in
which nothing is named are matched by one regular expression, possessive so that it never goes back; what it cannot
match is one of the few instructions handled below, or one that the linker does not know. Unknown on purpose: whatever
changes a table or uses up a passive segment while running. A suspended session holds the memory and the globals of its
guest, so state of any other kind would be lost.

Source: the WebAssembly core specification 2.0, section 5.4.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from .errors import LinkError
from .wasm import Reader

__all__ = ["Naming", "Use", "rewrite", "scan"]


class Naming(enum.IntEnum):
    """What a use names. Of `GET` the whole instruction is the use, so that it can become a constant."""

    CALL = 0
    TYPE = 1
    BLOCK = 2
    TABLE = 3
    GET = 4
    SET = 5


class Use(NamedTuple):
    """Bytes [start, end) of a body name the thing with that `number`."""

    start: int
    end: int
    naming: Naming
    number: int


_NUMBER: Final = rb"[\x80-\xff]*+[\x00-\x7f]"
_VALUE_TYPE: Final = rb"[\x6f\x70\x7b-\x7f]"
_PLAIN: Final = (
    rb"[\x00\x01\x05\x0b\x0f\x1a\x1b\x45-\xc4]",  # unreachable, nop, else, end, return, drop, select; arithmetic
    rb"[\x0c\x0d\x20-\x22\x41\x42]" + _NUMBER,  # br, br_if; local.get, set, tee; i32.const, i64.const
    rb"[\x02-\x04](?:\x40|" + _VALUE_TYPE + rb")",  # block, loop, if with at most one result
    rb"[\x28-\x3e][\x00-\x3f]" + _NUMBER,  # loads and stores
    rb"[\x3f\x40]\x00",  # memory.size, memory.grow
    rb"\x43.{4}",  # f32.const
    rb"\x44.{8}",  # f64.const
    rb"\x1c\x01" + _VALUE_TYPE,  # select with a type
    rb"\xfc(?:[\x00-\x07]|\x0a\x00\x00|\x0b\x00)",  # saturating conversions; memory.copy, memory.fill
)
_COPIED: Final = re.compile(rb"(?s:" + rb"|".join(_PLAIN) + rb")*+")


def scan(body: bytes) -> list[Use]:
    """All uses in a body, in order. Raises `LinkError` for an instruction that the linker does not know."""
    reader, uses, end = Reader(body), list[Use](), len(body)
    for _ in range(reader.uint()):  # locals: a count and a type
        reader.uint()
        reader.byte()

    def use(naming: Naming, start: int) -> None:
        index = reader.uint()
        uses.append(Use(start, reader.at, naming, index))

    while True:
        matched = _COPIED.match(body, reader.at)
        start = matched.end() if matched else reader.at
        if start >= end:
            return uses
        reader.at = start + 1
        match body[start]:
            case 0x23:  # global.get
                use(Naming.GET, start)
            case 0x10 | 0x12:  # call, return_call
                use(Naming.CALL, start + 1)
            case 0x24:  # global.set
                use(Naming.SET, start + 1)
            case 0x11 | 0x13:  # call_indirect, return_call_indirect
                use(Naming.TYPE, start + 1)
                use(Naming.TABLE, reader.at)
            case 0x0E:  # br_table: the depths of its branches, and one more
                for _ in range(reader.uint() + 1):
                    reader.uint()
            case 0x02 | 0x03 | 0x04 if not 0x40 <= body[start + 1] < 0x80:  # a block with a function's type
                use(Naming.BLOCK, start + 1)
            case opcode:
                operands = body[start + 1 : start + 3].hex(" ")
                raise LinkError(f"a function has the instruction {opcode:#x}, followed by {operands or 'nothing'}")


def rewrite(body: bytes, uses: Sequence[Use], texts: Sequence[Sequence[bytes]]) -> bytes:
    """The body with each use replaced by `texts[naming][number]`."""
    parts, copied = list[bytes](), 0
    for start, end, naming, number in uses:
        parts.append(body[copied:start])
        parts.append(texts[naming][number])
        copied = end
    parts.append(body[copied:])
    return b"".join(parts)

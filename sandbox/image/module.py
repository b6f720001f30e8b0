"""A core module taken apart.

The parts stay encoded where nothing in them refers to anything (types, descriptors, bodies), so that taking apart 30 MB
is quick. What the linker could not carry over unchanged in meaning is refused here, with its name: a start function, a
passive segment, a tag, a second memory. Nothing is skipped in silence but custom sections (names and build notes),
which mean nothing to an engine.

Source: the WebAssembly core specification 2.0, sections 5.4.9 (constant expressions) and 5.5 (modules).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .errors import LinkError
from .wasm import Reader, sint

__all__ = ["END", "MAGIC", "CoreModule", "Data", "Elements", "Global", "Import", "Kind", "evaluate", "read_module"]

MAGIC: Final = b"\0asm\x01\0\0\0"
END: Final = 0x0B
FUNCTION_TYPE: Final = 0x60


class Kind(enum.IntEnum):
    """What a module imports, defines and exports."""

    FUNCTION = 0
    TABLE = 1
    MEMORY = 2
    GLOBAL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """`descriptor` is encoded as in the import section, without the leading kind."""

    module: str
    name: str
    kind: Kind
    descriptor: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Global:
    """`value` is its initial value, a constant expression, encoded."""

    type: int
    mutable: bool
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """Functions laid into a table when the module starts, from `offset` (a constant expression) on."""

    table: int
    offset: bytes
    functions: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Bytes laid into the memory when the module starts, from `offset` (a constant expression) on."""

    offset: bytes
    content: bytes


@dataclass(slots=True, kw_only=True)
class CoreModule:
    """A module's parts. Indices in it count the imports of a kind first, then its own definitions.

    `types`, `tables`, `memories` are encoded entries of their sections, `functions` type indices, `bodies` encoded
    functions.
    """

    types: list[bytes] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    tables: list[bytes] = field(default_factory=list)
    memories: list[bytes] = field(default_factory=list)
    globals: list[Global] = field(default_factory=list)
    exports: Mapping[str, tuple[Kind, int]] = field(default_factory=dict)
    elements: list[Elements] = field(default_factory=list)
    data: list[Data] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


def read_module(binary: bytes) -> CoreModule:
    """Take a core module apart. Raises `LinkError` for what is damaged, and for what the linker does not know."""
    if binary[: len(MAGIC)] != MAGIC:
        raise LinkError("this is no WebAssembly core module")
    module = CoreModule()
    for identifier, part in Reader(binary, len(MAGIC)).sections():
        match identifier:
            case 0 | 12:  # custom; the count of data segments, which the data section says again
                continue
            case 1:
                module.types = part.vector(_function_type)
            case 2:
                module.imports = part.vector(_import)
            case 3:
                module.functions = part.vector(Reader.uint)
            case 4:
                module.tables = part.vector(_table)
            case 5:
                module.memories = part.vector(_limits)
            case 6:
                module.globals = part.vector(_global)
            case 7:
                module.exports = dict(part.vector(_export))
            case 8:
                raise LinkError("a core module has a start function")
            case 9:
                module.elements = part.vector(_elements)
            case 10:
                module.bodies = part.vector(_body)
            case 11:
                module.data = part.vector(_data)
            case _:
                raise LinkError(f"a core module has a section of kind {identifier}")
        part.finish(f"section {identifier} of a core module")
    if len(module.functions) != len(module.bodies):
        raise LinkError(f"{len(module.functions)} functions are declared, but {len(module.bodies)} have a body")
    return module


def _kind(reader: Reader) -> Kind:
    value = reader.byte()
    try:
        return Kind(value)
    except ValueError:
        raise LinkError(f"a core module imports or exports something of kind {value}") from None


def _function_type(reader: Reader) -> bytes:
    start = reader.at
    if (form := reader.byte()) != FUNCTION_TYPE:
        raise LinkError(f"a core module defines a type of form {form:#x}, not a function type")
    reader.take(reader.uint())
    reader.take(reader.uint())
    return reader.data[start : reader.at]


def _limits(reader: Reader) -> bytes:
    start = reader.at
    flags = reader.byte()
    if flags > 1:
        raise LinkError(f"a table or memory has limits of form {flags:#x} (shared, or 64 bits wide)")
    for _ in range(1 + flags):
        reader.uint()
    return reader.data[start : reader.at]


def _table(reader: Reader) -> bytes:
    return reader.take(1) + _limits(reader)


def _import(reader: Reader) -> Import:
    module, item, kind = reader.name(), reader.name(), _kind(reader)
    start = reader.at
    match kind:
        case Kind.FUNCTION:
            reader.uint()
        case Kind.TABLE:
            _table(reader)
        case Kind.MEMORY:
            _limits(reader)
        case Kind.GLOBAL:
            reader.take(2)
    return Import(module=module, name=item, kind=kind, descriptor=reader.data[start : reader.at])


def _export(reader: Reader) -> tuple[str, tuple[Kind, int]]:
    return reader.name(), (_kind(reader), reader.uint())


def _body(reader: Reader) -> bytes:
    return reader.take(reader.uint())


def _constant(reader: Reader) -> bytes:
    """A constant expression, its end included."""
    start = reader.at
    while (opcode := reader.byte()) != END:
        match opcode:
            case 0x41 | 0x42 | 0x23:  # i32.const, i64.const, global.get
                while reader.byte() >= 0x80:
                    pass
            case 0x43 | 0x44:  # f32.const, f64.const
                reader.take(4 if opcode == 0x43 else 8)
            case 0x6A:  # i32.add
                pass
            case _:
                raise LinkError(f"a constant expression has the instruction {opcode:#x}")
    return reader.data[start : reader.at]


def evaluate(expression: bytes, variable: Callable[[int], bytes]) -> bytes:
    """The value of a constant expression as one instruction. `variable` gives that of an imported global."""
    reader, stack = Reader(expression), list[bytes]()
    while (opcode := reader.byte()) != END:
        start = reader.at
        match opcode:
            case 0x41 | 0x42:
                reader.sint()
                stack.append(expression[start - 1 : reader.at])
            case 0x43 | 0x44:
                stack.append(expression[start - 1 : start] + reader.take(4 if opcode == 0x43 else 8))
            case 0x23:
                stack.append(variable(reader.uint()))
            case 0x6A if len(stack) > 1 and stack[-1][0] == stack[-2][0] == 0x41:
                total = sum(Reader(stack.pop(), 1).sint() for _ in range(2))
                stack.append(b"\x41" + sint((total + (1 << 31)) % (1 << 32) - (1 << 31)))
            case _:
                raise LinkError(f"a constant expression has the instruction {opcode:#x} where it has no meaning")
    if len(stack) != 1:
        raise LinkError(f"a constant expression has {len(stack)} values")
    return stack[0]


def _global(reader: Reader) -> Global:
    return Global(type=reader.byte(), mutable=bool(reader.byte()), value=_constant(reader))


def _elements(reader: Reader) -> Elements:
    flags = reader.uint()
    if flags not in (0, 2):
        raise LinkError(f"an element segment has form {flags} (passive, or made of expressions)")
    table = reader.uint() if flags else 0
    offset = _constant(reader)
    if flags and (kind := reader.byte()):
        raise LinkError(f"an element segment holds elements of kind {kind:#x}")
    return Elements(table=table, offset=offset, functions=reader.vector(Reader.uint))


def _data(reader: Reader) -> Data:
    if flags := reader.uint():
        raise LinkError(f"a data segment has form {flags} (passive, or for a second memory)")
    return Data(offset=_constant(reader), content=reader.take(reader.uint()))

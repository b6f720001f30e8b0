"""From a component to one core module whose imports are all the host's.

Why: a component's instance hides its memory. A core module's does not: frames are plain bytes in it, and a live
interpreter is that memory and a few globals, which can be copied, suspended and put back. And no WASI implementation
stands behind the module; the host answers each import itself.

How: give every import of every module the thing that it really comes from (`component.py`), then lay the modules side
by side and write their bodies again with the numbers that functions, types, tables and globals have now
(`instructions.py`). Three more things are done on the way:

- Functions that nothing can reach are left out: neither exported, nor in a table, nor called by one that is.
- A global that no reachable function writes is a constant, and each reading of it becomes its value.
  Position-independent code reads such a global for almost every address that it computes.
- The objects of the image are made lasting (`lasting.py`), so that guests do not write to them by looking at them.

The globals that are left are exported: with the memory, they are the whole state of a guest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .component import Bag, Component, Drop, FromInstance, Lifted, Origin, read_component
from .errors import LinkError
from .instructions import Naming, Use, rewrite, scan
from .lasting import flat, make_lasting, segments
from .module import END, MAGIC, CoreModule, Import, Kind, evaluate, read_module
from .wasm import Reader, name, section, sint, uint

__all__ = ["link"]

HOST: Final = "host"
GLOBAL_GET: Final = 0x23
I32_CONST: Final = 0x41
INTERRUPT: Final = "PyErr_SetInterruptEx"
STACK_POINTER: Final = "__stack_pointer"


@dataclass(slots=True, eq=False)
class _HostFunction:
    """`number` is its place in the image; -1 as long as nothing is known to reach it."""

    name: str
    type: int
    number: int = -1


@dataclass(slots=True, eq=False)
class _Function:
    """As above, with a body and the part whose numbers the body uses."""

    part: _Part
    type: int
    body: bytes
    uses: list[Use] = field(default_factory=list)
    number: int = -1


@dataclass(slots=True, eq=False)
class _Global:
    """`value` is its initial value, as one instruction. `number` is -1 as long as nothing is known to write it."""

    type: int
    value: bytes
    number: int = -1


@dataclass(slots=True, eq=False)
class _Table:
    descriptor: bytes
    number: int


@dataclass(slots=True, eq=False)
class _Memory:
    descriptor: bytes
    number: int = 0


type _Callable = _HostFunction | _Function
type _Thing = _Callable | _Global | _Table | _Memory


@dataclass(slots=True, eq=False)
class _Part:
    """One instance of a module: what its own numbers mean, imports first."""

    module: CoreModule
    types: list[int]
    functions: list[_Callable] = field(default_factory=list)
    globals: list[_Global] = field(default_factory=list)
    tables: list[_Table] = field(default_factory=list)
    memories: list[_Memory] = field(default_factory=list)

    @property
    def defined(self) -> list[_Function]:
        """Its own functions, without the imported ones."""
        return [function for function in self.functions if isinstance(function, _Function) and function.part is self]

    @property
    def defined_globals(self) -> list[_Global]:
        """Its own globals."""
        return self.globals[len(self.globals) - len(self.module.globals) :]

    def add(self, thing: _Thing) -> None:
        """Give the thing the next number of its kind."""
        match thing:
            case _HostFunction() | _Function():
                self.functions.append(thing)
            case _Global():
                self.globals.append(thing)
            case _Table():
                self.tables.append(thing)
            case _Memory():
                self.memories.append(thing)

    def exported(self, item: str) -> _Thing:
        """The thing behind an export."""
        if item not in self.module.exports:
            raise LinkError(f"a module is asked for {item!r}, which it does not export")
        kind, index = self.module.exports[item]
        space = (self.functions, self.tables, self.memories, self.globals)[kind]
        return space[index]

    def constant(self, expression: bytes) -> bytes:
        """The value of a constant expression, as one instruction."""
        return evaluate(expression, lambda index: self.globals[index].value)


def link(component: bytes) -> bytes:
    """Link a component that componentize-py made into one core module. Takes about a second and a half for 30 MB.

    The image imports only functions, all from module "host", by the component's own names for them
    (`wasi:io/poll@0.2.9#poll`, `$root#call`). It exports `step`, `realloc`, `memory`, `interrupt`,
    `stack_pointer`, and as `global_N` any other global that is written while running.

    Raises `LinkError` for anything it does not know.
    """
    try:
        recipe = read_component(component)
        if "step" not in recipe.exports:
            raise LinkError(f"the component does not export step; it exports {', '.join(recipe.exports) or 'nothing'}")
        program = _Program(recipe)
        exports = program.exports(recipe.exports["step"])
        program.reach(thing for thing in exports.values() if isinstance(thing, _HostFunction | _Function))
        return program.write(exports)
    except IndexError as error:
        raise LinkError("the component uses a number that stands for nothing") from error


class _Program:
    """All parts of a component, with their imports resolved."""

    def __init__(self, recipe: Component) -> None:
        self._instances = recipe.instances
        self._parts: dict[int, _Part] = {}  # by number of the instance
        self._types: dict[bytes, int] = {}
        self._host: dict[str, _HostFunction] = {}
        self._tables: list[_Table] = []
        self._memories: list[_Memory] = []
        modules = [read_module(binary) for binary in recipe.modules]
        for number, instance in enumerate(recipe.instances):
            if not isinstance(instance, Bag):
                self._parts[number] = self._place(modules[instance.module], instance.arguments)
        if len(self._memories) != 1:
            raise LinkError(f"the component has {len(self._memories)} memories")

    def _place(self, module: CoreModule, arguments: Mapping[str, int]) -> _Part:
        part = _Part(module, [self._types.setdefault(encoded, len(self._types)) for encoded in module.types])
        for imported in module.imports:
            if imported.module not in arguments:
                raise LinkError(f"a module imports from {imported.module!r}, which it is not given")
            origin = FromInstance(instance=arguments[imported.module], name=imported.name)
            thing = self._resolve(origin, imported, part)
            if _kind(thing) is not imported.kind:
                raise LinkError(f"a module imports {imported.name!r} as what it is not")
            part.add(thing)
        for index, body in zip(module.functions, module.bodies, strict=True):
            part.add(_Function(part, part.types[index], body))
        for defined in module.globals:
            part.add(_Global(defined.type, part.constant(defined.value)))
        for descriptor in module.tables:
            self._tables.append(_Table(descriptor, len(self._tables)))
            part.add(self._tables[-1])
        for descriptor in module.memories:
            self._memories.append(_Memory(descriptor))
            part.add(self._memories[-1])
        return part

    def _resolve(self, origin: Origin, imported: Import, part: _Part) -> _Thing:
        """Through as many bags as it takes."""
        while isinstance(origin, FromInstance):
            if origin.instance in self._parts:
                return self._parts[origin.instance].exported(origin.name)
            if origin.instance >= len(self._instances) or not isinstance(bag := self._instances[origin.instance], Bag):
                raise LinkError(f"a module imports {imported.name!r} from an instance that is not there yet")
            if origin.name not in bag.items:
                raise LinkError(f"a module imports {imported.name!r}, which it is not given")
            origin = bag.items[origin.name]
        if imported.kind is not Kind.FUNCTION:
            raise LinkError(f"a module imports {imported.name!r} from the host, and it is no function")
        key = f"{imported.module}#{imported.name}" if isinstance(origin, Drop) else origin.name
        kind = part.types[Reader(imported.descriptor).uint()]
        function = self._host.setdefault(key, _HostFunction(key, kind))
        if function.type != kind:
            raise LinkError(f"{key} is imported with two different types")
        return function

    def exports(self, step: Lifted) -> dict[str, _Thing]:
        """What the image exports, before it is known which globals are written."""
        origins = {"step": step.function, "realloc": step.realloc, "memory": step.memory}
        exports: dict[str, _Thing] = {}
        for key, origin in origins.items():
            if not isinstance(origin, FromInstance) or origin.instance not in self._parts:
                raise LinkError(f"step has no {key}")
            exports[key] = self._parts[origin.instance].exported(origin.name)
        for key, item in (("interrupt", INTERRUPT), ("stack_pointer", STACK_POINTER)):
            owners = [part for part in self._parts.values() if item in part.module.exports]
            if not owners:
                raise LinkError(f"no module exports {item}")
            exports[key] = owners[0].exported(item)
        return exports

    def reach(self, roots: Iterable[_Callable]) -> None:
        """Find what can be reached, and number it: the host's functions first, as an engine counts them."""
        reached, written = set[_Callable](), set[_Global]()
        waiting = list(roots)
        for part in self._parts.values():
            for segment in part.module.elements:
                waiting += [part.functions[index] for index in segment.functions]
        while waiting:
            function = waiting.pop()
            if function in reached:
                continue
            reached.add(function)
            if isinstance(function, _Function):
                function.uses = scan(function.body)
                for use in function.uses:
                    if use.naming is Naming.CALL:
                        waiting.append(function.part.functions[use.number])
                    elif use.naming is Naming.SET:
                        written.add(function.part.globals[use.number])
        self._imported = [function for function in self._host.values() if function in reached]
        self._defined = [function for part in self._parts.values() for function in part.defined if function in reached]
        self._globals = [
            variable for part in self._parts.values() for variable in part.defined_globals if variable in written
        ]
        functions: list[_Callable] = [*self._imported, *self._defined]
        for number, function in enumerate(functions):
            function.number = number
        for number, variable in enumerate(self._globals):
            variable.number = number

    def _texts(self, part: _Part) -> list[list[bytes]]:
        """What stands in a body of this part for each thing that it names (see `Naming`)."""
        functions = [uint(function.number) if function.number >= 0 else b"" for function in part.functions]
        types = [uint(index) for index in part.types]
        blocks = [sint(index) for index in part.types]
        tables = [uint(table.number) for table in part.tables]
        written = [uint(variable.number) if variable.number >= 0 else b"" for variable in part.globals]
        read = [
            bytes((GLOBAL_GET,)) + number if number else variable.value
            for variable, number in zip(part.globals, written, strict=True)
        ]
        return [functions, types, blocks, tables, read, written]

    def _stored(self, stack_pointer: _Thing) -> bytearray:
        """The memory that the image starts with, its objects made lasting."""
        parts = self._parts.values()
        memory = flat(
            (_number(part.constant(segment.offset)), segment.content) for part in parts for segment in part.module.data
        )
        assert isinstance(stack_pointer, _Global)
        make_lasting(memory, lowest=_number(stack_pointer.value))  # below it lies the stack, and nothing else
        return memory

    def write(self, exports: Mapping[str, _Thing]) -> bytes:
        """The image. To be called after `reach`."""
        others = [variable for variable in self._globals if variable is not exports["stack_pointer"]]
        if len(others) == len(self._globals):
            raise LinkError("nothing moves the stack pointer")
        exports = {**exports, **{f"global_{variable.number}": variable for variable in others}}
        parts = self._parts.values()
        texts = {part: self._texts(part) for part in parts}
        imports = (name(HOST) + name(item.name) + bytes((Kind.FUNCTION,)) + uint(item.type) for item in self._imported)
        elements = (
            b"\x02"
            + uint(part.tables[segment.table].number)
            + part.constant(segment.offset)
            + bytes((END, 0))
            + uint(len(segment.functions))
            + b"".join(texts[part][Naming.CALL][index] for index in segment.functions)
            for part in parts
            for segment in part.module.elements
        )
        bodies = (rewrite(function.body, function.uses, texts[function.part]) for function in self._defined)
        data = (
            b"\0" + bytes((I32_CONST,)) + sint(address) + bytes((END,)) + uint(len(content)) + content
            for address, content in segments(self._stored(exports["stack_pointer"]))
        )
        sections = (
            section(1, self._types),
            section(2, imports),
            section(3, (uint(function.type) for function in self._defined)),
            section(4, (table.descriptor for table in self._tables)),
            section(5, (memory.descriptor for memory in self._memories)),
            section(6, (bytes((item.type, 1)) + item.value + bytes((END,)) for item in self._globals)),
            section(7, (name(key) + _reference(thing) for key, thing in exports.items())),
            section(9, elements),
            section(10, (uint(len(body)) + body for body in bodies)),
            section(11, data),
        )
        return MAGIC + b"".join(sections)


def _number(constant: bytes) -> int:
    """The value of an i32.const."""
    if constant[0] != I32_CONST:
        raise LinkError(f"an address is the constant {constant.hex(' ')}")
    return Reader(constant, 1).sint()


def _kind(thing: _Thing) -> Kind:
    match thing:
        case _HostFunction() | _Function():
            return Kind.FUNCTION
        case _Table():
            return Kind.TABLE
        case _Memory():
            return Kind.MEMORY
        case _Global():
            return Kind.GLOBAL


def _reference(thing: _Thing) -> bytes:
    return bytes((_kind(thing),)) + uint(thing.number)

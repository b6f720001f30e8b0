"""A component, read as what it is: core modules and a recipe that says how they are linked.

The recipe instantiates modules one after another. What an instance imports comes from earlier instances, often through
*bags*, instances that only give new names to things found elsewhere. At the edges stand *lowered* functions, which are
the host's, and *lifted* ones, which the host calls. Types matter to a component's users, not to the linker: sizes and
layouts are already compiled into the core modules. So types are skipped whole.

Read as componentize-py 0.25.1 writes it for worlds of synchronous functions; for anything else a `LinkError` names it.
Source: the component model's Binary.md (https://github.com/WebAssembly/component-model/blob/main/design/mvp/Binary.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .errors import LinkError
from .wasm import Reader

__all__ = ["Bag", "Component", "FromHost", "FromInstance", "Instance", "Lifted", "Origin", "read_component"]

MAGIC: Final = b"\0asm\x0d\0\x01\0"
ROOT: Final = "$root"  # the interface of functions that the world imports by themselves
CORE_SORTS: Final = {0x00: "function", 0x01: "table", 0x02: "memory", 0x03: "global"}
INSTANCE_SORT: Final = 0x12


@dataclass(frozen=True, slots=True, kw_only=True)
class FromHost:
    """A function that the host answers: `wasi:io/poll@0.2.9#poll`, or `$root#emit`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FromInstance:
    """What core instance number `instance` exports under `name`."""

    instance: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The host forgets a resource. Its name is that of the import that it is given to."""


type Origin = FromHost | FromInstance | Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """Module number `module`, whose imports of a module name come from the core instance with that number."""

    module: int
    arguments: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bag:
    """An instance made of things found elsewhere."""

    items: Mapping[str, Origin]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted:
    """A core function that the world exports, its memory and its allocator."""

    function: Origin
    memory: Origin | None
    realloc: Origin | None


@dataclass(slots=True, kw_only=True)
class Component:
    """What the recipe says. `exports` are the world's own functions; exported interfaces are left out."""

    modules: list[bytes] = field(default_factory=list)
    instances: list[Instance | Bag] = field(default_factory=list)
    exports: dict[str, Lifted] = field(default_factory=dict)


type _Function = Lifted | FromHost | None  # None: an alias of an export of an inner component, of no use to us


class _Recipe:
    """Index spaces fill up while the sections are read, each entry seeing only those before it."""

    def __init__(self) -> None:
        self.component = Component()
        self._core: dict[str, list[Origin]] = {sort: [] for sort in CORE_SORTS.values()}
        self._functions: list[_Function] = []
        self._interfaces: list[str | None] = []  # component instances: the name of an imported interface

    def core_module(self, part: Reader) -> None:
        self.component.modules.append(part.take(part.end - part.at))

    def core_instance(self, part: Reader) -> None:
        match part.byte():
            case 0:
                module = part.uint()
                self.component.instances.append(Instance(module=module, arguments=dict(part.vector(_argument))))
            case 1:
                self.component.instances.append(Bag(items=dict(part.vector(self._core_item))))
            case form:
                raise LinkError(f"a core instance has form {form:#x}")

    def instance(self, part: Reader) -> None:
        form = part.byte()
        if form > 1:
            raise LinkError(f"an instance has form {form:#x}")
        if form == 0:
            part.uint()
        for _ in range(part.uint()):
            if form == 1:
                part.byte()
            part.name()
            _skip_sort(part)
            part.uint()
        self._interfaces.append(None)

    def alias(self, part: Reader) -> None:
        sort = part.byte()
        core = part.byte() if sort == 0 else None
        match part.byte():
            case 0:  # an export of a component instance
                instance, item = part.uint(), part.name()
                if sort == 1:
                    interface = _pick(self._interfaces, instance, "component instance")
                    self._functions.append(FromHost(name=f"{interface}#{item}") if interface else None)
                elif sort == 5:
                    self._interfaces.append(None)
                elif sort != 3:
                    raise LinkError(f"an alias takes something of sort {sort:#x} out of a component instance")
            case 1:  # an export of a core instance
                instance, item = part.uint(), part.name()
                if core not in CORE_SORTS:
                    raise LinkError(f"an alias takes something of core sort {core!r} out of a core instance")
                _pick(
                    self.component.instances, instance, "core instance"
                )  # only earlier ones: so none is made of itself
                self._core[CORE_SORTS[core]].append(FromInstance(instance=instance, name=item))
            case 2 if sort == 3:  # a type of an outer component
                part.uint()
                part.uint()
            case target:
                raise LinkError(f"an alias of sort {sort:#x} has target {target:#x}")

    def canonical(self, part: Reader) -> None:
        match part.byte():
            case 0:  # lift
                _expect(part, 0, "a lifted function")
                function = _pick(self._core["function"], part.uint(), "core function")
                options = self._options(part)
                part.uint()
                self._functions.append(
                    Lifted(
                        function=function,
                        memory=options.get(3),
                        realloc=options.get(4),
                    )
                )
            case 1:  # lower
                _expect(part, 0, "a lowered function")
                lowered = _pick(self._functions, part.uint(), "function")
                self._options(part)
                if not isinstance(lowered, FromHost):
                    raise LinkError("a function of the component itself is lowered again")
                self._core["function"].append(lowered)
            case 3:  # resource.drop
                part.uint()
                self._core["function"].append(Drop())
            case kind:
                raise LinkError(f"a canonical function has kind {kind:#x}")

    def imported(self, part: Reader) -> None:
        _skip_name_form(part)
        item, sort = part.name(), part.byte()
        match sort:
            case 1:
                part.uint()
                self._functions.append(FromHost(name=f"{ROOT}#{item}"))
            case 5:
                part.uint()
                self._interfaces.append(item)
            case 3:  # a type: equal to another, or a resource
                if part.byte() == 0:
                    part.uint()
            case _:
                raise LinkError(f"the component imports {item!r}, of sort {sort:#x}")

    def exported(self, part: Reader) -> None:
        _skip_name_form(part)
        item, sort, index = part.name(), part.byte(), part.uint()
        if sort == 0:
            raise LinkError(f"the component exports {item!r}, a core module")
        if part.byte():
            _skip_description(part)
        if sort == 1:
            function = _pick(self._functions, index, "function")
            if not isinstance(function, Lifted):
                raise LinkError(f"the component exports {item!r}, which is none of its own functions")
            self.component.exports[item] = function
            self._functions.append(function)
        elif sort == 5:
            self._interfaces.append(None)

    def _core_item(self, part: Reader) -> tuple[str, Origin]:
        key, sort = part.name(), part.byte()
        if sort not in CORE_SORTS:
            raise LinkError(f"a core instance holds something of core sort {sort:#x}")
        return key, _pick(self._core[CORE_SORTS[sort]], part.uint(), f"core {CORE_SORTS[sort]}")

    def _options(self, part: Reader) -> dict[int, Origin]:
        spaces, options = {3: "memory", 4: "function", 5: "function"}, {}
        for _ in range(part.uint()):
            option = part.byte()
            if option in spaces:
                options[option] = _pick(self._core[spaces[option]], part.uint(), f"core {spaces[option]}")
            elif option != 0:  # UTF-8
                raise LinkError(f"a canonical function has option {option:#x} (not UTF-8, or asynchronous)")
        return options


def read_component(binary: bytes) -> Component:
    """Read a component. Raises `LinkError` for what is damaged, and for what the linker does not know."""
    if binary[: len(MAGIC)] != MAGIC:
        raise LinkError("this is no WebAssembly component")
    recipe = _Recipe()
    entries = {
        2: recipe.core_instance,
        5: recipe.instance,
        6: recipe.alias,
        8: recipe.canonical,
        10: recipe.imported,
        11: recipe.exported,
    }
    for identifier, part in Reader(binary, len(MAGIC)).sections():
        match identifier:
            case 0 | 3 | 4 | 7:  # custom; core types; inner components, which only rename an exported interface; types
                continue
            case 1:
                recipe.core_module(part)
            case _ if entry := entries.get(identifier):
                part.vector(entry)
                part.finish(f"section {identifier} of the component")
            case _:
                raise LinkError(f"a component has a section of kind {identifier}")
    return recipe.component


def _pick[T](space: list[T], index: int, what: str) -> T:
    if index >= len(space):
        raise LinkError(f"{what} number {index} is used before it is defined")
    return space[index]


def _expect(part: Reader, value: int, what: str) -> None:
    if (found := part.byte()) != value:
        raise LinkError(f"{what} has form {found:#x}")


def _argument(part: Reader) -> tuple[str, int]:
    key = part.name()
    _expect(part, INSTANCE_SORT, f"the argument {key!r} of a core instance")
    return key, part.uint()


def _skip_name_form(part: Reader) -> None:
    if (form := part.byte()) > 1:
        raise LinkError(f"a component's import or export has a name of form {form:#x}")


def _skip_sort(part: Reader) -> None:
    if part.byte() == 0:
        part.byte()


def _skip_description(part: Reader) -> None:
    """The type that an export is given from outside: of a function or an instance, a type's number."""
    if (sort := part.byte()) not in (1, 5):
        raise LinkError(f"an export is given a type of sort {sort:#x}")
    part.uint()

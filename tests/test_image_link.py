"""The linker: a component made by hand, which has every part of the recipe once, becomes a module that runs."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wasmtime import Engine, Func, FuncType, Global, Linker, Memory, Module, Store, ValType, wat2wasm

from sandbox.image import LinkError
from sandbox.image.link import link
from sandbox.image.module import read_module

MEMORY = """
  (core module $memory
    (memory (export "memory") 1)
    (table (export "table") 4 funcref)
    (global (export "__stack_pointer") (mut i32) (i32.const 4096))
    (global (export "base") i32 (i32.const 1000))
    (global (export "offset") (mut i32) (i32.const 40))
    (global (export "steps") (mut i32) (i32.const 0))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 2048))
    (data (i32.const 1040) "answer:"))
"""

MAIN = """
  (core module $main
    (type $pair (func (param i32 i32)))
    (type $constant (func (result i32)))
    (import "env" "memory" (memory 1))
    (import "env" "table" (table 4 funcref))
    (import "env" "__stack_pointer" (global $sp (mut i32)))
    (import "env" "base" (global $base i32))
    (import "GOT.mem" "offset" (global $offset (mut i32)))
    (import "env" "steps" (global $steps (mut i32)))
    (import "env" "emit" (func $emit (param i32 i32)))
    (import "other" "dropped" (func $drop (param i32)))
    (global $own i32 (i32.add (global.get $base) (i32.const 2)))
    (elem (i32.const 1) func $one $two)
    (func $one (result i32) (i32.const 1))
    (func $two (result i32) (i32.const 2))
    (func $unreachable (export "relocate") (global.set $offset (i32.const 9)))
    (func (export "PyErr_SetInterruptEx") (param i32) (result i32) (i32.const 0))
    (func (export "post") (param i32))
    (func (export "step") (param $at i32) (param $size i32) (result i32)
      (global.set $sp (i32.sub (global.get $sp) (i32.const 16)))
      (global.set $steps (i32.add (global.get $steps) (i32.const 1)))
      (call $emit (i32.add (global.get $base) (global.get $offset)) (i32.const 7))
      (call $drop (i32.const 5))
      (block $out (result i32)
        (br_table 0 $out (i32.const 0) (local.get $size)))
      (drop)
      (block (type $constant) (call_indirect (type $constant) (i32.const 2)))
      (local.set $size)
      (i32.store (i32.const 512) (global.get $own))
      (i32.store offset=4 (i32.const 512) (local.get $size))
      (global.set $sp (i32.add (global.get $sp) (i32.const 16)))
      (i32.const 512)))
"""

RECIPE = """
  (import "emit" (func $emit (param "frame" (list u8))))
  (import "box:things/store@1.2.0" (instance $store (export "thing" (type (sub resource)))))
  (alias export $store "thing" (type $thing))
  {memory}
  {main}
  (core instance $m (instantiate $memory))
  (alias core export $m "memory" (core memory $bytes))
  (alias core export $m "table" (core table $table))
  (alias core export $m "__stack_pointer" (core global $sp))
  (alias core export $m "base" (core global $base))
  (alias core export $m "steps" (core global $steps))
  (alias core export $m "offset" (core global $offset))
  (alias core export $m "realloc" (core func $realloc))
  (core func $emitted (canon lower (func $emit) (memory $bytes)))
  (core func $dropped (canon resource.drop $thing))
  (core instance $env
    (export "memory" (memory $bytes))
    (export "table" (table $table))
    (export "__stack_pointer" (global $sp))
    (export "base" (global $base))
    (export "steps" (global $steps))
    (export "emit" (func $emitted)))
  (core instance $got (export "offset" (global $offset)))
  (core instance $other (export "dropped" (func $dropped)))
  (core instance $p (instantiate $main
    (with "env" (instance $env)) (with "GOT.mem" (instance $got)) (with "other" (instance $other))))
  (alias core export $p "step" (core func $stepping))
  (alias core export $p "post" (core func $post))
  (func $step (param "frame" (list u8)) (result (list u8))
    (canon lift (core func $stepping) (memory $bytes) (realloc $realloc) (post-return $post)))
  (export "step" (func $step))
"""


def component(*, memory: str = MEMORY, main: str = MAIN, recipe: str = RECIPE) -> bytes:
    return bytes(wat2wasm(f"(component {recipe.format(memory=memory, main=main)})"))


class Linked:
    """A linked component that runs; its imports note how they were called."""

    def __init__(self, image: bytes) -> None:
        self.emitted: list[bytes] = []
        self.dropped: list[int] = []
        engine = Engine()
        self.module, self.store = Module(engine, image), Store(engine)
        linker, number = Linker(engine), ValType.i32()
        linker.define_func("host", "$root#emit", FuncType([number, number], []), self._emit)
        linker.define_func("host", "other#dropped", FuncType([number], []), self.dropped.append)
        self.exports = linker.instantiate(self.store, self.module).exports(self.store)

    def _emit(self, pointer: int, size: int) -> None:
        self.emitted.append(self.read(pointer, size))

    def read(self, pointer: int, size: int) -> bytes:
        memory = self.exports["memory"]
        assert isinstance(memory, Memory)
        return bytes(memory.read(self.store, pointer, pointer + size))

    def step(self) -> tuple[int, ...]:
        function = self.exports["step"]
        assert isinstance(function, Func)
        return struct.unpack("<II", self.read(function(self.store, 0, 0), 8))

    def value(self, name: str) -> object:
        exported = self.exports[name]
        assert isinstance(exported, Global)
        return exported.value(self.store)


def test_a_linked_component_runs_with_its_imports_answered_by_the_host() -> None:
    """Memory, tables, globals, data and calls across modules mean in the image what they meant in the component."""
    linked = Linked(link(component()))
    assert linked.step() == (1002, 2)
    assert linked.emitted == [b"answer:"]
    assert linked.dropped == [5]


def test_imports_are_named_as_the_component_imports_them() -> None:
    """The host knows an import by interface and function, whatever the bags in between called it."""
    module = read_module(link(component()))
    assert [(item.module, item.name) for item in module.imports] == [("host", "$root#emit"), ("host", "other#dropped")]


def test_the_globals_that_running_code_writes_are_exported() -> None:
    """Memory and exported globals are the whole state of a guest, so a suspended session can be put back."""
    linked = Linked(link(component()))
    names = [exported.name for exported in linked.module.exports]
    assert names == ["step", "realloc", "memory", "interrupt", "stack_pointer", "global_1"]
    linked.step()
    linked.step()
    assert linked.value("stack_pointer") == 4096
    assert linked.value("global_1") == 2


def test_a_global_that_only_unreachable_code_writes_becomes_a_constant() -> None:
    """Relocation code ran before the image was stored, and no one can call it again."""
    module = read_module(link(component()))
    assert len(module.globals) == 2
    assert all(b"\x23\x02" not in body for body in module.bodies)


def test_functions_that_nothing_reaches_are_left_out() -> None:
    """Kept are five: what is exported, what those call, and what is in a table."""
    whole = read_module(link(component()))
    assert len(whole.bodies) == 5
    without_table = MAIN.replace("(elem (i32.const 1) func $one $two)", "")
    assert len(read_module(link(component(main=without_table))).bodies) == 3


def test_linking_what_is_linked_changes_nothing() -> None:
    """The same component gives the same image, byte for byte."""
    assert link(component()) == link(component())


UNKNOWN = {
    "a start function": (
        {"main": MAIN.replace("(func $one", "(func $begin) (start $begin) (func $one")},
        "a core module has a start function",
    ),
    "a passive data segment": (
        {"memory": MEMORY.replace("(data (i32.const 1040)", "(data")},
        "a data segment has form 1 (passive, or for a second memory)",
    ),
    "a passive element segment": (
        {"main": MAIN.replace("(elem (i32.const 1)", "(elem")},
        "an element segment has form 1 (passive, or made of expressions)",
    ),
    "a table that changes": (
        {"main": MAIN.replace("(call $drop (i32.const 5))", "(table.set (i32.const 0) (ref.null func))")},
        "a function has the instruction 0xd0, followed by 70 26",
    ),
    "a vector instruction": (
        {"main": MAIN.replace("(call $drop (i32.const 5))", "(drop (v128.const i64x2 0 0))")},
        "a function has the instruction 0xfd, followed by 0c 00",
    ),
    "a second memory": (
        {"memory": MEMORY.replace('(memory (export "memory") 1)', '(memory (export "memory") 1) (memory 1)')},
        "the component has 2 memories",
    ),
    "a shared memory": (
        {"memory": MEMORY.replace('(memory (export "memory") 1)', '(memory (export "memory") 1 1 shared)')},
        "a table or memory has limits of form 0x3 (shared, or 64 bits wide)",
    ),
    "no interrupt": ({"main": MAIN.replace("PyErr_SetInterruptEx", "other")}, "no module exports PyErr_SetInterruptEx"),
    "no step": (
        {"recipe": RECIPE.replace('(export "step" (func $step))', '(export "walk" (func $step))')},
        "the component does not export step; it exports walk",
    ),
    "another encoding of text": (
        {"recipe": RECIPE.replace("(canon lower (func $emit)", "(canon lower (func $emit) string-encoding=utf16")},
        "a canonical function has option 0x1 (not UTF-8, or asynchronous)",
    ),
    "a still stack": (
        {"main": MAIN.replace("(global.set $sp (i32.sub", "(drop (i32.sub").replace("(global.set $sp (i32.add", "(drop (i32.add")},
        "nothing moves the stack pointer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_the_linker_does_not_know_is_named(case: str) -> None:
    """Whatever would not mean the same in the image is refused with its name."""
    parts, message = UNKNOWN[case]
    with pytest.raises(LinkError) as caught:
        link(component(**parts))
    assert str(caught.value) == message


def test_something_else_is_no_component() -> None:
    """A core module, text, nothing."""
    for binary in (bytes(wat2wasm("(module)")), b"hello", b""):
        with pytest.raises(LinkError, match="this is no WebAssembly component"):
            link(binary)


def test_a_component_that_is_cut_off_is_refused() -> None:
    """Wherever it ends. Only the names at its end, which mean nothing, may be missing."""
    whole = component()
    image, refused = link(whole), 0
    for end in range(len(whole)):
        try:
            assert link(whole[:end]) == image
        except LinkError:
            refused += 1
    assert refused > len(whole) - 3


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_component_gives_an_image_or_a_link_error(data: st.DataObject) -> None:
    """Numbers that name nothing, sizes that do not fit, kinds that do not exist."""
    damaged = bytearray(component())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(8, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(LinkError):
        assert link(bytes(damaged))[:4] == b"\0asm"

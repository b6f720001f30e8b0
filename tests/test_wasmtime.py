"""What wasmtime-py does to those who trust it: one regression test for each point of the design's list.

Small modules written as text stand in for the image, which the other sandbox tests enter for real.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable

import pytest
from wasmtime import Engine, FuncType, Linker, Module, Store, ValType
from wasmtime import _func as wasmtime_func

from sandbox import capi
from sandbox.engine import GUEST_STACK, new_engine
from sandbox.guest import Guest
from sandbox.threads import STACK

LOOP = '(module (func (export "loop") (loop (br 0))) (memory (export "memory") 1))'


@pytest.fixture(scope="module")
def engine() -> Engine:
    return new_engine()


def on_a_guest_thread(job: Callable[[], object]) -> object:
    """Run `job` on a thread with a guest's stack and give back what it returned or raised."""
    result: list[object] = []

    def work() -> None:
        try:
            result.append(job())
        except BaseException as error:
            result.append(error)

    before = threading.stack_size(STACK)
    thread = threading.Thread(target=work)
    thread.start()
    threading.stack_size(before)
    thread.join()
    return result[0]


def instance(engine: Engine, text: str, imports: dict[str, tuple[FuncType, Callable[..., int | None]]] | None = None):
    faults: list[BaseException] = []
    linker, store = Linker(engine), Store(engine)
    kept = [
        capi.define(linker, name, kind, function, faults.append) for name, (kind, function) in (imports or {}).items()
    ]
    store.set_epoch_deadline(capi.FAR)
    module = Module(engine, text)
    exports = linker.instantiate(store, module).exports(store)
    return store, {export.name: exports[export.name] for export in module.exports}, faults, kept


CALLER = """(module
  (import "host" "ask" (func $ask (param i32 i64) (result i32)))
  (func (export "go") (param i32) (result i32) (call $ask (local.get 0) (i64.const -1))))"""
ASK = FuncType([ValType.i32(), ValType.i64()], [ValType.i32()])


class TestPoint1:
    """An exception that leaves a host function is parked in one process-wide slot."""

    def test_an_exception_in_a_host_function_traps_and_is_parked_nowhere(self, engine: Engine) -> None:
        """It is handed to us, the guest traps, and wasmtime's process-wide slot stays empty."""

        def ask(_number: int, _wide: int) -> int:
            raise KeyboardInterrupt

        store, exports, faults, _kept = instance(engine, CALLER, {"ask": (ASK, ask)})
        go = capi.bind(exports, "go", 1, 1)
        result = on_a_guest_thread(lambda: go(store._context(), 1))
        assert isinstance(result, capi.WasmFault)
        assert [type(fault) for fault in faults] == [KeyboardInterrupt]
        assert wasmtime_func.LAST_EXCEPTION is None

    def test_arguments_and_results_cross_as_unsigned_numbers(self, engine: Engine) -> None:
        """Pointers above 2 GiB are not negative."""
        seen: list[tuple[int, int]] = []

        def ask(number: int, wide: int) -> int:
            seen.append((number, wide))
            return 0xFFFF_FFFF

        store, exports, _faults, _kept = instance(engine, CALLER, {"ask": (ASK, ask)})
        go = capi.bind(exports, "go", 1, 1)
        assert on_a_guest_thread(lambda: go(store._context(), 0x9000_0000)) == 0xFFFF_FFFF
        assert seen == [(0x9000_0000, 0xFFFF_FFFF_FFFF_FFFF)]

    def test_an_exception_in_the_epoch_callback_stops_the_guest(self, engine: Engine) -> None:
        """It does not vanish, and the guest does not run on without limits."""
        store, exports, _faults, _kept = instance(engine, LOOP)

        def tick(_context: object) -> str:
            raise RuntimeError("a bug in the limits")

        watching = capi.watch(store, tick)
        loop = capi.bind(exports, "loop", 0, 0)
        engine.increment_epoch()
        result = on_a_guest_thread(lambda: loop(store._context()))
        assert isinstance(result, capi.WasmFault)
        assert "the limits could not be checked" in str(result)
        assert watching is not None


class TestPoint2:
    """A nested call in the epoch callback is itself interrupted unless the deadline is moved first."""

    def test_the_epoch_callback_may_call_into_the_guest(self, engine: Engine) -> None:
        """Though the deadline has passed, and the nested call runs through a check of it."""
        text = """(module
          (global $noted (mut i32) (i32.const 0))
          (func (export "note") (param i32) (result i32) (local $i i32)
            (loop (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const 1000))))
            (global.set $noted (local.get 0)) (i32.const 7))
          (func (export "loop") (loop (br_if 0 (i32.eqz (global.get $noted))))))"""
        store, exports, _faults, _kept = instance(engine, text)
        note, loop = capi.bind(exports, "note", 1, 1), capi.bind(exports, "loop", 0, 0)
        answers: list[int] = []

        def tick(context: object) -> str:
            engine.increment_epoch()
            answers.append(note(context, 1))
            return "continue"

        watching = capi.watch(store, tick)
        engine.increment_epoch()
        assert on_a_guest_thread(lambda: loop(store._context())) == 0
        assert answers == [7]
        assert watching is not None


class TestPoint3:
    """What exists only in the C bindings is in one module, for one version."""

    def test_only_capi_touches_the_bindings(self) -> None:
        """And the version is pinned."""
        from importlib.metadata import requires
        from pathlib import Path

        import sandbox

        users = [path.name for path in Path(sandbox.__path__[0]).rglob("*.py") if "_bindings" in path.read_text()]
        assert users == ["capi.py"]
        assert "wasmtime==50.0.1" in (requires("branchpoint") or [])


class TestPoint4:
    """A Wasm stack above 2 MiB needs more than `max_wasm_stack`."""

    def test_deep_wasm_recursion_has_the_whole_stack_and_then_traps(self, engine: Engine) -> None:
        """Wasm code gets deeper than 8 MiB of stack, and runs out of it with a trap, not with the process."""
        text = """(module (func $down (export "down") (param i32) (result i32)
          (if (result i32) (local.get 0)
            (then (i32.add (i32.const 1) (call $down (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0)))))"""
        store, exports, _faults, _kept = instance(engine, text)
        down = capi.bind(exports, "down", 1, 1)
        deep = 8 * (1 << 20) // 16  # no frame is smaller than 16 bytes
        assert on_a_guest_thread(lambda: down(store._context(), deep)) == deep
        result = on_a_guest_thread(lambda: down(store._context(), 0x7FFF_FFFF))
        assert isinstance(result, capi.WasmFault)
        assert "stack" in str(result)
        assert STACK > GUEST_STACK


class TestPoint5:
    """`Func.__call__` rebuilds types: calls go through prepared structures."""

    def test_an_entry_builds_nothing_per_call(self, engine: Engine) -> None:
        """The same argument array serves every call."""
        text = '(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))'
        store, exports, _faults, _kept = instance(engine, text)
        add = capi.bind(exports, "add", 2, 1)
        before = ctypes.addressof(add._values)
        sums = on_a_guest_thread(lambda: [add(store._context(), n, 1) for n in range(3)])
        assert sums == [1, 2, 3]
        assert ctypes.addressof(add._values) == before


class TestPoint6:
    """Epochs do not interrupt host code: a host function must not block by itself."""

    def test_no_host_function_sleeps_or_waits_by_itself(self) -> None:
        """The world hands every wait to the session."""
        import ast
        from pathlib import Path

        from sandbox import world

        tree = ast.parse(Path(world.__file__).read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert imported == {"struct", "threading"}
        waits = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {
            "acquire",
            "wait",
            "join",
            "select",
        }
        assert waits == set()


class TestPoint7:
    """Closing matters: tracebacks keep stores alive."""

    def test_a_closed_guest_gives_its_memory_back_though_something_still_holds_it(self, engine: Engine) -> None:
        """`close` closes the store; it does not wait for the garbage collector."""
        store, exports, _faults, _kept = instance(engine, LOOP)
        guest = Guest.__new__(Guest)
        guest.world, guest._store = None, store
        guest.close()
        with pytest.raises(ValueError, match="already closed"):
            store._context()
        guest.close()
        assert exports

    def test_the_epoch_callback_does_not_keep_a_dropped_store_alive(self, engine: Engine) -> None:
        """Whoever forgets to close pays with a collection, not with a leak."""
        store, _exports, _faults, _kept = instance(engine, LOOP)
        watching = capi.watch(store, lambda _context: "continue")
        gone = weakref.ref(store)
        del store, _exports, watching
        gc.collect()
        assert gone() is None

"""The few C bindings of Wasmtime that the Python interface lacks or makes slow. Everything unsafe about ctypes is in
this file.

Three rules, each with a test:

- No exception leaves a callback. wasmtime-py parks such an exception in one process-wide slot, where another thread may
  get it; ctypes prints and forgets it. A host function therefore answers with a trap, and its exception is handed to
  `on_fault`.
- A call into the guest from inside the epoch callback is itself interrupted unless the deadline is moved first.
- Calls go through prepared structures: `Func.__call__` rebuilds the function's type each time.

Checked against wasmtime 50.0.1, to which the version is pinned.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, Final

from wasmtime import Config, Func, FuncType, Global, Linker, Memory, Store, WasmtimeError
from wasmtime import _bindings as c

from .errors import EngineError

__all__ = [
    "STOPPED",
    "TRAP",
    "Entry",
    "Fixed",
    "HostFunction",
    "Tick",
    "WasmFault",
    "address_of",
    "base_address",
    "bind",
    "define",
    "rearm",
    "set_stack",
    "size_of",
    "watch",
]

type HostFunction = Callable[..., int | None]
type Tick = Callable[[Any], str]

TRAP: Final = "sandbox: the host refused"
STOPPED: Final = "sandbox: the host stopped the guest"
FAR: Final = 1 << 40  # ticks: never
NESTED: Final = 40  # ticks: longer than an honest nested call takes, and a guest may not be honest
KINDS: Final = {"i32": 0, "i64": 1}

# A handle of our own: setting types on the bindings' functions would change them for the bindings too.
_own = ctypes.CDLL(c.dll._name)  # type: ignore[attr-defined]
_trap_new, _error_new = _own.wasmtime_trap_new, _own.wasmtime_error_new
_trap_new.restype, _trap_new.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_size_t]
_error_new.restype, _error_new.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
_no_finalizer = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()  # a null pointer


def set_stack(config: Config, size: int) -> None:
    """Let the guest use `size` bytes of native stack; above 2 MiB the unused async stack must be larger too."""
    c.wasmtime_config_async_stack_size_set(config.ptr(), size)
    config.max_wasm_stack = size


def define(
    linker: Linker, name: str, kind: FuncType, function: HostFunction, on_fault: Callable[[BaseException], None]
) -> object:
    """Make `function` the import `host.name`. Keep the returned object alive as long as the linker.

    `function` gets its arguments as unsigned integers and returns an unsigned integer if the import has a result.
    What it raises is given to `on_fault`, and the guest traps.
    """
    wide = [str(parameter) == "i64" for parameter in kind.params]
    masks = [0xFFFF_FFFF_FFFF_FFFF if is_wide else 0xFFFF_FFFF for is_wide in wide]
    outputs = [str(result) for result in kind.results]

    def entered(_env: object, _caller: object, args: Any, _nargs: int, results: Any, _nresults: int) -> int:
        try:
            numbers = [
                (args[i].of.i64 if is_wide else args[i].of.i32) & mask
                for i, (is_wide, mask) in enumerate(zip(wide, masks, strict=True))
            ]
            answer = function(*numbers)
            if outputs:
                result = results[0]
                result.kind = KINDS[outputs[0]]
                if outputs[0] == "i64":
                    result.of.i64 = ctypes.c_int64(answer or 0).value
                else:
                    result.of.i32 = ctypes.c_int32(answer or 0).value
        except BaseException as fault:
            on_fault(fault)
            return int(_trap_new(TRAP.encode(), len(TRAP)))
        return 0

    callback = c.wasmtime_func_callback_t(entered)
    error = c.wasmtime_linker_define_func(
        linker.ptr(),
        ctypes.create_string_buffer(b"host"),
        4,
        ctypes.create_string_buffer(name.encode()),
        len(name.encode()),
        kind.ptr(),
        callback,
        None,
        _no_finalizer,
    )
    if error:  # type: ignore[truthy-bool]  # a null pointer is false
        raise EngineError(str(WasmtimeError._from_ptr(error)))
    return callback


def watch(store: Store, tick: Tick) -> object:
    """Call `tick` at every epoch while the guest runs; "stop" ends the guest's step. Keep the returned object alive."""
    prototype = c._wasmtime_store_epoch_deadline_callback.argtypes

    def entered(context: Any, _data: object, delta: Any, kind: Any) -> int:
        try:
            delta[0], kind[0] = 1, 0
            # A nested call (an interrupt) must not be interrupted in turn; the deadline is set anew on return.
            c._wasmtime_context_set_epoch_deadline(context, NESTED)
            if tick(context) == "continue":
                return 0
        except BaseException:  # nothing could be done with it here, and going on without limits is worse than stopping
            return int(_error_new(b"the limits could not be checked"))
        return int(_error_new(STOPPED.encode()))

    callback = prototype[1](entered)
    c._wasmtime_store_epoch_deadline_callback(store.ptr(), callback, None, prototype[3]())
    store.set_epoch_deadline(1)
    return callback


def rearm(context: Any) -> None:
    """Look at the limits again at the next epoch, however far the deadline had been moved."""
    c._wasmtime_context_set_epoch_deadline(context, 1)


class Entry:
    """One exported function, called through structures that are prepared once. Not for two threads at once."""

    __slots__ = ("_count", "_func", "_result", "_results", "_values", "_wide")

    def __init__(self, function: Func, arguments: int, results: int, *, wide: bool) -> None:
        self._func = ctypes.byref(function._func)
        self._values = (c.wasmtime_val_t * max(arguments, 1))()
        for value in self._values:
            value.kind = KINDS["i32"]  # type: ignore[assignment]  # ctypes converts it
        self._count, self._results = arguments, results
        self._result = (c.wasmtime_val_t * 1)()
        self._wide = wide

    def __call__(self, context: Any, *arguments: int) -> int:
        """Call with 32-bit arguments. Returns the result as an unsigned integer, 0 if there is none; raises
        `WasmFault`.
        """
        values = self._values
        for index, argument in enumerate(arguments):
            values[index].of.i32 = argument if argument < 0x8000_0000 else argument - 0x1_0000_0000
        trap = ctypes.POINTER(c.wasm_trap_t)()
        error = c._wasmtime_func_call(
            context, self._func, values, self._count, self._result, self._results, ctypes.byref(trap)
        )
        if error or trap:  # type: ignore[truthy-bool]  # null pointers are false
            raise WasmFault(_message(error, trap))
        if self._wide:
            return int(self._result[0].of.i64) & 0xFFFF_FFFF_FFFF_FFFF
        return int(self._result[0].of.i32) & 0xFFFF_FFFF if self._results else 0


class WasmFault(Exception):
    """A call into the guest ended in a trap or was stopped. The instance must not be entered again."""


def _message(error: Any, trap: Any) -> str:
    text = c.wasm_byte_vec_t()
    if error:
        c.wasmtime_error_message(error, ctypes.byref(text))
        c.wasmtime_error_delete(error)
    else:
        c.wasm_trap_message(trap, ctypes.byref(text))
        c.wasm_trap_delete(trap)
    try:
        return ctypes.string_at(text.data, text.size).rstrip(b"\0").decode("utf-8", "replace")
    finally:
        c.wasm_byte_vec_delete(ctypes.byref(text))


def bind(exports: Mapping[str, object], name: str, arguments: int, results: int, *, wide: bool = False) -> Entry:
    """Prepare the exported function `name`. `wide` says that its result has 64 bits."""
    function = exports[name]
    if not isinstance(function, Func):
        raise EngineError(f"the image's export {name!r} is no function")
    return Entry(function, arguments, results, wide=wide)


class Fixed:
    """A 32-bit global that is put back to the value that it has now."""

    __slots__ = ("_global", "_value")

    def __init__(self, context: Any, number: Global) -> None:
        self._global = ctypes.byref(number._global)
        self._value = c.wasmtime_val_t()
        c._wasmtime_global_get(context, self._global, ctypes.byref(self._value))

    def put_back(self, context: Any) -> None:
        """Give the global its value again."""
        error = c._wasmtime_global_set(context, self._global, ctypes.byref(self._value))
        if error:
            raise WasmFault(_message(error, None))


def base_address(context: Any, memory: Memory) -> int:
    """Where the guest's memory lies in this process. It does not move (`memory_may_move` is off)."""
    return ctypes.addressof(c._wasmtime_memory_data(context, ctypes.byref(memory._memory)).contents)


def address_of(data: bytes) -> int:
    """Where the contents of a bytes object lie; right as long as the object is alive."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def size_of(context: Any, memory: Memory) -> int:
    """The memory's size now, in bytes."""
    return int(c._wasmtime_memory_data_size(context, ctypes.byref(memory._memory)))

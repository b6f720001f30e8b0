"""One guest: an instance of the image, entered on a thread of our own and never on the main thread.

`Template` is a loaded image, shared by all guests made of it. A `Guest` takes one frame per step and gives one back. It
is not for two threads at once, but each step may run on another thread. What it raises: `GuestStopped` (a limit),
`GuestCrashed` (a trap, a bad pointer, the interpreter's own end). After either the instance is not entered again: its
memory is put back into a fresh one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from pathlib import Path
from typing import Any, Final, Protocol, Self

from wasmtime import FuncType, Global, Linker, Memory, MemoryType, Module, Store, Trap, WasmtimeError

from . import capi, snapshot
from .engine import engine, ticker
from .errors import EngineError, GuestCrashed, GuestStopped
from .snapshot import Snapshot
from .world import World, current, function_for

__all__ = ["Guest", "Template", "Watch", "load"]

SIGINT: Final = 2
LETTERS: Final = {"i32": "i", "i64": "I"}


class Watch(Protocol):
    """Looked at every few milliseconds while the guest runs, on the guest's thread. It must not raise and must not
    wait.
    """

    def look(self) -> str:
        """One of "go on", "interrupt" (raise an exception in the guest) and "stop"."""


def _signature(kind: FuncType) -> str:
    arguments = "".join(LETTERS[str(parameter)] for parameter in kind.params)
    results = "".join(LETTERS[str(result)] for result in kind.results)
    return f"{arguments}>{results}" if results else arguments


class Template:
    """A compiled image with its imports answered. Instances of it start in half a millisecond."""

    def __init__(self, module: Module, *, image: str) -> None:
        self.image = image
        self._faults = threading.local()
        linker = Linker(engine())
        self._kept: list[object] = [linker]
        for imported in module.imports:
            kind = imported.type
            if imported.module != "host" or imported.name is None or not isinstance(kind, FuncType):
                raise EngineError(f"the image imports {imported.module}.{imported.name}, which is no host function")
            answer = function_for(imported.name, _signature(kind))
            self._kept.append(capi.define(linker, imported.name, kind, answer, self._keep_fault))
        self._pre = linker.instantiate_pre(module)
        self.exported = tuple(export.name for export in module.exports)
        self.smallest = min(
            export.type.limits.min * snapshot.WASM_PAGE
            for export in module.exports
            if isinstance(export.type, MemoryType)
        )

    @classmethod
    def open(cls, compiled: Path, *, image: str) -> Self:
        """Load a compiled image. The file must be one that we wrote: loading a foreign one is running it."""
        return cls(Module.deserialize_file(engine(), str(compiled)), image=image)

    def _keep_fault(self, fault: BaseException) -> None:
        self._faults.last = fault

    def take_fault(self) -> BaseException | None:
        """What a host function raised on this thread since the last time, if anything."""
        fault: BaseException | None = getattr(self._faults, "last", None)
        self._faults.last = None
        return fault

    def instantiate(self, store: Store) -> dict[str, Any]:
        """The exports of a new instance."""
        try:
            exports = self._pre.instantiate(store).exports(store)
        except (WasmtimeError, Trap) as error:
            raise EngineError(f"no further sandbox could be started: {error}") from error
        return {name: exports[name] for name in self.exported}

    def original(self, runs: tuple[tuple[int, int], ...]) -> bytes:
        """What a fresh instance has at these addresses, zeros where its memory has not grown to. Enters Wasm."""
        with contextlib.closing(Store(engine())) as store:
            store.set_epoch_deadline(capi.FAR)
            memory = self.instantiate(store)["memory"]
            context = store._context()
            base, size = capi.base_address(context, memory), capi.size_of(context, memory)
            return b"".join(
                [
                    ctypes.string_at(base + at, max(min(length, size - at), 0)).ljust(length, b"\0")
                    if at < size
                    else bytes(length)
                    for at, length in runs
                ]
            )

    @functools.cached_property
    def pristine(self) -> bytes | None:
        """The memory of a fresh instance, where the system does not tell which pages were written to; else None."""
        if snapshot.pagemap_available():
            return None
        with contextlib.closing(Store(engine())) as store:
            store.set_epoch_deadline(capi.FAR)
            memory = self.instantiate(store)["memory"]
            context = store._context()
            return ctypes.string_at(capi.base_address(context, memory), capi.size_of(context, memory))


_loading = threading.Lock()


def load(compiled: Path, image: str) -> Template:
    """The template of a compiled image, loaded once per process, whichever thread asks first."""
    with _loading:
        return _load(compiled, image)


@functools.lru_cache(maxsize=8)
def _load(compiled: Path, image: str) -> Template:
    return Template.open(compiled, image=image)


class Guest:
    """An instance. `memory_bytes` caps its memory; `world` is attached by the session before the first step."""

    def __init__(self, template: Template, *, memory_bytes: int) -> None:
        self.template = template
        self.world: World | None = None
        self._watch: Watch | None = None
        self._store = Store(engine())
        self._store.set_limits(memory_size=memory_bytes, instances=1, memories=1)
        self._tick = capi.watch(self._store, self._on_tick)
        self._context = self._store._context()
        if memory_bytes < template.smallest:
            raise EngineError(
                f"a memory limit of {memory_bytes:,} bytes is less than an interpreter with nothing in it takes "
                f"({template.smallest:,} bytes)"
            )
        exports = template.instantiate(self._store)
        memory = exports["memory"]
        if not isinstance(memory, Memory):
            raise EngineError("the image exports no memory")
        self._memory = memory
        self._base = capi.base_address(self._context, memory)
        self._size = capi.size_of(self._context, memory)
        self._globals: list[Global] = [value for value in exports.values() if isinstance(value, Global)]
        # The bindings leave their frame on the stack until they are told that the result was read, which is then freed
        # with it; but our results are not theirs to free. So the stack is put back to where it is at rest.
        self._stack = capi.Fixed(self._context, exports["stack_pointer"])
        self._step = capi.bind(exports, "step", 2, 1, wide=True)
        self._realloc = capi.bind(exports, "realloc", 4, 1)
        self._interrupt = capi.bind(exports, "interrupt", 1, 1)

    # Memory, for the world and for frames

    @property
    def size(self) -> int:
        """The memory's size in bytes."""
        self._size = capi.size_of(self._context, self._memory)
        return self._size

    def _check(self, pointer: int, size: int) -> None:
        # Memory only grows, so what fits the size seen last fits; ask again only when it does not.
        if pointer + size > self._size and pointer + size > self.size:
            raise GuestCrashed(f"the guest passed a bad pointer ({pointer:#x}, {size} bytes)")

    def read(self, pointer: int, size: int) -> bytes:
        """See `world.Memory`."""
        self._check(pointer, size)
        return ctypes.string_at(self._base + pointer, size)

    def write(self, pointer: int, data: bytes) -> None:
        """See `world.Memory`."""
        self._check(pointer, len(data))
        ctypes.memmove(self._base + pointer, data, len(data))

    def allocate(self, size: int) -> int:
        """See `world.Memory`."""
        return self._realloc(self._context, 0, 0, 8, size)

    # Running

    def step(self, frame: bytes, watch: Watch, *, max_frame: int) -> bytes:
        """Give the guest one frame and return the one it answers with, when everything in it waits."""
        if self.world is None:
            raise EngineError("a guest without a world cannot run")
        current.world, self._watch = self.world, watch
        try:
            with ticker():
                capi.rearm(self._context)
                pointer = self.allocate(len(frame))
                self.write(pointer, frame)
                result = self._step(self._context, pointer, len(frame))
                at, size = result >> 32, result & 0xFFFF_FFFF
                if size > max_frame:
                    raise GuestCrashed(f"the guest sent a frame of {size} bytes, and {max_frame} is the limit")
                answer = self.read(at, size)
                self._stack.put_back(self._context)
        except capi.WasmFault as fault:
            cause = self.template.take_fault()
            if isinstance(cause, GuestStopped):
                raise cause from None
            if capi.STOPPED in str(fault) or capi.STOPPED in str(cause):  # also in a call back into the guest
                raise GuestStopped("the guest was stopped") from None
            if isinstance(cause, GuestCrashed):
                raise cause from None
            if cause is not None:
                raise GuestCrashed(str(cause)) from cause
            raise GuestCrashed(f"the interpreter crashed: {_reason(str(fault))}") from None
        finally:
            self._watch = None
            del current.world
        return answer

    def _on_tick(self, context: Any) -> str:
        verdict = "go on" if self._watch is None else self._watch.look()
        if verdict == "interrupt":
            self._interrupt(context, SIGINT)
        return "stop" if verdict == "stop" else "continue"

    # A live interpreter as a value

    def snapshot(self) -> Snapshot:
        """What this guest is, between two steps."""
        size = self.size
        runs = snapshot.dirty_runs(self._base, size, self.template.pristine)
        pages = b"".join([ctypes.string_at(self._base + at, length) for at, length in runs])
        values = tuple(int(value.value(self._store)) for value in self._globals)
        return Snapshot(image=self.template.image, size=size, globals=values, runs=runs, pages=pages)

    @classmethod
    def of(cls, template: Template, taken: Snapshot, *, memory_bytes: int) -> Self:
        """A new guest that is what `taken` was."""
        guest = cls(template, memory_bytes=memory_bytes)
        try:
            guest._become(taken)
        except BaseException:
            guest.close()
            raise
        return guest

    def _become(self, taken: Snapshot) -> None:
        if len(taken.globals) != len(self._globals) or taken.size < self.size:
            raise EngineError("this snapshot does not fit the image")
        if missing := taken.size - self.size:
            try:
                self._memory.grow(self._store, missing // snapshot.WASM_PAGE)
            except WasmtimeError as error:
                raise EngineError(f"no memory for a copy of the session: {error}") from error
        if self.size < taken.size or any(at + length > taken.size for at, length in taken.runs):
            raise EngineError("this snapshot does not fit its own size")
        address, at = capi.address_of(taken.pages), 0
        for start, length in taken.runs:
            ctypes.memmove(self._base + start, address + at, length)
            at += length
        for target, value in zip(self._globals, taken.globals, strict=True):
            target.set_value(self._store, value)

    def close(self) -> None:
        """Give the memory back. Explicit, since a traceback could keep the store alive."""
        if self.world is not None or self._store is not None:
            self.world = None
            self._store.close()


def _reason(message: str) -> str:
    """Wasmtime's messages carry a backtrace of Wasm functions; the reason is what they were caused by."""
    cause = message.rpartition("Caused by:")[2].strip().splitlines()
    text = cause[0] if cause else "unknown"
    return text.partition(":")[2].strip() if text[:1].isdigit() else text.removeprefix("wasm trap: ").strip()

"""The guest's whole outside. This file is the security boundary.

No WASI implementation stands behind the guest. Every import of the image is in one of three tables: `ANSWERS` (clocks,
randomness, output, waiting, an empty environment), `FILES` (in `workspace`: those of the workspace that the session was
given, or none at all) or `REFUSALS` (in `sockets`: the interface's own error code). An image with any
other import is not loaded. Assume that the guest owns its own memory and calls any import with any arguments, at any
time during a step:

- A pointer or a size is a number until `Outside.memory` has checked it against the memory's current size.
- A resource handle is a number until it has been looked up. What the guest can make us keep is counted.
- Nothing is raised across the boundary: a fault becomes a trap, and the session says what happened.
- Nothing blocks here but a disk for a moment. Waiting is handed to the session, which trio can cancel.

Layouts of results follow the component model's canonical ABI; error codes are positions in the WIT enums of WASI 0.2.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Final, Protocol

from .clock import SECOND, Clock
from .errors import EngineError
from .sockets import IDLE, LISTENING, REFUSALS
from .workspace.files import Files
from .workspace.imports import ANSWERS as FILES
from .workspace.imports import answered, preopened

__all__ = [
    "ANSWERS",
    "FILES",
    "IDLE",
    "LISTENING",
    "REFUSALS",
    "BadGuest",
    "GuestExit",
    "Memory",
    "Outside",
    "Randomness",
    "World",
    "current",
    "function_for",
]

MAX_WAITS: Final = 1024  # pollables alive at once
MAX_RANDOM: Final = 1 << 20  # bytes in one request
MAX_READ: Final = 1 << 20  # bytes in one reading of a file
MAX_WRITE: Final = 1 << 20  # bytes in one write of raw output or to a file; the guest is told so by check-write
U32: Final = 0xFFFF_FFFF


class BadGuest(Exception):
    """The guest passed something that no working guest passes: a bad pointer, an unknown handle."""


class GuestExit(Exception):
    """The guest asked to exit: its runtime gave up."""


class Memory(Protocol):
    """The guest's memory, with every access checked."""

    def read(self, pointer: int, size: int) -> bytes:
        """The bytes there. Raises `BadGuest` outside of the memory."""

    def write(self, pointer: int, data: bytes) -> None:
        """Put bytes there. Raises `BadGuest` outside of the memory."""

    def allocate(self, size: int) -> int:
        """Room for `size` bytes from the guest's own allocator; its address."""


class Outside(Protocol):
    """What a session does for its guest, called on the guest's thread in the middle of a step."""

    def emit(self, frame: bytes) -> None:
        """An event that needs no answer."""

    def exchange(self, frame: bytes) -> bytes:
        """A blocking call: the frame that answers it."""

    def output(self, stream: str, data: bytes) -> None:
        """Raw output, not written through Python's streams."""

    def sleep(self, seconds: float) -> None:
        """Let that much time pass, less if the session is cancelled."""


class Randomness(Protocol):
    """Where random bytes come from: the operating system, or a seed."""

    def take(self, size: int) -> bytes:
        """`size` bytes."""


class World:
    """One guest's outside: its memory, clock, randomness and files, and the waits it has open."""

    __slots__ = ("_next", "_waits", "clock", "files", "memory", "outside", "randomness")

    def __init__(
        self,
        *,
        memory: Memory,
        outside: Outside,
        clock: Clock,
        randomness: Randomness,
        files: Files | None = None,
    ) -> None:
        self.memory, self.outside, self.clock, self.randomness = memory, outside, clock, randomness
        self.files = files or Files(None)
        self._waits: dict[int, int] = {}
        self._next = 0

    def put(self, pointer: int, layout: str, *values: object) -> None:
        """Write a packed result."""
        self.memory.write(pointer, struct.pack(layout, *values))

    def give(self, data: bytes, result: int) -> None:
        """Return a list<u8>: allocate it in the guest and store address and length."""
        pointer = self.memory.allocate(len(data)) if data else 0
        if data:
            self.memory.write(pointer, data)
        self.put(result, "<II", pointer, len(data))

    def wait_until(self, deadline: int) -> int:
        """A new pollable that is ready at `deadline` (monotonic, ns)."""
        if len(self._waits) >= MAX_WAITS:
            raise BadGuest("too many pollables")
        self._next = self._next % U32 + 1
        while self._next in self._waits:
            self._next = self._next % U32 + 1
        self._waits[self._next] = deadline
        return self._next

    def forget(self, handle: int) -> None:
        """Drop a pollable."""
        self._waits.pop(handle, None)

    def poll(self, handles: tuple[int, ...]) -> list[int]:
        """The positions of those that are ready. Waits for the first if none is."""
        try:
            deadlines = [self._waits[handle] for handle in handles]
        except KeyError:
            raise BadGuest("an unknown pollable") from None
        if not deadlines:
            raise BadGuest("polling nothing")
        first, now = min(deadlines), self.clock.monotonic()
        if first > now:
            self.outside.sleep((first - now) / SECOND)
            # A wait that was cut short counts as over: the guest then meets its interruption at the next bytecode.
            now = max(first, self.clock.monotonic())
        return [index for index, deadline in enumerate(deadlines) if deadline <= now]


class _Current(threading.local):
    """The world of the guest that runs on this thread. Host functions are shared by all guests of an image."""

    world: World


current = _Current()


# Answers. Each takes the world and the import's arguments as unsigned integers.


def _random(world: World, size: int, result: int) -> None:
    if size > MAX_RANDOM:
        raise BadGuest(f"{size} random bytes at once")
    world.give(world.randomness.take(size), result)


def _wall_clock(world: World, result: int) -> None:
    seconds, nanoseconds = divmod(world.clock.wall(), SECOND)
    world.put(result, "<QI", seconds, nanoseconds)


def _subscribe_instant(world: World, when: int) -> int:
    return world.wait_until(when)


def _subscribe_duration(world: World, duration: int) -> int:
    return world.wait_until(world.clock.monotonic() + duration)


def _block(world: World, handle: int) -> None:
    world.poll((handle,))


def _poll(world: World, pointer: int, count: int, result: int) -> None:
    if count > MAX_WAITS:
        raise BadGuest(f"polling {count} pollables at once")
    handles = struct.unpack(f"<{count}I", world.memory.read(pointer, count * 4))
    ready = world.poll(handles)
    data = struct.pack(f"<{len(ready)}I", *ready)
    address = world.memory.allocate(len(data))
    world.memory.write(address, data)
    world.put(result, "<II", address, len(ready))


STREAMS: Final = {1: "stdout", 2: "stderr"}
FILE: Final = 0  # the stream that the guest's last read-via-stream or write-via-stream asked for: see `Files`
STDIN: Final = 3
FAILED: Final = b"\1\0\0\0" + bytes(8)  # stream-error.last-operation-failed, with an error that nobody can ask


def _read(world: World, stream: int, size: int, result: int) -> None:
    try:
        data = world.files.read_next(min(size, MAX_READ)) if stream == FILE else b""
    except OSError:
        world.memory.write(result, FAILED)
        return
    if not data:
        _closed(world, result)
        return
    world.put(result, "<B", 0)
    world.give(data, result + 4)


def _write(world: World, stream: int, pointer: int, size: int, result: int) -> None:
    if size > MAX_WRITE:
        raise BadGuest(f"writing {size} bytes at once")
    data = world.memory.read(pointer, size)
    if stream in STREAMS:
        world.outside.output(STREAMS[stream], data)
        world.put(result, "<B", 0)
    elif stream == FILE:
        try:
            world.files.write_next(data)
        except OSError:
            world.memory.write(result, FAILED)
        else:
            world.put(result, "<B", 0)
    else:
        _closed(world, result)


def _check_write(world: World, stream: int, result: int) -> None:
    if stream in STREAMS:
        world.put(result, "<B7xQ", 0, MAX_WRITE)
    elif stream == FILE:
        world.put(result, "<B7xQ", 0, world.files.room)
    else:
        world.put(result, "<B7xB", 1, 1)


def _closed(world: World, result: int) -> None:
    """stream-error.closed: the end of input, or a stream that does not exist."""
    world.put(result, "<B3xB", 1, 1)


def _flush(world: World, _stream: int, result: int) -> None:
    world.put(result, "<B", 0)


def _empty_list(world: World, result: int) -> None:
    world.put(result, "<II", 0, 0)


def _directories(world: World, result: int) -> None:
    world.memory.write(result, preopened(world.memory))


def _none(world: World, result: int) -> None:
    """option.none: no terminal."""
    world.put(result, "<B", 0)


def _exit(_world: World, status: int) -> None:
    raise GuestExit(f"the interpreter exited (status {status})")


def _emit(world: World, pointer: int, size: int) -> None:
    world.outside.emit(world.memory.read(pointer, size))


def _call(world: World, pointer: int, size: int, result: int) -> None:
    world.give(world.outside.exchange(world.memory.read(pointer, size)), result)


def _drop(_world: World, _handle: int) -> None:
    """A handle of ours that holds nothing."""


ANSWERS: Final[dict[str, tuple[str, Callable[..., int | None]]]] = {
    "$root#emit": ("ii", _emit),
    "$root#call": ("iii", _call),
    "random/random#get-random-bytes": ("Ii", _random),
    "clocks/wall-clock#now": ("i", _wall_clock),
    "clocks/wall-clock#resolution": ("i", lambda world, result: world.put(result, "<QI", 0, 1)),
    "clocks/monotonic-clock#now": (">I", lambda world: world.clock.monotonic()),
    "clocks/monotonic-clock#resolution": (">I", lambda _world: 1),
    "clocks/monotonic-clock#subscribe-instant": ("I>i", _subscribe_instant),
    "clocks/monotonic-clock#subscribe-duration": ("I>i", _subscribe_duration),
    "io/poll#[method]pollable.block": ("i", _block),
    "io/poll#poll": ("iii", _poll),
    "io/poll#[resource-drop]pollable": ("i", lambda world, handle: world.forget(handle)),
    "io/streams#[method]input-stream.subscribe": ("i>i", lambda world, _stream: world.wait_until(0)),
    "io/streams#[method]output-stream.subscribe": ("i>i", lambda world, _stream: world.wait_until(0)),
    "io/streams#[method]input-stream.read": ("iIi", _read),
    "io/streams#[method]output-stream.check-write": ("ii", _check_write),
    "io/streams#[method]output-stream.write": ("iiii", _write),
    "io/streams#[method]output-stream.blocking-write-and-flush": ("iiii", _write),
    "io/streams#[method]output-stream.blocking-flush": ("ii", _flush),
    "cli/environment#get-environment": ("i", _empty_list),
    "cli/environment#get-arguments": ("i", _empty_list),
    "filesystem/preopens#get-directories": ("i", _directories),
    "filesystem/types#[resource-drop]descriptor": ("i", lambda world, handle: world.files.drop(handle)),
    "filesystem/types#[resource-drop]directory-entry-stream": ("i", lambda world, handle: world.files.drop(handle)),
    "cli/stdin#get-stdin": (">i", lambda _world: STDIN),
    "cli/stdout#get-stdout": (">i", lambda _world: 1),
    "cli/stderr#get-stderr": (">i", lambda _world: 2),
    "cli/terminal-stdin#get-terminal-stdin": ("i", _none),
    "cli/terminal-stdout#get-terminal-stdout": ("i", _none),
    "cli/terminal-stderr#get-terminal-stderr": ("i", _none),
    "cli/exit#exit": ("i", _exit),
    "sockets/instance-network#instance-network": (">i", lambda _world: 0),
    **{
        f"{interface}#[resource-drop]{resource}": ("i", _drop)
        for interface, resources in {
            "io/error": ("error",),
            "io/streams": ("input-stream", "output-stream"),
            "cli/terminal-input": ("terminal-input",),
            "cli/terminal-output": ("terminal-output",),
            "sockets/network": ("network",),
            "sockets/udp": ("udp-socket", "incoming-datagram-stream", "outgoing-datagram-stream"),
            "sockets/tcp": ("tcp-socket",),
            "sockets/ip-name-lookup": ("resolve-address-stream",),
        }.items()
        for resource in resources
    },
}
"""Import (interface#function, without package and version) -> (signature, answer).

A signature lists the arguments, then `>` and the result: i is an i32, I an i64."""


def plain_name(import_name: str) -> str:
    """`wasi:io/streams@0.2.9#x` -> `io/streams#x`."""
    interface, _, item = import_name.removeprefix("wasi:").partition("#")
    return f"{interface.partition('@')[0]}#{item}"


def function_for(import_name: str, signature: str) -> Callable[..., int | None]:
    """The host function that stands behind an import of the image, whose type is written as in `ANSWERS`.

    Raises `EngineError` if there is none: nothing is refused by accident.
    """
    name = plain_name(import_name)
    expected = ANSWERS[name][0] if name in ANSWERS else FILES[name][0] if name in FILES else signature
    if signature != expected:
        raise EngineError(f"the image imports {import_name} with the signature {signature}, not {expected}")
    if name in ANSWERS:
        answer = ANSWERS[name][1]
        return lambda *arguments: answer(current.world, *arguments)
    if name in FILES:
        return _of_files(*FILES[name][1:])
    if name in IDLE:
        return lambda *_: current.world.wait_until(0)
    if name == LISTENING:
        return lambda *_: 0
    if name in REFUSALS and signature.endswith("i") and ">" not in signature:
        code, offset = REFUSALS[name]
        refusal = struct.pack(f"<B{offset - 1}xB", 1, code)
        return lambda *arguments: current.world.memory.write(arguments[-1], refusal)
    raise EngineError(f"the image imports {import_name}, which the world does not know")


def _of_files(offset: int, answer: Callable[..., bytes]) -> Callable[..., None]:
    def function(*arguments: int) -> None:
        world = current.world
        answered(offset, answer, world.files, world.memory, arguments)

    return function

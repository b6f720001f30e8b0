"""The guest's whole outside. This file is the security boundary.

No WASI implementation stands behind the guest. Every import of the image is in one of two tables: `ANSWERS` (clocks,
randomness, output, waiting, an empty environment) or `REFUSALS` (files, sockets: the interface's own error code). An
image with any other import is not loaded. Assume that the guest owns its own memory and calls any import with any
arguments, at any time during a step:

- A pointer or a size is a number until `Outside.memory` has checked it against the memory's current size.
- A resource handle is a number until it has been looked up. What the guest can make us keep is counted.
- Nothing is raised across the boundary: a fault becomes a trap, and the session says what happened.
- Nothing blocks here. Waiting is handed to the session, which trio can cancel.

Layouts of results follow the component model's canonical ABI; error codes are positions in the WIT enums of WASI 0.2.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Final, Protocol

from .clock import SECOND, Clock
from .errors import EngineError

__all__ = [
    "ANSWERS",
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
MAX_WRITE: Final = 1 << 20  # bytes in one write of raw output; the guest is told so by check-write
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
    """One guest's outside: its memory, clock and randomness, and the waits it has open."""

    __slots__ = ("_next", "_waits", "clock", "memory", "outside", "randomness")

    def __init__(self, *, memory: Memory, outside: Outside, clock: Clock, randomness: Randomness) -> None:
        self.memory, self.outside, self.clock, self.randomness = memory, outside, clock, randomness
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


def _write(world: World, stream: int, pointer: int, size: int, result: int) -> None:
    if size > MAX_WRITE:
        raise BadGuest(f"writing {size} bytes at once")
    data = world.memory.read(pointer, size)
    if stream in STREAMS:
        world.outside.output(STREAMS[stream], data)
        world.put(result, "<B", 0)
    else:
        _closed(world, result)


def _check_write(world: World, stream: int, result: int) -> None:
    if stream in STREAMS:
        world.put(result, "<B7xQ", 0, MAX_WRITE)
    else:
        world.put(result, "<B7xB", 1, 1)


def _closed(world: World, result: int) -> None:
    """stream-error.closed: the end of input, or a stream that does not exist."""
    world.put(result, "<B3xB", 1, 1)


def _flush(world: World, _stream: int, result: int) -> None:
    world.put(result, "<B", 0)


def _empty_list(world: World, result: int) -> None:
    world.put(result, "<II", 0, 0)


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
    "io/streams#[method]input-stream.read": ("iIi", lambda world, _stream, _size, result: _closed(world, result)),
    "io/streams#[method]output-stream.check-write": ("ii", _check_write),
    "io/streams#[method]output-stream.write": ("iiii", _write),
    "io/streams#[method]output-stream.blocking-write-and-flush": ("iiii", _write),
    "io/streams#[method]output-stream.blocking-flush": ("ii", _flush),
    "cli/environment#get-environment": ("i", _empty_list),
    "cli/environment#get-arguments": ("i", _empty_list),
    "filesystem/preopens#get-directories": ("i", _empty_list),
    "cli/stdin#get-stdin": (">i", lambda _world: 0),
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
            "filesystem/types": ("descriptor", "directory-entry-stream"),
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


# Refusals: (error code, where it lies behind the tag byte: the alignment of the ok and error payloads).

FILES, SOCKETS = 31, 1  # filesystem error-code.not-permitted, network error-code.access-denied


def _methods(interface: str, resource: str, code: int, offsets: dict[int, str]) -> dict[str, tuple[int, int]]:
    return {
        f"{interface}#[method]{resource}.{method}": (code, offset)
        for offset, methods in offsets.items()
        for method in methods.split()
    }


REFUSALS: Final[dict[str, tuple[int, int]]] = {
    **_methods(
        "filesystem/types",
        "descriptor",
        FILES,
        {
            1: "advise sync-data get-flags get-type set-size set-times sync create-directory-at set-times-at link-at "
            "remove-directory-at rename-at symlink-at unlink-file-at",
            4: "read-via-stream write-via-stream append-via-stream read read-directory open-at readlink-at",
            8: "write stat stat-at metadata-hash metadata-hash-at",
        },
    ),
    **_methods("filesystem/types", "directory-entry-stream", FILES, {4: "read-directory-entry"}),
    **_methods(
        "sockets/udp",
        "udp-socket",
        SOCKETS,
        {
            1: "start-bind finish-bind unicast-hop-limit set-unicast-hop-limit set-receive-buffer-size "
            "set-send-buffer-size",
            4: "stream local-address remote-address",
            8: "receive-buffer-size send-buffer-size",
        },
    ),
    **_methods("sockets/udp", "incoming-datagram-stream", SOCKETS, {4: "receive"}),
    **_methods("sockets/udp", "outgoing-datagram-stream", SOCKETS, {8: "check-send send"}),
    **_methods(
        "sockets/tcp",
        "tcp-socket",
        SOCKETS,
        {
            1: "start-bind finish-bind start-connect start-listen finish-listen set-listen-backlog-size "
            "keep-alive-enabled set-keep-alive-enabled set-keep-alive-idle-time set-keep-alive-interval "
            "set-keep-alive-count hop-limit set-hop-limit set-receive-buffer-size set-send-buffer-size shutdown",
            4: "finish-connect accept local-address remote-address keep-alive-count",
            8: "keep-alive-idle-time keep-alive-interval receive-buffer-size send-buffer-size",
        },
    ),
    **_methods("sockets/ip-name-lookup", "resolve-address-stream", SOCKETS, {2: "resolve-next-address"}),
    "sockets/ip-name-lookup#resolve-addresses": (SOCKETS, 4),
    "sockets/udp-create-socket#create-udp-socket": (SOCKETS, 4),
    "sockets/tcp-create-socket#create-tcp-socket": (SOCKETS, 4),
}

IDLE: Final = {
    "sockets/udp#[method]udp-socket.subscribe",
    "sockets/udp#[method]incoming-datagram-stream.subscribe",
    "sockets/udp#[method]outgoing-datagram-stream.subscribe",
    "sockets/tcp#[method]tcp-socket.subscribe",
    "sockets/ip-name-lookup#[method]resolve-address-stream.subscribe",
}
"""Waiting on a socket that cannot exist: ready at once, and the next operation is refused."""

LISTENING: Final = "sockets/tcp#[method]tcp-socket.is-listening"


def plain_name(import_name: str) -> str:
    """`wasi:io/streams@0.2.9#x` -> `io/streams#x`."""
    interface, _, item = import_name.removeprefix("wasi:").partition("#")
    return f"{interface.partition('@')[0]}#{item}"


def function_for(import_name: str, signature: str) -> Callable[..., int | None]:
    """The host function that stands behind an import of the image, whose type is written as in `ANSWERS`.

    Raises `EngineError` if there is none: nothing is refused by accident.
    """
    name = plain_name(import_name)
    if name in ANSWERS:
        expected, answer = ANSWERS[name]
        if signature != expected:
            raise EngineError(f"the image imports {import_name} with the signature {signature}, not {expected}")
        return lambda *arguments: answer(current.world, *arguments)
    if name in IDLE:
        return lambda *_: current.world.wait_until(0)
    if name == LISTENING:
        return lambda *_: 0
    if name in REFUSALS and signature.endswith("i") and ">" not in signature:
        code, offset = REFUSALS[name]
        refusal = struct.pack(f"<B{offset - 1}xB", 1, code)
        return lambda *arguments: current.world.memory.write(arguments[-1], refusal)
    raise EngineError(f"the image imports {import_name}, which the world does not know")

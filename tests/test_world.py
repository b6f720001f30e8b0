"""The world: every import is answered or refused with its own code, every pointer is checked, nothing blocks."""

from __future__ import annotations

import struct

import pytest

from sandbox import world
from sandbox.clock import VIRTUAL_START, RealClock, VirtualClock
from sandbox.errors import EngineError, GuestCrashed
from sandbox.randomness import SeededRandomness, SystemRandomness
from sandbox.world import (
    ANSWERS,
    FILES,
    IDLE,
    LISTENING,
    MAX_RANDOM,
    MAX_WAITS,
    MAX_WRITE,
    REFUSALS,
    BadGuest,
    GuestExit,
    World,
)

RESULT = 16
ROOM = 4096


class Bytes:
    """A guest's memory, checked as the real one is."""

    def __init__(self) -> None:
        self.data = bytearray(b"\xee" * ROOM)
        self.next = 1024

    def read(self, pointer: int, size: int) -> bytes:
        if pointer + size > len(self.data):
            raise GuestCrashed("a bad pointer")
        return bytes(self.data[pointer : pointer + size])

    def write(self, pointer: int, data: bytes) -> None:
        if pointer + len(data) > len(self.data):
            raise GuestCrashed("a bad pointer")
        self.data[pointer : pointer + len(data)] = data

    def allocate(self, size: int) -> int:
        self.next += size
        return self.next - size


class Recorder:
    """An outside that writes down what it was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def emit(self, frame: bytes) -> None:
        self.seen.append(("emit", frame))

    def exchange(self, frame: bytes) -> bytes:
        self.seen.append(("exchange", frame))
        return frame[::-1]

    def output(self, stream: str, data: bytes) -> None:
        self.seen.append((stream, data))

    def sleep(self, seconds: float) -> None:
        self.seen.append(("sleep", seconds))


@pytest.fixture
def guest():
    here = World(memory=Bytes(), outside=Recorder(), clock=VirtualClock(), randomness=SeededRandomness(1))
    world.current.world = here
    yield here
    del world.current.world


def call(name: str, *arguments: int) -> int | None:
    """Call an import by its plain name, with the signature that it should have."""
    signature = ANSWERS[name][0] if name in ANSWERS else "i" * len(arguments)
    return world.function_for(f"wasi:{name}" if "$" not in name else name, signature)(*arguments)


def at(guest: World, pointer: int, layout: str) -> tuple[int, ...]:
    return struct.unpack(layout, guest.memory.read(pointer, struct.calcsize(layout)))


class TestTable:
    def test_an_import_that_the_world_does_not_know_is_not_loaded(self) -> None:
        """Nothing is refused by accident."""
        with pytest.raises(EngineError, match="which the world does not know"):
            world.function_for("wasi:http/outgoing-handler@0.2.9#handle", "iii")

    def test_an_import_with_another_signature_is_not_loaded(self) -> None:
        """A newer interface may have moved an argument."""
        with pytest.raises(EngineError, match="with the signature iiii, not Ii"):
            world.function_for("wasi:random/random@0.2.9#get-random-bytes", "iiii")

    def test_versions_do_not_matter(self) -> None:
        """The same interface comes in two versions in one image."""
        assert world.plain_name("wasi:io/poll@0.2.0#[resource-drop]pollable") == "io/poll#[resource-drop]pollable"
        assert world.plain_name("$root#emit") == "$root#emit"

    @pytest.mark.parametrize("name", sorted(REFUSALS))
    def test_a_refusal_writes_the_error_tag_and_the_interfaces_own_code(self, guest: World, name: str) -> None:
        """Tag 1 first, the code where the payload's alignment puts it, and nothing else."""
        code, offset = REFUSALS[name]
        assert call(name, 3, RESULT) is None
        written = guest.memory.read(RESULT, 16)
        assert written[0] == 1
        assert written[offset] == code
        assert written[offset + 1 :] == b"\xee" * (15 - offset)

    @pytest.mark.parametrize("name", sorted(REFUSALS))
    def test_a_refusal_with_a_bad_pointer_is_a_fault(self, guest: World, name: str) -> None:
        """The result pointer is checked like any other."""
        with pytest.raises(GuestCrashed):
            call(name, 3, 0xFFFF_FFF0)

    @pytest.mark.parametrize("name", sorted(IDLE))
    def test_waiting_on_a_socket_is_over_at_once(self, guest: World, name: str) -> None:
        """The operation after it is then refused; a wait would never end."""
        handle = world.function_for(f"wasi:{name}", "i>i")(3)
        assert handle is not None
        assert guest.poll((handle,)) == [0]

    def test_no_socket_listens(self) -> None:
        """is-listening has no error to give."""
        assert world.function_for(f"wasi:{LISTENING}", "i>i")(3) == 0


class TestPointers:
    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("$root#emit", (ROOM - 1, 2)),
            ("$root#call", (ROOM, 1, RESULT)),
            ("$root#call", (0, 8, ROOM - 4)),
            ("random/random#get-random-bytes", (8, ROOM - 4)),
            ("clocks/wall-clock#now", (ROOM - 8,)),
            ("clocks/wall-clock#resolution", (ROOM - 8,)),
            ("io/streams#[method]output-stream.write", (1, ROOM - 1, 2, RESULT)),
            ("io/streams#[method]output-stream.write", (1, 0, 2, ROOM)),
            ("io/streams#[method]output-stream.check-write", (1, ROOM - 8)),
            ("io/streams#[method]input-stream.read", (0, 8, ROOM - 2)),
            ("cli/environment#get-environment", (ROOM - 4,)),
            ("cli/environment#get-arguments", (0xFFFF_FFFF,)),
            ("filesystem/preopens#get-directories", (ROOM - 4,)),
            ("io/streams#[method]output-stream.write", (0, ROOM - 1, 2, RESULT)),
            ("io/streams#[method]output-stream.check-write", (0, ROOM - 8)),
            ("cli/terminal-stdin#get-terminal-stdin", (ROOM,)),
            ("io/poll#poll", (ROOM - 3, 1, RESULT)),
        ],
    )
    def test_a_pointer_outside_of_memory_is_a_fault(self, guest: World, name: str, arguments: tuple[int, ...]) -> None:
        """Whichever argument it is."""
        with pytest.raises(GuestCrashed):
            call(name, *arguments)

    def test_a_good_pointer_at_the_very_end_is_good(self, guest: World) -> None:
        """The check is exact."""
        call("cli/environment#get-environment", ROOM - 8)
        assert at(guest, ROOM - 8, "<II") == (0, 0)


class TestBudgets:
    def test_too_many_random_bytes(self, guest: World) -> None:
        """Nothing is allocated for them."""
        with pytest.raises(BadGuest, match="random bytes at once"):
            call("random/random#get-random-bytes", MAX_RANDOM + 1, RESULT)

    def test_too_much_output_at_once(self, guest: World) -> None:
        """check-write says how much is allowed."""
        call("io/streams#[method]output-stream.check-write", 1, RESULT)
        assert at(guest, RESULT, "<B7xQ") == (0, MAX_WRITE)
        with pytest.raises(BadGuest, match="at once"):
            call("io/streams#[method]output-stream.write", 1, 0, MAX_WRITE + 1, RESULT)

    def test_too_many_pollables_alive(self, guest: World) -> None:
        """Dropping one makes room."""
        handles = [call("clocks/monotonic-clock#subscribe-duration", 1) or 0 for _ in range(MAX_WAITS)]
        assert len(set(handles)) == MAX_WAITS
        with pytest.raises(BadGuest, match="too many pollables"):
            call("clocks/monotonic-clock#subscribe-duration", 1)
        call("io/poll#[resource-drop]pollable", handles[0])
        assert call("clocks/monotonic-clock#subscribe-duration", 1)

    def test_polling_too_many_at_once(self, guest: World) -> None:
        """The list is not even read."""
        with pytest.raises(BadGuest, match="at once"):
            call("io/poll#poll", 0, MAX_WAITS + 1, RESULT)

    def test_an_unknown_pollable(self, guest: World) -> None:
        """Handles are looked up, never trusted."""
        with pytest.raises(BadGuest, match="an unknown pollable"):
            call("io/poll#[method]pollable.block", 77)

    def test_polling_nothing_would_wait_forever(self, guest: World) -> None:
        """So it is a fault."""
        with pytest.raises(BadGuest, match="polling nothing"):
            call("io/poll#poll", 0, 0, RESULT)


class TestAnswers:
    def test_waiting_is_handed_out_and_never_done_here(self, guest: World) -> None:
        """The wait's remaining time goes to the session; the first pollable that is due comes back."""
        late = call("clocks/monotonic-clock#subscribe-duration", 5_000_000_000) or 0
        soon = call("clocks/monotonic-clock#subscribe-duration", 2_000_000_000) or 0
        guest.memory.write(0, struct.pack("<II", late, soon))
        call("io/poll#poll", 0, 2, RESULT)
        ((what, seconds),) = guest.outside.seen  # type: ignore[attr-defined]
        assert what == "sleep"
        assert seconds == pytest.approx(2, abs=0.001)
        pointer, count = at(guest, RESULT, "<II")
        assert (count, at(guest, pointer, "<I")) == (1, (1,))

    def test_output_is_told_apart_by_stream(self, guest: World) -> None:
        """And output to a stream that does not exist is refused as closed."""
        guest.memory.write(0, b"hello")
        for stream in (1, 2, 0, 9):
            call("io/streams#[method]output-stream.write", stream, 0, 5, RESULT)
            assert at(guest, RESULT, "<B") == (0 if stream in (1, 2) else 1,)
        assert guest.outside.seen == [("stdout", b"hello"), ("stderr", b"hello")]  # type: ignore[attr-defined]

    def test_input_is_at_its_end(self, guest: World) -> None:
        """stream-error.closed."""
        stdin = call("cli/stdin#get-stdin")
        assert stdin is not None
        call("io/streams#[method]input-stream.read", stdin, 100, RESULT)
        assert at(guest, RESULT, "<B3xB") == (1, 1)

    def test_there_is_no_file_without_a_workspace(self, guest: World) -> None:
        """Every answer about files is an error of the interface's own: no such file, or no such descriptor."""
        guest.memory.write(1, b"a")  # a path, and everything else is 1 as well
        for name, (signature, offset, _) in FILES.items():
            function = world.function_for(f"wasi:{name}", signature)
            for handle in (0, 1, 2, 77, 0xFFFF_FFFF):
                assert function(handle, *[1] * (len(signature) - 2), RESULT) is None
                written = guest.memory.read(RESULT, 16)
                assert written[0] == 1, name
                assert written[offset] in (3, 20, 31), name  # bad-descriptor, no-entry, not-permitted
        assert guest.outside.seen == []  # type: ignore[attr-defined]

    def test_exit_is_a_fault_with_the_status(self, guest: World) -> None:
        """The interpreter gave up; nothing returns to it."""
        with pytest.raises(GuestExit, match="status 1"):
            call("cli/exit#exit", 1)

    def test_frames_go_out_and_answers_come_back(self, guest: World) -> None:
        """emit gives nothing back, call gives a list<u8>."""
        guest.memory.write(0, b"abc")
        call("$root#emit", 0, 3)
        call("$root#call", 0, 3, RESULT)
        pointer, size = at(guest, RESULT, "<II")
        assert guest.memory.read(pointer, size) == b"cba"

    def test_an_empty_answer_allocates_nothing(self, guest: World) -> None:
        """Its pointer is null."""
        call("$root#call", 0, 0, RESULT)
        assert at(guest, RESULT, "<II") == (0, 0)


class TestTimeAndChance:
    def test_seeded_randomness_repeats_and_continues(self) -> None:
        """Its state is one number."""
        first, again = SeededRandomness(7), SeededRandomness(7)
        head = first.take(40)
        assert again.take(40) == head
        assert SeededRandomness(7, drawn=first.drawn).take(10) == again.take(10)
        assert SeededRandomness(8).take(40) != head

    def test_system_randomness_does_not_repeat(self) -> None:
        """It is the operating system's."""
        assert SystemRandomness().take(32) != SystemRandomness().take(32)

    def test_a_virtual_clock_moves_by_sleeping(self) -> None:
        """And by a little with each look, so that a loop that waits for time to pass ends."""
        clock = VirtualClock()
        assert clock.wall() - VIRTUAL_START < 10_000
        clock.slept(3600)
        assert 3_600_000_000_000 < clock.monotonic() < 3_600_000_010_000

    def test_a_real_clock_follows_trios_and_never_goes_back(self) -> None:
        """A test clock that jumps is seen to jump; a session that moved to another process goes on where it was."""
        clock = RealClock(start=5_000_000_000)
        clock.enter(100.0)
        first = clock.monotonic()
        assert 5_000_000_000 <= first < 6_000_000_000
        clock.enter(160.0)
        assert clock.monotonic() >= 65_000_000_000
        clock.enter(160.0)
        assert clock.monotonic() >= 65_000_000_000

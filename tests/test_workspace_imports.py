"""The imports of wasi:filesystem as a hostile guest calls them: any handle, any pointer, any size, any flags."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import world
from sandbox.clock import VirtualClock
from sandbox.errors import GuestCrashed
from sandbox.randomness import SeededRandomness
from sandbox.workspace import Files, Workspace, WorkspaceLimits
from sandbox.workspace.files import ROOT
from sandbox.workspace.imports import ANSWERS
from sandbox.world import MAX_WRITE, BadGuest, World

from .test_world import RESULT, ROOM, Bytes, Recorder, at

PATH = 256
LAST = 0xFFFF_FFFF
BAD, EXISTS, TOO_LONG, INVALID, IS_FOLDER, NO_ENTRY, FULL, NO_FOLDER, DENIED = 3, 7, 18, 12, 14, 20, 23, 24, 31
QUOTA, TEXT = 6, 9
CREATE, FOLDER, EXCLUSIVE, TRUNCATE = 1, 2, 4, 8
READ, WRITE = 1, 2


class Memory(Bytes):
    """A guest's memory, with a piece for allocations that is used again and again."""

    def allocate(self, size: int) -> int:
        if size > ROOM - 1024:
            raise GuestCrashed("no memory")
        if self.next + size > ROOM:
            self.next = 1024
        return super().allocate(size)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "shared").mkdir()
    limits = WorkspaceLimits(total_bytes=1000, entries=20, open_files=8)
    with Workspace(tmp_path / "shared", limits=limits) as made:
        yield made


@pytest.fixture
def guest(workspace: Workspace) -> Iterator[World]:
    """The world of a guest with an empty workspace."""
    here = World(
        memory=Memory(),
        outside=Recorder(),
        clock=VirtualClock(),
        randomness=SeededRandomness(1),
        files=Files(workspace),
    )
    world.current.world = here
    yield here
    del world.current.world


def raw(name: str, *arguments: int) -> None:
    """Call an import of this interface with all its arguments."""
    full = next(known for known in ANSWERS if known.endswith(f".{name}"))
    assert world.function_for(f"wasi:{full}", ANSWERS[full][0])(*arguments) is None


def call(guest: World, name: str, *arguments: int) -> int | None:
    """Call it, and the error code that comes back, or None."""
    offset = next(answer[1] for known, answer in ANSWERS.items() if known.endswith(f".{name}"))
    raw(name, *arguments, RESULT)
    tag, code = guest.memory.read(RESULT, 1)[0], guest.memory.read(RESULT + offset, 1)[0]
    assert tag in (0, 1)
    return code if tag else None


def path(guest: World, text: str | bytes) -> tuple[int, int]:
    """Put a path there; its address and length."""
    data = text if isinstance(text, bytes) else text.encode()
    guest.memory.write(PATH, data)
    return PATH, len(data)


def opened(guest: World, name: str, how: int = CREATE, access: int = READ | WRITE) -> int:
    assert call(guest, "open-at", ROOT, 0, *path(guest, name), how, access) is None
    return at(guest, RESULT + 4, "<I")[0]


class TestLayouts:
    def test_get_directories_gives_the_root(self, guest: World) -> None:
        """One pair of a handle and a name."""
        world.function_for("wasi:filesystem/preopens#get-directories", "i")(RESULT)
        pointer, count = at(guest, RESULT, "<II")
        handle, name, size = at(guest, pointer, "<III")
        assert (count, handle, guest.memory.read(name, size)) == (1, ROOT, b"/workspace")

    def test_what_is_written_is_read_and_described(self, guest: World) -> None:
        """By descriptor.write and read, stat and stat-at, flags and type."""
        handle = opened(guest, "a.txt")
        guest.memory.write(512, b"hello")
        assert call(guest, "write", handle, 512, 5, 2) is None
        assert at(guest, RESULT, "<B7xQ") == (0, 5)
        assert call(guest, "read", handle, 100, 1) is None
        _, pointer, size, end = at(guest, RESULT, "<B3xII?")
        assert (guest.memory.read(pointer, size), end) == (b"\0hello", False)
        assert call(guest, "read", handle, 100, 7) is None
        assert at(guest, RESULT, "<B3xII?") == (0, 0, 0, True)
        for name, arguments in (("stat", (handle,)), ("stat-at", (ROOT, 0, *path(guest, "a.txt")))):
            assert call(guest, name, *arguments) is None
            _, kind, links, length, some, seconds, nanoseconds = at(guest, RESULT, "<B7xB7xQQB7xQI")
            assert (kind, links, length, some) == (6, 1, 7, 1)
            assert seconds > 1_700_000_000
            assert nanoseconds < 1_000_000_000
        assert call(guest, "get-flags", handle) is None
        assert at(guest, RESULT, "<BB") == (0, READ | WRITE)
        assert call(guest, "get-type", ROOT) is None
        assert at(guest, RESULT, "<BB") == (0, 3)

    def test_names_come_one_by_one(self, guest: World) -> None:
        """With their kind, and none after the last."""
        opened(guest, "b")
        assert call(guest, "create-directory-at", ROOT, *path(guest, "a")) is None
        assert call(guest, "read-directory", ROOT) is None
        listing = at(guest, RESULT + 4, "<I")[0]
        for kind, name in ((3, b"a"), (6, b"b")):
            assert call(guest, "read-directory-entry", listing) is None
            _, some, seen, pointer, size = at(guest, RESULT, "<B3xB3xB3xII")
            assert (some, seen, guest.memory.read(pointer, size)) == (1, kind, name)
        assert call(guest, "read-directory-entry", listing) is None
        assert at(guest, RESULT, "<B3xB") == (0, 0)

    def test_streams_are_asked_for_each_time(self, guest: World) -> None:
        """They are all called 0, and go on where they are."""
        handle = opened(guest, "a.txt")
        guest.memory.write(512, b"hello")
        assert call(guest, "write-via-stream", handle, 0) is None
        assert at(guest, RESULT, "<B3xI") == (0, 0)
        check = world.function_for("wasi:io/streams#[method]output-stream.check-write", "ii")
        write = world.function_for("wasi:io/streams#[method]output-stream.write", "iiii")
        read = world.function_for("wasi:io/streams#[method]input-stream.read", "iIi")
        check(0, RESULT)
        assert at(guest, RESULT, "<B7xQ") == (0, 1000)
        write(0, 512, 5, RESULT)
        write(0, 512, 1, RESULT)
        assert at(guest, RESULT, "<B") == (0,)
        assert call(guest, "append-via-stream", handle) is None
        write(0, 513, 1, RESULT)
        assert call(guest, "read-via-stream", handle, 1) is None
        for wanted, expected in ((3, b"ell"), (1 << 40, b"ohe")):
            read(0, wanted, RESULT)
            tag, pointer, size = at(guest, RESULT, "<B3xII")
            assert (tag, guest.memory.read(pointer, size)) == (0, expected)
        read(0, 10, RESULT)
        assert at(guest, RESULT, "<B3xB") == (1, 1)  # closed: the end


class TestHostile:
    @pytest.mark.parametrize("handle", [0, 2, 77, 0x8000_0000, LAST])
    @pytest.mark.parametrize("name", sorted(known.rpartition(".")[2] for known in ANSWERS))
    def test_a_handle_that_stands_for_nothing(self, guest: World, name: str, handle: int) -> None:
        """A code, never a fault: a guest that went on elsewhere may hold one. Nothing is done."""
        guest.memory.write(1, b"a")  # a path, and everything else is 1 as well
        signature = next(answer[0] for known, answer in ANSWERS.items() if known.endswith(f".{name}"))
        code = call(guest, name, handle, *[1] * (len(signature) - 2))
        assert code == (DENIED if name in ("link-at", "symlink-at") else BAD)

    @pytest.mark.parametrize("name", sorted(known.rpartition(".")[2] for known in ANSWERS))
    def test_a_result_outside_of_memory_is_a_fault(self, guest: World, name: str) -> None:
        """The result's address is checked like any other."""
        guest.memory.write(1, b"a")
        signature = next(answer[0] for known, answer in ANSWERS.items() if known.endswith(f".{name}"))
        for result in (ROOM, LAST):
            with pytest.raises(GuestCrashed):
                raw(name, ROOT, *[1] * (len(signature) - 2), result)

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("open-at", (ROOT, 0, ROOM - 1, 2, CREATE, WRITE)),
            ("stat-at", (ROOT, 0, LAST, 1)),
            ("metadata-hash-at", (ROOT, 0, ROOM, 1)),
            ("create-directory-at", (ROOT, LAST, 100)),
            ("remove-directory-at", (ROOT, LAST, 100)),
            ("unlink-file-at", (ROOT, LAST, 100)),
            ("rename-at", (ROOT, LAST, 1, ROOT, 0, 1)),
            ("readlink-at", (ROOT, LAST, 1)),
            ("set-times-at", (ROOT, 0, LAST, 1, 0, 0, 0, 0, 0, 0)),
        ],
    )
    def test_a_path_outside_of_memory_is_a_fault(self, guest: World, name: str, arguments: tuple[int, ...]) -> None:
        """Whichever function reads it."""
        with pytest.raises(GuestCrashed):
            raw(name, *arguments, RESULT)

    def test_data_outside_of_memory_is_a_fault(self, guest: World) -> None:
        """Nothing is written then."""
        handle = opened(guest, "a")
        with pytest.raises(GuestCrashed):
            raw("write", handle, ROOM - 1, 2, 0, RESULT)
        assert call(guest, "write-via-stream", handle, 0) is None
        with pytest.raises(GuestCrashed):
            world.function_for("wasi:io/streams#[method]output-stream.write", "iiii")(0, ROOM - 1, 2, RESULT)
        assert guest.files.stat(handle).st_size == 0

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            (b"a\0b", INVALID),
            (b"\xff", TEXT),
            (b"\xed\xa0\x80", TEXT),
            (b"a\nb", TEXT),
            (b"../secret", DENIED),
            (b"/secret", DENIED),
            (b"x/../../secret", DENIED),
            (b"..", DENIED),
            (b"", NO_ENTRY),
            (b"x" * 201, TOO_LONG),
            (b"a/" * 40 + b"a", TOO_LONG),
        ],
    )
    def test_a_path_that_is_none(self, guest: World, text: bytes, code: int) -> None:
        """Each is refused by its own code, for reading and for writing."""
        assert call(guest, "create-directory-at", ROOT, *path(guest, "x")) is None
        for how, access in ((0, READ), (CREATE | TRUNCATE, WRITE), (FOLDER, READ)):
            assert call(guest, "open-at", ROOT, 1, *path(guest, text), how, access) == code
        assert call(guest, "stat-at", ROOT, 1, *path(guest, text)) == code
        assert call(guest, "create-directory-at", ROOT, *path(guest, text)) == code

    def test_a_path_of_four_gigabytes_is_not_read(self, guest: World) -> None:
        """Its length is looked at first."""
        assert call(guest, "open-at", ROOT, 0, 0, LAST, 0, READ) == TOO_LONG

    def test_flags_that_nobody_knows(self, guest: World) -> None:
        """Refused, not ignored."""
        for how, access in ((16, READ), (LAST, READ), (0, 64), (0, LAST)):
            assert call(guest, "open-at", ROOT, 0, *path(guest, "a"), how, access) == INVALID

    def test_what_a_file_was_not_opened_for(self, guest: World) -> None:
        """The host's own descriptor may do more than the guest's."""
        opened(guest, "a")
        reading, writing = opened(guest, "a", 0, READ), opened(guest, "a", 0, WRITE)
        for name, arguments in (("write", (0, 1, 0)), ("write-via-stream", (0,)), ("append-via-stream", ())):
            assert call(guest, name, reading, *arguments) == BAD
        assert call(guest, "set-size", reading, 0) == BAD
        assert call(guest, "set-times", reading, 1, 0, 0, 1, 0, 0) == BAD
        assert call(guest, "read", writing, 1, 0) == BAD
        assert call(guest, "read-via-stream", writing, 0) == BAD
        neither = opened(guest, "a", 0, 0)
        assert call(guest, "read", neither, 1, 0) == BAD
        assert call(guest, "write", neither, 0, 1, 0) == BAD

    def test_a_file_is_no_folder_and_a_folder_no_file(self, guest: World) -> None:
        """Handles of one kind are none of the other."""
        file = opened(guest, "a")
        assert call(guest, "open-at", file, 0, *path(guest, "b"), CREATE, WRITE) == NO_FOLDER
        assert call(guest, "read-directory", file) == NO_FOLDER
        assert call(guest, "read-directory-entry", file) == BAD
        assert call(guest, "read-directory-entry", ROOT) == BAD
        assert call(guest, "read", ROOT, 1, 0) == IS_FOLDER
        assert call(guest, "write-via-stream", ROOT, 0) == IS_FOLDER
        assert call(guest, "set-size", ROOT, 0) == IS_FOLDER
        assert call(guest, "read-directory", ROOT) is None
        listing = at(guest, RESULT + 4, "<I")[0]
        assert call(guest, "stat", listing) == BAD
        assert call(guest, "open-at", listing, 0, *path(guest, "b"), CREATE, WRITE) == BAD

    def test_numbers_beyond_all_files(self, guest: World) -> None:
        """Offsets and sizes of 64 bits, times that no file has."""
        handle = opened(guest, "a")
        huge = (1 << 64) - 1
        assert call(guest, "read", handle, huge, huge) is None
        assert at(guest, RESULT, "<B3xII?") == (0, 0, 0, True)
        assert call(guest, "write", handle, 0, 1, huge) == FULL
        assert call(guest, "set-size", handle, huge) == FULL
        assert call(guest, "write-via-stream", handle, huge) == FULL
        assert call(guest, "read-via-stream", handle, huge) is None
        for kind, seconds, nanoseconds in ((3, 0, 0), (LAST, 0, 0), (2, huge, 0), (2, 0, 1_000_000_000)):
            assert call(guest, "set-times", handle, kind, seconds, nanoseconds, 0, 0, 0) == INVALID
            arguments = (ROOT, 0, *path(guest, "a"), 0, 0, 0, kind, seconds, nanoseconds)
            assert call(guest, "set-times-at", *arguments) == INVALID
        assert call(guest, "advise", handle, huge, huge, LAST) is None

    def test_there_are_no_links(self, guest: World, workspace: Workspace) -> None:
        """None are made, whatever they would point to; and none are read."""
        opened(guest, "a")
        assert call(guest, "symlink-at", ROOT, *path(guest, "/etc/passwd"), PATH, 1) == DENIED
        assert call(guest, "link-at", ROOT, 0, *path(guest, "a"), ROOT, PATH, 1) == DENIED
        assert call(guest, "readlink-at", ROOT, *path(guest, "a")) == INVALID
        assert workspace.used.entries == 1

    def test_streams_without_a_file(self, guest: World) -> None:
        """Nobody has asked for one, or the file is closed by now."""
        check = world.function_for("wasi:io/streams#[method]output-stream.check-write", "ii")
        write = world.function_for("wasi:io/streams#[method]output-stream.write", "iiii")
        read = world.function_for("wasi:io/streams#[method]input-stream.read", "iIi")
        drop = world.function_for("wasi:filesystem/types#[resource-drop]descriptor", "i")
        for _ in range(2):
            write(0, 0, 1, RESULT)
            assert at(guest, RESULT, "<B3xB") == (1, 0)  # last-operation-failed
            read(0, 1, RESULT)
            assert at(guest, RESULT, "<B3xB") == (1, 0)
            check(0, RESULT)
            assert guest.memory.read(RESULT, 1) == b"\0"
            handle = opened(guest, "a")
            assert call(guest, "write-via-stream", handle, 0) is None
            assert call(guest, "read-via-stream", handle, 0) is None
            drop(handle)
        for stream in (3, 4, 77, LAST):
            read(stream, 1, RESULT)
            assert at(guest, RESULT, "<B3xB") == (1, 1)  # closed
            write(stream, 0, 1, RESULT)
            assert at(guest, RESULT, "<B3xB") == (1, 1)

    def test_a_stream_that_is_written_beyond_what_it_may(self, guest: World, workspace: Workspace) -> None:
        """check-write says how much; more is written as far as it fits, and is an error."""
        handle = opened(guest, "a")
        assert call(guest, "write-via-stream", handle, 0) is None
        write = world.function_for("wasi:io/streams#[method]output-stream.write", "iiii")
        write(0, 0, 1500, RESULT)
        assert at(guest, RESULT, "<B3xB") == (1, 0)
        assert workspace.used.bytes == 1000
        with pytest.raises(BadGuest, match="at once"):
            write(0, 0, MAX_WRITE + 1, RESULT)

    def test_a_full_workspace_has_a_code_and_a_sentence(self, guest: World) -> None:
        """The code where the stream is asked for; the sentence is kept for the outcome."""
        handle = opened(guest, "a")
        assert call(guest, "set-size", handle, 1000) is None
        assert call(guest, "write-via-stream", handle, 1000) == FULL
        assert call(guest, "append-via-stream", handle) == FULL
        assert guest.files.refusal == (errno.ENOSPC, "the workspace may hold 1,000 bytes")

    def test_no_more_is_kept_than_a_session_may_have(self, guest: World) -> None:
        """Handles are counted, dropped ones no longer; dropping what is not there is no matter."""
        handles = [opened(guest, "a") for _ in range(8)]
        assert call(guest, "open-at", ROOT, 0, *path(guest, "a"), 0, READ) == QUOTA
        assert call(guest, "read-directory", ROOT) == QUOTA
        drop = world.function_for("wasi:filesystem/types#[resource-drop]directory-entry-stream", "i")
        for handle in (handles[0], handles[0], ROOT, 0, LAST):
            drop(handle)
        assert opened(guest, "a") not in handles

    @settings(max_examples=150)
    @given(data=st.data())
    def test_nothing_is_ever_raised_but_a_fault_and_nothing_leaves(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Any calls with any numbers: what lies beside the workspace is as it was."""
        around = tmp_path_factory.mktemp("around")
        (around / "secret").write_text("secret")
        (around / "shared").mkdir()
        numbers = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 64, RESULT, PATH, ROOM - 1, ROOM, LAST]) | st.integers(
            0, LAST
        )
        paths = st.sampled_from([b"a", b"b", b"a/b", b"../secret", b"..", b"/", b".", b"a/../../shared/b", b"\0"])
        with Workspace(around / "shared", limits=WorkspaceLimits(total_bytes=1000, entries=20)) as workspace:
            here = World(
                memory=Memory(),
                outside=Recorder(),
                clock=VirtualClock(),
                randomness=SeededRandomness(1),
                files=Files(workspace),
            )
            world.current.world = here
            try:
                for _ in range(12):
                    name = data.draw(st.sampled_from(sorted(ANSWERS)))
                    signature = ANSWERS[name][0]
                    pointer, size = path(here, data.draw(paths))
                    arguments = [data.draw(numbers) for _ in signature]
                    if name.endswith("-at") and data.draw(st.booleans()):
                        where = 1 if arguments[1] % 2 else 2  # behind the path's flags, where there are some
                        arguments[0], arguments[where], arguments[where + 1] = ROOT, pointer, size
                        arguments[-1] = RESULT
                    try:
                        world.function_for(f"wasi:{name}", signature)(*arguments)
                    except (GuestCrashed, BadGuest):
                        continue
            finally:
                del world.current.world
                here.files.close()
            assert workspace.used.bytes <= 1000
        assert sorted(entry.name for entry in around.iterdir()) == ["secret", "shared"]
        assert (around / "secret").read_text() == "secret"


def test_codes_are_those_of_the_interface() -> None:
    """Positions in the enum error-code of WASI 0.2, at both ends of it and in the middle."""
    from sandbox.workspace.imports import _CODES

    numbers = {errno.EACCES: 0, errno.EBADF: BAD, errno.EEXIST: EXISTS, errno.ENOENT: NO_ENTRY, errno.EXDEV: 36}
    assert {number: _CODES[number] for number in numbers} == numbers
    assert struct.calcsize("<B7xB7xQQ") + 3 * struct.calcsize("<B7xQI4x") == 8 + 96  # a stat behind its tag

"""A workspace's folder: no name leads out of it, nothing in it blocks or acts, and its limits hold for all."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.workspace import Workspace, WorkspaceFull, WorkspaceLimits
from sandbox.workspace.files import ROOT, Files, Opening
from sandbox.workspace.shared import OpenFile
from sandbox.workspace.tree import is_name

SMALL = WorkspaceLimits(total_bytes=1000, file_bytes=600, entries=8, depth=3, name_bytes=20, open_files=5)
READING = Opening(reads=True)
WRITING = Opening(create=True, truncate=True, writes=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that is shared, beside a secret."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("secret")
    shared = tmp_path / "shared"
    shared.mkdir()
    return shared


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    with Workspace(folder, limits=SMALL) as made:
        yield made


def opened(
    workspace: Workspace, *parts: str, writes: bool = True, create: bool = True, truncate: bool = False
) -> OpenFile:
    return workspace.open(parts, writes=writes, create=create, exclusive=False, truncate=truncate)


def refused(action: Callable[[], object], *numbers: int) -> str:
    """The sentence with which it is refused, for one of these reasons."""
    with pytest.raises(OSError, match=r"^\[Errno") as caught:
        action()
    assert caught.value.errno in numbers, caught.value
    return str(caught.value.strerror)


class TestNoWayOut:
    @pytest.mark.parametrize(
        ("path", "number"),
        [
            ("../secret.txt", errno.EPERM),
            ("a/../../secret.txt", errno.EPERM),
            ("./.././secret.txt", errno.EPERM),
            ("/etc/passwd", errno.EPERM),
            ("//etc/passwd", errno.EPERM),
            ("", errno.ENOENT),
            ("a\tb", errno.EILSEQ),
            ("x" * 21, errno.ENAMETOOLONG),
            ("ä" * 11, errno.ENAMETOOLONG),
            ("a/b/c/d/e", errno.ENAMETOOLONG),
        ],
    )
    def test_a_path_that_leads_nowhere_here_is_refused(self, workspace: Workspace, path: str, number: int) -> None:
        """Before anything is done, whatever is asked for."""
        files = Files(workspace)
        files.make_folder(ROOT, "a")
        for action in (
            lambda: files.open(ROOT, path, READING),
            lambda: files.open(ROOT, path, WRITING),
            lambda: files.stat_at(ROOT, path),
            lambda: files.make_folder(ROOT, path),
            lambda: files.remove_file(ROOT, path),
            lambda: files.remove_folder(ROOT, path),
            lambda: files.rename(ROOT, path, ROOT, "new"),
            lambda: files.rename(ROOT, "old", ROOT, path),
            lambda: files.set_times_at(ROOT, path, 0, 0),
        ):
            refused(action, number)

    def test_dots_inside_of_it_are_as_anywhere(self, workspace: Workspace) -> None:
        """There are no links, so a path means what its text says; what `..` leaves must be there."""
        files = Files(workspace)
        files.make_folder(ROOT, "a")
        refused(lambda: files.open(ROOT, "nothing/../b", WRITING), errno.ENOENT)
        files.open(ROOT, "file", WRITING)
        refused(lambda: files.open(ROOT, "file/../b", WRITING), errno.ENOTDIR)
        inside = files.open(ROOT, "a", Opening(folder=True, reads=True))
        files.open(inside, ".././a//b.txt", WRITING)
        assert files.stat_at(ROOT, "a/./../a/b.txt").st_size == 0
        assert refused(lambda: files.stat_at(inside, "../../x"), errno.EPERM)

    def test_a_link_is_neither_followed_nor_listed_nor_written_over(self, workspace: Workspace, folder: Path) -> None:
        """Not one to a file, to a folder, to nothing, or to the workspace itself."""
        for name, target in (
            ("file", folder.parent / "secret.txt"),
            ("folder", folder.parent / "elsewhere"),
            ("nothing", folder.parent / "new.txt"),
            ("itself", folder),
        ):
            (folder / name).symlink_to(target)
        files = Files(workspace)
        for name in ("file", "folder", "nothing", "itself"):
            for how in (READING, WRITING, Opening(create=True, exclusive=True, writes=True), Opening(folder=True)):
                with pytest.raises(OSError, match=r"neither a file|exists"):
                    files.open(ROOT, name, how)
            refused(lambda: files.stat_at(ROOT, name), errno.EPERM)  # noqa: B023 - called at once
            refused(lambda: files.remove_file(ROOT, name), errno.EPERM)  # noqa: B023
            refused(lambda: files.rename(ROOT, name, ROOT, "other"), errno.EPERM)  # noqa: B023
            refused(lambda: files.set_times_at(ROOT, name, 0, 0), errno.EPERM)  # noqa: B023
            path = f"{name}/secret.txt"
            refused(lambda: files.open(ROOT, path, READING), errno.ENOTDIR, errno.ELOOP)  # noqa: B023
        listing = files.list(ROOT)
        assert files.next_entry(listing) is None
        assert not (folder.parent / "new.txt").exists()
        assert (folder.parent / "secret.txt").read_text() == "secret"

    def test_a_folder_that_is_swapped_for_a_link_while_it_is_open(self, workspace: Workspace, folder: Path) -> None:
        """An open folder is walked to again, each time."""
        files = Files(workspace)
        files.make_folder(ROOT, "a")
        inside = files.open(ROOT, "a", Opening(folder=True, reads=True))
        (folder / "a").rmdir()
        (folder / "a").symlink_to(folder.parent / "elsewhere")
        for action in (lambda: files.open(inside, "secret.txt", READING), lambda: files.list(inside)):
            refused(action, errno.ENOTDIR, errno.ELOOP)

    def test_pipes_and_sockets_are_never_opened(self, workspace: Workspace, folder: Path) -> None:
        """Opening a pipe would wait for its other end."""
        os.mkfifo(folder / "pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            before = Path.cwd()
            os.chdir(folder)  # the address of a socket is short
            try:
                listening.bind("socket")
            finally:
                os.chdir(before)
        files = Files(workspace)
        for name in ("pipe", "socket"):
            for how in (READING, WRITING):
                refused(lambda: files.open(ROOT, name, how), errno.EPERM)  # noqa: B023 - called at once

    def test_a_file_with_a_second_name_is_only_read(self, workspace: Workspace, folder: Path) -> None:
        """The other name may be outside. Removing the name here is no harm."""
        os.link(folder.parent / "secret.txt", folder / "linked")
        files = Files(workspace)
        assert files.read(files.open(ROOT, "linked", READING), 100, 0) == b"secret"
        for how in (WRITING, Opening(writes=True), Opening(reads=True, truncate=True)):
            assert "only be read" in refused(lambda: files.open(ROOT, "linked", how), errno.EPERM)  # noqa: B023
        assert "only be read" in refused(lambda: files.set_times_at(ROOT, "linked", 0, 0), errno.EPERM)
        files.remove_file(ROOT, "linked")
        assert (folder.parent / "secret.txt").read_text() == "secret"

    def test_another_file_system_inside_is_not_entered(self) -> None:
        """Nor listed with what is in it, nor counted."""
        mounted = [path for path in (Path("/proc"), Path("/dev"), Path("/sys")) if path.exists()]
        mounted = [path for path in mounted if path.stat().st_dev != Path("/").stat().st_dev]
        if not mounted:
            pytest.skip("nothing is mounted where it is elsewhere")
        name = mounted[0].name
        with Workspace("/", limits=WorkspaceLimits(entries=50)) as workspace:
            files = Files(workspace)
            refused(lambda: files.stat_at(ROOT, name), errno.EPERM)
            refused(lambda: files.open(ROOT, name, Opening(folder=True, reads=True)), errno.EPERM)
            refused(lambda: files.open(ROOT, f"{name}/self", READING), errno.EPERM)

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0", "a\n", "\x7f", "\ud800", "x" * 21])
    def test_what_can_be_no_name(self, name: str) -> None:
        """Neither here nor in a listing."""
        assert not is_name(name, 20)

    def test_names_of_the_hosts_that_are_none_are_not_listed(self, workspace: Workspace, folder: Path) -> None:
        """They could not be asked for either."""
        (folder / "fine").touch()
        (folder / "two\nlines").touch()
        (folder / ("x" * 30)).touch()
        os.close(os.open(os.fsencode(folder) + b"/\xff", os.O_CREAT))
        assert [entry.name for entry in workspace.list(())] == ["fine"]

    def test_the_root_stays_what_it_is(self, workspace: Workspace) -> None:
        """It is neither removed nor renamed nor replaced, and no handle of it can be dropped."""
        files = Files(workspace)
        files.make_folder(ROOT, "a")
        for path in (".", "a/.."):
            refused(lambda: files.remove_folder(ROOT, path), errno.EBUSY)  # noqa: B023 - called at once
            refused(lambda: files.rename(ROOT, path, ROOT, "b"), errno.EBUSY)  # noqa: B023
            refused(lambda: files.rename(ROOT, "a", ROOT, path), errno.EBUSY)  # noqa: B023
            refused(lambda: files.remove_file(ROOT, path), errno.EISDIR)  # noqa: B023
            refused(lambda: files.make_folder(ROOT, path), errno.EEXIST)  # noqa: B023
            refused(lambda: files.open(ROOT, path, WRITING), errno.EISDIR)  # noqa: B023
        files.drop(ROOT)
        assert files.stat_at(ROOT, "a").st_nlink

    def test_a_closed_workspace_is_empty(self, folder: Path) -> None:
        """Whoever still has it finds nothing; its number is not mistaken for another folder's."""
        workspace = Workspace(folder)
        workspace.close()
        files = Files(workspace)
        for action in (lambda: files.list(ROOT), lambda: files.stat(ROOT), lambda: files.open(ROOT, "x", WRITING)):
            refused(action, errno.EBADF)
        assert list(folder.iterdir()) == []


class TestLimits:
    def test_all_files_together(self, workspace: Workspace) -> None:
        """What fits is written, and what does not is refused with the number."""
        first, second = opened(workspace, "a"), opened(workspace, "b")
        assert first.write(b"x" * 600, 0) == 600
        assert second.write(b"x" * 600, 0) == 400
        assert refused(lambda: second.write(b"x", 400), errno.ENOSPC) == "the workspace may hold 1,000 bytes"
        assert second.write(b"y" * 400, 0) == 400  # what is there can be written over
        assert refused(lambda: second.resize(401), errno.ENOSPC) == "the workspace may hold 1,000 bytes"
        assert workspace.used == (1000, 2)

    def test_one_file(self, workspace: Workspace) -> None:
        """A hole counts as if it were written."""
        file = opened(workspace, "a")
        sentence = "a file in the workspace may have 600 bytes"
        assert refused(lambda: file.write(b"x", 600), errno.EFBIG) == sentence
        assert refused(lambda: file.resize(601), errno.EFBIG) == sentence
        assert refused(lambda: file.write(b"x", 1 << 63), errno.EFBIG) == sentence
        assert refused(lambda: file.resize((1 << 64) - 1), errno.EFBIG) == sentence
        assert file.write(b"x", 599) == 1
        assert workspace.used.bytes == 600

    def test_what_is_cut_off_or_removed_makes_room(self, workspace: Workspace) -> None:
        """By truncating, by opening anew, by removing, and by being replaced."""

        def replace(name: str, replaced: str) -> None:
            opened(workspace, name)
            workspace.rename((name,), (replaced,))

        for free in (
            lambda: opened(workspace, "a").resize(0),
            lambda: opened(workspace, "a", truncate=True),
            lambda: workspace.remove_file(("a",)),
            lambda: replace("b", "a"),
        ):
            assert opened(workspace, "a").write(b"x" * 600, 0) == 600
            assert opened(workspace, "c").write(b"x" * 500, 0) == 400
            free()
            assert opened(workspace, "c").write(b"x" * 500, 0) == 500
            for name in ("a", "c"):
                opened(workspace, name, truncate=True)
        assert workspace.used.bytes == 0

    def test_a_removed_file_takes_room_while_it_is_open(self, workspace: Workspace) -> None:
        """Or a guest could fill the disk with files that nobody sees."""
        file = opened(workspace, "a")
        file.write(b"x" * 500, 0)
        workspace.remove_file(("a",))
        file.write(b"x" * 100, 500)
        assert workspace.used == (600, 0)
        assert opened(workspace, "b").write(b"x" * 500, 0) == 400
        del file
        assert workspace.used == (400, 1)
        assert opened(workspace, "b").write(b"x" * 500, 0) == 500

    def test_how_many_files_and_folders(self, workspace: Workspace) -> None:
        """Each counts once, however often it is opened; a renamed one no more than before."""
        for number in range(4):
            opened(workspace, f"file{number}")
            workspace.make_folder((f"folder{number}",))
        sentence = "the workspace may hold 8 files and folders"
        assert refused(lambda: opened(workspace, "more"), errno.ENOSPC) == sentence
        assert refused(lambda: workspace.make_folder(("more",)), errno.ENOSPC) == sentence
        opened(workspace, "file0")
        workspace.rename(("file0",), ("file1",))
        workspace.remove_folder(("folder0",))
        opened(workspace, "more")
        workspace.make_folder(("yet more",))
        assert refused(lambda: opened(workspace, "too many"), errno.ENOSPC) == sentence

    def test_a_path_does_not_grow_too_deep_by_being_moved(self, workspace: Workspace) -> None:
        """What lies too deep would be seen and counted by nobody."""
        for parts in (("a",), ("a", "b"), ("a", "b", "c"), ("d",)):
            workspace.make_folder(parts)
        opened(workspace, "a", "b", "c", "file")
        refused(lambda: workspace.rename(("a",), ("d", "a")), errno.ENAMETOOLONG)
        workspace.rename(("a", "b"), ("d", "b"))
        assert workspace.stat(("d", "b", "c", "file")).st_size == 0

    def test_what_the_hosts_side_removed_makes_room(self, workspace: Workspace, folder: Path) -> None:
        """It is measured before something is refused, and when it is asked for."""
        opened(workspace, "a").write(b"x" * 600, 0)
        opened(workspace, "b").write(b"x" * 400, 0)
        (folder / "a").unlink()
        assert workspace.used == (400, 1)
        assert opened(workspace, "c").write(b"x" * 600, 0) == 600

    def test_what_was_there_before_counts(self, folder: Path) -> None:
        """Also in folders; and a large file of the host's can be read, written over and cut off."""
        (folder / "a").mkdir()
        (folder / "a" / "large").write_bytes(b"x" * 900)
        with Workspace(folder, limits=SMALL) as workspace:
            assert workspace.used == (900, 2)
            large = opened(workspace, "a", "large")
            assert large.write(b"y", 899) == 1
            refused(lambda: large.write(b"y", 900), errno.EFBIG)
            assert opened(workspace, "b").write(b"x" * 200, 0) == 100

    def test_a_folder_of_the_hosts_with_too_much_in_it(self, workspace: Workspace, folder: Path) -> None:
        """It is not read to its end."""
        for number in range(20):
            (folder / str(number)).touch()
        refused(lambda: workspace.list(()), errno.EOVERFLOW)
        assert workspace.used.entries == 9
        assert refused(lambda: opened(workspace, "more"), errno.ENOSPC)

    def test_open_files_per_session(self, workspace: Workspace) -> None:
        """Folders and listings are among them; nothing is created for one that is refused."""
        one, other = Files(workspace), Files(workspace)
        handles = [one.open(ROOT, ".", Opening(folder=True)), one.list(ROOT)]
        handles += [one.open(ROOT, name, WRITING) for name in "abc"]
        assert refused(lambda: one.open(ROOT, "d", WRITING), errno.EDQUOT) == "a session may have 5 files open at once"
        assert refused(lambda: one.list(ROOT), errno.EDQUOT)
        assert "d" not in {entry.name for entry in workspace.list(())}
        other.open(ROOT, "d", WRITING)
        one.drop(handles[0])
        assert one.open(ROOT, "d", READING) not in handles

    def test_names_that_are_listed_are_kept_for_a_few_listings(self, workspace: Workspace) -> None:
        """Many listings of a large folder would be much memory of ours."""
        for number in range(6):
            workspace.make_folder((str(number),))
        files = Files(workspace)
        files.list(ROOT)
        files.list(ROOT)
        refused(lambda: files.list(ROOT), errno.EDQUOT)

    def test_two_threads_do_not_pass_a_limit_together(self, folder: Path) -> None:
        """What looks and then acts does so under one lock."""
        with Workspace(folder, limits=WorkspaceLimits(total_bytes=20_000, entries=100)) as workspace:

            def write(name: str) -> None:
                file = opened(workspace, name)
                for _ in range(300):
                    try:
                        file.write(b"x" * 100, None)
                    except WorkspaceFull:
                        return

            threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert workspace.used == (20_000, 4)

    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "1", 1 << 60])
    def test_a_limit_is_a_positive_number(self, value: object) -> None:
        """A mistake of the embedder's is told at once."""
        with pytest.raises(ValueError, match="entries is a positive whole number"):
            WorkspaceLimits(entries=value)  # type: ignore[arg-type]


class TestCopies:
    def test_a_copy_has_the_same_files_open_and_closes_them_by_itself(self, workspace: Workspace) -> None:
        """A file is closed when the last one has dropped it."""
        files = Files(workspace)
        handle = files.open(ROOT, "a", Opening(create=True, reads=True, writes=True))
        copy = files.within(workspace)
        files.write(handle, b"abc", 0)
        files.close()
        refused(lambda: files.read(handle, 3, 0), errno.EBADF)
        assert copy.read(handle, 3, 0) == b"abc"
        assert copy.opened == ("/workspace/a",)
        workspace.remove_file(("a",))
        assert workspace.used.bytes == 3
        copy.drop(handle)
        assert workspace.used.bytes == 0

    def test_with_another_workspace_none_are_open_and_no_number_comes_twice(self, workspace: Workspace) -> None:
        """A file that was kept open is a bad descriptor there, and never another file."""
        files = Files(workspace)
        handle = files.open(ROOT, "a", WRITING)
        with Workspace.temporary() as other:
            elsewhere = files.within(other)
            assert elsewhere.open(ROOT, "b", WRITING) > handle
            refused(lambda: elsewhere.write(handle, b"x", 0), errno.EBADF)
        assert files.within(None).latest == handle

    def test_a_listing_goes_on_where_it_was(self, workspace: Workspace) -> None:
        """In the copy as in the original."""
        for name in "abc":
            opened(workspace, name)
        files = Files(workspace)
        listing = files.list(ROOT)
        assert files.next_entry(listing) == ("a", False)
        copy = files.within(workspace)
        assert [files.next_entry(listing), copy.next_entry(listing)] == [("b", False), ("b", False)]

    def test_a_temporary_workspace_is_gone_afterwards(self) -> None:
        """With all that is in it."""
        with Workspace.temporary() as workspace:
            opened(workspace, "a")
            folder = Path(workspace.folder)
            assert [path.name for path in folder.iterdir()] == ["a"]
        assert not folder.exists()

"""Files below /workspace, used by plain Python in the real guest; and none where a session has no workspace."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox import Session, open_sandbox
from sandbox.image import Image
from sandbox.workspace import Workspace, WorkspaceLimits

SMALL = WorkspaceLimits(total_bytes=20_000, file_bytes=10_000, entries=10, open_files=4)
ELSEWHERE = "The only files here are those in /workspace"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "shared").mkdir()
    with Workspace(tmp_path / "shared") as made:
        yield made


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "small").mkdir()
    with Workspace(tmp_path / "small", limits=SMALL) as made:
        yield made


@asynccontextmanager
async def session_with(workspace: Workspace, image: Image) -> AsyncIterator[Session]:
    async with open_sandbox(image=image, workspace=workspace, rollback=False) as session:
        yield session


async def value(session: Session, source: str) -> object:
    """The value of a cell that ends well."""
    outcome = await session.run(source)
    assert outcome.error is None, outcome.error
    return outcome.value


async def failure(session: Session, source: str) -> tuple[str, str]:
    """The type and message of a cell's error."""
    outcome = await session.run(source)
    assert outcome.error is not None, outcome
    return outcome.error.type, outcome.error.message


class TestReadingAndWriting:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("with open('a.txt', 'w') as f: n = f.write('one\\ntwo\\n')\n(n, open('a.txt').read())", (8, "one\ntwo\n")),
            ("open('a.txt', 'w').write('x'); open('a.txt', 'a').write('y'); open('a.txt').read()", "xy"),
            ("open('a.txt', 'w').write('x'); open('/workspace/a.txt').read()", "x"),
            (
                "f = open('a', 'a+'); f.write('ä'); f.seek(0); r = f.read(); f.write('!'); f.seek(0); (r, f.read(), f.mode)",
                ("ä", "ä!", "a+"),
            ),
            (
                (
                    "open('a', 'wb').write(b'one')\nwith open('a', 'ab+', buffering=0) as f:\n"
                    "    r = f.tell(), f.seek(0), f.tell(), f.write(b'two'), f.tell(), f.seek(0), f.read()\nr"
                ),
                (3, 0, 0, 3, 6, 0, b"onetwo"),
            ),
            ("open('ä €.txt', 'w', encoding='utf-16').write('ß'); open('ä €.txt', encoding='utf-16').read()", "ß"),
            ("open('a', 'wb').write(bytes(range(256))); open('a', 'rb').read() == bytes(range(256))", True),
            ("f = open('a', 'w+b'); f.write(b'hello'); f.seek(1); f.write(b'E'); f.seek(0); f.read()", b"hEllo"),
            (
                "f = open('a', 'wb'); f.write(b'abc'); f.seek(6); f.write(b'x'); f.close(); open('a', 'rb').read()",
                b"abc\0\0\0x",
            ),
            ("f = open('a', 'w+b'); f.write(b'abcdef'); f.truncate(3); f.seek(0, 2), f.tell()", (3, 3)),
            ("f = open('a', 'wb'); f.write(b'abc'); f.truncate(5); f.close(); open('a', 'rb').read()", b"abc\0\0"),
            ("f = open('a', 'wb'); f.write(b'12345'); f.close(); f = open('a', 'rb'); f.seek(-2, 2); f.read()", b"45"),
            ("open('a', 'w').write('1\\n2\\n3'); [line.strip() for line in open('a')]", ["1", "2", "3"]),
            ("open('a', 'x').write('x'); open('a', 'rb', buffering=0).read(5)", b"x"),
            (
                "f, g = open('a', 'w'), open('a'); f.write('later'); f.flush(); first = g.read(); f.write('!'); f.flush(); (first, g.read())",
                ("later", "!"),
            ),
            (
                "from pathlib import Path; Path('p').write_text('päth'); (Path('p').read_bytes(), Path.cwd().name)",
                (b"p\xc3\xa4th", "workspace"),
            ),
            (
                "import os; fd = os.open('a', os.O_RDWR | os.O_CREAT); os.write(fd, b'abc'); os.pwrite(fd, b'X', 1); r = os.pread(fd, 9, 0); os.close(fd); r",
                b"aXc",
            ),
        ],
    )
    async def test_a_file_is_what_it_is_anywhere(
        self, image: Image, workspace: Workspace, source: str, expected: object
    ) -> None:
        """Text and bytes, positions, appending, growing and cutting off, buffered or not."""
        async with session_with(workspace, image) as session:
            assert await value(session, source) == expected

    async def test_what_is_written_is_a_file_of_the_hosts(self, image: Image, workspace: Workspace) -> None:
        """And what the host's side puts there is read."""
        folder = Path(workspace.folder)
        (folder / "in.csv").write_text("name,n\nAda,1\n")
        async with session_with(workspace, image) as session:
            source = (
                "import csv\nrows = list(csv.DictReader(open('in.csv')))\nopen('out.txt', 'w').write(rows[0]['name'])"
            )
            assert await value(session, source) == 3
            assert (folder / "out.txt").read_text() == "Ada"
            (folder / "new.txt").write_text("new")
            assert await value(session, "open('new.txt').read()") == "new"

    async def test_large_files(self, image: Image, workspace: Workspace) -> None:
        """In more pieces than one, in both directions."""
        async with session_with(workspace, image) as session:
            source = "data = bytes(range(256)) * 20_000\nwith open('big', 'wb') as f:\n    f.write(data)\nopen('big', 'rb').read() == data"
            assert await value(session, source) is True
            assert (Path(workspace.folder) / "big").stat().st_size == 5_120_000

    async def test_an_exception_in_a_with_block_closes_the_file(self, image: Image, workspace: Workspace) -> None:
        """What was written before it is there."""
        async with session_with(workspace, image) as session:
            source = "with open('a', 'w') as f:\n    f.write('before')\n    1 / 0"
            assert (await failure(session, source))[0] == "ZeroDivisionError"
            assert await value(session, "f.closed, open('a').read()") == (True, "before")


class TestFoldersAndNames:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            (
                "os.makedirs('a/b/c'); os.makedirs('a/b', exist_ok=True); (os.listdir('a'), os.listdir('a/b/c'))",
                (["b"], []),
            ),
            ("os.mkdir('a'); os.rmdir('a'); os.path.exists('a')", False),
            (
                "open('b', 'w'); os.mkdir('a'); sorted(os.listdir()), sorted(os.listdir('/workspace'))",
                (["a", "b"], ["a", "b"]),
            ),
            ("os.mkdir('a'); open('a/x', 'w').write('1'); os.rename('a', 'b'); open('b/x').read()", "1"),
            (
                "open('a', 'w').write('1'); open('b', 'w').write('2'); os.replace('a', 'b'); (open('b').read(), os.listdir())",
                ("1", ["b"]),
            ),
            ("open('a', 'w'); os.remove('a'); os.listdir()", []),
            (
                "os.mkdir('a'); os.chdir('a'); open('x', 'w'); (os.getcwd(), os.listdir('.'), os.listdir('..'))",
                ("/workspace/a", ["x"], ["a"]),
            ),
            (
                "open('a', 'w').write('123'); s = os.stat('a'); (s.st_size, s.st_mtime > 1.7e9, stat.S_ISREG(s.st_mode), stat.S_ISDIR(os.stat('.').st_mode))",
                (3, True, True, True),
            ),
            ("open('a', 'w'); os.utime('a', (1, 2)); (os.stat('a').st_atime, os.stat('a').st_mtime)", (1, 2)),
            ("open('a', 'w'); os.truncate('a', 7); os.path.getsize('a')", 7),
            (
                "open('a', 'w'); (os.path.isfile('a'), os.path.isdir('.'), os.access('a', os.R_OK), os.access('b', os.F_OK))",
                (True, True, True, False),
            ),
            ("open('a', 'w'); os.path.samefile('a', '/workspace/./a'), os.path.realpath('a')", (True, "/workspace/a")),
            (
                "os.mkdir('d'); open('d/a', 'w').write('12')\nwith os.scandir('d') as found:\n    r = [(e.name, e.is_file(), e.stat().st_size) for e in found]\nr",
                None,
            ),
            (
                "os.makedirs('d/e'); open('d/e/a', 'w'); shutil.copytree('d', 'f'); shutil.rmtree('d'); sorted(map(str, Path('.').rglob('*')))",
                ["f", "f/e", "f/e/a"],
            ),
            (
                "os.mkdir('d'); open('d/a.txt', 'w'); (glob.glob('**/*.txt', recursive=True), list(os.walk('.')))",
                (["d/a.txt"], [(".", ["d"], []), ("./d", [], ["a.txt"])]),
            ),
            ("open('a', 'w').write('1'); shutil.copy('a', 'b'); shutil.move('b', 'c'); open('c').read()", "1"),
        ],
    )
    async def test_folders_and_names_are_what_they_are_anywhere(
        self, image: Image, workspace: Workspace, source: str, expected: object
    ) -> None:
        """os, shutil, pathlib and glob."""
        async with session_with(workspace, image) as session:
            seen = await value(session, f"import glob, os, shutil, stat\nfrom pathlib import Path\n{source}")
            if expected is not None:
                assert seen == expected
            else:
                assert await value(session, "r") == [("a", True, 2)]

    async def test_temporary_files_are_in_the_workspace(self, image: Image, workspace: Workspace) -> None:
        """With names, without, and in folders; nothing of them is left."""
        source = """
import os, tempfile
with tempfile.NamedTemporaryFile('w+') as f:
    f.write('1'); f.seek(0)
    named = f.read(), os.path.dirname(f.name)
with tempfile.TemporaryFile() as f:
    f.write(b'2'); f.seek(0)
    unnamed = f.read(), os.listdir()
with tempfile.TemporaryDirectory() as folder:
    open(folder + '/x', 'w').close()
named, unnamed, os.listdir()
"""
        async with session_with(workspace, image) as session:
            assert await value(session, source) == (("1", "/workspace"), (b"2", []), [])
            assert workspace.used == (0, 0)

    async def test_a_database_in_a_file(self, image: Image, workspace: Workspace) -> None:
        """SQLite works on it, and the host's own reads it."""
        source = (
            "import sqlite3\nwith sqlite3.connect('db') as c:\n    c.execute('create table t (a)')\n"
            "    c.executemany('insert into t values (?)', [(n,) for n in range(1000)])\nc.close()\n"
            "c = sqlite3.connect('db'); n = c.execute('select sum(a) from t').fetchone(); c.close(); n"
        )
        async with session_with(workspace, image) as session:
            assert await value(session, source) == (499_500,)
        host = sqlite3.connect(Path(workspace.folder) / "db")
        assert host.execute("select count(*) from t").fetchone() == (1000,)
        host.close()


class TestErrors:
    @pytest.mark.parametrize(
        ("source", "type_", "message"),
        [
            ("open('nothing')", "FileNotFoundError", "[Errno 44] No such file or directory: 'nothing'"),
            ("open('no/thing', 'w')", "FileNotFoundError", "[Errno 44] No such file or directory: 'no/thing'"),
            ("open('d')", "IsADirectoryError", "[Errno 31] Is a directory: 'd'"),
            ("open('d', 'w')", "IsADirectoryError", "[Errno 31] Is a directory: 'd'"),
            ("open('f/x', 'w')", "NotADirectoryError", "[Errno 54] Not a directory: 'f/x'"),
            ("os.listdir('f')", "NotADirectoryError", "[Errno 54] Not a directory: 'f'"),
            ("open('f', 'x')", "FileExistsError", "[Errno 20] File exists: 'f'"),
            ("os.mkdir('d')", "FileExistsError", "[Errno 20] File exists: 'd'"),
            ("os.rmdir('full')", "OSError", "[Errno 55] Directory not empty: 'full'"),
            ("os.rmdir('f')", "NotADirectoryError", "[Errno 54] Not a directory: 'f'"),
            ("os.remove('nothing')", "FileNotFoundError", "[Errno 44] No such file or directory: 'nothing'"),
            ("os.remove('d')", "IsADirectoryError", "[Errno 31] Is a directory: 'd'"),
            ("os.rename('full', 'full/x')", "OSError", "[Errno 28] Invalid argument: 'full' -> 'full/x'"),
            ("open('x' * 300, 'w')", "OSError", f"[Errno 37] Filename too long: '{'x' * 300}'"),
            ("open('a\\nb', 'w')", "OSError", "[Errno 25] Illegal byte sequence: 'a\\nb'"),
            ("open('a\\0b', 'w')", "ValueError", "embedded null byte"),
            ("os.symlink('f', 'link')", "PermissionError", "[Errno 63] Operation not permitted: 'f' -> 'link'"),
            ("os.link('f', 'link')", "PermissionError", "[Errno 63] Operation not permitted: 'f' -> 'link'"),
            ("open('f').write('x')", "UnsupportedOperation", "not writable"),
            ("os.write(os.open('f', os.O_RDONLY), b'x')", "OSError", "[Errno 8] Bad file descriptor"),
        ],
    )
    async def test_what_fails_anywhere_fails_here_with_the_same_class(
        self, image: Image, workspace: Workspace, source: str, type_: str, message: str
    ) -> None:
        """The usual OSErrors, with the path that was given."""
        async with session_with(workspace, image) as session:
            await value(session, "import os\nopen('f', 'w').close()\nos.mkdir('d')\nos.makedirs('full/of')\nNone")
            assert await failure(session, source) == (type_, message)

    @pytest.mark.parametrize(
        ("source", "type_"),
        [
            ("open('/etc/passwd')", "FileNotFoundError"),
            ("open('/proc/self/environ', 'rb')", "FileNotFoundError"),
            ("open('/dev/zero')", "FileNotFoundError"),
            ("open('/workspace/../secret.txt')", "FileNotFoundError"),
            ("open('../secret.txt')", "FileNotFoundError"),
            ("open('d/../../secret.txt')", "FileNotFoundError"),
            ("open('/workspaces')", "FileNotFoundError"),
            ("open('../new.txt', 'w')", "PermissionError"),
            ("open('/tmp/new.txt', 'w')", "PermissionError"),
            ("os.listdir('/')", "FileNotFoundError"),
            ("os.listdir('..')", "FileNotFoundError"),
            ("os.chdir('/')", "FileNotFoundError"),
            ("os.remove('../secret.txt')", "FileNotFoundError"),
            ("os.rename('f', '../stolen.txt')", "FileNotFoundError"),
            ("os.rename('../secret.txt', 'g')", "FileNotFoundError"),
            ("os.mkdir('/tmp/x')", "PermissionError"),
            ("os.open('/etc/passwd', os.O_RDONLY)", "FileNotFoundError"),
            ("Path('/etc/passwd').read_text()", "FileNotFoundError"),
        ],
    )
    async def test_no_other_path_exists(self, image: Image, workspace: Workspace, source: str, type_: str) -> None:
        """A sentence says which ones do. What lies beside the workspace is as it was."""
        beside = Path(workspace.folder).parent
        async with session_with(workspace, image) as session:
            await value(session, "import os\nfrom pathlib import Path\nopen('f', 'w').close()\nos.mkdir('d')\nNone")
            seen, message = await failure(session, source)
            assert (seen, ELSEWHERE in message) == (type_, True)
        assert sorted(entry.name for entry in beside.iterdir()) == ["secret.txt", "shared"]
        assert (beside / "secret.txt").read_text() == "secret"

    async def test_below_the_signposts_there_is_nothing_either(self, image: Image, workspace: Workspace) -> None:
        """`io.FileIO` and `posix` go through none of them."""
        async with session_with(workspace, image) as session:
            for source in (
                "import io\nio.FileIO('/etc/passwd')",
                "import io\nio.FileIO('/workspace/../secret.txt')",
                "import io\nio.FileIO('../secret.txt', 'w')",
                "import posix\nposix.stat('/etc/passwd')",
                "import posix\nposix.readlink('..')",
            ):
                assert (await failure(session, source))[0] in ("FileNotFoundError", "PermissionError", "OSError")

    async def test_links_that_the_hosts_side_planted(self, image: Image, workspace: Workspace) -> None:
        """To a file, to a folder and to a device: refused, not listed, not followed."""
        folder = Path(workspace.folder)
        (folder / "file").symlink_to(folder.parent / "secret.txt")
        (folder / "up").symlink_to(folder.parent)
        (folder / "zero").symlink_to("/dev/zero")
        os.mkfifo(folder / "pipe")
        async with session_with(workspace, image) as session:
            assert await value(session, "import os\nos.listdir()") == []
            assert (
                await value(session, "[os.path.exists(name) for name in ('file', 'up', 'zero', 'pipe')]") == [False] * 4
            )
            for source in ("open('file').read()", "open('zero').read(1)", "open('file', 'w')", "open('pipe')"):
                assert (await failure(session, source))[0] == "PermissionError"
            for source in ("open('up/secret.txt').read()", "os.listdir('up')", "open('up/new', 'w')"):
                assert (await failure(session, source))[0] in ("PermissionError", "NotADirectoryError", "OSError")
        assert (folder.parent / "secret.txt").read_text() == "secret"


class TestLimits:
    async def test_a_full_workspace_is_an_enospc_with_the_number(self, image: Image, small: Workspace) -> None:
        """In the middle of writing as well; what fitted is there."""
        async with session_with(small, image) as session:
            await value(session, "import errno\nfor name in 'ab':\n    open(name, 'wb').write(b'x' * 9_000)\nNone")
            outcome = await session.run("with open('c', 'wb', buffering=0) as f:\n    while True: f.write(b'x' * 700)")
            assert outcome.error is not None
            assert (outcome.error.type, outcome.error.message) == ("OSError", "[Errno 51] No space left on device")
            assert outcome.error.hint == "The workspace may hold 20,000 bytes."
            assert small.used.bytes == 20_000
            source = "try:\n    open('c', 'ab', buffering=0).write(b'x')\nexcept OSError as error:\n    code = error.errno\ncode == errno.ENOSPC"
            assert await value(session, source) is True
            assert await value(session, "import os\nos.remove('a')\nopen('c', 'ab').write(b'x' * 900)") == 900

    async def test_a_file_that_becomes_too_large(self, image: Image, small: Workspace) -> None:
        """EFBIG, with the number."""
        async with session_with(small, image) as session:
            for source in (
                "with open('a', 'wb') as f: f.write(b'x' * 10_001)",
                "with open('a', 'wb') as f: f.truncate(10_001)",
                "with open('a', 'wb', buffering=0) as f: f.seek(10_000); f.write(b'x')",
            ):
                outcome = await session.run(source)
                assert outcome.error is not None
                assert (outcome.error.type, outcome.error.message) == ("OSError", "[Errno 22] File too large")
                assert outcome.error.hint == "A file in the workspace may have 10,000 bytes."

    async def test_too_many_files(self, image: Image, small: Workspace) -> None:
        """At once open, or at all."""
        async with session_with(small, image) as session:
            outcome = await session.run("kept = [open(str(n), 'w') for n in range(10)]")
            assert outcome.error is not None
            assert outcome.error.hint == "A session may have 4 files open at once."
            outcome = await session.run("for n in range(20): open(str(n), 'w').close()")
            assert outcome.error is not None
            assert outcome.error.message == "[Errno 51] No space left on device: '10'"
            assert outcome.error.hint == "The workspace may hold 10 files and folders."
            assert small.used.entries == 10

    async def test_the_hint_is_for_the_limit_and_for_nothing_else(self, image: Image, small: Workspace) -> None:
        """A later error of another kind has none, nor has the same one in a later cell."""
        async with session_with(small, image) as session:
            source = "try:\n    open('a', 'wb').truncate(10_001)\nexcept OSError:\n    pass\nopen('nothing')"
            outcome = await session.run(source)
            assert outcome.error is not None
            assert outcome.error.hint is None
            outcome = await session.run("raise OSError(22, 'File too large')")
            assert outcome.error is not None
            assert outcome.error.hint is None


class TestWithout:
    async def test_without_a_workspace_there_are_no_files(self, image: Image) -> None:
        """Also for what goes below the signposts; and the sentences are those of before."""
        sources = {
            "open('/workspace/a', 'w')": "Nothing can be written to files here",
            "open('a')": "There are no files here",
            "import os\nos.listdir('/workspace')": "There are no files here",
            "import os\nos.mkdir('/workspace/a')": "Nothing can be written to files here",
            "import tempfile\ntempfile.mkdtemp()": "There is no temporary folder here",
            "import io\nio.FileIO('/workspace/a', 'w')": "No such file or directory",
            "import os\nos.stat('/workspace')": "No such file or directory",
            "import os\nos.stat('/')": "No such file or directory",
        }
        async with open_sandbox(image=image, rollback=False) as session:
            for source, sentence in sources.items():
                assert sentence in (await failure(session, source))[1]
            assert await value(session, "import os\nos.getcwd(), os.path.exists('/workspace')") == ("/", False)

    async def test_the_restricted_language_has_no_files_either(self, image: Image, workspace: Workspace) -> None:
        """Its policy says what may be named, whatever there is."""
        async with open_sandbox(image=image, policy="restricted", workspace=workspace) as session:
            assert (await failure(session, "open('a', 'w')"))[0] == "PolicyViolation"
        assert workspace.used.entries == 0

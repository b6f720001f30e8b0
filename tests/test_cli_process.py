"""The command as a process: on terminals and in pipes, interrupted, and with nobody reading."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sandbox.image import Image
from tests.cli_command import Command, mails

CARDS = "BEGIN:VCARD\nVERSION:4.0\nFN:ann\nEMAIL:ann@x.example\nEND:VCARD\n"


@pytest.fixture
def command(image: Image, tmp_path: Path) -> Command:
    return Command(tmp_path)


def papers(command: Command, count: int) -> str:
    for number in range(count):
        command.write(f"papers/{number}.txt", f"Paper number {number}.\n" * 20)
    return "papers"


class TestStreams:
    def test_output_is_written_while_the_script_runs(self, command: Command) -> None:
        """Each line when it is printed, not at the end."""
        code = command.write("code.py", "import asyncio\nprint('now')\nawait asyncio.sleep(600)")
        with command.start("run", code, "--wall", "700") as process:
            assert process.stdout
            assert process.stdout.readline() == "now\n"
            process.kill()

    def test_standard_input_is_a_script(self, command: Command) -> None:
        """Through a pipe."""
        ended = command.process("run", "-", stdin="print('å')\n2")
        assert (ended.code, ended.stdout, ended.stderr) == (0, "å\n2\n", "")

    def test_the_console_script_is_the_same_command(self, command: Command) -> None:
        """What the README calls."""
        script = Path(sys.executable).with_name("branchpoint")
        said = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout
        assert said == command.process("--version").stdout

    def test_what_the_encoding_lacks_is_escaped(self, command: Command) -> None:
        """Output never fails."""
        code = command.write("code.py", "print('å', '\\ud800')\n'ø'")
        ended = command.process("run", code, env={"PYTHONIOENCODING": "ascii"})
        assert (ended.code, ended.stdout, ended.stderr) == (0, "\\xe5 \\ud800\n'\\xf8'\n", "")

    def test_a_pipe_that_nobody_reads_ends_the_run_quietly(self, command: Command) -> None:
        """As shells report it, without a traceback."""
        code = command.write("code.py", "while True: print('x' * 1000)")
        with command.start("run", code, "--timeout", "60") as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.read(1000) == "x" * 1000
            process.stdout.close()
            assert process.stderr.read() == ""
        assert process.returncode == 141


class TestTerminal:
    def test_progress_is_shown_on_a_terminal(self, command: Command) -> None:
        """While files are indexed; not when there is nothing new."""
        arguments = ["run", command.write("code.py", "'done'"), "--files", papers(command, 50)]
        code, shown = command.terminal(*arguments)
        assert code == 0
        assert "Indexing files" in shown
        assert "'done'" in shown
        code, shown = command.terminal(*arguments)
        assert "Indexing files" not in shown

    def test_neither_progress_nor_colours_are_shown_in_a_pipe(self, command: Command) -> None:
        """Logs stay readable, also where colours are asked for."""
        code = command.write("code.py", "1 / 0")
        env = {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"}
        ended = command.process("run", code, "--files", papers(command, 50), env=env)
        assert (ended.code, ended.stdout) == (1, "")
        assert ended.stderr.startswith("Traceback (most recent call last):\n")
        assert "\x1b" not in ended.stderr

    def test_colours_are_for_terminals_that_want_them(self, command: Command) -> None:
        """NO_COLOR does not."""
        code = command.write("code.py", "1 / 0")
        assert "\x1b[31mTraceback" in command.terminal("run", code)[1]
        assert "\x1b" not in command.terminal("run", code, env={"NO_COLOR": "1"})[1]

    def test_a_script_cannot_command_the_terminal(self, command: Command) -> None:
        """Neither by its output nor by an error; a pipe gets what was written."""
        code = command.write("code.py", "print('\\x1b]0;title\\x07')\nraise ValueError('\\x1b[2J')")
        status, shown = command.terminal("run", code)
        assert status == 1
        assert "\\x1b]0;title\\x07\n" in shown
        assert "ValueError: \\x1b[2J" in shown
        assert "\x1b]" not in shown
        assert command.process("run", code).stdout == "\x1b]0;title\x07\n"

    def test_a_value_is_as_wide_as_the_terminal(self, command: Command) -> None:
        """And an open line before it is ended first."""
        code = command.write("code.py", "print('open', end='')\n['x' * 20] * 3")
        narrow = "open\n[\n" + f"    '{'x' * 20}',\n" * 3 + "]\n"
        assert command.terminal("run", code, env={"COLUMNS": "60"}) == (0, narrow)


def interrupted(command: Command, *arguments: str) -> tuple[int, str, str]:
    """Run until the script has printed its first line, and press ctrl-C."""
    with command.start("run", *arguments) as process:
        assert process.stdout
        assert process.stderr
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        return process.wait(), first + process.stdout.read(), process.stderr.read()


class TestInterrupt:
    @pytest.mark.parametrize(
        "wait",
        [
            "import asyncio\n    print('started')\n    await asyncio.sleep(600)",
            "print('started')\n    while True: pass",
            "print('started')\n    sum(range(10 ** 12))",
        ],
        ids=["waiting", "computing", "in C"],
    )
    def test_ctrl_c_ends_a_run_at_once(self, command: Command, wait: str) -> None:
        """With 130 and one sentence, whatever the script does."""
        code = command.write("code.py", f"if True:\n    {wait}")
        status, shown, said = interrupted(command, code, "--timeout", "60", "--wall", "600")
        assert (status, shown, said) == (130, "started\n", "branchpoint: interrupted.\n")

    def test_the_script_may_clean_up(self, command: Command) -> None:
        """What it prints then is still shown; the next file is not begun."""
        code = command.write(
            "code.py", "try:\n    print('started')\n    while True: pass\nfinally:\n    print('cleaned up')"
        )
        after = command.write("after.py", "print('after')")
        status, shown, _ = interrupted(command, code, after, "--timeout", "60")
        assert (status, shown) == (130, "started\ncleaned up\n")

    def test_nothing_is_left_half_written(self, command: Command) -> None:
        """A mail is there or not, a session is not stored, and no object is printed for a run that did not end."""
        people = command.write("people.vcf", CARDS)
        source = """
import asyncio, sys
await outbox.send("ann@x.example", "Hello")
print("started", flush=True)
await asyncio.sleep(600)
await contacts.find("ann")
"""
        code = command.write("code.py", source)
        options = ["--contacts", people, "--outbox", "out", "--suspend-on", "contacts", "asleep", "--wall", "600"]
        status, shown, _ = interrupted(command, code, *options)
        assert (status, shown) == (130, "started\n")
        assert len(mails(command.folder / "out")) == 1
        assert {path for path in command.tree() if not path.startswith("out/new/")} == {"people.vcf", "code.py"}

    def test_while_files_are_indexed(self, command: Command) -> None:
        """What was indexed by then is kept, and the next run goes on."""
        arguments = ["run", command.write("code.py", "len(await search.files('paper', 100))"), "--files"]
        arguments.append(papers(command, 500))
        ours, theirs = pty.openpty()
        with (
            _kept_from_readers(command.folder / "papers" / "99.txt") as wanted,  # the last one, as paths are ordered
            command.start(*arguments, stdin=theirs, stdout=theirs, stderr=theirs) as process,
        ):
            os.close(theirs)
            assert any("Indexing" in shown and wanted() for shown in _growing(ours))
            process.send_signal(signal.SIGINT)
            shown = "".join(_growing(ours))
            assert "interrupted" in shown
            assert "Traceback" not in shown
        os.close(ours)
        assert process.returncode == 130
        (index,) = command.folder.glob(".cache/branchpoint/search/*.sqlite3")
        with closing(sqlite3.connect(index)) as database:
            assert database.execute("SELECT count(*) FROM files").fetchone() == (400,)  # whole batches
        assert command.process(*arguments).stdout == "100\n"


@contextmanager
def _kept_from_readers(path: Path) -> Iterator[Callable[[], bool]]:
    """Whoever opens the file waits, by a lease on it. Gives a function: does somebody wait by now?"""
    with path.open("r+b") as file:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # type: ignore[attr-defined]  # one that does no harm
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield lambda: fcntl.fcntl(file, fcntl.F_GETLEASE) != fcntl.F_WRLCK


def _growing(descriptor: int) -> Iterator[str]:
    """What appears on a terminal, all of it so far with each piece."""
    shown = ""
    while True:
        try:
            shown += os.read(descriptor, 65536).decode(errors="replace")
        except OSError:
            return
        yield shown

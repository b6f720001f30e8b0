"""stdout and stderr: every road leads to the host, in order, while the cell runs."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from tests.runtime_session import run, session


@pytest.mark.parametrize(
    ("source", "stdout", "stderr"),
    [
        ("print('a', 'b', sep='-', end='!')", "a-b!", ""),
        ("import sys\nprint('e', file=sys.stderr)", "", "e\n"),
        ("import sys\nsys.__stdout__.write('a\\n')\nsys.__stderr__.write('b\\n')", "a\n", "b\n"),
        ("import sys\nsys.stdout.buffer.write(b'by\\xc3\\xa4tes')", "byätes", ""),
        ("import os\nos.write(1, b'one'), os.write(2, b'two')", "one", "two"),
        ("import sys, os\nos.write(sys.stdout.fileno(), b'x')", "x", ""),
        ("import sys\nsys.stdout.writelines(['a', 'b'])", "ab", ""),
        ("import sys\nprint('x', file=sys.stdout, flush=True)", "x\n", ""),
        (
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f:\n    print('in')\nprint(f.getvalue())",
            "in\n\n",
            "",
        ),
        ("import pprint\npprint.pprint({'a': 1})", "{'a': 1}\n", ""),
    ],
)
def test_every_way_to_write_is_captured(source, stdout, stderr):
    """print, both names of both streams, bytes, descriptors."""
    got = run(source)
    assert got.failure is None
    assert (got.stdout, got.stderr) == (stdout, stderr)


@pytest.mark.parametrize(
    ("source", "stderr"),
    [
        ("import logging\nlogging.getLogger('a').warning('careful')", "careful\n"),
        ("import logging\nlogging.error('bad')", "ERROR:root:bad\n"),
        ("import warnings\nwarnings.warn('old')", "<cell>:2: UserWarning: old\n  warnings.warn('old')\n"),
        ("async def f(): ...\nf()\n1", "<cell>:2: RuntimeWarning: coroutine 'f' was never awaited\n"),
        ("x = '\\d'\n1", "<cell>:1: SyntaxWarning: invalid escape sequence '\\d'\n"),
    ],
)
def test_logging_and_warnings_write_to_stderr(source, stderr):
    """Apart from pytest, which takes both for itself."""
    code = f"from tests.runtime_session import run; print(run({source!r}).stderr)"
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert got.stdout.startswith(stderr)


def test_the_two_streams_keep_their_order():
    """What was written first crosses first."""
    got = run("import sys\nfor n in range(3):\n    sys.stdout.write(f'o{n} ')\n    sys.stderr.write(f'e{n} ')")
    assert "".join(text for _, text in got.emitted) == "o0 e0 o1 e1 o2 e2 "


def test_output_is_with_the_host_before_a_call_is():
    """Nobody asks a person before showing what leads to the question."""
    seen = []
    with session(lambda call: seen.append(guest.ended.stdout)) as guest:
        guest.run(
            "import sys\nsys.stdout.write('half a line')\nawait lookup(1)\nsys.stdout.write('more')\nlookup.blocking(2)"
        )
    assert seen == ["half a line", "half a linemore"]


def test_the_first_lines_cross_one_by_one_and_many_in_batches():
    """A slow loop is watched live, a fast one is not slowed down."""
    got = run("for n in range(20000):\n    print(n)")
    assert [text for _, text in got.emitted[:3]] == ["0\n", "1\n", "2\n"]
    assert len(got.emitted) < 600
    assert got.stdout == "".join(f"{n}\n" for n in range(20000))


def test_each_cell_begins_with_single_lines():
    """The batches start anew."""
    with session() as guest:
        guest.run("for n in range(1000):\n    print(n)")
        got = guest.run("print('a')\nprint('b')")
    assert [text for _, text in got.emitted] == ["a\n", "b\n"]


def test_a_long_text_crosses_in_parts():
    """No part is larger than 64 K characters."""
    got = run("print('x' * 300_000)")
    assert max(len(text) for _, text in got.emitted) == 1 << 16
    assert got.stdout == "x" * 300_000 + "\n"


@pytest.mark.parametrize(
    ("source", "stdout"),
    [
        ("print('\\ud800')", "\\ud800\n"),
        ("import sys\nsys.stdout.buffer.write(b'\\xff!')", "\\xff!"),
        ("import sys\nsys.stdout.buffer.write(b'\\xc3')\nsys.stdout.buffer.write(b'\\xa4')", "ä"),
        ("import sys\nsys.stdout.buffer.write(b'half \\xc3')", "half \\xc3"),
        ("print('\\0')", "\0\n"),
    ],
)
def test_text_is_always_valid(source, stdout):
    """Half a surrogate pair and bytes that are no UTF-8 are written as escapes."""
    assert run(source).stdout == stdout


def test_the_streams_look_like_streams():
    """No terminal, UTF-8, writable; closing them closes nothing."""
    got = run(
        dedent("""
        import sys
        sys.stdout.reconfigure(line_buffering=True)
        sys.stdout.close()
        out = sys.stdout
        print("still here")
        out.isatty(), out.encoding, out.writable(), out.readable(), out.name, out.fileno(), out.closed
        """)
    )
    assert got.value == (False, "utf-8", True, False, "<stdout>", 1, False)
    assert got.stdout == "still here\n"


def test_writing_what_is_no_text_is_a_type_error():
    """As any text stream says it."""
    assert run("import sys\nsys.stdout.write(5)").failure.message == "write() argument must be str, not int"


def test_a_stream_that_the_agent_replaced_stays_replaced():
    """It is the agent's own doing, as at any prompt."""
    with session() as guest:
        guest.run("import io, sys\nkept = sys.stdout\nsys.stdout = io.StringIO()")
        assert guest.run("print('hidden')").stdout == ""
        assert guest.run("sys.stdout = kept\nprint('seen')").stdout == "seen\n"

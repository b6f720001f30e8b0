"""`--json`: one object for each file on standard output, and nothing else there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command
from tests.test_cli_run import CRASH

KEYS = ["file", "ok", "value", "stdout", "stderr", "error", "session", "usage"]
ERROR = ["kind", "type", "message", "traceback", "line", "column", "hint"]
USAGE = ["cpu_ms", "wall_ms", "calls", "rejected_calls", "memory_bytes", "output_bytes"]


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


def test_an_outcome_has_these_fields_and_no_others(command: Command) -> None:
    """In this order; what was not wrong is null."""
    found = command.json("print('out')\nimport sys\nprint('err', file=sys.stderr)\n[1, 'two']")
    assert list(found) == KEYS
    assert list(found["usage"]) == USAGE
    usage = found.pop("usage")
    assert found == {
        "file": "code.py",
        "ok": True,
        "value": [1, "two"],
        "stdout": "out\n",
        "stderr": "err\n",
        "error": None,
        "session": "kept",
    }
    assert 0 < usage["cpu_ms"] < 5_000
    assert usage["memory_bytes"] > 40 << 20
    assert (usage["calls"], usage["rejected_calls"], usage["output_bytes"]) == (0, 0, 8)


def test_an_error_has_these_fields_and_no_others(command: Command) -> None:
    """Line and column are the script's own, counted from 1."""
    found = command.json("x = 1\n\nimport numpy")
    assert found["ok"] is False
    assert list(found["error"]) == ERROR
    assert found["error"] == {
        "kind": "script",
        "type": "ModuleNotFoundError",
        "message": "No module named 'numpy'",
        "traceback": (
            'Traceback (most recent call last):\n  File "code.py", line 3, in <module>\n    import numpy\n'
            "ModuleNotFoundError: No module named 'numpy'\n"
        ),
        "line": 3,
        "column": 1,
        "hint": "There is no numpy here: use math, statistics, fractions, and lists.",
    }


@pytest.mark.parametrize(
    ("source", "options", "kind", "kind_of_error", "session"),
    [
        ("1 / 0", [], "script", "ZeroDivisionError", "kept"),
        ("open('x')", ["--policy", "restricted"], "policy", "PolicyViolation", "kept"),
        ("while True: pass", ["--timeout", "0.2"], "limit", "TimeLimit", "kept"),
        ("sum(range(10 ** 12))", ["--timeout", "0.2"], "limit", "TimeLimit", "lost"),
        (CRASH, [], "crash", "Crash", "lost"),
    ],
    ids=["script", "policy", "limit", "hard limit", "crash"],
)
def test_the_kind_of_an_error_and_what_became_of_the_session(
    command: Command, source: str, options: list[str], kind: str, kind_of_error: str, session: str
) -> None:
    """As the exit code tells them, in words."""
    found = command.json(source, *options)
    assert (found["error"]["kind"], found["error"]["type"]) == (kind, kind_of_error)
    assert (found["ok"], found["session"]) == (False, session)


def test_calls_are_counted(command: Command) -> None:
    """Those that crossed, and those that were refused."""
    source = "try:\n    await contacts.find(3)\nexcept TypeError:\n    pass\nawait contacts.find('Nils')"
    found = command.json(source, "--contacts", SAMPLES["board"].contacts)
    assert (found["usage"]["calls"], found["usage"]["rejected_calls"]) == (1, 1)
    (contact,) = found["value"]
    assert list(contact) == ["name", "email", "phone", "organization", "title", "note"]


def test_there_is_one_line_for_each_file_and_nothing_else(command: Command) -> None:
    """Whatever they print; notices go to standard error, with the file's name."""
    one = command.write("one.py", "print('{}')\ncontacts.find('x')")
    two = command.write("two.py", "1 / 0")
    result = command("run", one, two, "-", "--json", "--contacts", SAMPLES["board"].contacts, stdin="'from stdin'")
    assert result.exit_code == 1
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(each["file"], each["ok"], each["stdout"]) for each in found] == [
        ("one.py", True, "{}\n"),
        ("two.py", False, ""),
        ("-", True, ""),
    ]
    assert result.stderr == (
        "Note (one.py): contacts.find(...) on line 2 was awaited for you. Write: await contacts.find('x')\n"
    )


def test_a_result_too_large_is_shortened_and_valid(command: Command) -> None:
    """With counts, and how a session would read on."""
    found = command.json("list(range(2_000_000))")["value"]
    assert {name: found[name] for name in ("type", "length", "shown", "handle")} == {
        "type": "list",
        "length": 2_000_000,
        "shown": 100,
        "handle": "_[100:200]",
    }
    assert found["head"] == list(range(100))


def test_bad_input_leaves_standard_output_empty(command: Command) -> None:
    """There is no object for a file that was never run."""
    result = command("run", command.write("one.py", "1"), "missing.py", "--json")
    assert (result.exit_code, result.stdout) == (2, "")

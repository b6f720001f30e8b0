"""`branchpoint run`: output, values, exit codes, and each flag."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command

# An index far beyond the memory: code objects can be crafted, so CPython's own memory is at the script's mercy.
CRASH = """
import opcode
def f(): pass
ops = opcode.opmap
far = [ops["EXTENDED_ARG"], 0x20, ops["EXTENDED_ARG"], 0, ops["EXTENDED_ARG"], 0, ops["LOAD_FAST"], 0]
f.__code__ = f.__code__.replace(co_code=bytes([ops["RESUME"], 0, *far, ops["RETURN_VALUE"], 0]))
print("before")
f()
"""


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


class TestOutput:
    def test_output_and_value_go_where_python_would_put_them(self, command: Command) -> None:
        """stdout and stderr as they are, the value of the last line as its repr."""
        result = command.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'a': [1, 2.5, None]}")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "out\n{'a': [1, 2.5, None]}\n", "err\n")

    def test_no_value_prints_nothing(self, command: Command) -> None:
        """As at Python's own prompt."""
        assert command.run("x = None\nx").output == ""

    def test_a_value_begins_on_a_line_of_its_own(self, command: Command) -> None:
        """Though the output before it did not end its line."""
        assert command.run("print('no end', end='')\n1").stdout == "no end\n1\n"

    def test_an_error_is_the_scripts_own_traceback(self, command: Command) -> None:
        """On standard error, after what was printed before."""
        result = command.run("def f():\n    raise ValueError('no')\nprint('before')\nf()")
        assert (result.exit_code, result.stdout) == (1, "before\n")
        assert result.stderr == (
            "Traceback (most recent call last):\n"
            '  File "code.py", line 4, in <module>\n'
            "    f()\n"
            "    ~^^\n"
            '  File "code.py", line 2, in f\n'
            "    raise ValueError('no')\n"
            "ValueError: no\n"
        )

    @pytest.mark.parametrize("lines", [5, 9, 30])
    def test_of_long_output_the_middle_is_left_out_and_counted(self, command: Command, lines: int) -> None:
        """The output limit is about a megabyte; nothing is shown twice, and nothing is missing without a word."""
        shown = command.run(f"for n in range({lines}): print('å' + str(n % 10) * 99_998)").stdout
        left_out = re.search(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", shown)
        count = int(left_out[1]) - len(left_out[0]) if left_out else 0
        assert (left_out is not None) is (lines == 30)
        assert len(shown.encode()) + count == lines * 100_001
        assert shown.startswith("å" + "0" * 99_998 + "\n")
        assert shown.endswith("å" + str((lines - 1) % 10) * 99_998 + "\n")

    def test_a_hint_and_notices_follow(self, command: Command) -> None:
        """They say what to write instead."""
        result = command.run("import numpy")
        assert result.stderr.endswith("Hint: There is no numpy here: use math, statistics, fractions, and lists.\n")
        result = command.run("contacts.find('Sarah')[0].email", "--contacts", SAMPLES["board"].contacts)
        assert result.exit_code == 1
        assert result.stderr.endswith("Write: (await contacts.find('Sarah'))[0].email\n")
        result = command.run("contacts.find('Nils')", "--contacts", SAMPLES["board"].contacts)
        assert result.stdout.startswith("[\n    Contact(\n        name='Nils Myhre',\n")
        assert result.stderr == (
            "Note: contacts.find(...) on line 1 was awaited for you. Write: await contacts.find('Nils')\n"
        )


class TestFiles:
    def test_each_file_has_a_sandbox_of_its_own(self, command: Command) -> None:
        """No name, module or patch of one is in the next; headings go to standard error."""
        one = command.write("one.py", "import json\njson.stain = x = 1\nprint('one')")
        two = command.write("two.py", "import json\n('x' in globals(), hasattr(json, 'stain'))")
        result = command("run", one, two)
        assert (result.exit_code, result.stdout) == (0, "one\n(False, False)\n")
        assert result.stderr == "== one.py\n== two.py\n"

    def test_all_files_run_and_the_gravest_ending_counts(self, command: Command) -> None:
        """One that fails does not stop the others."""
        good = command.write("good.py", "print('good')")
        bad = command.write("bad.py", "1 / 0")
        slow = command.write("slow.py", "while True: pass")
        assert command("run", bad, good).exit_code == 1
        result = command("run", slow, bad, good, "--timeout", "0.2")
        assert (result.exit_code, result.stdout) == (3, "good\n")

    def test_a_dash_is_standard_input(self, command: Command) -> None:
        """Also between files."""
        result = command("run", "-", stdin="print('from stdin')\n1 / 0")
        assert (result.exit_code, result.stdout) == (1, "from stdin\n")
        assert 'File "<stdin>", line 2, in <module>' in result.stderr
        result = command("run", command.write("one.py", "1"), "-", stdin="2")
        assert result.stdout == "1\n2\n"

    @pytest.mark.parametrize(
        ("content", "printed"),
        [
            ("print('å')".encode("utf-8-sig"), "å\n"),
            ("# -*- coding: latin-1 -*-\nprint('å')".encode("latin-1"), "å\n"),
            (b"if True:\r\n    print(1)\r\n", "1\n"),
            (b"```python\nprint(2)\n```\n", "2\n"),
            (b"", ""),
        ],
        ids=["byte order mark", "declared encoding", "CRLF", "fence", "empty"],
    )
    def test_files_are_read_as_python_reads_them(self, command: Command, content: bytes, printed: str) -> None:
        """And as agents send them."""
        result = command("run", command.write("code.py", content))
        assert (result.exit_code, result.output) == (0, printed)


class TestExitCodes:
    @pytest.mark.parametrize(
        ("source", "options", "code", "said"),
        [
            ("1", [], 0, ""),
            ("import sys\nsys.exit(0)", [], 0, ""),
            ("1 / 0", [], 1, "ZeroDivisionError: division by zero"),
            ("def", [], 1, "SyntaxError: invalid syntax"),
            ("import sys\nsys.exit(3)", [], 1, "SystemExit: 3"),
            ("x.__class__", ["--policy", "restricted"], 1, 'policy "restricted" does not allow'),
            ("while True: pass", ["--timeout", "0.2"], 3, "TimeLimit: the cell used more than 0.2 s of processor time"),
            ("import asyncio\nawait asyncio.sleep(99)", ["--wall", "0.2"], 3, "TimeLimit: the cell took longer than 0.2 s"),
            ("sum(range(10 ** 12))", ["--timeout", "0.2"], 3, "it was stopped"),
            ("x = bytearray(200_000_000)", ["--memory", "100MB"], 3, "MemoryError"),
            (CRASH, [], 4, "Crash: the interpreter crashed: memory fault"),
        ],
        ids=["ok", "exit", "error", "syntax", "exit 3", "policy", "cpu", "wall", "hard stop", "memory", "crash"],
    )  # fmt: skip
    def test_the_exit_code_says_how_it_went(
        self, command: Command, source: str, options: list[str], code: int, said: str
    ) -> None:
        """0 all ok, 1 a script failed, 3 a limit, 4 a crash; standard error says why."""
        result = command.run(source, *options)
        assert result.exit_code == code
        assert said in result.stderr
        assert bool(result.stderr) is bool(said)

    def test_what_was_printed_before_a_crash_is_there(self, command: Command) -> None:
        """And the next file runs."""
        crash, after = command.write("crash.py", CRASH), command.write("after.py", "print('after')")
        result = command("run", crash, after)
        assert (result.exit_code, result.stdout) == (4, "before\nafter\n")


class TestFlags:
    def test_capabilities_are_in_scope_if_their_option_is_given(self, command: Command) -> None:
        """And none else."""
        names = "sorted(name for name in ('contacts', 'search', 'outbox') if name in globals())"
        sample = SAMPLES["board"]
        assert command.run(names).stdout == "[]\n"
        assert command.run(names, "--contacts", sample.contacts).stdout == "['contacts']\n"
        assert command.run(names, "--files", sample.files, "--outbox", "out").stdout == "['outbox', 'search']\n"
        assert not (command.folder / "out").exists()  # it is made with the first mail

    def test_the_errors_of_capabilities_are_in_scope(self, command: Command) -> None:
        """Agent code catches them by name."""
        source = """
try:
    await contacts.ask("Sarah")
except NeedsClarification as open_question:
    print(open_question.question, len(open_question.options))
"""
        result = command.run(source, "--contacts", SAMPLES["board"].contacts)
        assert result.stdout == 'Which one is meant by "Sarah"? 2\n'

    def test_files_are_found_read_and_attached(self, command: Command) -> None:
        """By their paths relative to the folder; what was found stays in an index, and changes are seen."""
        command.write("papers/deep/plan.md", "# The plan\n\nWe sail at dawn.")
        source = "found = await search.files('dawn')\n[(file.path, file.title) for file in found], await search.read('deep/plan.md')"
        first = command.run(source, "--files", "papers")
        assert first.stdout == "([('deep/plan.md', 'The plan')], '# The plan\\n\\nWe sail at dawn.')\n"
        command.write("papers/deep/plan.md", "# Another plan\n\nWe sail at dawn, or later.")
        assert "Another plan" in command.run(source, "--files", "papers").stdout
        assert len([path for path in command.tree() if path.endswith(".sqlite3")]) == 1

    def test_the_policy_is_checked_before_the_first_effect(self, command: Command) -> None:
        """Nothing of a rejected file runs; ordinary code with awaits does."""
        rejected = command.run("print('effect')\nopen('x')", "--policy", "restricted")
        assert (rejected.exit_code, rejected.stdout) == (1, "")
        assert "Line 2, column 1" in rejected.stderr
        source = (
            "import asyncio\nfound = await contacts.find('Nils')\nawait asyncio.sleep(0)\n[each.name for each in found]"
        )
        allowed = command.run(source, "--policy", "restricted", "--contacts", SAMPLES["board"].contacts)
        assert (allowed.exit_code, allowed.stdout) == (0, "['Nils Myhre']\n")

    def test_a_seed_repeats_a_run(self, command: Command) -> None:
        """Random numbers, hashes and the clock; another seed, or none, gives others."""
        source = "import random, time, uuid, secrets\nrandom.random(), time.time(), uuid.uuid4(), secrets.token_hex(4)"
        outputs = [
            command.run(source, *options).stdout for options in (["--seed", "7"],) * 2 + (["--seed", "8"], [], [])
        ]
        assert outputs[0] == outputs[1]
        assert "1767225600" in outputs[0]
        assert len(set(outputs)) == 4

    def test_the_image_is_chosen_by_name(self, command: Command) -> None:
        """The default one has a name too."""
        assert command.run("1", "--image", "default").stdout == "1\n"

    def test_the_conversation_reaches_the_loops_unless_the_run_is_cold(self, command: Command) -> None:
        """Of all four shapes; `--context cold` withholds it, and so does a call that says so."""
        said = "Nils Myhre is the one who has the keys."
        shapes = {
            "chat.json": {"messages": [{"role": "user", "content": said}]},
            "list.json": [{"role": "user", "content": said}],
            "responses.json": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}],
            "anthropic.json": {
                "system": "You help.",
                "messages": [{"role": "user", "content": [{"type": "text", "text": said}]}],
            },
            "langchain.json": [{"type": "human", "data": {"content": said}}],
        }
        source = """
try:
    print((await contacts.ask("the one with the keys")).name)
except NeedsClarification:
    print("which?")
"""
        contacts = command.write("two.vcf", "".join(
            f"BEGIN:VCARD\nVERSION:4.0\nFN:{name}\nEND:VCARD\n" for name in ("Nils Myhre", "Kari Moe")
        ))  # fmt: skip
        for name, content in shapes.items():
            thread = command.write(name, json.dumps(content))
            assert command.run(source, "--contacts", contacts, "--thread", thread).output == "Nils Myhre\n", name
        cold = command.run(source, "--contacts", contacts, "--thread", thread, "--context", "cold")
        assert cold.output == "which?\n"
        call = source.replace('keys")', "keys\", context='cold')")
        assert command.run(call, "--contacts", contacts, "--thread", thread).output == "which?\n"

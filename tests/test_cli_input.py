"""Bad input of any kind: one sentence on standard error, exit code 2, and nothing was written."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.image import Image
from tests.cli_command import Command

CARD = "BEGIN:VCARD\nVERSION:4.0\nFN:Ann\nEMAIL:ann@example.org\nEND:VCARD\n"


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A folder with good input, and some that is bad."""
    monkeypatch.chdir(tmp_path)
    command = Command(tmp_path)
    (tmp_path / "folder").mkdir()
    command.write("good.py", "print('ran')\nawait outbox.send('ann@example.org', 'Hello')")
    command.write("good.vcf", CARD)
    command.write("good.json", json.dumps([{"role": "user", "content": "Hello"}]))
    command.write("papers/plan.txt", "The plan.")
    command.write("latin.py", "print('å')".encode("latin-1"))
    command.write("zip.py", b"PK\x03\x04\x00\xff")
    command.write("unknown.py", "# -*- coding: klingon -*-\n1")
    command.write("cut.vcf", CARD[:-11])
    command.write("broken.vcf", CARD.replace("EMAIL:", "EMAIL "))
    command.write("text.vcf", "Ann, ann@example.org\n")
    command.write("binary.vcf", bytes(range(256)))
    command.write("object.json", '{"hello": 1}')
    command.write("number.json", "3")
    command.write("cut.json", '[{"role": "user", "content": "He')
    command.write("notes.txt", "Mine.")
    command.write("things/notes.txt", "Mine.")
    return command


BAD = {
    "no such script": (["missing.py"], "missing.py does not exist."),
    "no such script, after a good one": (["good.py", "missing.py"], "missing.py does not exist."),
    "a folder as script": (["folder"], "folder is a folder, not a Python file."),
    "no UTF-8": (
        ["latin.py"],
        "latin.py is no Python text: it is neither UTF-8 nor in an encoding that it declares.",
    ),
    "binary": (["zip.py"], "zip.py is no Python text: it is neither UTF-8 nor in an encoding that it declares."),
    "unknown encoding": (
        ["unknown.py"],
        "unknown.py is no Python text: it is neither UTF-8 nor in an encoding that it declares.",
    ),
    "standard input twice": (["-", "-"], "standard input can be read once: give `-` once."),
    "no such contacts": (["good.py", "--contacts", "no.vcf"], "no.vcf cannot be read: No such file or directory."),
    "a folder as contacts": (["good.py", "--contacts", "folder"], "folder cannot be read: Is a directory."),
    "contacts that end too early": (["good.py", "--contacts", "cut.vcf"], "cut.vcf: "),
    "contacts with a broken line": (["good.py", "--contacts", "broken.vcf"], "broken.vcf: line 4: "),
    "contacts that are text": (["good.py", "--contacts", "text.vcf"], "text.vcf: line 1: "),
    "contacts that are no text": (["good.py", "--contacts", "binary.vcf"], "binary.vcf: "),
    "no such files": (["good.py", "--files", "nowhere"], "The folder nowhere does not exist."),
    "a file as files": (["good.py", "--files", "good.py"], "good.py is not a folder."),
    "a file as outbox": (["good.py", "--outbox", "notes.txt"], "notes.txt is no folder, so it cannot be an outbox."),
    "other things in the outbox": (
        ["good.py", "--outbox", "things"],
        "things holds other things than mail, so it cannot be an outbox.",
    ),
    "a bad outbox, and files": (
        ["good.py", "--files", "papers", "--outbox", "things"],
        "things holds other things than mail, so it cannot be an outbox.",
    ),
    "no such thread": (["good.py", "--thread", "no.json"], "no.json: No such file or directory."),
    "a folder as thread": (["good.py", "--thread", "folder"], "folder: Is a directory."),
    "a thread that is an object": (["good.py", "--thread", "object.json"], "object.json is no conversation: "),
    "a thread that is a number": (["good.py", "--thread", "number.json"], "number.json is no conversation: "),
    "a thread that ends too early": (["good.py", "--thread", "cut.json"], "cut.json is no conversation: it is not JSON"),
    "a thread that is a script": (["good.py", "--thread", "good.py"], "good.py is no conversation: it is not JSON"),
    "a thread that is no text": (["good.py", "--thread", "binary.vcf"], "binary.vcf is no conversation: "),
    "a bad thread, though the run is cold": (
        ["good.py", "--thread", "object.json", "--context", "cold"],
        "object.json is no conversation: ",
    ),
    "unknown image": (["good.py", "--image", "nosuch"], "There is no image 'nosuch'. There are: default"),
    "a path as image": (["good.py", "--image", "../x"], "There is no image '../x'. There are: default"),
    "too little memory": (["good.py", "--memory", "10MB"], "a memory limit of 10,000,000 bytes is less than an interpreter"),
    "a session's folder that is none": (
        ["good.py", "--contacts", "good.vcf", "--suspend-on", "contacts", "no/s"],
        "no/s cannot be written: its folder does not exist.",
    ),
    "a folder as session": (
        ["good.py", "--contacts", "good.vcf", "--suspend-on", "contacts", "folder"],
        "folder is a folder, and a session is stored in a file.",
    ),
    "another file in the session's place": (
        ["good.py", "--contacts", "good.vcf", "--suspend-on", "contacts", "notes.txt"],
        "notes.txt exists and holds no session: it is not overwritten.",
    ),
    "suspend on what is not there": (
        ["good.py", "--contacts", "good.vcf", "--suspend-on", "search", "s"],
        "--suspend-on search: nothing is called so here. Known: contacts, contacts.find, contacts.ask, outbox, outbox.send.",
    ),
    "suspend several": (
        ["good.py", "latin.py", "--suspend-on", "contacts", "s"],
        "--suspend-on stores one session, so it goes with one file of code.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), BAD.values(), ids=list(BAD))
def test_bad_input_is_one_sentence(command: Command, arguments: list[str], sentence: str) -> None:
    """It names what was given and says what is wrong with it. Nothing ran, and every file is as it was."""
    before = {path: path.read_bytes() for path in command.folder.rglob("*") if path.is_file()}
    outbox = [] if "--outbox" in arguments else ["--outbox", "out"]
    result = command("run", *arguments, *outbox, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"branchpoint: {sentence}")
    assert result.stderr.endswith(".\n")
    assert result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in command.folder.rglob("*") if path.is_file()} == before
    assert not (command.folder / "out").exists()


MISUSED = {
    "no code": (["run"], "branchpoint run: missing argument 'CODE.py...' (see branchpoint run --help)."),
    "unknown command": (["runn"], "branchpoint: no such command 'runn'"),
    "unknown option": (["run", "good.py", "--bogus"], "branchpoint run: no such option"),
    "unknown option before the command": (["--bogus", "run"], "branchpoint: no such option"),
    "option without its value": (["run", "good.py", "--files"], "branchpoint: option '--files' requires an argument"),
    "half an option": (["run", "good.py", "--suspend-on", "x"], "branchpoint: option '--suspend-on' requires 2 arguments"),
    "unknown context": (["run", "good.py", "--context", "warm"], "branchpoint run: invalid value for '--context': 'warm' is not one of"),
    "unknown policy": (["run", "good.py", "--policy", "lax"], "branchpoint run: invalid value for '--policy': 'lax' is not one of"),
    "unknown sample": (["demo", "--sample", "x"], "branchpoint demo: invalid value for '--sample': 'x' is not one of"),
    "no number": (["run", "good.py", "--seed", "x"], "branchpoint run: invalid value for '--seed': 'x' is not a valid integer"),
    **{
        f"timeout {value}": (
            ["run", "good.py", "--timeout", value],
            f"branchpoint run: invalid value for '--timeout': {value} is no number of seconds above 0",
        )
        for value in ("soon", "0", "-1", "nan", "inf", "1e300")
    },
    **{
        f"memory {value}": (
            ["run", "good.py", "--memory", value],
            f"branchpoint run: invalid value for '--memory': {value} is no size up to 4 GiB",
        )
        for value in ("lots", "0", "-1MB", "5GiB")
    },
    "nothing to describe": (["describe"], "branchpoint: there is nothing to describe: give --contacts, --files or --outbox."),
    "no such session": (["resume", "no"], "branchpoint: no cannot be read: No such file or directory."),
    "a folder as session": (["resume", "folder"], "branchpoint: folder cannot be read: Is a directory."),
    "no session": (["resume", "notes.txt"], "branchpoint: notes.txt: these bytes are no suspended session"),
    "no image to show": (["image", "info", "nosuch"], "branchpoint: There is no image 'nosuch'. There are: default"),
    "no image to export": (["image", "export", "nosuch", "x"], "branchpoint: There is no image 'nosuch'. There are: default"),
    "nowhere to export to": (["image", "export", "default", "no/x"], "branchpoint: no/x cannot be written: its folder does not exist."),
    "no such image file": (["image", "import", "no"], "branchpoint: There is no file no."),
    "no image file": (["image", "import", "good.py"], "branchpoint: good.py is no exported image, or it is damaged: "),
    "no requirement": (["image", "build", "--with", "a b"], "branchpoint: 'a b' is no requirement, like attrs>=23, and no .whl file."),
    "no such wheel": (["image", "build", "--with", "no.whl"], "branchpoint: "),
    "packages in the default image": (["image", "build", "--with", "x", "--name", "default"], "branchpoint: the image 'default' has no packages of its own"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), MISUSED.values(), ids=list(MISUSED))
def test_wrong_usage_is_one_sentence(command: Command, arguments: list[str], sentence: str) -> None:
    """Of every command."""
    before = command.tree()
    result = command(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1
    assert command.tree() == before


def test_a_thread_may_have_anything_else_around_it(command: Command) -> None:
    """What is not understood of a conversation that is one is no error."""
    thread = command.write("odd.json", json.dumps({"id": 1, "messages": [{"role": "user", "content": "Hi", "x": [1]}]}))
    result = command("run", "good.py", "--thread", thread, "--outbox", "out")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "ran")


def test_a_damaged_index_is_made_anew(command: Command) -> None:
    """It is a cache; nobody is asked about it."""
    source = "[file.path for file in await search.files('plan')]"
    assert command.run(source, "--files", "papers").stdout == "['plan.txt']\n"
    (index,) = command.folder.rglob("*.sqlite3")
    index.write_bytes(b"no database" * 1000)
    assert command.run(source, "--files", "papers").stdout == "['plan.txt']\n"
    with closing(sqlite3.connect(index)) as database:
        assert database.execute("SELECT path FROM files").fetchall() == [("plan.txt",)]


class TestHelp:
    def test_the_commands_are_listed(self, command: Command) -> None:
        """Each with a line that is not cut."""
        result = command("--help")
        assert result.exit_code == 0
        for name in ("run", "demo", "resume", "describe", "image"):
            assert f"\n  {name} " in result.stdout
        assert "..." not in result.stdout.partition("Commands:")[2]

    @pytest.mark.parametrize("name", ["run", "demo", "resume", "describe", "image", "image build"])
    def test_each_command_explains_itself(self, command: Command, name: str) -> None:
        """With short and long option."""
        assert command(*name.split(), "--help").stdout == command(*name.split(), "-h").stdout
        assert f"Usage: branchpoint {name} " in command(*name.split(), "-h").stdout

    def test_the_version(self, command: Command) -> None:
        """As the package says."""
        assert command("--version").stdout.startswith("branchpoint 0.")

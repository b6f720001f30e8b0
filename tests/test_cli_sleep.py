"""`run --suspend-on NAME FILE` and `resume FILE`: a run that goes on in another process, from the very await."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command, addressed, attached, mails, of

CARDS = "".join(f"BEGIN:VCARD\nVERSION:4.0\nFN:{name}\nEMAIL:{name}@x.example\nEND:VCARD\n" for name in ("ann", "bo"))
CODE = """
print("asking")
found = await contacts.find("ann")
print("writing to", found[0].name)
sent = await outbox.send(found[0].email, "Hello")
print("sent")
sent.to
"""
GIVEN = ["--contacts", "people.vcf", "--outbox", "out"]


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    command = Command(tmp_path)
    command.write("people.vcf", CARDS)
    return command


def suspend(command: Command, name: str, *, code: str = CODE) -> None:
    result = command.run(code, *GIVEN, "--suspend-on", name, "asleep")
    assert result.exit_code == 0, result.output


class TestSleep:
    def test_it_sleeps_at_the_first_call_and_says_how_to_go_on(self, command: Command) -> None:
        """The call is not made, and what was printed before was shown."""
        result = command.run(CODE, *GIVEN, "--suspend-on", "contacts", "asleep")
        assert (result.exit_code, result.stdout) == (0, "asking\n")
        assert result.stderr == "The session sleeps in asleep. Go on: branchpoint resume asleep\n"
        assert command.tree() >= {"asleep"}
        assert mails(command.folder / "out") == []

    def test_the_main_job_is_finished_by_another_process(self, command: Command) -> None:
        """With the conversation that the run had inherited: it sleeps too. The mail lands exactly once."""
        sample = SAMPLES["board"]
        result = command(
            "run", sample.code, *of(sample), "--thread", sample.thread, "--outbox", "out", "--suspend-on", "contacts", "s"
        )  # fmt: skip
        assert (result.exit_code, result.stdout, mails(command.folder / "out")) == (0, "", [])
        ended = command.process("resume", "s")
        assert (ended.code, ended.stderr) == (0, "")
        assert ended.stdout.startswith("metrics/weekly-metrics-2025-w19.md -> Sarah Chen <")
        (mail,) = mails(command.folder / "out")
        assert (addressed(mail), attached(mail)) == (
            "sarah.chen@halden-bikes.example",
            ["weekly-metrics-2025-w19.md"],
        )

    def test_a_run_that_was_cold_stays_cold(self, command: Command) -> None:
        """There is nothing to inherit in its sleep either."""
        sample = SAMPLES["board"]
        options = ["--thread", str(sample.thread), "--context", "cold", "--outbox", "out"]
        code = 'print("start")\n(await contacts.ask("Sarah")).name'
        command.run(code, *of(sample), *options, "--suspend-on", "contacts.ask", "s")
        result = command("resume", "s")
        assert result.exit_code == 1
        assert 'NeedsClarification: Which one is meant by "Sarah"?' in result.stderr

    def test_on_the_last_step(self, command: Command) -> None:
        """Calls before it were made, and are not made again."""
        suspend(command, "outbox")
        assert mails(command.folder / "out") == []
        result = command("resume", "asleep")
        assert (result.exit_code, result.stdout) == (0, "sent\n['ann@x.example']\n")
        assert [addressed(mail) for mail in mails(command.folder / "out")] == ["ann@x.example"]

    def test_a_method_by_its_path(self, command: Command) -> None:
        """Other methods of the capability are called as usual."""
        code = "names = [each.name for each in await contacts.find('')]\n(await contacts.ask('ann')).name, names"
        suspend(command, "contacts.ask", code=code)
        assert command("resume", "asleep").stdout == "('ann', ['ann', 'bo'])\n"

    def test_in_a_gather_of_calls(self, command: Command) -> None:
        """Those that were under way are made again if that is harmless."""
        code = (
            "import asyncio\n"
            "ann, all = await asyncio.gather(contacts.ask('ann'), contacts.find(''))\n"
            "ann.name, len(all)"
        )
        suspend(command, "contacts.ask", code=code)
        assert command("resume", "asleep").stdout == "('ann', 2)\n"

    def test_a_script_that_never_waits_on_it_ends_as_usual(self, command: Command) -> None:
        """And it is said that nothing was stored."""
        result = command.run("'done'", *GIVEN, "--suspend-on", "contacts", "asleep")
        assert (result.exit_code, result.stdout) == (0, "'done'\n")
        assert result.stderr == "Note: it ended without waiting on contacts, so nothing was stored.\n"
        assert "asleep" not in command.tree()

    def test_only_its_owner_may_read_a_session(self, command: Command) -> None:
        """It holds what the run inherited. No other file stays beside it."""
        before = command.tree() | {"code.py"}
        suspend(command, "contacts")
        assert stat.S_IMODE((command.folder / "asleep").stat().st_mode) == 0o600
        assert {path for path in command.tree() - before if not path.startswith((".cache", ".state"))} == {"asleep"}


class TestResume:
    def test_more_than_once_each_time_from_the_same_moment(self, command: Command) -> None:
        """The file stays as it is."""
        suspend(command, "contacts")
        before = (command.folder / "asleep").read_bytes()
        for times in (1, 2):
            result = command("resume", "asleep")
            assert result.stdout == "writing to ann\nsent\n['ann@x.example']\n"
            assert len(mails(command.folder / "out")) == times
        assert (command.folder / "asleep").read_bytes() == before

    def test_to_sleep_again(self, command: Command) -> None:
        """Into another file, or over the same."""
        suspend(command, "contacts")
        for target in ("later", "asleep"):
            result = command("resume", "asleep", "--suspend-on", "outbox", target)
            assert (result.exit_code, result.stdout) == (0, "writing to ann\n")
            assert result.stderr == f"The session sleeps in {target}. Go on: branchpoint resume {target}\n"
            assert mails(command.folder / "out") == []
        assert command("resume", "asleep").stdout == "sent\n['ann@x.example']\n"
        assert len(mails(command.folder / "out")) == 1

    def test_as_json(self, command: Command) -> None:
        """Asleep it says so; the end has the whole output, as if it had never slept."""
        result = command.run(CODE, *GIVEN, "--suspend-on", "contacts", "asleep", "--json")
        found = json.loads(result.stdout)
        assert (result.exit_code, found["ok"], found["error"]["kind"]) == (0, False, "cancelled")
        assert (found["error"]["type"], found["error"]["message"]) == (
            "Suspended",
            "the session was put to sleep in the middle of this cell",
        )
        found = json.loads(command("resume", "asleep", "--json").stdout)
        assert (found["file"], found["ok"], found["value"]) == ("code.py", True, ["ann@x.example"])
        assert found["stdout"] == "asking\nwriting to ann\nsent\n"

    def test_from_another_folder(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        """Places are remembered as they are, not as they were written."""
        suspend(command, "contacts")
        (command.folder / "elsewhere").mkdir()
        monkeypatch.chdir(command.folder / "elsewhere")
        assert command("resume", "../asleep").exit_code == 0
        assert len(mails(command.folder / "out")) == 1

    def test_a_failure_after_sleep_is_a_failure(self, command: Command) -> None:
        """With the script's own lines."""
        suspend(command, "contacts", code="await contacts.find('')\n1 / 0")
        result = command("resume", "asleep")
        assert result.exit_code == 1
        assert '  File "code.py", line 2, in <module>\n    1 / 0\n' in result.stderr

    def test_limits_go_on(self, command: Command) -> None:
        """Those of the run that was put to sleep, or narrower ones."""
        code = "await contacts.find('')\nwhile True: pass"
        command.run(code, *GIVEN, "--suspend-on", "contacts", "asleep", "--timeout", "0.2")
        for options, seconds in ([], 0.2), (["--timeout", "0.1"], 0.1):
            result = command("resume", "asleep", *options)
            assert result.exit_code == 3
            assert f"TimeLimit: the cell used more than {seconds} s of processor time" in result.stderr
        result = command("resume", "asleep", "--memory", "20MB")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("branchpoint: asleep: ")

    def test_places_that_moved_are_named_and_can_be_given(self, command: Command) -> None:
        """Nothing is done before all is there."""
        suspend(command, "outbox")
        (command.folder / "people.vcf").rename(command.folder / "friends.vcf")
        result = command("resume", "asleep")
        people = (command.folder / "people.vcf").resolve()
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f"branchpoint: the session in asleep was run with {people}, which is gone: say where it is by "
            "--contacts FILE.vcf.\n"
        )
        result = command("resume", "asleep", "--contacts", "friends.vcf", "--outbox", "other")
        assert result.exit_code == 0
        assert mails(command.folder / "out") == []
        assert len(mails(command.folder / "other")) == 1

    @pytest.mark.parametrize(
        ("damage", "sentence"),
        [
            (lambda data: data[:-100], "asleep: this suspended session is damaged"),
            (lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:], "asleep: this suspended session is damaged"),
            (lambda _: b"", "asleep: these bytes are no suspended session"),
            (lambda _: b"branchpoint session 1\n", "asleep: "),
            (lambda _: CARDS.encode(), "asleep: these bytes are no suspended session"),
        ],
        ids=["cut", "a bit", "empty", "only its head", "another file"],
    )  # fmt: skip
    def test_a_damaged_session_is_refused(self, command: Command, damage: object, sentence: str) -> None:
        """In one sentence; no call is made."""
        assert callable(damage)
        suspend(command, "outbox")
        file = command.folder / "asleep"
        file.write_bytes(damage(file.read_bytes()))
        result = command("resume", "asleep")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"branchpoint: {sentence}")
        assert result.stderr.count("\n") == 1
        assert mails(command.folder / "out") == []

    async def test_a_session_that_a_program_stored_is_left_to_it(self, command: Command, image: Image) -> None:
        """The command does not know what it needs."""
        from host import open_host

        async with open_host(image=image) as host, host.session() as session:
            await session.run("1")
            command.write("stored", await session.suspend())
        ended = command.process("resume", "stored")
        assert (ended.code, ended.stderr) == (
            2,
            "branchpoint: the session in stored was stored by a program, which alone can go on with it.\n",
        )

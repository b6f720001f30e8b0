"""`branchpoint rerun` repeats a recorded conversation from one of its delegating calls, and compares."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    assert image
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


@pytest.fixture
def recorded(command: Command) -> Command:
    """A conversation of the sample, in a record."""
    said = "Send the report to Sarah\n"
    assert command("chat", "--sample", "board", "--record", "run.jsonl", stdin=said).exit_code == 0
    return command


class TestRerun:
    def test_without_a_call_those_that_can_be_repeated_are_listed(self, recorded: Command) -> None:
        """Who made them, what they are, and what they started from."""
        listed = recorded("rerun", "run.jsonl").stdout
        assert "contacts.ask" in listed
        assert "search.ask" in listed
        assert "assistant" in listed
        assert listed.rstrip().endswith("Repeat one with --at NUMBER.")

    def test_r82_a_call_is_repeated_with_the_other_choice_and_compared(self, recorded: Command) -> None:
        """Forked, it knew who was meant; cold, it asks."""
        number = next(
            line.split()[0] for line in recorded("rerun", "run.jsonl").stdout.splitlines() if "contacts.ask" in line
        )
        shown = recorded("rerun", "run.jsonl", "--at", number).stdout
        assert "as it was: fork" in shown
        assert "this time: cold" in shown
        assert "Which one is meant" in shown

    def test_the_same_choice_gives_the_same_answer(self, recorded: Command) -> None:
        """The model is deterministic; the mail goes elsewhere this time."""
        shown = recorded("rerun", "run.jsonl", "--at", "1", "--context", "fork", "--outbox", "again").stdout
        assert shown.count("Done by") == 2
        assert len(list((recorded.folder / "again" / "new").iterdir())) == 1

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["run.jsonl", "--at", "9"], "there is no call '9': give a number from 1 to 2, or an id."),
            (["nothing"], "No such file"),
        ],
    )
    def test_what_cannot_be_repeated_is_told_in_a_sentence(
        self, recorded: Command, arguments: list[str], told: str
    ) -> None:
        """With exit code 2."""
        result = recorded("rerun", *arguments)
        assert result.exit_code == 2
        assert told in result.stderr

    def test_r95_a_script_goes_on_from_the_interpreter_that_waited_on_the_call(self, command: Command) -> None:
        """With the names that it had: in the middle of the cell."""
        sample = SAMPLES["board"]
        source = "seen = ['before']\nwho = await contacts.ask(\"Sarah's address\")\nprint(seen, who.email)"
        options: list[str | Path] = ["--contacts", sample.contacts, "--thread", sample.thread, "--record", "run.jsonl"]
        assert command("run", "--keep-states", command.write("script.py", source), *options).exit_code == 0
        cold = command("rerun", "run.jsonl", "--at", "1")
        assert (cold.exit_code, cold.stderr) == (0, "")
        assert "as it was: fork" in cold.stdout
        assert "NeedsClarification" in cold.stdout
        fork = command("rerun", "run.jsonl", "--at", "1", "--context", "fork").stdout
        assert fork.count("['before']") == 2
        assert command("run", "script.py", *options[:-1], "again.jsonl").exit_code == 0
        assert "`run --keep-states` does" in command("rerun", "again.jsonl", "--at", "1").stderr

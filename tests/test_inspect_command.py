"""`branchpoint inspect` and `branchpoint report`: recorded runs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from host.context import Inherited
from host.events import Event
from host.record import open_record
from tests.cli_command import Command
from tests.graph_scene import FIND, Part, Played, fork_tool
from tests.record_scene import Told, history


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


def recorded(name: str, events: list[Event]) -> str:
    with open_record(name) as record:
        for event in events:
            record(event)
    return name


def a_run() -> list[Event]:
    desk = Played(tools=(FIND, fork_tool()))
    desk.forks(Part(name="north"), Part(name="south", instructions="Look \x1b[2J south."))
    desk.answers("Done.")
    return desk.ends()


def test_inspect_shows_the_graph(command: Command) -> None:
    """As text, on standard output."""
    result = command("inspect", recorded("run.jsonl", a_run()))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "fork (inherit context): north, south" in result.stdout
    assert "branches: north=ok, south=ok" in result.stdout


def test_inspect_json_is_one_object(command: Command) -> None:
    """With where it comes from."""
    plain = json.loads(command("inspect", recorded("run.jsonl", a_run()), "--json").stdout)
    assert (plain["source"], plain["form"], plain["unknown"], plain["torn"]) == ("run.jsonl", "record", [], False)
    assert len(plain["loops"]) == 3


def test_inspect_html_writes_a_page_that_only_its_owner_reads(command: Command) -> None:
    """And writes over nothing, unless told to."""
    run = recorded("run.jsonl", a_run())
    result = command("inspect", run, "--html", "run.html")
    assert (result.exit_code, result.stdout) == (0, "")
    page = command.folder / "run.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert page.stat().st_mode & 0o077 == 0
    result = command("inspect", run, "--html", "run.html")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "branchpoint: run.html exists: choose another name, or write over it with --force.\n"
    assert command("inspect", run, "--html", "run.html", "--force").exit_code == 0


def test_inspect_says_what_a_trace_of_others_does_not(command: Command, data: Path) -> None:
    """Unknown is unknown."""
    result = command("inspect", data / "runs" / "langchain.json")
    assert "hand-off supervisor → tracking" in result.stdout
    assert result.stdout.endswith("not in this file: instructions, seconds, tools\n")


def test_inspect_of_a_run_that_was_cut_off_says_so(command: Command) -> None:
    """On standard error; what is whole is shown."""
    name = recorded("run.jsonl", a_run())
    (command.folder / name).write_bytes((command.folder / name).read_bytes()[:-9])
    result = command("inspect", name)
    assert result.exit_code == 0
    assert "cut off while it was recorded" in result.stderr


def test_control_characters_reach_no_terminal(command: Command) -> None:
    """What a model wrote may not clear the screen."""
    desk = Played()
    desk.calls("find\x1b[2J", "Found.", text="it")
    code, shown = command.terminal("inspect", recorded("run.jsonl", desk.ends()))
    assert code == 0
    assert "find\\x1b[2J" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize("name", ["inspect", "lint", "report"])
def test_bad_files_are_one_sentence_and_exit_code_2(name: str, command: Command) -> None:
    """None there, a folder, no run."""
    (command.folder / "folder").mkdir()
    command.write("odd.json", "hello")
    for file, said in (
        ("none.jsonl", "No such file"),
        ("folder", "is a folder, not a recorded run"),
        ("odd.json", "odd.json is no conversation: it is not JSON"),
    ):
        result = command(name, file)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr
        assert result.stderr.count("\n") == 1
    result = command(name)
    assert result.exit_code == 2
    assert "missing argument" in result.stderr


class TestReport:
    def run(self, *, forked: bool, says: str) -> list[Event]:
        events: list[Event] = []
        thread = history("Okafor gets report 48,200.", "Noted.")
        caller = Told(events, "l1", "Send it.", messages=thread.messages)
        caller.reply("")
        caller.delegate("d1", Inherited.of(thread) if forked else Inherited.cold())
        child = Told(events, "l2", "Who gets it?", parent="l1", delegation="d1")
        child.reply(says)
        child.end(says, how="asked back" if "?" in says else "answered")
        caller.end("Done.")
        return events

    def test_r82_how_often_forks_used_what_they_inherited_and_cold_ones_asked(self, command: Command) -> None:
        """Over several runs."""
        one = recorded("one.jsonl", self.run(forked=True, says="Okafor, 48,200."))
        two = recorded("two.jsonl", self.run(forked=True, says="Nobody."))
        three = recorded("three.jsonl", self.run(forked=False, says="Which report?"))
        result = command("report", one, two, three)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "3 delegations: 2 forked, 1 cold." in result.stdout
        assert "Forked: 1 used what they inherited, 1 used nothing of it" in result.stdout
        assert "1 asked back" in result.stdout

    def test_r82_json_has_shares_and_each_choice(self, command: Command) -> None:
        """For other programs."""
        one = recorded("one.jsonl", self.run(forked=True, says="Okafor, 48,200."))
        two = recorded("two.jsonl", self.run(forked=False, says="Which report?"))
        plain = json.loads(command("report", one, two, "--json").stdout)
        assert (plain["used_share"], plain["asked_or_guessed_share"]) == (1.0, 1.0)
        assert plain["forked"] == {"count": 1, "used": 1, "unused": 0, "empty": 0, "open": 0}
        assert [run["source"] for run in plain["runs"]] == ["one.jsonl", "two.jsonl"]
        assert plain["runs"][0]["choices"][0]["words"] == ["48200", "okafor"]

    def test_r82_a_run_without_choices_has_no_shares(self, command: Command) -> None:
        """Nothing of nothing is not 0."""
        plain = json.loads(command("report", recorded("run.jsonl", Played().ends()), "--json").stdout)
        assert (plain["delegations"], plain["used_share"]) == (0, None)

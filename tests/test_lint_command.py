"""`branchpoint lint`: findings as text, JSON and SARIF, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from host.events import Event
from host.graph.rules import RULES
from host.record import open_record
from tests.cli_command import Command
from tests.graph_scene import FIND, Part, Played, fork_tool


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


def recorded(name: str, events: list[Event]) -> str:
    with open_record(name) as record:
        for event in events:
            record(event)
    return name


def failed() -> list[Event]:
    """An error."""
    desk = Played(tools=(FIND, fork_tool()))
    desk.forks(Part(name="a"), Part(name="b", how="failed", text="Which year?"))
    return desk.ends()


def serial() -> list[Event]:
    """A warning."""
    desk = Played(tools=(FIND, fork_tool()))
    for room in ("north", "south", "west"):
        desk.calls("find", "Dry.", text=room)
    return desk.ends()


def uneven() -> list[Event]:
    """A note."""
    desk = Played(tools=(FIND, fork_tool()))
    desk.forks(Part(name="a", seconds=30.0), Part(name="b"))
    return desk.ends()


def test_r84_text_says_where_the_fix_goes_and_what_the_next_run_should_show(command: Command) -> None:
    """And what it cost."""
    result = command("lint", recorded("run.jsonl", serial()))
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0].startswith("run.jsonl: warning fanout.missed at l1.c3: desk called find 3 times in a row")
    assert "  cost: 3.0 s (all parts but the slowest; a fork would send about" in lines[2]
    assert lines[3] == "  fix in: the instructions of desk: say in its own terms what to fork over"
    assert lines[4] == "  next run: one fork with a branch for each of the 3 parts"
    assert lines[-1] == "run.jsonl: 1 warning."


def test_r84_the_exit_code_is_1_for_errors_alone_unless_told_otherwise(command: Command) -> None:
    """As of `check`; over all files together."""
    files = {name: recorded(f"{name}.jsonl", events) for name, events in (
        ("clean", Played().ends()), ("note", uneven()), ("warning", serial()), ("error", failed())
    )}  # fmt: skip
    codes = {
        limit: [command("lint", files[name], "--fail-on", limit).exit_code for name in files]
        for limit in ("error", "warning", "note")
    }
    assert codes == {"error": [0, 0, 0, 1], "warning": [0, 0, 1, 1], "note": [0, 1, 1, 1]}
    assert [command("lint", file).exit_code for file in files.values()] == codes["error"]
    assert command("lint", *files.values()).exit_code == 1
    assert command("lint", files["clean"]).stdout == "clean.jsonl: nothing found.\n"


def test_r84_json_holds_everything(command: Command) -> None:
    """Of each run."""
    result = command("lint", recorded("run.jsonl", serial()), recorded("other.jsonl", failed()), "--json")
    one, other = json.loads(result.stdout)["runs"]
    (finding,) = one["findings"]
    assert (finding["rule"], finding["severity"], finding["event"]) == ("fanout.missed", "warning", 3)
    assert finding["price"]["seconds"] == 3.0
    assert other["findings"][0]["rule"] == "branch.failed"
    assert result.exit_code == 1


def test_r84_sarif_names_all_rules_and_the_line_in_the_record(command: Command, data: Path) -> None:
    """Where the file is a record; a trace of others has no line."""
    record, trace = recorded("run.jsonl", serial()), data / "runs" / "langchain.json"
    log = json.loads(command("lint", record, trace, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.id for rule in RULES]
    ours, theirs = run["results"]
    place = ours["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "run.jsonl"
    line = (command.folder / "run.jsonl").read_text().splitlines()[place["region"]["startLine"] - 1]
    assert json.loads(line)["event"] == "CallBegan"
    assert ours["ruleId"] == RULES[ours["ruleIndex"]].id == "fanout.missed"
    assert (theirs["ruleId"], theirs["level"]) == ("handoff.loop", "error")
    assert "region" not in theirs["locations"][0]["physicalLocation"]


def test_r84_what_a_trace_does_not_say_is_said(command: Command, data: Path) -> None:
    """So that nobody takes silence for absence."""
    shown = command("lint", data / "runs" / "anthropic.json").stdout
    assert "does not say: agents, seconds, tokens, tools." in shown
    assert "seen: the record does not say which tools were on offer" in shown


def test_r84_the_rules_can_be_listed(command: Command) -> None:
    """Without a run."""
    shown = command("lint", "--rules").stdout.splitlines()
    assert len(shown) == 13
    assert shown[0].startswith("fanout.missed")


def test_r84_specialists_that_no_tool_names_are_known_from_the_project(command: Command) -> None:
    """Or else nobody could have told that there was one."""
    desk = Played(tools=(FIND,))
    for text in ("invoice 2025-044", "refund rules"):
        desk.calls("find", "Found.", text=text)
    run = recorded("run.jsonl", desk.ends())
    project = command.write(
        "agents.yaml",
        "start: desk\nagents:\n  desk: {instructions: You are the desk., description: Talks., handoffs: [billing]}\n"
        "  billing: {instructions: You bill., description: Answers invoice and refund questions., handoffs: [desk]}\n",
    )
    assert command("lint", run).stdout == "run.jsonl: nothing found.\n"
    shown = command("lint", run, "--agents", project).stdout
    assert "note delegation.missed" in shown
    assert "seen: no tool of that request leads to billing" in shown
    result = command("lint", run, "--agents", command.write("bad.yaml", "agents: 3"))
    assert (result.exit_code, result.stderr) == (
        2,
        "branchpoint: bad.yaml cannot be used as it is: see branchpoint check bad.yaml.\n",
    )

"""`branchpoint check`: what it prints, in three forms, and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from host.agents import RULES, schema
from host.agents.guidance import generated
from tests.cli_command import Command

WRONG = """\
# The desk and its clerk.
agents:
  desk:
    description: Talks with the person.
    instructions: You are the désk.   # short
    handoffs: [clerk, smth]
    frok: true
  clerk: {description: 日本語, handoffs: [dsk]}
  smith: {description: Makes things., instructions: You are the smith.}
start: desk
"""
WARNED = "agents: {desk: {instructions: You., handoffs: [clerk]}, clerk: {instructions: You.}}\nstart: desk\n"
FINE = "agents: {desk: {instructions: You are the desk.}}\n"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


SHOWN = """\
agents.yaml:6:16: warning: desk hands off to clerk, and no hand-off leads back to desk. [handoff.one-way]
    6 |     handoffs: [clerk, smth]
      |                ^^^^^
  help: Write handoffs: [desk] for clerk, if there is to be a way home.
agents.yaml:6:23: error: desk hands off to smth, and there is no agent smth. [handoff.unknown]
    6 |     handoffs: [clerk, smth]
      |                       ^^^^
  help: Write smith.
agents.yaml:7:5: error: agents.desk has no key frok. [key.unknown]
    7 |     frok: true
      |     ^^^^
  help: Write fork.
agents.yaml:8:3: error: clerk has no instructions, and branches of desk may run as it. [fork.uninstructed]
    8 |   clerk: {description: 日本語, handoffs: [dsk]}
      |   ^^^^^
  help: Write instructions: and what it is told, or instructions_file: and a file.
agents.yaml:8:40: error: clerk hands off to dsk, and there is no agent dsk. [handoff.unknown]
    8 |   clerk: {description: 日本語, handoffs: [dsk]}
      |                                           ^^^
  help: Write desk.
fork-instructions.md: warning: fork-instructions.md, which shows what agents that fork are told, is not there. \
[rules.missing]
  help: Run branchpoint check --fix, which writes it.
4 errors and 2 warnings. branchpoint check --fix mends 2 of them.
"""


def test_text_shows_each_line_with_a_caret(command: Command) -> None:
    """In a pipe it is plain. Wide letters take two columns on the screen, and one in a place."""
    command.write("agents.yaml", WRONG)
    result = command("check")
    assert (result.stdout, result.stderr, result.exit_code) == (SHOWN, "", 1)


def test_on_a_terminal_it_is_in_color(command: Command) -> None:
    """The same text, with colors and nothing else that a terminal would obey; none where they are not wanted."""
    command.write("agents.yaml", WRONG)
    code, shown = command.terminal("check")
    assert code == 1
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == SHOWN
    assert "\x1b[31m\x1b[1merror\x1b[0m" in shown
    assert "\x1b[33m\x1b[1mwarning\x1b[0m" in shown
    assert "\x1b[31m\x1b[1m^^^^\x1b[0m" in shown
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert command.terminal("check", env=plain) == (1, SHOWN)


def test_what_a_file_says_cannot_command_a_terminal(command: Command) -> None:
    """Escapes in names are shown as escapes."""
    command.write("agents.yaml", 'agents: {desk: {instructions: A., handoffs: ["\\e]0;owned\\a\\nerror: x"]}}\n')
    _, shown = command.terminal("check", env={"NO_COLOR": "1"})
    assert "\x1b" not in shown
    assert "desk hands off to \\x1b]0;owned\\x07\\nerror: x, and there is no agent" in shown


def test_a_long_line_is_shown_around_its_place(command: Command) -> None:
    """Wherever in it that is."""
    command.write(
        "agents.yaml",
        f"agents: {{desk: {{instructions: {'x' * 3000}, handoffs: [smth], {'fork: false' + ' ' * 99}}}}}\n",
    )
    _, line, caret, *_ = command("check").stdout.splitlines()
    assert len(line) <= 130
    start = caret.index("^")
    assert (line[start : start + 4], caret[start:]) == ("smth", "^^^^")


@pytest.mark.parametrize(
    ("text", "code", "last"),
    [
        (FINE, 0, "agents.yaml is fine: 1 agent, beginning with desk."),
        (WARNED, 0, "2 warnings."),
        (WRONG, 1, "4 errors and 2 warnings. branchpoint check --fix mends 2 of them."),
        ("agents: [", 1, "1 error."),
        ("", 1, "1 error."),
    ],
)
def test_exit_codes(command: Command, text: str, code: int, last: str) -> None:
    """0 without errors, 1 with; the last line sums up."""
    command.write("agents.yaml", text)
    for form in ("text", "json", "sarif"):
        assert command("check", "--format", form).exit_code == code
    assert command("check").stdout.splitlines()[-1] == last


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.yaml"], "branchpoint: no.yaml does not exist.\n"),
        ([], "branchpoint: agents.yaml does not exist.\n"),
        (["empty"], "branchpoint: empty/agents.yaml does not exist.\n"),
        (["--format", "xml"], "branchpoint check: invalid value for '--format': 'xml' is not one of"),
        (["a", "b"], "branchpoint check: got unexpected extra argument (b) (see branchpoint check --help).\n"),
        (["--schema", "--fix"], "branchpoint check: --schema goes alone: it is the same for all files"),
        (["--schema", "a.yaml"], "branchpoint check: --schema goes alone: it is the same for all files"),
    ],
)
def test_bad_usage_is_2(command: Command, arguments: list[str], message: str) -> None:
    """With one sentence on standard error."""
    (command.folder / "empty").mkdir()
    result = command("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(message)


def test_a_folder_is_the_file_in_it(command: Command) -> None:
    """And the file may have any name."""
    command.write("team/agents.yaml", FINE)
    command.write("team/other.yml", FINE)
    assert command("check", "team").stdout == "team/agents.yaml is fine: 1 agent, beginning with desk.\n"
    assert command("check", "team/other.yml").stdout == "team/other.yml is fine: 1 agent, beginning with desk.\n"


def test_r85_fix_says_what_it_did(command: Command) -> None:
    """Keys in the file, then the generated file; what is left is told, and decides the exit code."""
    command.write("agents.yaml", WRONG)
    result = command("check", "--fix")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:3] == [
        "fixed: agents.yaml:7: frok is fork now.",
        "fixed: fork-instructions.md was written.",
        "agents.yaml:6:16: warning: desk hands off to clerk, and no hand-off leads back to desk. [handoff.one-way]",
    ]
    assert (command.folder / "agents.yaml").read_text() == WRONG.replace("frok", "fork")
    assert (command.folder / "fork-instructions.md").read_text() == generated()
    command.write("fork-instructions.md", generated() + "Mine.\n")
    assert "[rules.stale]" in command("check").stdout
    assert "fixed: fork-instructions.md was written again.\n" in command("check", "--fix").stdout
    assert "fixed" not in command("check", "--fix").stdout


def test_without_fix_nothing_is_written(command: Command) -> None:
    """In no form."""
    command.write("agents.yaml", WRONG)
    for form in ("text", "json", "sarif"):
        command("check", "--format", form)
    assert command.tree() == {"agents.yaml"}
    assert (command.folder / "agents.yaml").read_text() == WRONG


def test_json_has_all_of_it(command: Command) -> None:
    """One object; a finding about a file as a whole has no line."""
    command.write("agents.yaml", WRONG)
    told = json.loads(command("check", "--format", "json").stdout)
    findings = told.pop("findings")
    assert told == {"file": "agents.yaml", "ok": False, "errors": 4, "warnings": 2, "fixed": []}
    assert findings[2] == {
        "rule": "key.unknown",
        "severity": "error",
        "message": "agents.desk has no key frok.",
        "help": "Write fork.",
        "file": "agents.yaml",
        "key": "agents.desk.frok",
        "line": 7,
        "column": 5,
        "end_line": 7,
        "end_column": 9,
        "fixable": True,
    }
    assert (findings[-1]["rule"], findings[-1]["line"], findings[-1]["fixable"]) == ("rules.missing", None, True)
    assert findings[4]["key"] == "agents.clerk.handoffs[0]"
    fixed = json.loads(command("check", "--format", "json", "--fix").stdout)
    assert fixed["fixed"] == ["agents.yaml:7: frok is fork now.", "fork-instructions.md was written."]


# SARIF: what the standard requires of a log, a run, a rule and a result (sections 3.13, 3.14, 3.27, 3.28, 3.30, 3.49)


def log_of(command: Command, *arguments: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(command("check", *arguments, "--format", "sarif").stdout)
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    run: dict[str, Any]
    (run,) = log["runs"]
    assert set(run) == {"tool", "columnKind", "results"}
    assert run["columnKind"] == "unicodeCodePoints"
    for result in run["results"]:
        assert set(result) <= {"ruleId", "ruleIndex", "level", "message", "locations", "fixes"}
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        assert result["message"]["text"].endswith(".")
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        region = place.get("region", {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2})
        assert all(type(number) is int and number >= 1 for number in region.values())
        assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])
    return run


def test_sarif_names_every_rule_once(command: Command) -> None:
    """Also those that found nothing: a viewer lists what was looked for."""
    command.write("agents.yaml", FINE)
    run = log_of(command)
    driver = run["tool"]["driver"]
    assert driver["name"] == "branchpoint check"
    assert driver["version"]
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"].endswith(".")
        assert rule["defaultConfiguration"]["level"] == RULES[rule["id"]].severity
    assert run["results"] == []


def test_sarif_has_a_result_for_each_finding(command: Command) -> None:
    """With its place in characters, and the correction of a misspelt key."""
    command.write("agents.yaml", WRONG)
    results = log_of(command)["results"]
    assert [(result["ruleId"], result["level"]) for result in results] == [
        ("handoff.one-way", "warning"),
        ("handoff.unknown", "error"),
        ("key.unknown", "error"),
        ("fork.uninstructed", "error"),
        ("handoff.unknown", "error"),
        ("rules.missing", "warning"),
    ]
    region = {"startLine": 7, "startColumn": 5, "endLine": 7, "endColumn": 9}
    artifact = {"uri": "agents.yaml"}
    assert results[2]["message"] == {"text": "agents.desk has no key frok. Write fork."}
    assert results[2]["locations"] == [
        {
            "physicalLocation": {"artifactLocation": artifact, "region": region},
            "logicalLocations": [{"fullyQualifiedName": "agents.desk.frok", "kind": "member"}],
        }
    ]
    replacement = {"deletedRegion": region, "insertedContent": {"text": "fork"}}
    assert results[2]["fixes"] == [
        {
            "description": {"text": "Write fork."},
            "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
        }
    ]
    assert results[4]["locations"][0]["physicalLocation"]["region"]["startColumn"] == 40
    assert results[5]["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "fork-instructions.md"}}}]


def test_sarif_places_are_uris(command: Command) -> None:
    """A relative path stays relative, and what a URI may not hold is escaped."""
    command.write("my team/ägents#1.yaml", "agents: {}\n")
    (result,) = log_of(command, "my team/ägents#1.yaml")["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20team/%C3%A4gents%231.yaml"}
    (result,) = log_of(command, str(command.folder / "my team/ägents#1.yaml"))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == f"{command.folder.as_uri()}/my%20team/%C3%A4gents%231.yaml"


def test_sarif_with_fix_is_of_what_is_left(command: Command) -> None:
    """What was done is told beside it."""
    command.write("agents.yaml", FINE.replace("instructions", "instructons"))
    result = command("check", "--format", "sarif", "--fix")
    assert json.loads(result.stdout)["runs"][0]["results"] == []
    assert (result.stderr, result.exit_code) == ("fixed: agents.yaml:1: instructons is instructions now.\n", 0)


def test_schema_prints_the_schema(command: Command) -> None:
    """It needs no file."""
    result = command("check", "--schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == schema()


def test_check_is_listed_among_the_commands(command: Command) -> None:
    """With its one line."""
    assert re.search(r"^  check +Find what is wrong with agents\.yaml\.$", command("--help").stdout, re.MULTILINE)

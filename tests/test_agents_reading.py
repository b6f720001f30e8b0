"""Reading agents.yaml: nothing is lost, nothing is guessed, and all that is wrong is told at once, each at its place."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.agents import ProjectError, check, load
from host.agents.findings import nearest, only_near
from host.agents.source import LARGEST, Document
from tests.agents_files import checked, in_words, told, write

DESK = "agents: {desk: {instructions: You are the desk.}}\n"


def rules(folder: Path, text: str) -> list[str]:
    """The ids of what is found, in order."""
    return [found.rule for found in checked(folder, text).findings]


def test_a_project_as_in_the_description(tmp_path: Path) -> None:
    """All keys, in block form, with comments; every value arrives."""
    yaml = """
        # Two agents.
        agents:
          desk:
            description: Talks with the person.
            instructions: |   # several lines
              You are the desk.
              Be brief.
            model: openai:gpt-5
            base_url: http://localhost:8080/v1
            capabilities: [contacts, search, outbox, agent:clerk]
            handoffs:
              - clerk
            fork: {agents: [desk, clerk], max_branches: 4}
            tasks: self
            follow: true
            context: {policy: always}
            limits: {max_turns: 7, cpu_seconds: 2, memory_bytes: 100_000_000}
          clerk:
            description: Knows the files.
            instructions_file: clerk.md
            handoffs: [desk]
            context: {default: cold}
        start: desk
        run: {max_fork_depth: 1, budget: {tokens: 9, seconds: null}}
        capabilities: {contacts: people.vcf, search: papers/, outbox: out/}
        workspace: work/
    """
    (tmp_path / "papers").mkdir()
    project = load(write(tmp_path, yaml, people_vcf="", clerk_md="You are the clerk."))
    assert [found.rule for found in project.warnings] == ["rules.missing"]
    desk, clerk = project.settings.agents.values()
    assert project.instructions("desk") == "You are the desk.\nBe brief."
    assert project.instructions("clerk") == "You are the clerk."
    assert (desk.model, desk.base_url) == ("openai:gpt-5", "http://localhost:8080/v1")
    assert desk.capabilities == ("contacts", "search", "outbox", "agent:clerk")
    assert (desk.handoffs, clerk.handoffs) == (("clerk",), ("desk",))
    assert (desk.fork.agents, desk.fork.max_branches, clerk.fork) == (("desk", "clerk"), 4, None)
    assert (desk.tasks, desk.follow, desk.context.policy, clerk.context.default) == ("self", True, "always", "cold")
    assert (desk.limits.max_turns, desk.limits.cpu_seconds, desk.limits.memory_bytes) == (7, 2.0, 100_000_000)
    assert (project.settings.run.max_fork_depth, project.settings.run.budget.tokens) == (1, 9)
    assert set(project.places) == {"contacts", "search", "outbox"}


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """Shape and meaning together: a misspelt key hides nothing of what is below it."""
    yaml = """
        agents:
          desk:
            instructons: You are the desk.
            handofs: [clrk]
            modell: gpt-5
            colour: red
          clerk:
            description: Knows the files.
        begin: desk
    """
    with pytest.raises(ProjectError) as caught:
        load(write(tmp_path, yaml))
    file = tmp_path / "agents.yaml"
    assert str(caught.value).splitlines() == [
        (
            f"{file}:1:1: error: It is open which agent a conversation begins with. Write start: desk, or another one."
            " [start.missing]"
        ),
        f"{file}:3:5: error: agents.desk has no key instructons. Write instructions. [key.unknown]",
        f"{file}:4:5: error: agents.desk has no key handofs. Write handoffs. [key.unknown]",
        f"{file}:4:15: error: desk hands off to clrk, and there is no agent clrk. Write clerk. [handoff.unknown]",
        f"{file}:5:5: error: agents.desk has no key modell. Write model. [key.unknown]",
        (
            f"{file}:5:13: error: 'gpt-5' names no model. Write one of lexical, openai:NAME, openai-responses:NAME,"
            " anthropic:NAME. [model.unknown]"
        ),
        (
            f"{file}:6:5: error: agents.desk has no key colour. Known here: description, instructions, instructions_file,"
            " model, base_url, capabilities, handoffs, fork, tasks, follow, context, limits. [key.unknown]"
        ),
        (
            f"{file}:7:3: error: clerk has no instructions. Write instructions: and what it is told, or instructions_file:"
            " and a file. [instructions.missing]"
        ),
        (
            f"{file}:9:1: error: There is no key begin. Known here: agents, start, run, capabilities, workspace."
            " [key.unknown]"
        ),
    ]


def test_a_key_that_is_unknown(tmp_path: Path) -> None:
    """At every depth; one that would double a key that is there is no slip of it."""
    yaml = DESK.replace("desk.}", "desk., fork: {agent: [desk], max-branches: 2}, instruction: Hi.}")
    assert told("!key.unknown", tmp_path, yaml) == [
        "1:57 agents.desk.fork has no key agent. Write agents.",
        "1:72 agents.desk.fork has no key max-branches. Write max_branches.",
        "1:90 agents.desk has no key instruction. instructions is there already: take this one out.",
    ]
    assert told("!key.unknown", tmp_path, DESK) == []
    shared = "agents:\n  desk: &d {instructons: You.}\n  clerk: *d\nstart: desk\n"
    assert told("!key.unknown", tmp_path, shared) == ["2:13 agents.desk has no key instructons. Write instructions."]


def test_values_of_the_wrong_kind(tmp_path: Path) -> None:
    """What it should be, what it is, and what to write."""
    yaml = """
        agents:
          desk:
            instructions: 7
            handoffs: clerk
            capabilities: [contacts, 3]
            fork: yes
            follow: "true"
            context: {policy: sometimes}
            limits: {max_turns: 0, cpu_seconds: fast, depth: 2.5, memory_bytes: 5_000_000_000}
          clerk: [a]
        run: {max_fork_depth: true}
        start: {desk}
    """
    assert told("!value.wrong", tmp_path, yaml.replace("{desk}", "[desk]")) == [
        "3:19 agents.desk.instructions is a text, not 7. Write for example instructions: You are the desk.",
        '4:15 agents.desk.handoffs is a list, not the text "clerk". Write for example handoffs: [clerk].',
        "5:30 agents.desk.capabilities[1] is a text, not 3. Write for example contacts.",
        (
            '6:11 agents.desk.fork is true, false, or a mapping with agents and max_branches, not the text "yes".'
            " Write for example fork: true."
        ),
        '7:13 agents.desk.follow is true or false, not the text "true". Write for example follow: true.',
        (
            '8:23 agents.desk.context.policy is one of model, always, never, not the text "sometimes".'
            " Write for example policy: model."
        ),
        "9:25 agents.desk.limits.max_turns is a number from 1, not 0. Write for example max_turns: 24.",
        '9:41 agents.desk.limits.cpu_seconds is a number, not the text "fast". Write for example cpu_seconds: 10.',
        "9:54 agents.desk.limits.depth is a whole number, not 2.5. Write for example depth: 100.",
        (
            "9:73 agents.desk.limits.memory_bytes is a number up to 4,294,967,296, not 5000000000."
            " Write for example memory_bytes: 268435456."
        ),
        "10:10 agents.clerk is a mapping, not a list. Write a mapping of its settings.",
        "11:23 run.max_fork_depth is a whole number, not true. Write for example max_fork_depth: 2.",
        "12:8 start is a text, not a list. Write for example start: desk.",
    ]
    assert told("!value.wrong", tmp_path, "- agents\n") == [
        "1:1 The file holds a list, and not a mapping. Begin with agents: and the agents by name below it."
    ]
    assert told("!value.wrong", tmp_path, DESK) == []


def test_a_key_without_a_value(tmp_path: Path) -> None:
    """It is no default: somebody forgot something. Only a budget may be null, which is no bound."""
    yaml = DESK + "run:\n  budget:\n    tokens: null\n    depth:\nstart:\n"
    assert told("!value.empty", tmp_path, yaml) == [
        "6:1 start has no value. Write for example start: desk. Or take it out."
    ]
    budget = load(write(tmp_path, yaml.replace("start:", "start: desk"))).settings.run.budget
    assert (budget.tokens, budget.depth, budget.children) == (None, None, 500)
    assert told("!value.empty", tmp_path, "agents:\n  desk:\n") == [
        "2:3 agents.desk has no value. Write a mapping of its settings. Or take it out."
    ]
    assert told("!value.empty", tmp_path, DESK.replace("}}", ", handoffs: [~]}}")) == [
        "1:61 agents.desk.handoffs[0] has no value. Write for example clerk. Or take it out."
    ]
    assert told("!value.empty", tmp_path, "agents:\n") == [
        "1:1 agents has no value. Write for example agents: {desk: {instructions: You are the desk.}}."
    ]


def test_what_has_to_be_there(tmp_path: Path) -> None:
    """The agents, and a file that is not empty."""
    assert told("!key.missing", tmp_path, "workspace: work\n") == [
        "1:1 agents is missing. Write for example agents: {desk: {instructions: You are the desk.}}."
    ]
    for empty in ("", "# Later.\n", "---\n"):
        assert told("!key.missing", tmp_path, empty) == [
            "The file is empty. Write agents: and the agents by name below it."
        ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: 2\n", "2:2 This is no YAML: expected ',' or ']', but got ':', in what begins in line 1."),
        (
            "a: b: c",
            (
                "1:5 This is no YAML: mapping values are not allowed here."
                " Put quotes around a text that has a colon with a space behind it."
            ),
        ),
        (
            "a:\n\t- x",
            (
                "2:1 This is no YAML: found character '\\t' that cannot start any token."
                " Indent with spaces: YAML takes no tabs."
            ),
        ),
        (
            "a: 1\n---\nb: 2",
            (
                "2:1 This is no YAML: but found another document, in what begins in line 1."
                " Keep one document in the file: take out the line with ---."
            ),
        ),
        (
            "a: *x",
            (
                "1:4 This is no YAML: found undefined alias 'x'."
                " Define it with & above, or put quotes around a text that begins with *."
            ),
        ),
        ("a: 1\nb: \x00", "2:4 This is no YAML: the character '\\x00' is not allowed in it. Take it out."),
    ],
)
def test_what_is_no_yaml(tmp_path: Path, text: str, said: str) -> None:
    """Where it stops being any, and what to do where that is known."""
    assert told("!yaml.syntax", tmp_path, text) == [said]


def test_what_is_no_text(tmp_path: Path) -> None:
    """The first byte that cannot be read is told by line and column."""
    file = tmp_path / "agents.yaml"
    file.write_bytes("# é\nagents: ü".encode() + b"\xff")
    assert [in_words(found) for found in check(file).findings] == [
        "2:10 The file is no UTF-8 text: byte 0xff cannot be read. Save it as UTF-8."
    ]
    assert told("!yaml.encoding", tmp_path, "agents: ü") == []


def test_what_is_too_large(tmp_path: Path) -> None:
    """In bytes, in depth, and in values behind aliases: each ends in a sentence."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
    )
    assert told("!yaml.size", tmp_path, "#" * LARGEST + "\n") == ["The file is larger than 1 MiB."]
    assert told("!yaml.size", tmp_path, "[" * 30_000) == ["The file is nested too deeply."]
    assert told("!yaml.size", tmp_path, "[" * 60 + "]" * 60) == ["1:42 This is nested too deeply."]
    assert told("!yaml.size", tmp_path, bomb) == ["The file has more than 100,000 values, its aliases written out."]
    assert told("!yaml.size", tmp_path, "#" * (LARGEST - len(DESK) - 1) + "\n" + DESK) == []


def test_keys_are_texts_and_stand_once(tmp_path: Path) -> None:
    """A number, a truth, a list is no key; a second one of a name would hide the first."""
    assert told("!yaml.key", tmp_path, "1: a\ntrue: b\n[a]: c\n'2': d\n") == [
        "1:1 '1' is no text, so it cannot be a key. Put quotes around it: \"1\".",
        "2:1 'true' is no text, so it cannot be a key. Put quotes around it: \"true\".",
        "3:1 A list or mapping is no text, so it cannot be a key. Write a word.",
    ]
    assert told("!key.twice", tmp_path, "agents: {}\nstart: a\nagents: {}\n") == [
        "3:1 agents is here a second time; the first is in line 1. Keep one of them."
    ]
    assert told("!key.twice", tmp_path, DESK) == []
    assert told("!yaml.key", tmp_path, DESK) == []


def test_nothing_is_made_of_tags_and_nothing_contains_itself(tmp_path: Path) -> None:
    """A file of settings is data."""
    assert told("!yaml.tag", tmp_path, "agents: !!python/object:os.system ls\nstart: !mine {a: b}\n") == [
        "1:9 !!python/object:os.system is a tag, and nothing here has one. Take it out.",
        "2:8 !mine is a tag, and nothing here has one. Take it out.",
    ]
    assert told("!yaml.alias", tmp_path, "agents: &a {desk: *a}\n") == ["1:9 This contains itself. Write it out once."]
    shared = "agents:\n  desk: &d {instructions: You.}\n  clerk: *d\nstart: desk\n"
    assert told("!yaml.tag", tmp_path, shared) == []
    assert told("!yaml.alias", tmp_path, shared) == []
    assert load(write(tmp_path, shared)).instructions("clerk") == "You."


def test_scalars_are_those_of_yaml_1_2() -> None:
    """`yes` and dates are texts; numbers come in all their notations."""
    text = "[yes, on, 2024-01-01, 1:30, 0x10, 0o17, 08, 1_000, 1e3, .5, -.inf, ~, null, True, '1', !!str 1]"
    data = Document.read(text.encode()).data
    texts, numbers, rest = data[:4], data[4:11], data[11:]
    assert texts == ("yes", "on", "2024-01-01", "1:30")
    assert numbers == (16, 15, 8, 1000, 1000.0, 0.5, float("-inf"))
    assert rest == (None, None, True, "1", "1")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_places_are_those_of_an_editor(tmp_path: Path, end: str, mark: str) -> None:
    """Whatever ends a line, behind a byte-order mark, and behind letters of several bytes."""
    file = tmp_path / "agents.yaml"
    lines = ["# 日本", "agents:", "  désk: {}", "  desk: {instructions: 'ü😀', handoffs: [clrk]}", "start: desk", ""]
    file.write_bytes((mark + end.join(lines)).encode())
    places = {found.rule: (found.span.line, found.span.column, found.span.end_column) for found in check(file).findings}
    assert places["agent.name"] == (3, 3, 7)
    assert places["handoff.unknown"] == (4, 41, 45)


def test_a_place_is_told_by_its_key_where_the_value_takes_several_lines(tmp_path: Path) -> None:
    """A caret below ten lines helps nobody."""
    yaml = "agents:\n  desk:\n    instructions: |  # long\n      a\n      b\n    handoffs:\n      - x\n    limits: |\n      a\n"
    found = {each.key: each.span for each in checked(tmp_path, yaml).findings}
    span = found["agents.desk.limits"]
    assert (span.line, span.column, span.end_line, span.end_column) == (8, 13, 8, 14)


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | st.text("ab:- {}[]&*!|>'\"#\n\t0", max_size=40).map(str.encode)
)
def test_nothing_makes_reading_fail(content: bytes) -> None:
    """Any bytes give data or a problem with a sentence, and never a warning or an exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        document = Document.read(content)
    assert document.data is None or not document.problems
    assert all(problem.message.endswith(".") for problem in document.problems)


def test_words_that_may_be_meant() -> None:
    """Case and separators count little; of two that are equally near none is taken without asking."""
    assert only_near("maxBranches", ["max_branches", "agents"]) == "max_branches"
    assert only_near("instruction", ["instructions", "instructions_file"]) == "instructions"
    assert only_near("reader3", ["reader1", "reader2"]) is None
    assert nearest("reader3", ["reader1", "reader2", "desk"]) == ["reader1", "reader2"]
    assert only_near("colour", ["agents", "fork"]) is None
    assert only_near("x", []) is None

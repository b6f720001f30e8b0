"""The rules about agents: each finds what it is for, where it stands, and nothing that is narrowly right."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.agents import RULES, ProjectError, load
from tests.agents_files import checked, told, write


def test_r71_a_fork_into_no_agent(tmp_path: Path) -> None:
    """An empty list is an error; a list of one is none, and no list is any agent."""
    yaml = """
        agents:
          desk:
            instructions: You are the desk.
            fork:
              agents: {}
    """
    assert told("!fork.no-agents", tmp_path, yaml.format("[]")) == [
        "5:15 desk may fork, and into no agent. Name agents, or leave agents out for any; fork: false is no fork."
    ]
    assert told("!fork.no-agents", tmp_path, yaml.format("[desk]")) == []
    assert told("!fork.no-agents", tmp_path, "agents: {desk: {instructions: You., fork: {}}}") == []
    with pytest.raises(ProjectError, match=r"agents\.yaml:5:15: error: .*\[fork\.no-agents\]"):
        load(write(tmp_path, yaml.format("[]")))


def test_r71_a_fork_of_no_branches(tmp_path: Path) -> None:
    """0 and less is an error, 1 is delegation."""
    yaml = "agents: {{desk: {{instructions: You., fork: {{max_branches: {}}}}}}}"
    help_ = "Write 1 or more, or leave it out for any number; fork: false is no fork."
    assert told("!fork.max-branches", tmp_path, yaml.format(0)) == [f"1:58 A fork of desk may have 0 branches. {help_}"]
    assert told("!fork.max-branches", tmp_path, yaml.format(-1)) == [
        f"1:58 A fork of desk may have -1 branches. {help_}"
    ]
    assert told("!fork.max-branches", tmp_path, yaml.format(1)) == []
    with pytest.raises(ProjectError, match=r"\[fork\.max-branches\]"):
        load(write(tmp_path, yaml.format(0)))


def test_r71_a_branch_that_may_run_as_nobody(tmp_path: Path) -> None:
    """Each name is told by its own place, with the agent that may be meant."""
    yaml = """
        agents:
          desk:
            instructions: You are the desk.
            fork:
              agents: [desk, clrk, printer]
          clerk:
            instructions: You are the clerk.
    """
    assert told("!fork.unknown", tmp_path, yaml) == [
        "5:22 Branches of desk may run as clrk, and there is no agent clrk. Write clerk.",
        (
            "5:28 Branches of desk may run as printer, and there is no agent printer."
            " Declare printer under agents, or take it out."
        ),
    ]
    assert told("!fork.unknown", tmp_path, yaml.replace("clrk, printer", "clerk")) == []
    with pytest.raises(ProjectError, match=r"5:22.*\[fork\.unknown\]\n.*5:28.*\[fork\.unknown\]"):
        load(write(tmp_path, yaml + "        start: desk\n"))


def test_r71_an_agent_that_may_be_a_branch_and_is_told_nothing(tmp_path: Path) -> None:
    """By name, or because any agent may be one; spaces and an empty file are no instructions."""
    yaml = """
        agents:
          desk:
            instructions: You are the desk.
            fork: {}
          clerk:
            {}
        start: desk
    """
    said = (
        "5:3 clerk has no instructions, and branches of desk may run as it."
        " Write instructions: and what it is told, or instructions_file: and a file."
    )
    spaces, file, words = 'instructions: "  "', "instructions_file: clerk.md", "instructions: You are the clerk."
    assert told("!fork.uninstructed", tmp_path, yaml.format("{agents: [clerk]}", spaces)) == [said]
    assert told("!fork.uninstructed", tmp_path, yaml.format("true", spaces)) == [said]
    assert told("!fork.uninstructed", tmp_path, yaml.format("true", file), clerk_md="\n") == [said]
    assert told("!fork.uninstructed", tmp_path, yaml.format("true", file), clerk_md="You.") == []
    assert told("!fork.uninstructed", tmp_path, yaml.format("true", words)) == []
    assert told("!fork.uninstructed", tmp_path, yaml.format("{agents: [desk]}", spaces)) == []
    assert told("!fork.uninstructed", tmp_path, yaml.format("false", spaces)) == []
    with pytest.raises(ProjectError, match=r"\[fork\.uninstructed\]"):
        load(write(tmp_path, yaml.format("true", spaces)))


def test_forks_that_can_never_happen(tmp_path: Path) -> None:
    """A depth of 0 takes the tool from everybody; 1 does not."""
    yaml = "agents: {{desk: {{instructions: You., fork: {}}}}}\nrun: {{max_fork_depth: {}}}"
    assert told("?fork.depth-zero", tmp_path, yaml.format("true", 0)) == [
        "1:37 desk may fork, and run.max_fork_depth is 0, so it never can. Write max_fork_depth: 1 or more, or fork: false."
    ]
    assert told("?fork.depth-zero", tmp_path, yaml.format("true", 1)) == []
    assert told("?fork.depth-zero", tmp_path, yaml.format("false", 0)) == []


HANDOFFS = """
    agents:
      desk: {{instructions: You are the desk., handoffs: [{}]}}
      clerk: {{instructions: You are the clerk., handoffs: [{}]}}
      smith: {{instructions: You are the smith., handoffs: [{}]}}
"""


def test_r77_a_handoff_to_nobody(tmp_path: Path) -> None:
    """Never to itself by suggestion, and to none that is there already."""
    yaml = HANDOFFS.format("clrk, dest", "desk, desc", "")
    assert told("!handoff.unknown", tmp_path, yaml) == [
        "2:54 desk hands off to clrk, and there is no agent clrk. Write clerk.",
        "2:60 desk hands off to dest, and there is no agent dest. Declare dest under agents, or take it out.",
        "3:62 clerk hands off to desc, and there is no agent desc. Declare desc under agents, or take it out.",
    ]
    with pytest.raises(ProjectError, match=r"\[handoff\.unknown\]"):
        load(write(tmp_path, yaml))
    assert told("!handoff.unknown", tmp_path, HANDOFFS.format("clerk", "desk", "desk")) == []


def test_r77_a_handoff_to_itself(tmp_path: Path) -> None:
    """It is an error, where a fork into itself is none."""
    yaml = HANDOFFS.format("clerk, desk", "desk", "")
    said = "2:61 desk hands off to itself. Take it out: a conversation stays by itself."
    assert told("!handoff.self", tmp_path, yaml) == [said]
    with pytest.raises(ProjectError, match=r"\[handoff\.self\]"):
        load(write(tmp_path, yaml))
    assert told("!handoff.self", tmp_path, HANDOFFS.format("clerk", "desk", "")) == []
    assert told("!handoff.self", tmp_path, "agents: {desk: {instructions: You., fork: {agents: [desk]}}}") == []


def test_r77_a_handoff_without_a_way_home(tmp_path: Path) -> None:
    """It is a warning. A way home over others counts; one by fork or task does not."""
    said = (
        "2:54 desk hands off to clerk, and no hand-off leads back to desk."
        " Write handoffs: [desk] for clerk, if there is to be a way home."
    )
    assert told("?handoff.one-way", tmp_path, HANDOFFS.format("clerk", "", "")) == [said]
    assert told("?handoff.one-way", tmp_path, HANDOFFS.format("clerk", "desk", "")) == []
    assert told("?handoff.one-way", tmp_path, HANDOFFS.format("clerk", "smith", "desk")) == []
    dead_end = told("?handoff.one-way", tmp_path, HANDOFFS.format("clerk", "smith", ""))
    assert [each.split()[0] for each in dead_end] == ["2:54", "3:56"]
    forking = HANDOFFS.format("clerk", "", "").replace("handoffs: []", "fork: {agents: [desk]}, tasks: desk")
    assert told("?handoff.one-way", tmp_path, forking) == [said]
    project = load(write(tmp_path, HANDOFFS.format("clerk", "", "") + "    start: desk\n"))
    assert "handoff.one-way" in {found.rule for found in project.warnings}


@pytest.mark.parametrize(
    ("where", "warned"),
    [
        ("handoffs: [clerk]", True),
        ("fork: true", True),
        ("fork: {agents: [clerk]}", True),
        ("capabilities: [agent:clerk]", True),
        ("tasks: clerk", False),
        ("fork: {agents: [desk]}", False),
    ],
)
def test_r73_an_agent_that_others_choose_and_that_does_not_say_for_what(
    tmp_path: Path, where: str, warned: bool
) -> None:
    """Whoever hands off, forks or calls has only the description to go by; a task's agent is not chosen."""
    yaml = """
        agents:
          desk: {{instructions: You are the desk., {}}}
          clerk:
            description: "{}"
            instructions: You are the clerk.
    """
    said = (
        "3:3 clerk has no description, and desk cannot tell when work belongs to it."
        " Write description: and when to choose it, not what it is."
    )
    assert told("?agent.no-description", tmp_path, yaml.format(where, " ")) == ([said] if warned else [])
    assert told("?agent.no-description", tmp_path, yaml.format(where, "Reads files.")) == []


@pytest.mark.parametrize(
    "way", ["handoffs: [clerk]", "fork: true", "fork: {agents: [clerk]}", "tasks: clerk", "capabilities: [agent:clerk]"]
)
def test_an_agent_that_nothing_gets_to(tmp_path: Path, way: str) -> None:
    """Any way from the start will do, over any number of agents; ways that begin elsewhere do not."""
    yaml = """
        agents:
          desk: {{instructions: You are the desk., {}}}
          clerk: {{instructions: You are the clerk., {}}}
          smith: {{instructions: You are the smith., handoffs: [desk]}}
        start: desk
    """
    said = (
        "{} Nothing gets to {} from desk, where a conversation begins."
        " Name it in handoffs, fork, tasks or capabilities (agent:{}), or take it out."
    )
    smith = said.format("4:3", "smith", "smith")
    clerk = said.format("3:3", "clerk", "clerk")
    assert told("?agent.unreachable", tmp_path, yaml.format("follow: false", way)) == [clerk, smith]
    assert told("?agent.unreachable", tmp_path, yaml.format(way, "handoffs: [smith]")) == []
    assert told("?agent.unreachable", tmp_path, yaml.replace("start: desk", "").format("follow: false", way)) == []


def test_where_a_conversation_begins(tmp_path: Path) -> None:
    """With one agent it is clear; with more it has to be said, and to be an agent."""
    one, two = "agents: {desk: {instructions: A.}}", "agents: {desk: {instructions: A.}, clerk: {instructions: B.}}"
    assert told("!start.missing", tmp_path, one) == []
    assert told("!start.missing", tmp_path, two) == [
        "1:1 It is open which agent a conversation begins with. Write start: desk, or another one."
    ]
    assert told("!start.missing", tmp_path, f"{two}\nstart: clerk") == []
    assert load(write(tmp_path, one)).start == "desk"
    assert load(write(tmp_path, f"{two}\nstart: clerk")).start == "clerk"
    assert told("!start.unknown", tmp_path, f"{two}\nstart: clark") == [
        "2:8 start is clark, and there is no agent clark. Write clerk."
    ]
    assert told("!start.unknown", tmp_path, f"{two}\nstart: clerk") == []


def test_there_is_an_agent(tmp_path: Path) -> None:
    """Nobody at all is one error, and not two."""
    assert [found.rule for found in checked(tmp_path, "agents: {}").findings] == ["agents.none"]
    assert told("!agents.none", tmp_path, "agents: {}") == [
        "1:9 There is no agent. Write one: its name, a colon, its keys below."
    ]
    assert told("!agents.none", tmp_path, "agents: {desk: {instructions: You.}}") == []


@pytest.mark.parametrize("name", ["front-desk", "front desk", "_desk", "2", "désk", "a" * 49, ""])
def test_a_name_that_no_tool_can_have(tmp_path: Path, name: str) -> None:
    """transfer_to_NAME has to be a name that providers take."""
    assert told("!agent.name", tmp_path, f'agents: {{"{name}": {{instructions: You.}}}}') == [
        (
            f"1:10 {name!r} cannot be the name of an agent, which becomes part of a tool's name."
            " Take a letter, then letters, digits and underscores, 48 in all at most."
        )
    ]


def test_names_that_are_names(tmp_path: Path) -> None:
    """The longest one, digits, capitals; and only `self` is taken."""
    for name in ("a" * 48, "Desk_2", "d"):
        assert told("!agent.name", tmp_path, f"agents: {{{name}: {{instructions: You.}}}}") == []
    assert told("!agent.name", tmp_path, "agents: {self: {instructions: You.}}") == [
        "1:10 No agent can be called self: tasks: self means the agent that says it. Give it another name."
    ]


def test_instructions(tmp_path: Path) -> None:
    """In the file or beside it, in one place, and not empty."""
    assert told("!instructions.missing", tmp_path, "agents: {desk: {description: Talks.}}") == [
        "1:10 desk has no instructions. Write instructions: and what it is told, or instructions_file: and a file."
    ]
    assert told("!instructions.missing", tmp_path, "agents: {desk: {instructions: .}}") == []
    both = "agents: {desk: {instructions: You., instructions_file: desk.md}}"
    assert told("!instructions.both", tmp_path, both, desk_md="You.") == [
        "1:37 desk has instructions and instructions_file, and only one of them can be meant. Keep one of them."
    ]
    one = "agents: {desk: {instructions_file: desk.md}}"
    assert told("!instructions.both", tmp_path, one, desk_md="You.") == []
    assert load(write(tmp_path, one, desk_md="\ufeff You are the désk.\n")).instructions("desk") == "You are the désk."


def test_a_file_of_instructions_that_is_none(tmp_path: Path) -> None:
    """Why it cannot be used is said, and nothing else is said about it."""
    yaml = "agents: {{desk: {{instructions_file: {}}}}}"
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe")
    for name, reason in (
        ("no.md", "does not exist"),
        ("folder", "is a folder"),
        ("bytes.md", "is no UTF-8 text"),
        ('"a\\0b"', "cannot be the name of a file"),
    ):
        shown = name if '"' not in name else "a\\x00b"
        assert [str(found).partition(": ")[2] for found in checked(tmp_path, yaml.format(name)).findings] == [
            f"error: {shown} {reason}. Name a text file, from the folder of agents.yaml. [instructions.file]"
        ]
    assert told("!instructions.file", tmp_path, yaml.format("desk.md"), desk_md="You.") == []


@pytest.mark.parametrize(
    ("written", "help_"),
    [
        ("lexcal", "Write lexical."),
        ("lexical:small", "Write lexical, and nothing behind it."),
        ("antropic:claude", "Write anthropic:claude."),
        ("openai", "Write openai:NAME, with the provider's name of a model behind the colon."),
        ("'openai: '", "Write openai:NAME, with the provider's name of a model behind the colon."),
        ("gpt-5", "Write one of lexical, openai:NAME, openai-responses:NAME, anthropic:NAME."),
        ("''", "Write one of lexical, openai:NAME, openai-responses:NAME, anthropic:NAME."),
    ],
)
def test_a_model_that_is_none(tmp_path: Path, written: str, help_: str) -> None:
    """The form is checked; whether the provider has the model only it can say."""
    shown = repr(written.strip("'"))
    yaml = f"agents: {{desk: {{instructions: You., model: {written}}}}}"
    assert told("!model.unknown", tmp_path, yaml) == [f"1:44 {shown} names no model. {help_}"]


def test_models_that_are_models(tmp_path: Path) -> None:
    """Those that `host.models.named` takes, one of each form."""
    for name in ("lexical", "openai:gpt-5", "openai-responses:gpt-5", "anthropic:claude:latest"):
        assert told("!model.unknown", tmp_path, f"agents: {{a: {{instructions: You., model: {name}}}}}") == []


def test_the_server_of_a_model(tmp_path: Path) -> None:
    """It is an address, and lexical has none."""
    yaml = "agents: {{desk: {{instructions: You., model: {}, base_url: {}}}}}"
    help_ = "Write one such as http://localhost:8080/v1."
    assert told("!model.base-url", tmp_path, yaml.format("lexical", "http://localhost")) == [
        "1:53 The model of desk is lexical, which runs here and on no server. Take base_url out, or name another model."
    ]
    for wrong in ("localhost:8080", "ftp://localhost", "http://", "http://localhost:port"):
        (said,) = told("!model.base-url", tmp_path, yaml.format("openai:x", wrong))
        assert said == f"1:64 {wrong} is no address of a server. {help_}"
    assert told("!model.base-url", tmp_path, yaml.format("openai:x", "http://localhost:8080/v1")) == []


def test_tasks_for_somebody(tmp_path: Path) -> None:
    """Oneself, or another agent that is there."""
    yaml = "agents: {{desk: {{instructions: A., tasks: {}}}, clerk: {{instructions: B.}}}}"
    said = "1:42 The tasks of desk are for {}, and there is no agent {}. Write {}."
    assert told("!tasks.unknown", tmp_path, yaml.format("clark")) == [said.format("clark", "clark", "clerk")]
    assert told("!tasks.unknown", tmp_path, yaml.format("slef")) == [said.format("slef", "slef", "self")]
    assert told("!tasks.unknown", tmp_path, yaml.format("clerk")) == []
    assert told("!tasks.unknown", tmp_path, yaml.format("self")) == []


def test_tasks_in_a_circle(tmp_path: Path) -> None:
    """However long it is; each agent of it is told, and one that only leads into it is not."""
    yaml = """
        agents:
          desk: {{instructions: A., tasks: clerk}}
          clerk: {{instructions: B., tasks: smith}}
          smith: {{instructions: C., tasks: {}}}
    """
    help_ = "Write tasks: self for one of them, or leave it out."
    assert told("!tasks.circle", tmp_path, yaml.format("clerk")) == [
        f"3:36 The tasks of clerk are for smith, whose own tasks lead back to clerk. {help_}",
        f"4:36 The tasks of smith are for clerk, whose own tasks lead back to smith. {help_}",
    ]
    assert told("!tasks.circle", tmp_path, yaml.format("smith")) == [
        "4:36 The tasks of smith are for smith, which is self. Write tasks: self."
    ]
    assert told("!tasks.circle", tmp_path, yaml.format("self")) == []


def test_settings_without_effect(tmp_path: Path) -> None:
    """`follow` without tasks, and a default for calls that nobody makes, are warned about."""
    yaml = "agents: {{desk: {{instructions: A., {}}}, clerk: {{instructions: B., {}}}}}"
    assert told("?follow.unused", tmp_path, yaml.format("follow: true", "tasks: self")) == [
        "1:35 desk has follow, and starts no tasks that could. Write tasks: self, or take it out."
    ]
    assert told("?follow.unused", tmp_path, yaml.format("follow: true, tasks: self", "follow: false")) == []
    cold = "context: {default: cold}"
    assert told("?context.unused", tmp_path, yaml.format("handoffs: [clerk]", cold)) == [
        (
            "1:91 clerk says what a call to it starts from, and no agent calls it."
            " Give agent:clerk to an agent that is to call it, or take default out."
        )
    ]
    assert told("?context.unused", tmp_path, yaml.format("capabilities: [agent:clerk]", cold)) == []
    assert told("?context.unused", tmp_path, yaml.format("tasks: self", "context: {policy: never}")) == []


def test_a_name_twice_in_one_list(tmp_path: Path) -> None:
    """In each of the three lists; in two lists it is none."""
    yaml = """
        agents:
          desk:
            instructions: You are the desk.
            capabilities: [agent:desk, agent:desk]
            handoffs: [clerk, smith, clerk]
            fork: {agents: [desk, desk, desk]}
          clerk: {instructions: You., handoffs: [desk], fork: {agents: [desk]}}
          smith: {instructions: You.}
    """
    assert told("!name.twice", tmp_path, yaml) == [
        "4:32 agent:desk is in capabilities twice. Take one of them out.",
        "5:30 clerk is in handoffs twice. Take one of them out.",
        "6:27 desk is in fork.agents twice. Take one of them out.",
        "6:33 desk is in fork.agents twice. Take one of them out.",
    ]


def test_every_rule_has_a_test() -> None:
    """A rule that no test names could be dead."""
    tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_agents_*.py"))
    assert [id_ for id_ in RULES if f'!{id_}"' not in tests and f'?{id_}"' not in tests] == []


def test_every_rule_says_what_it_is() -> None:
    """Ids are words with one dot, and titles are sentences."""
    for rule in RULES.values():
        assert rule.id.count(".") == 1
        assert rule.id == rule.id.lower()
        assert rule.title.endswith(".")
        assert "\n" not in rule.title

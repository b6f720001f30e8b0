"""The rules about what lies around the agents: capabilities, the workspace, and the files that are generated."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.agents import check, fix, load
from host.agents.guidance import generated
from host.loop.guidance import FORKING
from tests.agents_files import checked, told, write

FORKS = "agents: {desk: {instructions: You., fork: true}}"


def test_a_capability_that_nothing_provides(tmp_path: Path) -> None:
    """What to do depends on what it is: a place that is not given, an agent, a slip."""
    yaml = """
        agents:
          desk: {{instructions: A., capabilities: [{}]}}
          clerk: {{instructions: B.}}
        capabilities:
          contacts: people.vcf
    """

    def said(name: str) -> list[str]:
        return told("!capability.unknown", tmp_path, yaml.format(name), people_vcf="")

    nothing = "2:43 desk can use {}, and there is nothing of that name."
    assert said("contact") == [f"{nothing.format('contact')} Write contacts."]
    assert said("search") == [
        f"{nothing.format('search')} Say under capabilities, at the end of the file, what search is made from."
    ]
    assert said("clerk") == [f"{nothing.format('clerk')} Write agent:clerk: that is how an agent is called."]
    assert said("weather") == [f"{nothing.format('weather')} There is: contacts."]
    assert said("'agent:clark'") == [
        "2:43 desk can call the agent clark, and there is no agent clark. Write agent:clerk."
    ]
    assert said("contacts, agent:clerk") == []


def test_a_program_may_bring_capabilities_along(tmp_path: Path) -> None:
    """What it says that it provides is known; the command knows only what is in the file."""
    file = write(tmp_path, "agents: {desk: {instructions: A., capabilities: [weather]}}")
    assert [found.rule for found in check(file).findings] == ["capability.unknown"]
    assert check(file, provided=["weather"]).findings == ()
    assert load(file, provided=["weather"]).provided == {"weather"}


def test_two_capabilities_that_code_could_not_tell_apart(tmp_path: Path) -> None:
    """An agent is called by its name, like any capability, so it must be a name that is free."""
    yaml = """
        agents:
          desk: {{instructions: A., tasks: {}, capabilities: [contacts, "agent:{name}"]}}
          {name}: {{instructions: B., description: B.}}
        capabilities: {{contacts: people.vcf}}
    """

    def said(tasks: str, name: str) -> list[str]:
        return told("!capability.name", tmp_path, yaml.format(tasks, name=name), people_vcf="")

    again = "Give the agent another name."
    apart = f"2:66 desk can use {{}} and the agent {{}}, and code could not tell them apart. {again}"
    assert said("self", "contacts") == [apart.format("contacts", "contacts")]
    assert said("self", "tasks") == [apart.format("tasks", "tasks")]
    assert said("clerk", "clerk") == []
    assert said("self", "print") == [f"2:66 agent:print: `print` would hide Python's own `print`. {again}"]
    assert said("self", "lambda") == [f"2:66 agent:lambda: `lambda` is a word of Python itself. {again}"]


def test_a_capability_that_nobody_uses(tmp_path: Path) -> None:
    """It is a warning, for nothing goes wrong."""
    yaml = "agents: {{desk: {{instructions: A., capabilities: [{}]}}}}\ncapabilities: {{contacts: people.vcf, outbox: out}}"
    assert told("?capability.unused", tmp_path, yaml.format("outbox"), people_vcf="") == [
        "2:16 No agent can use contacts. Write capabilities: [contacts] for one, or take it out."
    ]
    assert told("?capability.unused", tmp_path, yaml.format("outbox, contacts"), people_vcf="") == []


def test_what_capabilities_are_made_from_is_there(tmp_path: Path) -> None:
    """Contacts are a file, search is a folder, and an outbox is made when it is needed."""
    yaml = """
        agents: {{desk: {{instructions: A., capabilities: [contacts, search, outbox]}}}}
        capabilities:
          contacts: {}
          search: {}
          outbox: {}
    """
    (tmp_path / "papers").mkdir()
    help_ = "Name one that is there, from the folder of agents.yaml."
    assert told("!capability.place", tmp_path, yaml.format("people.vcf", "papers/", "out/"), people_vcf="") == []
    assert told("!capability.place", tmp_path, yaml.format("no.vcf", "no/", "people.vcf")) == [
        f"3:13 no.vcf does not exist. {help_}",
        f"4:11 no/ does not exist. {help_}",
        "5:11 people.vcf is no folder. Name a folder; it may be new.",
    ]
    assert told("!capability.place", tmp_path, yaml.format("papers", "people.vcf", "papers")) == [
        f"3:13 papers is no file. {help_}",
        f"4:11 people.vcf is no folder. {help_}",
    ]


def test_paths_are_from_the_folder_of_the_file(tmp_path: Path) -> None:
    """Wherever the program stands."""
    yaml = "agents: {desk: {instructions: A., capabilities: [contacts]}}\ncapabilities: {contacts: people.vcf}\nworkspace: work"
    project = load(write(tmp_path, yaml, people_vcf=""))
    assert dict(project.places) == {"contacts": tmp_path / "people.vcf"}
    assert project.workspace == tmp_path / "work"


def test_a_workspace_is_a_folder(tmp_path: Path) -> None:
    """It may be new."""
    yaml = "agents: {{desk: {{instructions: A.}}}}\nworkspace: {}"
    assert told("!workspace.place", tmp_path, yaml.format("agents.yaml")) == [
        "2:12 agents.yaml is no folder. Name a folder; it may be new."
    ]
    assert told("!workspace.place", tmp_path, yaml.format("work/")) == []
    assert told("!workspace.place", tmp_path, yaml.format(".")) == []


# Generated files


def test_what_forking_agents_are_told_is_shown_where_some_fork(tmp_path: Path) -> None:
    """A project without the file is told how to get it, and one whose agents do not fork needs none."""
    said = "fork-instructions.md, which shows what agents that fork are told, is not there. Run branchpoint check --fix, which writes it."
    assert told("?rules.missing", tmp_path, FORKS) == [said]
    assert told("?rules.missing", tmp_path, FORKS.replace("true", "false")) == []
    fixed, done = fix(checked(tmp_path, FORKS))
    assert fixed.findings == ()
    assert done == (f"{tmp_path / 'fork-instructions.md'} was written.",)


def test_r85_the_generated_file_is_what_agents_are_told(tmp_path: Path) -> None:
    """To the letter, below a line that says where it comes from."""
    fix(checked(tmp_path, FORKS))
    first, _, rest = (tmp_path / "fork-instructions.md").read_text().partition("\n")
    assert first.startswith("<!-- Generated by `branchpoint check --fix`.")
    assert rest == f"{FORKING}\n"


def test_r85_an_edit_in_a_generated_file_is_stale(tmp_path: Path) -> None:
    """One letter is enough. It is a warning, and `--fix` puts it right."""
    file = tmp_path / "fork-instructions.md"
    file.write_text(generated() + "Never fork on Fridays.\n")
    assert told("?rules.stale", tmp_path, FORKS) == [
        (
            "fork-instructions.md was edited, and what is in it reaches no agent."
            " Put rules of your own into an agent's instructions. Run branchpoint check --fix, which writes it again."
        )
    ]
    fixed, done = fix(checked(tmp_path, FORKS))
    assert fixed.findings == ()
    assert done == (f"{file} was written again.",)
    assert file.read_text() == generated()


def test_r85_a_generated_file_of_another_version_is_stale(tmp_path: Path) -> None:
    """It was not edited, and it is not what agents are told today."""
    from hashlib import sha256

    old = "Fork at will.\n"
    line = f"<!-- Generated by `branchpoint check --fix`. Once. sha256 {sha256(old.encode()).hexdigest()} -->\n"
    file = tmp_path / "fork-instructions.md"
    file.write_text(line + old)
    assert told("?rules.stale", tmp_path, FORKS) == [
        "fork-instructions.md is not what agents are told today. Run branchpoint check --fix, which writes it again."
    ]
    fix(checked(tmp_path, FORKS))
    assert file.read_text() == generated()


def test_r85_a_file_that_is_as_generated_is_not_stale(tmp_path: Path) -> None:
    """Whatever version control did to its line ends."""
    (tmp_path / "fork-instructions.md").write_bytes(generated().replace("\n", "\r\n").encode())
    assert checked(tmp_path, FORKS).findings == ()


@pytest.mark.parametrize("content", ["My own notes.\n", "", generated().partition("\n")[2]])
def test_r85_a_file_that_is_not_ours_is_told_and_stays(tmp_path: Path, content: str) -> None:
    """Without the line that says that it was generated it is somebody's, and `--fix` writes nothing."""
    file = tmp_path / "fork-instructions.md"
    file.write_text(content)
    assert told("?rules.stale", tmp_path, FORKS) == [
        (
            "fork-instructions.md has the name of a generated file, and does not say that it is one."
            " Give it another name: --fix does not overwrite it."
        )
    ]
    _, done = fix(checked(tmp_path, FORKS))
    assert done == ()
    assert file.read_text() == content
    assert checked(tmp_path, FORKS.replace("true", "false")).findings == ()

"""`branchpoint describe`: what a model is told that it may call."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from host.samples import SAMPLES
from tests.cli_command import Command, of

BOARD = SAMPLES["board"]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


def test_it_is_python_with_signatures_docstrings_and_errors(command: Command) -> None:
    """Of all that is offered; `ask` has the choice of context, the plain calls have not."""
    result = command("describe", *of(BOARD), "--outbox", "out")
    assert (result.exit_code, result.stderr) == (0, "")
    module = ast.parse(result.stdout)
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    assert {"Contacts", "Search", "Outbox", "Contact", "File", "Sent", "NeedsClarification"} <= set(classes)
    methods = {
        f"{name}.{node.name}": node
        for name in ("Contacts", "Search", "Outbox")
        for node in classes[name].body
        if isinstance(node, ast.AsyncFunctionDef)
    }
    assert set(methods) == {
        "Contacts.find", "Contacts.ask", "Search.files", "Search.read", "Search.ask", "Outbox.send"
    }  # fmt: skip
    choosing = {name for name, node in methods.items() if any(each.arg == "context" for each in node.args.kwonlyargs)}
    assert choosing == {"Contacts.ask", "Search.ask"}
    assert all(ast.get_docstring(node) for node in methods.values())
    assert not (command.folder / "out").exists()


def test_only_what_is_offered_is_described(command: Command) -> None:
    """Files need contacts as little as contacts need files."""
    shown = command("describe", "--contacts", BOARD.contacts).stdout
    assert "contacts: Contacts\n" in shown
    assert "search: " not in shown
    assert "outbox: " not in shown


def test_json_schemas_come_from_the_same_declaration(command: Command) -> None:
    """One tool for each method, with the choice of context where it exists."""
    tools = json.loads(command("describe", *of(BOARD), "--outbox", "out", "--json").stdout)
    assert all(set(tool) == {"name", "description", "input_schema"} for tool in tools)
    properties = {tool["name"]: set(tool["input_schema"]["properties"]) for tool in tools}
    assert len(tools) == 6
    assert sorted(name for name, found in properties.items() if "context" in found) == sorted(
        name for name in properties if name.endswith("ask")
    )


def test_bad_places_are_refused_as_by_run(command: Command) -> None:
    """In one sentence."""
    result = command("describe", "--contacts", "no.vcf")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "branchpoint: no.vcf cannot be read: No such file or directory.\n"

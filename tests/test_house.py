"""The house: which room may know which, what is public, and that the README tells the truth."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

import host
import sandbox
from sandbox.image import Image

ROOT = Path(__file__).parent.parent
ROOMS = ("guest_stdlib", "sandbox", "host")


def imports(room: str) -> Iterator[tuple[Path, str]]:
    """Each module that a room's files import, with the file."""
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield path, node.module


@pytest.mark.parametrize("room", ROOMS)
def test_data_flows_one_way(room: str) -> None:
    """guest_stdlib knows no other room, sandbox knows guest_stdlib, host knows both."""
    further = ROOMS[ROOMS.index(room) + 1 :]
    wrong = [f"{path.relative_to(ROOT)}: {name}" for path, name in imports(room) if name.partition(".")[0] in further]
    assert wrong == []


@pytest.mark.parametrize("room", ["sandbox", "host"])
def test_there_is_no_asyncio_on_the_host(room: str) -> None:
    """trio only; asyncio is the guest's, and that of the agent code among the samples."""
    users = {path for path, name in imports(room) if name.partition(".")[0] == "asyncio"}
    assert {path for path in users if path.parent != ROOT / "host" / "samples" / "code"} == set()


def test_the_sandbox_knows_no_conversation_and_the_host_no_wasm() -> None:
    """Each line knows its room."""
    words = re.compile(r"\b(conversation|agent loop|LLM|prompt)\b", re.IGNORECASE)
    for path in (ROOT / "sandbox").rglob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not {name for name in names if words.search(name)}, path
    assert [str(path) for path, name in imports("host") if name.partition(".")[0] == "wasmtime"] == []


@pytest.mark.parametrize("module", [host, sandbox], ids=["host", "sandbox"])
def test_the_public_names_are_these(module: object) -> None:
    """A change here is a change of the interface."""
    assert set(module.__all__) == PUBLIC[module.__name__]  # type: ignore[attr-defined]
    for name in module.__all__:  # type: ignore[attr-defined]
        assert getattr(module, name).__doc__, f"{name} has no docstring"


PUBLIC = {
    "host": {
        "Capability",
        "CapabilityDefinitionError",
        "CapabilityError",
        "ContextChoice",
        "Conversation",
        "ConversationError",
        "Host",
        "HostError",
        "HostSession",
        "Inherited",
        "Limits",
        "NeedsClarification",
        "Outcome",
        "Usage",
        "delegates",
        "inheriting",
        "open_host",
        "repeatable",
    },
    "sandbox": {
        "Call",
        "CallRejected",
        "EngineError",
        "Failure",
        "Limits",
        "Outcome",
        "PendingCall",
        "SandboxError",
        "Session",
        "SessionBusy",
        "SessionClosed",
        "SuspendedError",
        "Usage",
        "Workspace",
        "WorkspaceLimits",
        "open_sandbox",
        "read_suspended",
        "resume_sandbox",
    },
}


def test_every_packaged_room_says_that_it_is_typed() -> None:
    """py.typed, without which a type checker believes nothing."""
    assert [room for room in ROOMS if not (ROOT / room / "py.typed").is_file()] == []


class TestReadme:
    text = (ROOT / "README.md").read_text()

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"```{language}\n(.*?)```", self.text, flags=re.DOTALL)

    def test_ci_calls_exactly_the_test_command(self) -> None:
        """After installing uv as the README does. The smaller command is named beside it."""
        command = "uv run --group local-model pytest"
        assert f"{command}\n" in self.blocks("sh")
        assert "`uv run pytest`" in self.text
        assert "python3 -m pip install uv && uv run branchpoint demo\n" in self.blocks("sh")
        lines = (ROOT / ".ci" / "run").read_text().splitlines()
        assert [line for line in lines if line.endswith("pytest")] == [command]
        assert "local-model" in tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]

    async def test_the_library_program_runs(self, image: Image, tmp_path: Path) -> None:
        """As it stands, beside a thread.json."""
        (program,) = (block for block in self.blocks("python") if "open_host" in block)
        (tmp_path / "program.py").write_text(program)
        (tmp_path / "thread.json").write_text(json.dumps([{"role": "user", "content": "Take an umbrella?"}]))
        assert image
        run = lambda: subprocess.run(  # noqa: E731
            [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        result = await trio.to_thread.run_sync(run)
        assert result.stderr == ""
        assert "rain in Oslo, why? (asked with 1 conversation behind it)" in result.stdout

    def test_it_names_no_option_that_does_not_exist(self) -> None:
        """What it says of the command line is in the command's own help."""
        import click

        from host.cli import main

        context = click.Context(main)
        commands = [main.get_command(context, name) for name in main.list_commands(context)]
        known = {option for each in commands if each for parameter in each.params for option in parameter.opts}
        shown = set(re.findall(r"`(--[a-z-]+)", self.text)) - {"--group", "--with", "--name", "--help"}
        assert shown <= known


def test_no_registry_addresses_are_committed() -> None:
    """Pins are in pyproject.toml; the lock file, which has addresses in it, is ignored."""
    assert "uv.lock" in (ROOT / ".gitignore").read_text().split()
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]

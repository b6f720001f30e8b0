"""`branchpoint image`: what there is, and an image that is carried to another machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.image import Image
from tests.cli_command import Command
from tests.image_wheels import make_wheel

FIELDS = [
    "name", "packages", "content", "built", "current", "wasm_bytes", "compiled_bytes", "seconds", "engine", "folder"
]  # fmt: skip


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


class TestInfo:
    def test_the_images_are_listed(self, command: Command, image: Image) -> None:
        """With what is in them, their size and their content's hash."""
        result = command("image", "info")
        assert result.exit_code == 0
        head, *rows = result.stdout.splitlines()
        assert head.split() == ["name", "packages", "size", "built", "content"]
        (row,) = [row for row in rows if row.startswith("default ")]
        assert "the standard library" in row
        assert image.content_hash[:12] in row

    def test_one_image_in_full(self, command: Command, image: Image) -> None:
        """One line for each fact."""
        lines = command("image", "info", "default").stdout.splitlines()
        assert [line.split()[0] for line in lines] == FIELDS
        assert f"content         {image.content_hash}" in lines

    def test_as_json(self, command: Command, image: Image) -> None:
        """All of them, or one."""
        everything = json.loads(command("image", "info", "--json").stdout)
        (default,) = json.loads(command("image", "info", "default", "--json").stdout)
        assert default in everything
        assert list(default) == FIELDS
        assert (default["name"], default["packages"], default["current"]) == ("default", [], True)

    def test_before_the_first_run(self, command: Command) -> None:
        """There is none, and it says what happens."""
        command.env["BRANCHPOINT_CACHE"] = str(command.folder / "cache")
        result = command("image", "info")
        assert result.exit_code == 0
        assert result.stdout.startswith(f"There is no image in {command.folder / 'cache'} yet.")


class TestBuild:
    def test_a_native_wheel_is_refused_by_name(self, command: Command) -> None:
        """In one sentence, before anything is built."""
        wheel = make_wheel(command.folder, "swift", {"swift.py": ""}, tag="cp314-cp314-manylinux_2_28_x86_64")
        result = command("image", "build", "--with", wheel)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("branchpoint: ")
        assert "swift" in result.stderr
        assert result.stderr.count("\n") == 1

    def test_a_package_is_baked_into_an_image_of_its_own(self, command: Command) -> None:
        """Runs that name it can import it, and it is listed. The build shows its progress on a terminal."""
        wheel = make_wheel(
            command.folder, "greeting", {"greeting/__init__.py": "def hello(who):\n    return f'Hello {who}'\n"}
        )
        command.env["BRANCHPOINT_CACHE"] = str(command.folder / "cache")
        code, shown = command.terminal("image", "build", "--with", wheel)
        assert code == 0
        assert "Building the image greeting" in shown
        assert "greeting: greeting 1.0\nUse it with: branchpoint run --image greeting CODE.py\n" in shown
        result = command.run("import greeting\ngreeting.hello('you')", "--image", "greeting")
        assert (result.exit_code, result.output) == (0, "'Hello you'\n")
        (listed,) = json.loads(command("image", "info", "--json").stdout)
        assert (listed["name"], listed["packages"]) == ("greeting", ["greeting==1.0"])


def test_an_image_is_carried_to_another_machine_and_sessions_with_it(command: Command, image: Image) -> None:
    """There a session that slept here is refused until its image is there; on a terminal, taking it in shows progress."""
    command.write("people.vcf", "BEGIN:VCARD\nVERSION:4.0\nFN:ann\nEND:VCARD\n")
    options = ["--contacts", "people.vcf", "--suspend-on", "contacts", "asleep"]
    assert command.run("(await contacts.find('ann'))[0].name", *options).exit_code == 0
    exported = command("image", "export", "default", "image.zip")
    assert exported.exit_code == 0
    assert exported.stdout.startswith("image.zip: ")

    command.env["BRANCHPOINT_CACHE"] = str(command.folder / "there")
    refused = command("resume", "asleep")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"branchpoint: asleep: The image {image.content_hash[:12]} is not here. Export it where the session was "
        "suspended, and import it.\n"
    )
    name = f"default-{image.content_hash[:12]}"
    code, shown = command.terminal("image", "import", "image.zip")
    assert code == 0
    assert "Taking in the image" in shown
    assert f"{name}: the standard library\n" in shown
    assert command("resume", "asleep").stdout == "'ann'\n"
    assert command.run("1", "--image", name).stdout == "1\n"
    assert [each["name"] for each in json.loads(command("image", "info", "--json").stdout)] == [name]

"""Every run of a command leaves a record, and is found again by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.cli.chatting.setting import Setting
from host.cli.inputs import BadInput
from host.cli.recordings import find_run, recording, runs_folder
from host.events import Delegated, LoopBegan, LoopEnded, RunBegan, TaskChanged
from host.record import Record
from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


MOVE = TaskChanged(task="t__1", loop="loop 1", state="running")


def records() -> list[Path]:
    return sorted(runs_folder().glob("*")) if runs_folder().exists() else []


def test_a_run_leaves_a_record_that_begins_with_how_it_was_begun() -> None:
    """With the options that were given, and no others."""
    with recording("chat", {"model": "lexical", "files": Path("papers"), "image": None, "quiet": False}) as kept:
        kept.observe(MOVE)
    (place,) = records()
    began, moved = Record.load(place)
    assert isinstance(began, RunBegan)
    assert (began.command, began.options) == ("chat", (("model", "lexical"), ("files", "papers")))
    assert moved == MOVE
    assert place.stat().st_mode & 0o077 == 0


def test_a_command_that_did_nothing_leaves_no_record() -> None:
    """One that was misused, say."""
    with recording("chat", {}):
        pass
    assert records() == []


def test_two_runs_in_one_second_have_two_records() -> None:
    """Neither is written over."""
    for _ in range(3):
        with recording("run", {}) as kept:
            kept.observe(MOVE)
    assert len(records()) == 3


def test_no_record_is_kept_where_none_is_wanted_or_none_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A place that was asked for must be a new file in a folder."""
    with recording("run", {}, wanted=False) as kept:
        kept.observe(MOVE)
        assert kept.points is None
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
    with recording("run", {}) as kept:
        kept.observe(MOVE)
    assert capsys.readouterr().err == ""
    with pytest.raises(BadInput, match="its folder does not exist"), recording("run", {}, file=tmp_path / "no" / "run"):
        pass
    with pytest.raises(BadInput, match="exists"), recording("run", {}, file=tmp_path / "a file"):
        pass


def test_a_run_is_found_by_file_by_name_by_the_beginning_of_it_or_as_the_last() -> None:
    """What is not found is told with the newest that there are."""
    with pytest.raises(BadInput, match="no run has been recorded yet"):
        find_run(None)
    places: list[Path] = []
    for command in ("chat", "run"):
        with recording(command, {}) as kept:
            kept.observe(MOVE)
        places.extend(place for place in records() if place not in places)
    assert find_run(str(places[0])) == places[0]
    assert find_run(places[0].stem) == places[0]
    assert find_run("last") == find_run(None) == max(places)
    with pytest.raises(BadInput, match=f"names no run; the newest: .*{places[0].stem}"):
        find_run("never")
    with pytest.raises(BadInput, match="names more than one run"):
        find_run("2")


def test_a_script_that_is_run_leaves_a_record_of_what_its_calls_started(image: Image, tmp_path: Path) -> None:
    """The script at the root, and below it who was asked, forked or cold, and what they were sent."""
    command = Command(tmp_path)
    sample = SAMPLES["board"]
    source = "print((await contacts.ask('Sarah\\'s address')).email, await contacts.find('x'))"
    options: list[str | Path] = [
        "--contacts",
        sample.contacts,
        "--thread",
        sample.thread,
        "--record",
        tmp_path / "run.jsonl",
    ]
    assert command("run", tmp_path / command.write("script.py", source), *options).exit_code == 0
    record = Record.load(tmp_path / "run.jsonl")
    root, child = [event for event in record if isinstance(event, LoopBegan)]
    (delegated,) = [event for event in record if isinstance(event, Delegated)]
    assert (Path(root.agent).name, child.agent, child.parent) == ("script.py", "contacts", root.loop)
    assert (child.delegation, child.rendering) == (delegated.id, "quoted")
    assert (delegated.path, delegated.context, delegated.loop) == ("contacts.ask", "fork", root.loop)
    ended = {event.loop: event.how for event in record if isinstance(event, LoopEnded)}
    assert ended == {root.loop: "answered", child.loop: "answered"}
    assert command("run", tmp_path / "script.py", *options[:-2], "--no-record").exit_code == 0
    assert not (tmp_path / ".state").exists()
    assert image


def test_no_key_is_in_what_a_record_begins_with() -> None:
    """Not one that stands in the address of a server."""
    options = Setting(spec="openai:x", base_url="https://me:secret@host.example:8080/v1?key=secret").options()
    assert options["base-url"] == "https://host.example:8080/v1"

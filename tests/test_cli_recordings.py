"""Every run of a command leaves a record, and is found again by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.cli.inputs import BadInput
from host.cli.recordings import find_run, recording, runs_folder
from host.events import RunBegan
from host.record import Record


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_run_leaves_a_record_that_begins_with_how_it_was_begun() -> None:
    """With the options that were given, and no others."""
    with recording("chat", {"model": "lexical", "files": Path("papers"), "image": None, "quiet": False}) as kept:
        assert kept.place is not None
    (began,) = Record.load(kept.place)
    assert isinstance(began, RunBegan)
    assert (began.command, began.options) == ("chat", (("model", "lexical"), ("files", "papers")))
    assert kept.place.parent == runs_folder()
    assert kept.place.stat().st_mode & 0o077 == 0


def test_two_runs_in_one_second_have_two_records() -> None:
    """Neither is written over."""
    places = []
    for _ in range(3):
        with recording("run", {}) as kept:
            places.append(kept.place)
    assert len(set(places)) == 3


def test_no_record_is_kept_where_none_is_wanted_or_none_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that was asked for must be writable."""
    with recording("run", {}, wanted=False) as kept:
        assert (kept.place, kept.points) == (None, None)
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
    with recording("run", {}) as kept:
        assert kept.place is None
    with pytest.raises(BadInput, match="cannot be written"), recording("run", {}, file=tmp_path / "a file" / "run"):
        pass


def test_a_run_is_found_by_file_by_name_by_the_beginning_of_it_or_as_the_last() -> None:
    """What is not found is told with the newest that there are."""
    with pytest.raises(BadInput, match="no run has been recorded yet"):
        find_run(None)
    places = []
    for command in ("chat", "run"):
        with recording(command, {}) as kept:
            assert kept.place is not None
            places.append(kept.place)
    assert find_run(str(places[0])) == places[0]
    assert find_run(places[0].stem) == places[0]
    assert find_run("last") == find_run(None) == max(places)
    with pytest.raises(BadInput, match=f"names no run; the newest: .*{places[0].stem}"):
        find_run("never")
    with pytest.raises(BadInput, match="names more than one run"):
        find_run("2")

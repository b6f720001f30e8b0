"""`--fix`: a key's letters change, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from host import HostError
from host.agents import check, fix
from host.agents.findings import Fix

BEFORE = """\
# The desk.   Two spaces, on purpose.

agents:   # all of them
  desk:
    instructons: "You are the désk."     # what it is told
    'handofs':   [ clerk,clerk2 ]
    # a comment between

    limits: {maxTurns: 3,   "cpu-seconds" : 2.50}
  clerk: &c {instructions: "😀 # no comment", frok: &f false}
  clerk2: *c
Start: desk
"""
AFTER = (
    BEFORE.replace("instructons", "instructions")
    .replace("'handofs'", "'handoffs'")
    .replace("maxTurns", "max_turns")
    .replace('"cpu-seconds"', '"cpu_seconds"')
    .replace("frok", "fork")
    .replace("Start", "start")
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_comments_quotes_spaces_and_line_ends_stay(tmp_path: Path, end: str, mark: str) -> None:
    """To the byte, in a file with all that YAML has."""
    file = tmp_path / "agents.yaml"
    file.write_bytes((mark + BEFORE.replace("\n", end)).encode())
    fixed, done = fix(check(file))
    assert file.read_bytes() == (mark + AFTER.replace("\n", end)).encode()
    assert fixed.errors == 0
    assert [each.removeprefix(f"{file}:") for each in done] == [
        "5: instructons is instructions now.",
        "6: 'handofs' is 'handoffs' now.",
        "9: maxTurns is max_turns now.",
        '9: "cpu-seconds" is "cpu_seconds" now.',
        "10: frok is fork now.",
        "12: Start is start now.",
    ]


def test_a_key_that_could_mean_two_things_stays(tmp_path: Path) -> None:
    """As does one that resembles none, one whose right form is there, and every value."""
    text = (
        "agents: {desk: {instructions: A., instruction: B., colour: red, handoffs: [dsk], handofs: [x]},"
        " dusk: {instructions: C.}}\nstart: desk\nrun: {budget: {tokns: 3, xyz: 1}}\n"
    )
    file = tmp_path / "agents.yaml"
    file.write_text(text)
    fixed, done = fix(check(file))
    assert file.read_text() == text.replace("tokns", "tokens")
    assert done == (f"{file}:3: tokns is tokens now.",)
    rules = [found.rule for found in fixed.findings if found.severity == "error"]
    assert rules == ["key.unknown", "key.unknown", "handoff.unknown", "key.unknown", "key.unknown"]


def test_of_two_slips_of_one_key_one_is_mended(tmp_path: Path) -> None:
    """Two of them would be the same key twice."""
    file = tmp_path / "agents.yaml"
    file.write_text("agents: {desk: {instructons: A., instrutions: B.}}\n")
    assert [found.fix for found in check(file).findings] == [Fix(old="instructons", new="instructions"), None]
    fix(check(file))
    assert file.read_text() == "agents: {desk: {instructions: A., instrutions: B.}}\n"


def test_a_file_without_findings_is_not_written(tmp_path: Path) -> None:
    """Not even with the same bytes."""
    file = tmp_path / "agents.yaml"
    file.write_text("agents: {desk: {instructions: A.}}\n")
    before = file.stat()
    fixed, done = fix(check(file))
    assert (fixed.findings, done) == ((), ())
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    """A link is still one, and what it leads to is mended; no other file is left behind."""
    real = tmp_path / "real.yaml"
    real.write_text("agents: {desk: {instructons: A.}}\n")
    real.chmod(0o640)
    link = tmp_path / "agents.yaml"
    link.symlink_to(real)
    fix(check(link))
    assert link.is_symlink()
    assert real.read_text() == "agents: {desk: {instructions: A.}}\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert {each.name for each in tmp_path.iterdir()} == {"agents.yaml", "real.yaml"}


def test_mending_twice_changes_nothing_more(tmp_path: Path) -> None:
    """All is done the first time, generated files included."""
    file = tmp_path / "agents.yaml"
    file.write_text("agents: {desk: {instructons: A., frok: true}}\n")
    fixed, done = fix(check(file))
    assert len(done) == 3
    assert fix(fixed) == (fixed, ())
    assert fixed.project is not None


@pytest.mark.parametrize(
    ("key", "mended"),
    [
        ('"instruct\\x6fns"', False),
        ('? "instruc\\\n      tons"\n    ', False),
        ("&k instructons", False),
        ("? instructons\n    ", True),
    ],
)
def test_a_key_that_is_written_in_an_unusual_way_is_mended_only_if_it_is_plain(
    tmp_path: Path, key: str, mended: bool
) -> None:
    """Escapes, a break within it, an anchor: it is told, and left to people. Behind a question mark it is plain."""
    file = tmp_path / "agents.yaml"
    text = f"agents:\n  desk:\n    {key}: A.\n"
    file.write_text(text)
    (found,) = check(file).findings
    assert (found.rule, found.span.line) == ("key.unknown", 3)
    fix(check(file))
    assert file.read_text() == (text.replace("instructons", "instructions") if mended else text)


def test_a_file_that_changed_meanwhile_stays(tmp_path: Path) -> None:
    """What was found is no longer there."""
    file = tmp_path / "agents.yaml"
    file.write_text("agents: {desk: {instructons: A.}}\n")
    checked = check(file)
    file.write_text("# Mine.\nagents: {desk: {instructons: A.}}\n")
    with pytest.raises(HostError, match="was changed while it was checked, so nothing was mended"):
        fix(checked)
    assert file.read_text() == "# Mine.\nagents: {desk: {instructons: A.}}\n"

"""What agent code writes can colour a terminal, and command it to nothing."""

from __future__ import annotations

import pytest

from host.cli.screen import Screen, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\r\n", "plain\ttext\r\n"),
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b]52;c;aGk=\x1b\\", "\\x1b]52;c;aGk=\\x1b\\"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("\x9b2J", "\\x9b2J"),
        ("back\b\x7f", "back\\x08\\x7f"),
        ("\x1b[31", "\\x1b[31"),
    ],
)
def test_only_colours_pass(text: str, shown: str) -> None:
    """No cursor, no title, no clipboard, no bell."""
    assert visible(text) == shown


def test_into_a_pipe_everything_goes_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads it wants what the script wrote."""
    Screen().show("stdout", "\x1b]0;title\x07")
    Screen().show("stderr", "\x1b[2J")
    assert capsys.readouterr() == ("\x1b]0;title\x07", "\x1b[2J")


def test_a_line_of_ours_begins_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """If the script left one open on that stream."""
    screen = Screen()
    screen.show("stdout", "open")
    screen.say("note", err=True)
    screen.say("value")
    screen.say("next")
    assert capsys.readouterr() == ("open\nvalue\nnext\n", "note\n")

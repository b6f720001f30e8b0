"""R83: the page of a run, in a browser: what is on it, by key and by pointer, hostile texts, and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.context import Inherited, render
from host.conversation import Conversation, Message, Text
from host.events import Event
from host.graph import read_run, render_page
from tests.chromium import FOUND, Page, open_page
from tests.graph_scene import FIND, Part, Played, fork_tool, tool
from tests.record_scene import Told, history

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'\"`${1}&lt;"
RTL = "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd"
browser = pytest.mark.skipif(FOUND is None, reason="needs chromium on PATH (apt-get install -y chromium)")


def a_run() -> list[Event]:
    """A fork of two, one of them the slowest, and a hand-off."""
    desk = Played(tools=(FIND, fork_tool(), tool("transfer_to_billing")), input=900, cached=600)
    desk.calls("find", "A roofer.", text="roof")
    desk.forks(
        Part(name="north", instructions="Look at the north.", calls=[("find", {"text": "north"}, "Dry.")], seconds=2.0),
        Part(name="south", instructions="Look at the south.", agent="prober", seconds=9.0, how="failed", text="Which?"),
    )
    desk.hands_off("billing", "an invoice")
    desk.answers("Done.")
    return desk.ends("Done.")


def quoted() -> list[Event]:
    """A loop that asks another one, which has the conversation as a section of its instructions."""
    thread = history("Sarah wants the metrics.", "Noted.")
    inherited = Inherited.of(thread)
    events: list[Event] = []
    caller = Told(events, "l1", "Who gets it?", messages=thread.messages)
    caller.reply("I will ask.")
    caller.delegate("d1", inherited)
    system = f"You find people.\n\n{render(inherited, nonce='abcdefgh12345678')}"
    child = Told(events, "l2", "Sarah's address?", parent="l1", delegation="d1", system=system, rendering="quoted")
    child.reply("sarah@example.org")
    child.end("sarah@example.org")
    caller.end("Done.")
    return events


def written(folder: Path, events: list[Event], **about: object) -> Path:
    file = folder / "run.html"
    file.write_text(render_page(read_run(events), source="run.jsonl", **about), encoding="utf-8")  # type: ignore[arg-type]
    return file


def hostile() -> list[Event]:
    desk = Played(request=HOSTILE, system=HOSTILE, agent=HOSTILE, tools=(tool(HOSTILE, HOSTILE),))
    desk.calls(HOSTILE, HOSTILE, text=HOSTILE)
    desk.forks(Part(name=HOSTILE, instructions=HOSTILE, text=HOSTILE), Part(name=RTL, text="\ud800 half"))
    desk.hands_off(HOSTILE, HOSTILE)
    desk.answers(HOSTILE)
    return desk.ends(HOSTILE)


def test_r83_no_text_of_a_run_is_markup(tmp_path: Path) -> None:
    """Between the page's own tags no other tag begins, wherever a text stands."""
    page = written(tmp_path, hostile(), form=HOSTILE, unknown=frozenset({HOSTILE})).read_text()
    assert page.count("<script") == page.count("</script") == 2
    assert "<img" not in page
    assert "onerror=" not in re.sub(r'<script type="application/json" id="data">.*?</script>', "", page).replace(
        "onerror=&quot;", ""
    )
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["rows"][0]["text"] == HOSTILE


def test_r83_the_page_names_no_address(tmp_path: Path) -> None:
    """And its policy allows nothing but itself."""
    page = written(tmp_path, a_run()).read_text()
    assert re.findall(r"[a-z]+://", page) == []
    assert "default-src &#x27;none&#x27;" in page
    assert " on" not in "".join(re.findall(r"<[a-z][^>]*>", page.partition('id="data">')[0]))


def test_r83_without_scripts_the_graph_is_there_as_text(tmp_path: Path) -> None:
    """The very text of `inspect`."""
    page = written(tmp_path, a_run()).read_text()
    assert "fork (inherit context): north, south" in page.partition("<noscript>")[2].partition("</noscript>")[0]


def test_r83_a_message_is_in_the_page_once(tmp_path: Path) -> None:
    """However many requests hold it."""
    marked = Message(role="user", parts=(Text(text="the marked message"),), id="m_marked")
    desk = Played(request="Begin.")
    desk.messages.append(marked)
    for number in range(20):
        desk.calls("find", "Found.", text=f"part {number}")
    page = written(tmp_path, desk.ends()).read_text()
    assert page.count("the marked message") == 1


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with open_page(tmp_path) as opened:
        yield opened


@browser
class TestInTheBrowser:
    def rows(self, page: Page) -> list[str]:
        """The labels of the rows that are to be seen."""
        labels = page.ask("[...document.querySelectorAll('.row:not([hidden]) .label')].map((each) => each.textContent)")
        assert isinstance(labels, list)
        return labels

    def picked(self, page: Page) -> str:
        return page.text("[aria-selected=true] .label")

    def test_r83_the_tree_the_inheritance_the_times_and_what_was_sent(self, page: Page, tmp_path: Path) -> None:
        """A click on a branch, and its first request is there to be read, word for word."""
        page.open(written(tmp_path, a_run()))
        assert self.rows(page)[:8] == [
            "conversation", "request 1", "find", "request 2", "fork (inherit context)", "branch north", "request 1",
            "find",
        ]  # fmt: skip
        assert page.text(".slowest .label") == "branch south"
        page.ask("[...document.querySelectorAll('.row')].find((row) => row.textContent.includes('north')).click()")
        page.ask("document.querySelectorAll('.row')[5].click()")
        assert self.picked(page) == "branch north"
        detail = page.text("#detail")
        for said in (
            "Its assignment",
            "Look at the north.",
            "Inherited",
            "What it was sent first",
            "You are the desk.",
        ):
            assert said in detail
        assert "A roofer." in detail
        assert "inherited" in page.text("#detail .message .who")
        assert page.ask("document.querySelectorAll('.bar').length") > 8

    def test_r83_a_fragment_names_a_row(self, page: Page, tmp_path: Path) -> None:
        """So a finding can be linked to."""
        page.open(written(tmp_path, a_run()), at="l1.south")
        assert self.picked(page) == "branch south"
        assert page.text("#detail h2").startswith("branch south")

    def test_r83_a_quoted_child_shows_its_section_apart(self, page: Page, tmp_path: Path) -> None:
        """And who inherited what."""
        page.open(written(tmp_path, quoted()), at="l2")
        assert page.text("#detail .section").startswith("=== Inherited conversation abcdefgh12345678 begins.")
        assert "the person" in page.text("#detail table")
        assert "2 messages, about" in page.text("#detail")

    def test_r83_it_works_from_the_keyboard(self, page: Page, tmp_path: Path) -> None:
        """Down, fold, unfold, read, and back; the focus stays where it can be seen."""
        page.open(written(tmp_path, a_run()))
        page.press("ArrowDown", "ArrowDown")
        assert self.picked(page) == "find"
        page.press("ArrowLeft")
        assert self.picked(page) == "request 1"
        before = len(self.rows(page))
        page.press("ArrowLeft")
        assert len(self.rows(page)) == before - 1
        page.press("ArrowRight", "ArrowRight")
        assert (self.picked(page), len(self.rows(page))) == ("find", before)
        page.press("Enter")
        assert page.ask("document.activeElement.id") == "detail"
        page.press("Escape", "End")
        assert page.ask("document.activeElement.id") == "tree"
        assert self.picked(page) == "turn ended"
        page.press("Home", "ArrowLeft")
        assert self.rows(page) == ["conversation"]
        tree = page.ask("document.getElementById('tree').getAttribute('aria-activedescendant')")
        assert tree == "row0"

    def test_r83_hostile_texts_are_texts(self, page: Page, tmp_path: Path) -> None:
        """Tags, quotes, text from right to left, half surrogates: on every row, nothing runs."""
        page.open(written(tmp_path, hostile()))
        rows = page.ask("document.querySelectorAll('.row').length")
        for _ in range(rows):
            page.press("ArrowDown")
        page.press("Home")
        assert page.ask("document.title") == "run.jsonl"
        assert page.ask("document.images.length") == 0
        assert HOSTILE in page.text("#detail")
        assert page.complaints() == []

    def test_r83_a_very_long_text_is_cut_with_a_way_to_see_all(self, page: Page, tmp_path: Path) -> None:
        """A million characters."""
        desk = Played()
        desk.calls("find", "x" * 1_000_000 + "the end", text="all")
        page.open(written(tmp_path, desk.ends()))
        page.press("ArrowDown", "ArrowDown")
        assert len(page.text("#detail")) < 10_000
        assert page.text("#detail .more") == "Show all 1,000,007 characters"
        page.ask("document.querySelector('#detail .more').click()")
        assert "xthe end" in page.text("#detail")

    def test_r83_nothing_is_asked_of_the_network(self, page: Page, tmp_path: Path) -> None:
        """The one file is all that is loaded, and nothing complains."""
        file = written(tmp_path, a_run())
        page.open(file)
        page.press("ArrowDown", "End", "Home")
        assert page.loaded() == [file.as_uri()]
        assert page.complaints() == []

    def test_r83_nothing_sticks_out_wide_or_narrow_light_or_dark(self, page: Page, tmp_path: Path) -> None:
        """No row is wider than the window, and dark is dark."""
        page.open(written(tmp_path, hostile()))
        for width, dark in ((1440, False), (1440, True), (390, False), (390, True)):
            page.look(width=width, dark=dark)
            assert page.ask("document.documentElement.scrollWidth") <= width
            paper = page.ask("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 150) is dark
            assert page.picture().startswith(b"\x89PNG")

    def test_r83_a_long_history_is_shown_from_both_ends(self, page: Page, tmp_path: Path) -> None:
        """And in full if wanted."""
        desk = Played()
        desk.messages += Conversation.of(*[f"Message {number}." for number in range(300)]).messages
        desk.reply("Long.")
        page.open(written(tmp_path, desk.ends()), at="l1.r1")
        assert page.ask("document.querySelectorAll('#detail .message').length") == 61  # and the reply
        assert page.text("#detail .more") == "Show 241 messages in between"
        page.ask("document.querySelector('#detail .more').click()")
        assert page.ask("document.querySelectorAll('#detail .message').length") == 302

"""Search as agents use it: plain questions, whole texts, and no way out of the folder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from host.context import Inherited
from host.errors import HostError, NeedsClarification
from host.events import Event, Requested
from host.search import File, Search, SearchError, index_path, open_search


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "offers").mkdir(parents=True)
    (root / "offers" / "kitchen.md").write_text("# Offer for the kitchen\n\nOak, 4,000.\n")
    (root / "offers" / "bathroom.md").write_text("# Offer for the bathroom\n\nTiles.\n")
    (root / ".hidden.txt").write_text("secret\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    return root


@pytest.fixture
async def search(folder: Path, tmp_path: Path) -> AsyncIterator[Search]:
    search = open_search(folder, index=tmp_path / "index.sqlite3")
    yield search
    await search.aclose()


async def test_files_are_found(search: Search) -> None:
    """The best comes first, and no more than were asked for."""
    assert [file.path for file in await search.files("kitchen")] == ["offers/kitchen.md"]
    assert len(await search.files("offer", 1)) == 1
    assert search.name == "search"
    assert search.indexed.added == 2


@pytest.mark.parametrize("limit", [0, -1, 101])
async def test_a_limit_out_of_range_is_refused(search: Search, limit: int) -> None:
    """The message says what is possible."""
    with pytest.raises(ValueError, match=f"limit is from 1 to 100, not {limit}"):
        await search.files("offer", limit)


async def test_a_file_is_read_whole(search: Search, folder: Path) -> None:
    """As it is now, though it changed or came after the folder was indexed."""
    assert await search.read("offers/kitchen.md") == "# Offer for the kitchen\n\nOak, 4,000.\n"
    (folder / "offers" / "kitchen.md").write_text("Beech.\n")
    (folder / "later.txt").write_text("Later.\n")
    assert await search.read("offers/kitchen.md") == "Beech.\n"
    assert await search.read("later.txt") == "Later.\n"


async def test_a_large_file_is_read_whole(search: Search, folder: Path) -> None:
    """Nothing is cut."""
    text = "line\n" * 400_000
    (folder / "large.txt").write_text(text)
    assert await search.read("large.txt") == text


@pytest.mark.parametrize(
    "path",
    [
        "../outside.txt",
        "offers/../../outside.txt",
        "/etc/passwd",
        "link.txt",
        "offers/up/outside.txt",
        ".hidden.txt",
        "./.hidden.txt",
        "to-hidden.txt",
        "offers",
        "pipe",
        "",
        ".",
        "a\0b",
        "\ud800",
        "x" * 5000,
        "offers\\kitchen.md",
    ],
)
async def test_nothing_outside_of_the_folder_is_read(search: Search, folder: Path, path: str) -> None:
    """A path that leads out, by dots, from the root or by a link, is a file that is not there; so is a hidden one."""
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "to-hidden.txt").symlink_to(folder / ".hidden.txt")
    (folder / "offers" / "up").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe")
    with pytest.raises(FileNotFoundError, match="There is no file "):
        await search.read(path)


async def test_a_link_within_the_folder_is_read(search: Search, folder: Path) -> None:
    """What it leads to may be read anyway."""
    (folder / "current.md").symlink_to(folder / "offers" / "kitchen.md")
    assert "Oak" in await search.read("current.md")


async def test_a_wrong_path_is_answered_with_the_nearest(search: Search) -> None:
    """Whoever mistypes reads what to write."""
    with pytest.raises(FileNotFoundError) as caught:
        await search.read("offer/kitchens.md")
    assert str(caught.value) == "There is no file 'offer/kitchens.md' here. The nearest: 'offers/kitchen.md'."
    with pytest.raises(FileNotFoundError, match="Find paths with `files`"):
        await search.read("zzz")


async def test_a_file_without_text_is_refused_with_the_reason(search: Search, folder: Path) -> None:
    """It is there, but cannot be read as text."""
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    with pytest.raises(ValueError, match=r"picture\.png cannot be read as text: it is binary\."):
        await search.read("picture.png")


def test_a_folder_that_is_none_is_one_clear_sentence(tmp_path: Path) -> None:
    """It is our kind of error, and names the folder."""
    with pytest.raises(SearchError, match=r"The folder .*/none does not exist\.$") as caught:
        open_search(tmp_path / "none")
    assert isinstance(caught.value, HostError)
    (tmp_path / "file").write_text("x")
    with pytest.raises(SearchError, match=r"/file is not a folder\.$"):
        open_search(tmp_path / "file")


def test_an_index_that_cannot_be_written_is_one_clear_sentence(folder: Path, tmp_path: Path) -> None:
    """If its place was given, that place is at fault."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(SearchError, match="cannot be written"):
        open_search(folder, index=tmp_path / "file" / "index.sqlite3")


async def test_the_index_is_in_the_users_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by the folder's real path, so that a link to the folder uses the same one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "link").symlink_to(folder)
    first = open_search(folder)
    await first.aclose()
    second = open_search(tmp_path / "link")
    await second.aclose()
    assert (first.indexed.added, second.indexed.added, second.indexed.unchanged) == (2, 0, 2)
    assert index_path(folder).is_file()
    assert index_path(folder) == index_path(tmp_path / "link")
    assert tmp_path / "cache" in index_path(folder).parents


async def test_without_a_cache_the_index_is_in_memory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that cannot be written is no reason to fail."""
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    search = open_search(folder)
    assert [file.path for file in await search.files("kitchen")] == ["offers/kitchen.md"]
    await search.aclose()


async def test_ask_gives_the_file_that_a_question_means(folder: Path, tmp_path: Path) -> None:
    """The loop behind `ask` sees the request and its tools, and gives one file."""
    told: list[Event] = []
    search = open_search(folder, index=tmp_path / "index.sqlite3", observe=told.append)
    file = await search.ask("the kitchen offer", inherited=Inherited.cold())
    assert isinstance(file, File)
    assert (file.path, file.title) == ("offers/kitchen.md", "Offer for the kitchen")
    sent = [event.request for event in told if isinstance(event, Requested)]
    assert [tool.name for tool in sent[0].tools] == ["files", "read", "answer", "clarify"]
    with pytest.raises(NeedsClarification) as caught:
        await search.ask("the offer", inherited=Inherited.cold())
    assert len(caught.value.options) == 2
    await search.aclose()

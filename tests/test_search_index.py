"""A folder's index holds what its files say, follows its changes, and survives damage, company and any query."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.search.folder import Left
from host.search.index import Index

FILES = {
    "reports/weekly-metrics_W19.md": "# Weekly metrics\n\nSignups rose and churn fell. The report for the board comes later.\n",
    "board.html": "<html><head><title>Board deck</title><style>p{color:red}</style></head><body><p>Größe der Straße</p></body></html>",
    "Wochenbericht.txt": "Woche 19\n\nAlles läuft.\n",
    "data.csv": "month,revenue\nMay,12\n",
    "notes/minutes.rst": "Minutes\n=======\n\nThe board met.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = (tmp_path / "files").resolve()
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def index(folder: Path, tmp_path: Path) -> Iterator[Index]:
    index = Index(folder, tmp_path / "index.sqlite3")
    index.update()
    yield index
    index.close()


def found(index: Index, query: str) -> list[str]:
    return [file.path for file in index.search(query, 10)]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("weekly metrics", "reports/weekly-metrics_W19.md"),
        ("WeeklyMetrics", "reports/weekly-metrics_W19.md"),
        ("weekly-metrics_W19.md", "reports/weekly-metrics_W19.md"),
        ("w19", "reports/weekly-metrics_W19.md"),
        ("reporting", "reports/weekly-metrics_W19.md"),
        ("signup", "reports/weekly-metrics_W19.md"),
        ("sign", "reports/weekly-metrics_W19.md"),
        ("board deck", "board.html"),
        ("grosse", "board.html"),
        ("Strasse", "board.html"),
        ("STRAẞE", "board.html"),
        ("laeuft", "Wochenbericht.txt"),
        ("bericht", "Wochenbericht.txt"),
        ("revenue", "data.csv"),
        ("minutes of the board", "notes/minutes.rst"),
    ],
)
def test_files_are_found_by_name_title_and_text(index: Index, query: str, best: str) -> None:
    """Also by other forms of a word, its beginning, its other spelling, and inside a compound in a name."""
    assert found(index, query)[0] == best


def test_files_with_all_words_come_before_files_with_some(index: Index) -> None:
    """A file that holds one word only is still an answer, a worse one."""
    assert found(index, "board churn") == ["reports/weekly-metrics_W19.md", "board.html", "notes/minutes.rst"]


def test_a_found_file_says_what_it_is(index: Index) -> None:
    """Its path from the folder, what it calls itself, the passage that matched, and when it changed."""
    (file,) = index.search("churn", 10)
    assert (file.path, file.title) == ("reports/weekly-metrics_W19.md", "Weekly metrics")
    assert "churn fell" in file.snippet
    assert file.modified.tzinfo is not None


def test_titles_are_what_files_call_themselves(index: Index) -> None:
    """A heading, a title element or a first line; data is called by its name."""
    titles = {path: file.title for path in index.paths() if (file := index.file(path)) is not None}
    assert titles == {
        "Wochenbericht.txt": "Woche 19",
        "board.html": "Board deck",
        "data.csv": "data",
        "notes/minutes.rst": "Minutes",
        "reports/weekly-metrics_W19.md": "Weekly metrics",
    }


def test_what_a_page_does_not_show_is_not_its_text(index: Index) -> None:
    """Styles and scripts are not searched."""
    assert found(index, "color") == []
    assert index.text("board.html") == "Größe der Straße"


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'",
        "*",
        "AND",
        "churn AND",
        "NEAR(a b)",
        "body:x",
        "^x",
        "-x",
        "(((",
        "\ud800",
        "\0",
        "a" * 10_000,
        "x " * 500,
    ],
)
def test_no_query_breaks_the_search(index: Index, query: str) -> None:
    """Operators and quotes of the search engine are text like any other."""
    assert isinstance(index.search(query, 5), list)


def test_a_query_without_words_gives_what_changed_last(index: Index, folder: Path) -> None:
    """There is nothing to look for, so the newest is shown."""
    os.utime(folder / "data.csv", (2_000_000_000, 2_000_000_000))
    index.update()
    assert found(index, " ?! ")[0] == "data.csv"


def test_only_what_changed_is_read_again(index: Index, folder: Path) -> None:
    """Files are added, read again and dropped as they are in the folder; the others are left alone."""
    (folder / "new.txt").write_text("Unicorns\n")
    (folder / "data.csv").write_text("month,revenue\nJune,1300\n")
    (folder / "board.html").unlink()
    read: list[str] = []
    indexed = index.update(lambda done, of, path: read.append(f"{done}/{of} {path}"))
    assert (indexed.added, indexed.updated, indexed.removed, indexed.unchanged) == (1, 1, 1, 3)
    assert read == ["0/2 data.csv", "1/2 new.txt", "2/2 "]
    assert found(index, "unicorn") == ["new.txt"]
    assert found(index, "1300") == ["data.csv"]
    assert found(index, "deck") == []


def test_nothing_is_read_when_nothing_changed(folder: Path, tmp_path: Path, index: Index) -> None:
    """The index is kept between runs."""
    again = Index(folder, tmp_path / "index.sqlite3")
    indexed = again.update(lambda *_: pytest.fail("a file was read"))
    assert (indexed.added, indexed.unchanged) == (0, 5)
    assert found(again, "churn") == ["reports/weekly-metrics_W19.md"]
    again.close()


def test_files_without_text_are_left_out_with_the_reason(folder: Path, index: Index, tmp_path: Path) -> None:
    """Each is counted with a reason, and none stops the others."""
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (folder / "noise.txt").write_bytes(bytes(range(256)) * 10)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "empty.txt").write_text(" \n")
    (folder / "huge.log").write_bytes(b"a" * ((8 << 20) + 1))
    (folder / ".secret").write_text("churn")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("churn")
    (tmp_path / "outside.txt").write_text("churn")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.txt")
    indexed = index.update()
    assert indexed.left_out == (
        Left(path="broken.pdf", reason="its PDF is damaged"),
        Left(path="empty.txt", reason="it holds no text"),
        Left(path="huge.log", reason="it is too large (8 MB)"),
        Left(path="link.txt", reason="it is a link"),
        Left(path="noise.txt", reason="it is binary"),
        Left(path="picture.png", reason="it is binary"),
        Left(path="pipe.txt", reason="it is no regular file"),
    )
    assert found(index, "churn") == ["reports/weekly-metrics_W19.md"]


def test_files_without_text_are_not_read_again(folder: Path, index: Index) -> None:
    """That a file has no text is remembered until it changes."""
    (folder / "picture.png").write_bytes(b"\0")
    index.update()
    again = index.update(lambda *_: pytest.fail("a file was read"))
    assert again.left_out == (Left(path="picture.png", reason="it is binary"),)
    (folder / "picture.png").write_text("now a text")
    assert index.update().added == 1


def test_a_folder_that_cannot_be_read_is_reported(folder: Path, index: Index) -> None:
    """The rest is indexed all the same. Here the path has become longer than the system can open."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=here)
        below = os.open("n" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    indexed = index.update()
    assert [left.reason for left in indexed.left_out] == ["the folder cannot be read"]
    assert indexed.unchanged == 5


def test_names_that_are_not_text_are_left_out(folder: Path, index: Index) -> None:
    """A file name may be any bytes; a path that an agent cannot write is no path."""
    os.close(os.open(os.fsencode(folder) + b"/\xff.txt", os.O_CREAT))
    assert index.update().left_out == (Left(path="?.txt", reason="its name is not text"),)


@pytest.mark.parametrize("damage", [b"", b"junk" * 4096, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_is_built_anew(folder: Path, tmp_path: Path, damage: bytes) -> None:
    """Whatever the file holds, the folder can be searched."""
    place = tmp_path / "index.sqlite3"
    place.write_bytes(damage)
    index = Index(folder, place)
    assert index.update().added == 5
    assert found(index, "churn") == ["reports/weekly-metrics_W19.md"]
    index.close()


def test_an_index_with_a_torn_page_is_built_anew(folder: Path, tmp_path: Path) -> None:
    """Damage in the middle is noticed before it is believed."""
    place = tmp_path / "index.sqlite3"
    first = Index(folder, place)
    first.update()
    first.close()
    data = bytearray(place.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    place.write_bytes(data)
    index = Index(folder, place)
    assert index.update().added == 5
    index.close()


def test_an_index_of_another_folder_is_built_anew(folder: Path, tmp_path: Path) -> None:
    """Two folders never share what they say, whatever place they are given."""
    place = tmp_path / "index.sqlite3"
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("elsewhere")
    first = Index(other.resolve(), place)
    first.update()
    first.close()
    index = Index(folder, place)
    assert index.update().added == 5
    assert found(index, "elsewhere") == []
    index.close()


def test_an_index_of_another_format_is_built_anew(folder: Path, tmp_path: Path) -> None:
    """What an older version wrote is not trusted."""
    place = tmp_path / "index.sqlite3"
    with sqlite3.connect(place) as database:
        database.execute("CREATE TABLE files (path TEXT)")
    database.close()
    index = Index(folder, place)
    assert index.update().added == 5
    index.close()


def test_two_at_once_do_not_disturb_each_other(folder: Path, tmp_path: Path) -> None:
    """Both find the folder whole, and between them each file was read once."""
    place = tmp_path / "index.sqlite3"
    for number in range(40):
        (folder / f"extra-{number}.txt").write_text(f"extra text {number}")
    counts: list[int] = []

    def work() -> None:
        index = Index(folder, place)
        counts.append(index.update().added)
        assert len(index.paths()) == 45
        index.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [0, 0, 0, 45]


def test_an_interrupted_update_keeps_what_was_done(folder: Path, index: Index) -> None:
    """What was read in the last batch is read again, and nothing is half there."""
    for number in range(250):
        (folder / f"extra-{number:03}.txt").write_text(f"extra {number}")

    def stop(done: int, _of: int, _path: str) -> None:
        if done == 220:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.update(stop)
    assert index.update().added == 50


def test_the_index_is_for_its_owner_alone(folder: Path, tmp_path: Path) -> None:
    """It holds what the files say."""
    place = tmp_path / "cache" / "index.sqlite3"
    Index(folder, place).close()
    assert place.stat().st_mode & 0o077 == 0
    assert place.parent.stat().st_mode & 0o077 == 0

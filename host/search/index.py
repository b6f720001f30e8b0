"""The index of a folder: SQLite FTS5 in one file, kept between runs and brought up to date by what changed.

Rules:

- A file counts as changed if its size or its time of change (ns) did. Files that are gone leave the index; files that
  had no text are remembered with the reason, so that they are not read again each time.
- Updating happens under a lock beside the index: of two processes, the second finds the work done. Reading needs no
  lock (write-ahead log).
- An index that is damaged, of another format or of another folder is deleted and built anew. One that cannot be
  written (a full disk, a lock that is held) is left alone, and the error is told.
- Every text is a safe query. Words are quoted, so FTS5 never sees an operator. Files that hold all words come first,
  then those that hold some, then those whose name or title only contains one ("bericht" in "Wochenbericht"). Each
  word matches the beginnings of words and, through the Porter stemmer, other forms of English ones.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from host.search.folder import Found, Left, located, walk
from host.search.texts import Unreadable, read_text
from host.spelling import content_words, fold, spelled_words, spellings, words

__all__ = ["File", "Index", "Indexed", "Progress"]

type Progress = Callable[[int, int, str], None]

FORMAT: Final = "1"
_LONGEST_QUERY: Final = 64  # words
_BATCH: Final = 200  # files per transaction: an interrupted run keeps what it has done
_SHORTEST_INSIDE: Final = 4
_OTHERWISE: Final = re.compile("[äöüåßæœøłđðþħ]|[aouAOU][\u0308\u030a]", re.IGNORECASE)
_DAMAGED: Final = frozenset(
    {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
)
_SCHEMA: Final = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS files (
        id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL, called TEXT NOT NULL,
        mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS left_out (
        path TEXT PRIMARY KEY, reason TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL
    );
    CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(
        name, title, body, forms, tokenize = 'porter unicode61 remove_diacritics 2', prefix = '2 3 4'
    );
"""
_FOUND: Final = """
    SELECT files.path, files.title, snippet(texts, 2, '', '', ' … ', 24), files.mtime_ns
    FROM texts JOIN files ON files.id = texts.rowid
    WHERE texts MATCH ? ORDER BY bm25(texts, 8.0, 6.0, 1.0), files.path LIMIT ?
"""
_CALLED: Final = """
    SELECT files.path, files.title, substr(body, 1, 200), mtime_ns FROM files JOIN texts ON texts.rowid = files.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that was found. `path` is relative to the folder, with "/"; `snippet` is the passage that matched."""

    path: str
    title: str
    snippet: str
    modified: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What an update did: how many files were added, updated, removed, left unchanged, and which ones have no text."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    left_out: tuple[Left, ...] = ()


class Index:
    """The index of one folder. `path` is where it is kept; None keeps it in memory. Close it when done."""

    def __init__(self, folder: Path, path: Path | None) -> None:
        self._folder = folder
        self._path = path
        self._lock = threading.Lock()
        self._database = self._opened()

    def update(self, progress: Progress | None = None) -> Indexed:
        """Bring the index up to date. `progress` is told how many of the changed files are done, of how many, and
        which is next.

        Raises sqlite3.Error or OSError if the index cannot be written.
        """
        if self._path is None:
            return self._updated(progress)
        with FileLock(f"{self._path}.lock"):
            try:
                self._check()
                return self._updated(progress)
            except sqlite3.DatabaseError as error:
                if not _damaged(error):
                    raise
            self._database.close()
            for ending in ("", "-wal", "-shm"):
                Path(f"{self._path}{ending}").unlink(missing_ok=True)
            self._database = self._opened()
            self._check()
            return self._updated(progress)

    def search(self, query: str, limit: int) -> list[File]:
        """The best files for a query, the best first; the files changed last, if the query holds no word."""
        asked = [_forms(word) for word in content_words(" ".join(spelled_words(query)))[:_LONGEST_QUERY]]
        if not asked:
            return self._files(f"{_CALLED} ORDER BY mtime_ns DESC, path LIMIT ?", (limit,))
        groups = ["(" + " OR ".join(f'"{form}"*' for form in forms) + ")" for forms in asked]
        found: dict[str, File] = {}
        for join in (" AND ", " OR ") if len(groups) > 1 else (" AND ",):
            for file in self._files(_FOUND, (join.join(groups), limit)):
                found.setdefault(file.path, file)
            if len(found) >= limit:
                return list(found.values())[:limit]
        for form in (form for forms in asked for form in forms if len(form) >= _SHORTEST_INSIDE):
            for file in self._files(f"{_CALLED} WHERE instr(called, ?) ORDER BY path LIMIT ?", (form, limit)):
                found.setdefault(file.path, file)
        return list(found.values())[:limit]

    def paths(self) -> list[str]:
        """The paths of all files that have a text, in order."""
        return [str(path) for (path,) in self._rows("SELECT path FROM files ORDER BY path")]

    def file(self, path: str) -> File | None:
        """The file with this path, with the beginning of its text; None if there is none with a text."""
        return next(iter(self._files(f"{_CALLED} WHERE files.path = ?", (path,))), None)

    def text(self, path: str) -> str:
        """The text of a file as it was indexed; "" if there is none."""
        rows = self._rows("SELECT body FROM files JOIN texts ON texts.rowid = id WHERE path = ?", (path,))
        return str(rows[0][0]) if rows else ""

    def body(self, found: Found) -> str | None:
        """The text of a file as it was indexed; None if it is not there, or has changed since."""
        rows = self._rows(
            "SELECT body FROM files JOIN texts ON texts.rowid = id WHERE path = ? AND mtime_ns = ? AND size = ?",
            (found.path, found.mtime_ns, found.size),
        )
        return str(rows[0][0]) if rows else None

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _files(self, statement: str, parameters: Sequence[object]) -> list[File]:
        return [
            File(
                path=path,
                title=title,
                snippet=" ".join(snippet.split()),
                modified=datetime.fromtimestamp(mtime_ns / 1e9, UTC),
            )
            for path, title, snippet, mtime_ns in self._rows(statement, parameters)
        ]

    def _rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
        with self._lock:
            return self._database.execute(statement, parameters).fetchall()

    def _opened(self) -> sqlite3.Connection:
        # Files are read on threads, so the lock keeps the connection to one thread at a time.
        if self._path is None:
            database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            database.executescript(_SCHEMA)
            return database
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # It holds what the files say, so it is for its owner's eyes only.
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        return sqlite3.connect(self._path, timeout=60, check_same_thread=False, isolation_level=None)

    def _check(self) -> None:
        """Raise sqlite3.DatabaseError as for a damaged file unless this is a whole index of this folder and format."""
        self._database.executescript(_SCHEMA)
        verdict = self._database.execute("PRAGMA quick_check(1)").fetchone()
        facts = {"format": FORMAT, "folder": str(self._folder)}
        known = dict(self._database.execute("SELECT name, value FROM facts"))
        if not known:
            self._database.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
        elif verdict != ("ok",) or known != facts:
            raise sqlite3.DatabaseError("this is no index of this folder")

    def _updated(self, progress: Progress | None) -> Indexed:
        known: dict[str, tuple[int, int]] = {
            path: (mtime_ns, size)
            for table in ("files", "left_out")
            for path, mtime_ns, size in self._database.execute(f"SELECT path, mtime_ns, size FROM {table}")  # noqa: S608
        }
        had_text = set(self.paths())
        there = list(walk(self._folder))
        left = [each for each in there if isinstance(each, Left)]
        found = [each for each in there if isinstance(each, Found)]
        changed = [each for each in found if known.get(each.path) != (each.mtime_ns, each.size)]
        gone = sorted(known.keys() - {each.path for each in found})
        for batch in range(0, max(len(changed), 1), _BATCH):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                if batch == 0:
                    self._forget(gone)
                for done, each in enumerate(changed[batch : batch + _BATCH], batch):
                    if progress is not None:
                        progress(done, len(changed), each.path)
                    self._forget([each.path])
                    self._learn(each)
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")
        if progress is not None and changed:
            progress(len(changed), len(changed), "")
        reasons = self._database.execute("SELECT path, reason FROM left_out ORDER BY path")
        left += [Left(path=path, reason=reason) for path, reason in reasons]
        have_text = set(self.paths())
        read = {each.path for each in changed}
        return Indexed(
            added=len(read & have_text - had_text),
            updated=len(read & have_text & had_text),
            removed=len(had_text - have_text),
            unchanged=len(have_text - read),
            left_out=tuple(sorted(left, key=lambda each: each.path)),
        )

    def _forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._database.execute("DELETE FROM texts WHERE rowid = (SELECT id FROM files WHERE path = ?)", (path,))
            self._database.execute("DELETE FROM files WHERE path = ?", (path,))
            self._database.execute("DELETE FROM left_out WHERE path = ?", (path,))

    def _learn(self, found: Found) -> None:
        try:
            text = read_text(located(self._folder, found.path))
        except (Unreadable, FileNotFoundError) as error:
            reason = str(error) if isinstance(error, Unreadable) else "it cannot be read"
            self._database.execute(
                "INSERT INTO left_out VALUES (?, ?, ?, ?)", (found.path, reason, found.mtime_ns, found.size)
            )
            return
        named = " ".join(spelled_words(found.path))
        called = fold(f"{found.path} {text.title}")
        row = self._database.execute(
            "INSERT INTO files (path, title, called, mtime_ns, size) VALUES (?, ?, ?, ?, ?)",
            (found.path, text.title, called, found.mtime_ns, found.size),
        ).lastrowid
        self._database.execute(
            "INSERT INTO texts (rowid, name, title, body, forms) VALUES (?, ?, ?, ?, ?)",
            (row, f"{found.path} {named}", text.title, text.body, _other_forms(f"{named} {text.title} {text.body}")),
        )


def _forms(word: str) -> list[str]:
    """The ways in which a word of a query may stand in the index."""
    return list(dict.fromkeys([*spellings(word), word.lower()]))


def _other_forms(text: str) -> str:
    """The spellings of a text's words that FTS5 does not know of: it drops diacritics, but has no ss for ß and no ae
    for ä.
    """
    found = {word for word in words(text) if _OTHERWISE.search(word)} if _OTHERWISE.search(text) else set()
    return " ".join(sorted({form for word in found for form in spellings(word)}))


def _damaged(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _DAMAGED

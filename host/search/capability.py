"""The capability `search`: a folder of files that agents can search, read, and ask about.

`files` and `read` are plain. `ask` delegates: a loop of its own searches and says which file is meant, or that this is
open. The loop sees the question, and the conversation that came with the call; it sees files only through its tools.

The index is kept in the user's cache, named by the folder's real path, unless a place is given. Where nothing can be
written there, it is kept in memory.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import platformdirs
import trio

from host.capability import Capability, repeatable
from host.context import Inherited
from host.errors import HostError, NeedsClarification
from host.loop import Agent, NoAnswer, Observe, ToolError, choose, chooser, lookup
from host.models.lexical import Lexical
from host.models.port import Model
from host.search.folder import Found, located, nearest
from host.search.index import File, Index, Indexed, Progress
from host.search.texts import Unreadable, read_text

__all__ = ["Search", "SearchError", "index_path", "open_search"]

_MOST: int = 100


class SearchError(HostError):
    """A folder cannot be searched. The message names it and says why."""


def index_path(folder: Path) -> Path:
    """Where the index of a folder is kept, unless another place is given."""
    real = folder.resolve()
    mark = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return platformdirs.user_cache_path("branchpoint") / "search" / f"{mark}.sqlite3"


def open_search(
    folder: Path,
    *,
    index: Path | None = None,
    progress: Progress | None = None,
    model: Model | None = None,
    observe: Observe | None = None,
) -> Search:
    """The files of a folder, indexed. It blocks while it reads the files that are new or have changed.

    `index` is where the index is kept. `progress` is told `(done, of how many, next path)`. `model` thinks for `ask`
    (the lexical model, if none is given); `observe` is told what its loops do. Raises SearchError.
    """
    try:
        real = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        raise SearchError(f"The folder {folder} does not exist.") from None
    if not real.is_dir():
        raise SearchError(f"{folder} is not a folder.")
    try:
        opened = Index(real, index or index_path(real))
    except (OSError, sqlite3.Error) as error:
        if index is not None:
            raise SearchError(f"The index {index} cannot be written ({error}).") from error
        opened = Index(real, None)
    try:
        indexed = opened.update(progress)
    except (OSError, sqlite3.Error) as error:
        opened.close()
        raise SearchError(f"The folder {folder} cannot be indexed ({error}).") from error
    except BaseException:
        opened.close()
        raise
    return Search(real, opened, indexed, model=model or Lexical(), observe=observe)


class Search(Capability):
    """The person's files: texts, web pages and PDFs in one folder."""

    name = "search"
    errors = (NeedsClarification, NoAnswer)

    def __init__(
        self, folder: Path, index: Index, indexed: Indexed, *, model: Model, observe: Observe | None = None
    ) -> None:
        super().__init__()
        self._folder = folder
        self._index = index
        self._indexed = indexed
        self._agent = _agent(index, model)
        self._observe = observe

    @property
    def indexed(self) -> Indexed:
        """What opening the folder found and did."""
        return self._indexed

    @repeatable
    async def files(self, query: str, limit: int = 10) -> list[File]:
        """The files that fit a query best, the best first: by name, title and text. At most `limit`, which is 1 to 100.

        Every text is a good query. A blank one gives the files that changed last.
        """
        if not 1 <= limit <= _MOST:
            raise ValueError(f"limit is from 1 to {_MOST}, not {limit}.")
        return self._index.search(query, limit)

    @repeatable
    async def read(self, path: str) -> str:
        """The whole text of a file, by its path as `files` gives it.

        Raises FileNotFoundError, with the nearest paths, if there is none.
        """
        return await trio.to_thread.run_sync(self._read, path)

    @repeatable
    async def ask(self, question: str, *, inherited: Inherited) -> File:
        """The one file that a question means, such as "the report". Raises NeedsClarification if the question leaves
        it open.
        """
        return await choose(self._agent, File, question, inherited, observe=self._observe)

    async def aclose(self) -> None:
        """Close the index. It stays where it is kept."""
        self._index.close()

    def _read(self, path: str) -> str:
        try:
            place = located(self._folder, path)
            status = place.stat()
        except OSError:
            raise FileNotFoundError(self._missing(path)) from None
        here = Found(path=path, size=status.st_size, mtime_ns=status.st_mtime_ns)
        known = self._index.body(here)
        if known is not None:
            return known
        try:
            return read_text(place).body
        except Unreadable as error:
            raise ValueError(f"{path} cannot be read as text: {error}.") from None

    def _missing(self, path: str) -> str:
        paths = self._index.paths()
        near = nearest(path, paths)
        hint = f" The nearest: {', '.join(map(repr, near))}." if near else " Find paths with `files`."
        shown = path if len(path) <= 200 else f"{path[:200]}…"
        return f"There is no file {shown!r} here.{hint}"


def _agent(index: Index, model: Model) -> Agent:
    async def files(arguments: Mapping[str, object]) -> object:
        limit = arguments["limit"]
        assert isinstance(limit, int)
        return index.search(str(arguments["query"]), limit)

    async def read(arguments: Mapping[str, object]) -> object:
        path = str(arguments["path"])
        file = index.file(path)
        if file is None:
            raise ToolError(_no_file(index, path))
        return index.text(path)

    async def pick(key: object) -> File:
        file = index.file(str(key))
        if file is None:
            raise ToolError(_no_file(index, str(key)))
        return file

    path_schema = {"type": "string", "description": "The file's path, as a result gave it."}
    return chooser(
        name="search",
        about="You look after a folder with a person's files.",
        model=model,
        lookups=[
            lookup(
                "files",
                "Search the folder for files, by words in their path, title or text. Gives the files that fit best.",
                {
                    "query": {"type": "string", "description": "A few words."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": _MOST, "default": 20},
                },
                files,
                required=["query"],
            ),
            lookup("read", "Read the whole text of one file.", {"path": path_schema}, read, required=["path"]),
        ],
        key="path",
        described=path_schema,
        pick=pick,
    )


def _no_file(index: Index, path: str) -> str:
    near = nearest(path, index.paths())
    hint = f" The nearest: {', '.join(map(repr, near))}." if near else ""
    return f"There is no file {path!r}.{hint}"

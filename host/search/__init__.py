"""Search: a folder of files in SQLite FTS5, as a capability."""

from host.search.capability import Search, SearchError, index_path, open_search
from host.search.index import File, Indexed, Progress

__all__ = ["File", "Indexed", "Progress", "Search", "SearchError", "index_path", "open_search"]

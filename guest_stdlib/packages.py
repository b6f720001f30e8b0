"""Modules that code reaches for and that are not here, each with what to use instead.

`advice(name)` is a whole sentence or two that begins with the fact and ends with what to write. Modules of the standard
library that this CPython was built without are in `UNUSABLE`; what belongs to other distributions is in a table below.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from typing import Final

__all__ = ["UNUSABLE", "advice", "known", "usual_name"]

_NO_TERMINAL: Final = "nothing has a screen or a keyboard; print what is to be shown"
_NO_SYSTEM: Final = "there is no operating system below this code"

# Modules of the standard library that cannot work here: the reason, and what is possible.
UNUSABLE: Final[Mapping[str, str]] = {
    "ssl": "There is no ssl here, and no network: what is outside is reached through the capabilities in scope.",
    "bz2": "There is no bz2 here: use zlib or gzip.",
    "lzma": "There is no lzma here: use zlib or gzip.",
    "compression.bz2": "There is no bz2 here: use zlib or gzip.",
    "compression.lzma": "There is no lzma here: use zlib or gzip.",
    "compression.zstd": "There is no zstd here: use zlib or gzip.",
    "ctypes": "There is no ctypes here: no native code can be loaded. Use struct for binary data.",
    "mmap": "There is no mmap here: use bytearray and memoryview.",
    "fcntl": f"There is no fcntl here: {_NO_SYSTEM}.",
    "resource": f"There is no resource here: {_NO_SYSTEM}.",
    "pwd": f"There is no pwd here: {_NO_SYSTEM}.",
    "grp": f"There is no grp here: {_NO_SYSTEM}.",
    "syslog": "There is no syslog here: use print or logging.",
    "termios": f"There is no termios here: {_NO_TERMINAL}.",
    "tty": f"There is no tty here: {_NO_TERMINAL}.",
    "pty": f"There is no pty here: {_NO_TERMINAL}.",
    "curses": f"There is no curses here: {_NO_TERMINAL}.",
    "readline": f"There is no readline here: {_NO_TERMINAL}.",
    "tkinter": f"There is no tkinter here: {_NO_TERMINAL}.",
    "turtle": f"There is no turtle here: {_NO_TERMINAL}.",
    "idlelib": f"There is no idlelib here: {_NO_TERMINAL}.",
    "concurrent.interpreters": "There are no other interpreters here: use asyncio.gather.",
    "multiprocessing": "There are no processes here: use asyncio.gather for calls that can run at once.",
    "ensurepip": "There is no pip here: packages cannot be installed. Use the standard library.",
}

_HTTP: Final = "there is no network; what is outside is reached through the capabilities in scope"
_MODEL: Final = "no model is called from here; ask a capability that delegates"
_TABLES: Final = "use csv, statistics, collections, and lists of dicts"
_NUMBERS: Final = "use math, statistics, fractions, and lists"
_PLOTS: Final = "nothing can be drawn here; return or print the numbers"
_IMAGES: Final = "images cannot be worked on here"
_DOCUMENTS: Final = "documents are read through the capabilities in scope"
_DATABASE: Final = "use sqlite3 with ':memory:', or the capabilities in scope"
_TESTS: Final = "use assert, or unittest"
_SYSTEM: Final = _NO_SYSTEM

# Distributions by the name under which they are imported.
_INSTEAD: Final[Mapping[str, str]] = {
    "numpy": _NUMBERS,
    "scipy": _NUMBERS,
    "sympy": "use fractions, decimal, and math",
    "pandas": _TABLES,
    "polars": _TABLES,
    "pyarrow": _TABLES,
    "duckdb": "use sqlite3 with ':memory:'",
    "openpyxl": f"use csv for tables; {_DOCUMENTS}",
    "xlrd": f"use csv for tables; {_DOCUMENTS}",
    "xlsxwriter": "use csv",
    "tabulate": "use f-strings with widths: f'{name:<20}{count:>8}'",
    "prettytable": "use f-strings with widths: f'{name:<20}{count:>8}'",
    "rich": "use print, textwrap, and f-strings with widths",
    "termcolor": "print plain text",
    "colorama": "print plain text",
    "tqdm": "go through the items themselves: nobody watches a progress bar here",
    "requests": _HTTP,
    "httpx": _HTTP,
    "aiohttp": _HTTP,
    "urllib3": _HTTP,
    "websockets": _HTTP,
    "paramiko": _HTTP,
    "boto3": _HTTP,
    "googleapiclient": _HTTP,
    "slack_sdk": _HTTP,
    "selenium": _HTTP,
    "playwright": _HTTP,
    "openai": _MODEL,
    "anthropic": _MODEL,
    "langchain": _MODEL,
    "litellm": _MODEL,
    "transformers": _MODEL,
    "tiktoken": "count words or characters instead of tokens",
    "torch": _NUMBERS,
    "tensorflow": _NUMBERS,
    "sklearn": _NUMBERS,
    "matplotlib": _PLOTS,
    "seaborn": _PLOTS,
    "plotly": _PLOTS,
    "PIL": _IMAGES,
    "cv2": _IMAGES,
    "bs4": "use html.parser for HTML and xml.etree.ElementTree for XML",
    "lxml": "use html.parser for HTML and xml.etree.ElementTree for XML",
    "markdown": "use plain strings, textwrap, and re",
    "jinja2": "use f-strings, or string.Template",
    "yaml": "use json, or tomllib for TOML; simple YAML can be split by lines",
    "toml": "use tomllib",
    "tomli": "use tomllib",
    "simplejson": "use json",
    "orjson": "use json",
    "ujson": "use json",
    "msgpack": "use json, or struct",
    "dateutil": "use datetime and zoneinfo: datetime.fromisoformat reads ISO dates, strptime others",
    "pytz": "use zoneinfo: ZoneInfo('Europe/Oslo')",
    "arrow": "use datetime and zoneinfo",
    "pendulum": "use datetime and zoneinfo",
    "pydantic": "use dataclasses",
    "attr": "use dataclasses",
    "attrs": "use dataclasses",
    "typing_extensions": "use typing",
    "six": "this is Python 3; nothing is needed",
    "regex": "use re",
    "unidecode": "use unicodedata.normalize",
    "chardet": "bytes.decode with errors='replace' does for most texts",
    "fuzzywuzzy": "use difflib.get_close_matches",
    "thefuzz": "use difflib.get_close_matches",
    "rapidfuzz": "use difflib.get_close_matches",
    "Levenshtein": "use difflib.SequenceMatcher",
    "networkx": "use dicts of sets, collections.deque, heapq, and graphlib",
    "nltk": "use re and collections.Counter",
    "spacy": "use re and collections.Counter",
    "faker": "use random",
    "pypdf": _DOCUMENTS,
    "PyPDF2": _DOCUMENTS,
    "fitz": _DOCUMENTS,
    "pdfplumber": _DOCUMENTS,
    "docx": _DOCUMENTS,
    "vobject": "contacts are read through the capabilities in scope",
    "sqlalchemy": _DATABASE,
    "psycopg2": _DATABASE,
    "pymongo": _DATABASE,
    "redis": _DATABASE,
    "trio": "use asyncio",
    "anyio": "use asyncio",
    "nest_asyncio": "asyncio.run works at top level here as it is",
    "dotenv": "there is no environment and no secret here; capabilities hold their own",
    "psutil": _SYSTEM,
    "click": "there is no command line here; write the values into the code",
    "IPython": "print what is to be shown, or write it alone on the last line",
    "google": _HTTP,
    "pytest": _TESTS,
    "hypothesis": _TESTS,
    "flask": "nothing can listen here",
    "fastapi": "nothing can listen here",
    "pip": "packages cannot be installed here; use the standard library",
    "setuptools": "packages cannot be installed here; use the standard library",
    "pkg_resources": "use importlib.metadata and importlib.resources",
}

# Names that code uses after an import that everyone writes in the same way.
_USUAL: Final[Mapping[str, str]] = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib",
    "sns": "seaborn",
    "tf": "tensorflow",
}


def advice(name: str) -> str:
    """What to use instead of the module `name`, which cannot be imported."""
    root = name.partition(".")[0]
    unusable = UNUSABLE.get(name) or UNUSABLE.get(root)
    if unusable is not None:
        return unusable
    instead = _INSTEAD.get(root)
    if instead is not None:
        return f"There is no {root} here: {instead}."
    close = difflib.get_close_matches(root, sys.stdlib_module_names, n=1, cutoff=0.75)
    if close and root not in sys.stdlib_module_names:
        return f"There is no module {root}. Did you mean {close[0]}?"
    return f"There is no {name} here: the standard library is, and no other packages can be installed."


def known(root: str) -> bool:
    """Whether a top-level module is known by name, here or elsewhere."""
    return root in UNUSABLE or root in _INSTEAD or root in sys.stdlib_module_names


def usual_name(name: str) -> str | None:
    """The module that a short name usually stands for: `np` is numpy."""
    return _USUAL.get(name)

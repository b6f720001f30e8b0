"""What a guest made from the real image can import and read, with no file anywhere.

The image is the one in the user's cache, built first if there is none. One test builds another image, with a package.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

import sandbox.image
from guest_stdlib.baking import BakingFailed, import_packages
from sandbox import open_sandbox
from sandbox.image import Image, ImageBuildError, PackageError
from sandbox.image.build import ComponentizeBuilder, _failure
from sandbox.image.cache import Cache
from sandbox.image.module import Kind, read_module
from sandbox.image.packages import read_wheel
from tests.image_wheels import make_wheel

# What this CPython does not have, by why: tools that would be of no use, and modules of other systems.
NOT_HERE = {
    "no native code can be loaded": {"ctypes", "_ctypes"},
    "the libraries are not built in": {
        *("ssl", "_ssl", "_hashlib", "bz2", "_bz2", "lzma", "_lzma", "_zstd", "_uuid", "_dbm", "_gdbm"),
    },
    "there is no operating system": {
        *("fcntl", "grp", "pwd", "resource", "syslog", "mmap", "_posixsubprocess", "_posixshmem", "_multiprocessing"),
        "_remote_debugging",
    },
    "there is no terminal": {
        *("termios", "tty", "pty", "readline", "curses", "_curses", "_curses_panel"),
        *("tkinter", "_tkinter", "turtle", "turtledemo", "idlelib"),
    },
    "there is one interpreter, and one thread": {
        *("multiprocessing", "_interpreters", "_interpchannels", "_interpqueues"),
    },
    "nothing can be installed": {"ensurepip"},
    "it is not this system": {
        *("msvcrt", "nt", "winreg", "winsound", "_winapi", "_wmi", "_overlapped", "_scproxy"),
    },
}


async def value(source: str, image: Image | str = "default") -> object:
    async with open_sandbox(image=image) as session:
        outcome = await session.run(source)
    assert outcome.error is None, outcome.error
    return outcome.value


async def test_every_module_of_the_standard_library_imports_or_is_known_not_to() -> None:
    """Nothing is read from files, and nothing is missing that could be there."""
    missing = await value("""
        import importlib, sys
        missing = []
        for name in sorted(sys.stdlib_module_names):
            try:
                importlib.import_module(name)
            except ImportError:
                missing.append(name)
        missing
    """)
    assert missing == sorted(set().union(*NOT_HERE.values()))


async def test_submodules_import_too() -> None:
    """Those that nothing else imports."""
    assert await value("""
        import xml.dom.minidom, email.mime.text, json.tool, unittest.mock, encodings.cp1252, wsgiref.util
        import importlib.metadata, concurrent.futures, logging.handlers, urllib.robotparser
        xml.dom.minidom.parseString('<a>b</a>').documentElement.tagName, 'é'.encode('cp1252')
    """) == ("a", b"\xe9")


async def test_time_zones_are_known() -> None:
    """Their data is in the image."""
    assert await value("""
        import datetime, zoneinfo
        summer = datetime.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo('Europe/Oslo'))
        str(summer), len(zoneinfo.available_timezones()) > 590
    """) == ("2026-07-01 12:00:00+02:00", True)


async def test_an_unknown_time_zone_is_an_error_as_usual() -> None:
    """Not one about files."""
    assert (
        await value("""
        import zoneinfo
        try:
            zoneinfo.ZoneInfo('Europe/Atlantis')
        except zoneinfo.ZoneInfoNotFoundError as error:
            message = str(error)
        message
    """)
        == "'No time zone found with key Europe/Atlantis'"
    )


async def test_objects_of_the_image_last() -> None:
    """References to them are not counted, so guests share the pages that they lie on; what a guest makes is counted."""
    assert await value("""
        import json, sys
        mine = object()
        [sys._is_immortal(thing) for thing in (json, json.dumps, json.dumps.__code__, type(json), mine)]
    """) == [True, True, True, True, False]


async def test_a_first_cell_writes_to_few_pages() -> None:
    """A suspended session holds the pages that it has written to: warming and settling keep them few."""
    async with open_sandbox() as session:
        await session.run("1 + 1")
        assert len(await session.suspend()) < 100_000


async def test_the_image_asks_for_nothing_but_host_functions() -> None:
    """And it shows what the host needs of it."""
    image = await trio.to_thread.run_sync(sandbox.image.ensure)
    module = read_module(image.wasm.read_bytes())
    assert {(item.module, item.kind) for item in module.imports} == {("host", Kind.FUNCTION)}
    assert {"step", "realloc", "memory", "interrupt", "stack_pointer"} <= module.exports.keys()
    assert len(module.globals) == sum(kind is Kind.GLOBAL for kind, _ in module.exports.values())


async def test_a_baked_package_is_there_with_its_data(tmp_path: Path) -> None:
    """Imported already, with its data files, its version, and its source."""
    files = {
        "office/__init__.py": "from office.stamps import stamp\n",
        "office/stamps.py": "def stamp(text):\n    return f'*{text}*'\n",
        "office/forms/letter.txt": "Dear {name}",
        "plugins/one.py": "NUMBER = 1\n",
    }
    wheel = read_wheel(make_wheel(tmp_path, "office", files, version="3.2"))
    cache = Cache(tmp_path / "cache", ComponentizeBuilder())
    image = await trio.to_thread.run_sync(
        lambda: cache.build("office", [wheel], progress=lambda _stage, _fraction: None)
    )
    assert [package.name for package in image.manifest.packages] == ["office"]
    assert await value(
        """
        import sys
        loaded = 'office.stamps' in sys.modules
        import importlib.metadata, importlib.resources, inspect, pkgutil, office, plugins.one
        letter = importlib.resources.files('office').joinpath('forms/letter.txt').read_text()
        (
            loaded, office.stamp('x'), letter, pkgutil.get_data('office', 'forms/letter.txt'),
            importlib.metadata.version('office'), inspect.getsource(office.stamp), plugins.one.NUMBER,
            [found.name for found in pkgutil.iter_modules(office.__path__)],
        )
        """,
        image,
    ) == (
        True, "*x*", "Dear {name}", b"Dear {name}", "3.2", "def stamp(text):\n    return f'*{text}*'\n", 1, ["stamps"],
    )  # fmt: skip


def test_a_package_that_does_not_import_is_named_with_the_reason() -> None:
    """The image is not built: better now than in the middle of a run."""
    with pytest.raises(BakingFailed) as caught:
        import_packages(b'[{"name": "office", "version": "3.2", "modules": ["json", "no_such_module"]}]')
    output = (
        f"Traceback (most recent call last):\n  ...\nguest_stdlib.baking.BakingFailed: {caught.value}\n\nCaused by:\n"
    )
    error = _failure(output)
    assert isinstance(error, PackageError)
    assert str(error) == (
        "The image cannot be built with office 3.2: its module no_such_module does not import "
        "(ModuleNotFoundError: No module named 'no_such_module')."
    )


def test_a_build_that_fails_otherwise_shows_what_the_tool_said() -> None:
    """All of it but the tool's own stack."""
    error = _failure("AssertionError: the guest\n\nCaused by:\n    NameError: x\n\nStack backtrace:\n   0: rust\n")
    assert isinstance(error, ImageBuildError)
    assert str(error) == (
        "componentize-py could not build the guest:\nAssertionError: the guest\n\nCaused by:\n    NameError: x"
    )

"""Row 12 of the usual mistakes: what cannot work fails at once, with the right exception and one sentence."""

# What agents write is what is tested, not what we would write.
# ruff: noqa: PLW0108, PLW1510, PTH102, PTH103, PTH107, PTH123, PTH207, PTH208, SIM115, T100, UP020

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import gc
import glob
import http.client
import importlib
import io
import logging
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from guest_stdlib import barriers
from guest_stdlib.packages import UNUSABLE

READING = "There are no files here: read through the capabilities in scope; io.StringIO is a file in memory"
WRITING = "Nothing can be written to files here: keep it in a variable or io.StringIO, or hand it to a capability"
NETWORK = "There is no network here: what is outside is reached through the capabilities in scope"
PROCESSES = "No processes can be started here: do the work in Python"
THREADS = "There are no threads here: await several calls at once with asyncio.gather, or call the function directly"
SIGNALS = "Signals belong to the sandbox: use try/finally to clean up, and asyncio.timeout to limit a wait"
TEMPORARY = "There is no temporary folder here: io.BytesIO and tempfile.SpooledTemporaryFile are files in memory"


def behind_barriers(action: Callable[[], object]) -> BaseException:
    """The exception of an action, caught behind the barriers and looked at on this side of them."""
    caught: BaseException | None = None
    with barriers.installed():
        try:
            action()
        except BaseException as error:
            caught = error
    assert caught is not None
    return caught


@pytest.mark.parametrize(
    ("action", "kind", "message"),
    [
        (lambda: time.sleep(2), RuntimeError, "time.sleep would stop everything here. Write: await asyncio.sleep(2)"),
        (
            lambda: time.sleep(0.5),
            RuntimeError,
            "time.sleep would stop everything here. Write: await asyncio.sleep(0.5)",
        ),
        (
            lambda: input("Name? "),
            EOFError,
            "Nobody can type here: write the value into the code, or ask through a capability",
        ),
        (lambda: breakpoint(), RuntimeError, "There is no debugger here: print what you want to see"),
        # threads
        (lambda: threading.Thread(target=print).start(), RuntimeError, THREADS),
        (lambda: threading.Timer(1, print).start(), RuntimeError, THREADS),
        (lambda: concurrent.futures.ThreadPoolExecutor().submit(print), RuntimeError, THREADS),
        (lambda: list(concurrent.futures.ThreadPoolExecutor().map(print, [1])), RuntimeError, THREADS),
        (lambda: importlib.import_module("_thread").start_new_thread(print, ()), RuntimeError, THREADS),
        # signals
        (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), ValueError, SIGNALS),
        (lambda: signal.raise_signal(signal.SIGINT), ValueError, SIGNALS),
        # the interpreter
        (
            lambda: os._exit(1),
            RuntimeError,
            "The interpreter belongs to the session: to end a cell early, raise SystemExit",
        ),
        (
            lambda: gc.get_objects(),
            RuntimeError,
            "The collector also knows the sandbox's own objects: use sys.getsizeof, weakref, or tracemalloc",
        ),
    ],
)
def test_mistake_12_what_cannot_work_fails_at_once_with_a_sentence(
    action: Callable[[], object], kind: type[BaseException], message: str
) -> None:
    """The class is CPython's own, the sentence says what is possible."""
    error = behind_barriers(action)
    assert type(error) is kind
    assert str(error) == message


@pytest.mark.parametrize(
    ("action", "filename"),
    [
        (lambda: open("/etc/passwd"), "/etc/passwd"),
        (lambda: open(b"data.bin", "rb"), b"data.bin"),
        (lambda: io.open("notes.txt"), "notes.txt"),
        (lambda: pathlib.Path("notes.txt").read_text(), "notes.txt"),
        (lambda: pathlib.Path("notes.txt").read_bytes(), "notes.txt"),
        (lambda: list(pathlib.Path("data").iterdir()), "data"),
        (lambda: os.open("notes.txt", os.O_RDONLY), "notes.txt"),
        (lambda: os.listdir("/"), "/"),
        (lambda: os.listdir(), "."),
        (lambda: os.remove("notes.txt"), "notes.txt"),
        (lambda: os.chdir("/tmp"), "/tmp"),
        (lambda: shutil.copyfile("a", "b"), "a"),
        (lambda: zipfile.ZipFile("a.zip"), "a.zip"),
    ],
)
def test_mistake_12_a_file_that_is_read_is_not_found(action: Callable[[], object], filename: object) -> None:
    """FileNotFoundError with errno and filename, as on a machine without the file."""
    error = behind_barriers(action)
    assert type(error) is FileNotFoundError
    assert error.strerror == READING
    assert error.filename == filename
    assert error.errno is not None


@pytest.mark.parametrize(
    "action",
    [
        lambda: open("notes.txt", "w"),
        lambda: open("notes.txt", "ab"),
        lambda: open("notes.txt", "r+"),
        lambda: pathlib.Path("notes.txt").write_text("x"),
        lambda: os.open("notes.txt", os.O_WRONLY | os.O_CREAT),
        lambda: os.open("notes.txt", os.O_RDWR),
        lambda: os.mkdir("notes.txt"),
        lambda: pathlib.Path("notes.txt").mkdir(parents=True),
        lambda: os.makedirs("notes.txt"),
        lambda: zipfile.ZipFile("notes.txt", "w"),
    ],
)
def test_mistake_12_a_file_that_is_written_is_refused(action: Callable[[], object]) -> None:
    """PermissionError, with what to do instead."""
    error = behind_barriers(action)
    assert type(error) is PermissionError
    assert error.strerror == WRITING
    assert error.filename == "notes.txt"


@pytest.mark.parametrize(
    "action", [tempfile.mkdtemp, tempfile.NamedTemporaryFile, tempfile.TemporaryFile, tempfile.gettempdir]
)
def test_mistake_12_there_is_no_temporary_folder(action: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs none still works in memory."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    error = behind_barriers(action)
    assert type(error) is FileNotFoundError
    assert error.strerror == TEMPORARY
    with barriers.installed(), tempfile.SpooledTemporaryFile() as file:
        file.write(b"x")


@pytest.mark.parametrize(
    "action",
    [
        lambda: socket.create_connection(("example.com", 80)),
        lambda: socket.getaddrinfo("example.com", 80),
        lambda: socket.gethostbyname("example.com"),
        lambda: socket.socket(socket.AF_INET),
        lambda: socket.socketpair(),
        lambda: http.client.HTTPConnection("example.com").request("GET", "/"),
        lambda: http.client.HTTPConnection("127.0.0.1").connect(),
        lambda: urllib.request.urlopen("http://example.com"),
    ],
)
def test_mistake_12_there_is_no_network(action: Callable[[], object]) -> None:
    """An OSError, in urllib's own wrapping where urllib is asked."""
    error = behind_barriers(action)
    assert isinstance(error, OSError)
    assert NETWORK in str(error)
    assert not isinstance(error, urllib.error.URLError) or isinstance(error.reason, OSError)


@pytest.mark.parametrize(
    "action",
    [
        lambda: subprocess.run(["ls"]),
        lambda: subprocess.check_output("ls", shell=True),
        lambda: subprocess.Popen(["ls"]),
        lambda: os.system("ls"),
        lambda: os.popen("ls"),
        lambda: os.fork(),
        lambda: os.posix_spawn("/bin/ls", ["ls"], {}),
        lambda: os.execv("/bin/ls", ["ls"]),
    ],
)
def test_mistake_12_no_process_can_be_started(action: Callable[[], object]) -> None:
    """An OSError, as on platforms without processes."""
    error = behind_barriers(action)
    assert isinstance(error, OSError)
    assert error.strerror == PROCESSES


def test_mistake_12_no_process_can_be_killed() -> None:
    """Not even this one."""
    error = behind_barriers(lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert type(error) is PermissionError
    assert error.strerror == SIGNALS


@pytest.mark.parametrize(
    "name",
    ["ssl", "ctypes", "bz2", "lzma", "multiprocessing", "curses", "tkinter", "multiprocessing.pool", "ctypes.util"],
)
def test_mistake_12_a_module_that_cannot_work_is_not_found(name: str) -> None:
    """ModuleNotFoundError at the import, also where the module was imported before."""
    error = behind_barriers(lambda: importlib.import_module(name))
    assert type(error) is ModuleNotFoundError
    assert str(error) == UNUSABLE[name.partition(".")[0]]
    assert error.name == name.partition(".")[0]


def test_mistake_12_process_pools_are_not_found() -> None:
    """They need a module that cannot work."""
    error = behind_barriers(lambda: importlib.import_module("concurrent.futures.process"))
    assert type(error) is ModuleNotFoundError
    assert str(error) == UNUSABLE["multiprocessing"]


def test_the_library_works_without_what_it_can_do_without() -> None:
    """Imports, in-memory files, archives in memory, globbing, existence checks and loggers go on as before."""
    with barriers.installed():
        for name in ("zipfile", "tarfile", "gzip", "uuid", "platform", "mimetypes", "http.server", "smtplib", "shelve"):
            sys.modules.pop(name, None)
            importlib.import_module(name)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("a.txt", "x")
        assert zipfile.ZipFile(packed).read("a.txt") == b"x"
        assert glob.glob("*") == []
        assert list(os.walk(".")) == []
        assert not pathlib.Path("no such file").exists()
        importlib.import_module("uuid").uuid1()
        importlib.import_module("platform").platform()
        logging.getLogger("barriers").warning("works")


def test_open_on_the_standard_streams_works() -> None:
    """By number, as always."""
    with barriers.installed():
        stream = open(1, "w", closefd=False)
    assert stream.fileno() == 1


def test_except_clauses_catch_what_they_should() -> None:
    """Code that expects a failing world works unchanged."""
    caught: list[str] = []
    with barriers.installed():
        for action, kind in (
            (lambda: open("x"), OSError),
            (lambda: socket.create_connection(("x", 1)), OSError),
            (lambda: subprocess.run(["x"]), OSError),
            (lambda: importlib.import_module("ssl"), ImportError),
            (lambda: threading.Thread(target=print).start(), RuntimeError),
            (lambda: input(), EOFError),
        ):
            try:
                action()
            except kind as error:
                caught.append(type(error).__name__)
    assert caught == ["FileNotFoundError", "gaierror", "OSError", "ModuleNotFoundError", "RuntimeError", "EOFError"]


def test_barriers_come_down_without_a_trace() -> None:
    """Every name is what it was, and hidden modules are the same objects."""
    import ssl

    owners: list[Any] = [builtins, io, os, socket, subprocess, threading, time, signal, gc, sys, tempfile, asyncio]
    before = [dict(vars(owner)) for owner in owners]
    path = list(sys.meta_path)
    with barriers.installed():
        assert "ssl" not in sys.modules
        assert open is not before[0]["open"]
    assert [dict(vars(owner)) for owner in owners] == before
    assert sys.meta_path == path
    assert sys.modules["ssl"] is ssl


def test_a_barrier_has_the_name_and_the_documentation_of_what_it_stands_for() -> None:
    """help(open) still helps."""
    with barriers.installed():
        named = (open.__name__, time.sleep.__name__, os.listdir.__name__)
        documented = bool(open.__doc__ and time.sleep.__doc__ and os.listdir.__doc__)
    assert named == ("open", "sleep", "listdir")
    assert documented

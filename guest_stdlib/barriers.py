"""What cannot work in the sandbox fails at once, with one sentence about what is possible instead.

Rules:

- The exception is of the class that CPython raises on a machine that lacks the thing: FileNotFoundError where nothing
  can be read, PermissionError where nothing can be written, OSError without a network or processes, RuntimeError
  without threads, EOFError without input, ModuleNotFoundError without a module. So `except OSError` catches what it
  should.
- A barrier is a name in a module that Python code goes through. What the library reaches below it, in C, fails by
  itself: there the world refuses. Its own imports go through none of these.
- These are signposts, not walls. The wall is the world outside, which refuses all this once more.
- `open` on the standard streams by number works as always. A session that has a workspace has files: what works on
  them is let through (`files`).
"""

from __future__ import annotations

import _thread
import builtins
import contextlib
import errno
import gc
import importlib.abc
import importlib.machinery
import io
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Never, cast

from guest_stdlib.files import Files, reading_where_it_appends
from guest_stdlib.packages import UNUSABLE

__all__ = ["install", "installed"]

type _Refusal = Callable[..., object]

_READING: Final = "There are no files here: read through the capabilities in scope; io.StringIO is a file in memory"
_WRITING: Final = (
    "Nothing can be written to files here: keep it in a variable or io.StringIO, or hand it to a capability"
)
_TEMPORARY: Final = (
    "There is no temporary folder here: io.BytesIO and tempfile.SpooledTemporaryFile are files in memory"
)
_NETWORK: Final = "There is no network here: what is outside is reached through the capabilities in scope"
_PROCESSES: Final = "No processes can be started here: do the work in Python"
_THREADS: Final = (
    "There are no threads here: await several calls at once with asyncio.gather, or call the function directly"
)
_SIGNALS: Final = "Signals belong to the sandbox: use try/finally to clean up, and asyncio.timeout to limit a wait"
_INPUT: Final = "Nobody can type here: write the value into the code, or ask through a capability"
_EXIT: Final = "The interpreter belongs to the session: to end a cell early, raise SystemExit"
_INSPECTION: Final = "The collector also knows the sandbox's own objects: use sys.getsizeof, weakref, or tracemalloc"
_DEBUGGER: Final = "There is no debugger here: print what you want to see"


# The refusals


def _file_error(path: object, *, writes: bool) -> OSError:
    shown: object = path
    with contextlib.suppress(TypeError):
        shown = os.fspath(path)  # type: ignore[call-overload]
    if writes:
        return PermissionError(errno.EACCES, _WRITING, shown)
    return FileNotFoundError(errno.ENOENT, _READING, shown)


def _open(file: object, mode: object = "r", *args: Any, **kwargs: Any) -> object:
    """open, for the standard streams: there are no files."""
    if type(file) is int:
        return _really_open(file, cast(str, mode), *args, **kwargs)
    raise _file_error(file, writes=isinstance(mode, str) and not set(mode).isdisjoint("wax+"))


_really_open: Final = io.open


def _os_open(path: object, flags: int, *_: object, **__: object) -> Never:
    # On WASI, O_RDWR is O_RDONLY and O_WRONLY together; elsewhere it is a bit of its own.
    changes = flags & (os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC) != 0
    raise _file_error(path, writes=changes or flags & os.O_RDWR == os.O_RDWR)


def _reads(path: object = ".", *_: object, **__: object) -> Never:
    raise _file_error(path, writes=False)


def _writes(path: object = ".", *_: object, **__: object) -> Never:
    raise _file_error(path, writes=True)


def _sleep(seconds: object = "seconds", /) -> Never:
    shown = repr(seconds) if type(seconds) in (int, float) else "seconds"
    raise RuntimeError(f"time.sleep would stop everything here. Write: await asyncio.sleep({shown})")


def _no_address(*_: object, **__: object) -> Never:
    raise socket.gaierror(socket.EAI_NONAME, _NETWORK)


def _raising(error: Callable[[], BaseException]) -> _Refusal:
    def refuse(*_: object, **__: object) -> Never:
        raise error()

    return refuse


_no_network = _raising(lambda: OSError(errno.ENETUNREACH, _NETWORK))
_no_processes = _raising(lambda: OSError(errno.ENOTSUP, _PROCESSES))
_no_killing = _raising(lambda: PermissionError(errno.EPERM, _SIGNALS))
_no_threads = _raising(lambda: RuntimeError(_THREADS))
_no_signals = _raising(lambda: ValueError(_SIGNALS))  # asyncio and others take a ValueError for "not here"
_no_input = _raising(lambda: EOFError(_INPUT))
_no_exit = _raising(lambda: RuntimeError(_EXIT))
_no_inspection = _raising(lambda: RuntimeError(_INSPECTION))
_no_debugger = _raising(lambda: RuntimeError(_DEBUGGER))
_no_folder = _raising(lambda: FileNotFoundError(errno.ENOENT, _TEMPORARY))

# Where they stand: a module (or a class in one), the names in it, what happens there instead, and whether a name that
# this platform lacks is added, so that it too fails with a sentence.
_BARRIERS: Final[tuple[tuple[object, str, _Refusal, bool], ...]] = (
    (os, "system popen fork forkpty posix_spawn posix_spawnp execv execve", _no_processes, True),
    (os, "kill killpg", _no_killing, True),
    (os, "_exit abort", _no_exit, False),
    (subprocess.Popen, "__init__", _no_processes, False),
    (socket.socket, "__init__", _no_network, False),
    (socket, "socketpair fromfd", _no_network, False),  # they open a socket before they make the object
    (socket, "getaddrinfo gethostbyname gethostbyname_ex gethostbyaddr getnameinfo", _no_address, True),
    (_thread, "start_new_thread start_new start_joinable_thread", _no_threads, False),
    (threading, "_start_new_thread _start_joinable_thread", _no_threads, False),
    (signal, "signal raise_signal alarm setitimer pthread_kill set_wakeup_fd siginterrupt", _no_signals, False),
    (time, "sleep", _sleep, False),
    (builtins, "input", _no_input, False),
    (sys, "breakpointhook", _no_debugger, False),
    (gc, "get_objects get_referrers get_referents", _no_inspection, False),
)

# The same, for what is let through where there are files.
_FILES: Final[tuple[tuple[object, str, _Refusal], ...]] = (
    (builtins, "open", _open),
    (io, "open", _open),
    (os, "open", _os_open),
    (os, "listdir scandir chdir remove unlink rmdir rename replace", _reads),
    (os, "mkdir mkfifo mknod symlink link truncate", _writes),
    (tempfile, "_get_default_tempdir", _no_folder),
)

_LIBRARY_FIRST: Final = (random,)  # it takes `os.fork` for the sign that `os.register_at_fork` is there too


class _Absent(importlib.abc.MetaPathFinder):
    """Finds the modules that cannot work, and says so."""

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """None for what may work; ModuleNotFoundError, with a sentence, for what cannot."""
        sentence = UNUSABLE.get(fullname)
        if sentence is not None:
            raise ModuleNotFoundError(sentence, name=fullname)
        return None


# Putting them up


def install(files: Files | None = None) -> Callable[[], None]:
    """Put all barriers up, once, when the interpreter is warm and has its signal handler. `files` says at each call
    whether there are any. Returns what takes the barriers down.
    """
    files = files or Files()
    before: list[tuple[object, str, object]] = []
    for owner, names, refusal in _FILES:
        for name in names.split():
            if (function := vars(owner).get(name)) is not None:
                before.append((owner, name, function))
                through = reading_where_it_appends(function) if refusal is _open else function
                setattr(owner, name, _named(files.gate(refusal, through), name, function))
    for owner, names, refusal, added in _BARRIERS:
        for name in names.split():
            original = vars(owner).get(name, _ABSENT)
            if original is not _ABSENT or added:
                before.append((owner, name, original))
                setattr(owner, name, _named(refusal, name, original))
    hidden = {name: module for name, module in sys.modules.items() if _hides(name)}
    for name in hidden:
        del sys.modules[name]
    absent = _Absent()
    sys.meta_path.insert(0, absent)

    def uninstall() -> None:
        sys.meta_path.remove(absent)
        sys.modules.update(hidden)
        for owner, name, original in reversed(before):
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

    return uninstall


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """The barriers, for the length of a with block."""
    uninstall = install()
    try:
        yield
    finally:
        uninstall()


_ABSENT: Final = object()


def _hides(name: str) -> bool:
    return name in UNUSABLE or name.partition(".")[0] in UNUSABLE


def _named(refusal: _Refusal, name: str, original: object) -> _Refusal:
    """The refusal under the name, and with the documentation, of what it stands for."""

    def refused(*args: Any, **kwargs: Any) -> object:
        return refusal(*args, **kwargs)

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = getattr(original, "__doc__", None)
    return refused

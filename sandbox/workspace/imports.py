"""How a guest reaches its files: the imports of wasi:filesystem, answered.

Each answer takes the guest's files, its memory and the import's arguments as unsigned integers, and returns what lies
behind the tag of a result that is ok, in the layout of the component model's canonical ABI. An OSError becomes the code
of the WIT enum `error-code` of WASI 0.2. Assume crafted arguments:

- A path is text of a limited length before anything else is done to it; flags that nobody knows are refused.
- A size from the guest is cut before anything of that size is made.
- The result's address is checked by the memory, like any other.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .files import ROOT, Files, Opening
from .shared import READ, WorkspaceFull

if TYPE_CHECKING:
    from sandbox.world import Memory

__all__ = ["ANSWERS", "MOUNT", "answered", "preopened"]

type _Answer = Callable[..., bytes]

MOUNT: Final = b"/workspace"
PATH: Final = 4096  # bytes
NANO: Final = 1_000_000_000
LATEST: Final = 1 << 33  # seconds since 1970 that a file's time may have

_CODES: Final = {
    getattr(errno, name): code
    for code, name in enumerate(
        # The cases of error-code, in its order.
        "EACCES EAGAIN EALREADY EBADF EBUSY EDEADLK EDQUOT EEXIST EFBIG EILSEQ EINPROGRESS EINTR EINVAL EIO EISDIR "
        "ELOOP EMLINK EMSGSIZE ENAMETOOLONG ENODEV ENOENT ENOLCK ENOMEM ENOSPC ENOTDIR ENOTEMPTY ENOTRECOVERABLE "
        "ENOTSUP ENOTTY ENXIO EOVERFLOW EPERM EPIPE EROFS ESPIPE ETXTBSY EXDEV".split()
    )
    if hasattr(errno, name)
}
IO: Final = _CODES[errno.EIO]
FOLDER, REGULAR_FILE = 3, 6  # of descriptor-type
READS, WRITES, CHANGES = 1, 2, 32  # of descriptor-flags; those between ask how it is written, which is ours to know


def _path(memory: Memory, pointer: int, size: int) -> str:
    if size > PATH:
        raise OSError(errno.ENAMETOOLONG, "The path is too long")
    try:
        path = memory.read(pointer, size).decode()
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "The path is not UTF-8") from None
    if "\0" in path:
        raise OSError(errno.EINVAL, "The path has a NUL in it")
    return path


def _list(memory: Memory, data: bytes) -> bytes:
    """A list<u8> or a string, put into the guest's memory."""
    pointer = memory.allocate(len(data)) if data else 0
    if data:
        memory.write(pointer, data)
    return struct.pack("<II", pointer, len(data))


def _kind(found: os.stat_result) -> int:
    return FOLDER if stat.S_ISDIR(found.st_mode) else REGULAR_FILE


def _stat(found: os.stat_result) -> bytes:
    """descriptor-stat. A folder has no size that would mean anything."""
    times = b"".join(
        struct.pack("<B7xQI4x", 1, *divmod(max(moment, 0), NANO))
        for moment in (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)
    )
    size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    return struct.pack("<B7xQQ", _kind(found), found.st_nlink, size) + times


def _hash(found: os.stat_result) -> bytes:
    """metadata-hash-value: to libc the inode's number."""
    return struct.pack("<QQ", found.st_ino, 0)


def _moment(kind: int, seconds: int, nanoseconds: int) -> int | None:
    """new-timestamp: no-change, now, or a time. Time is the host's here, as it is when a file is written to."""
    if kind == 0:
        return None
    if kind == 1:
        return time.time_ns()
    if kind != 2 or seconds > LATEST or nanoseconds >= NANO:
        raise OSError(errno.EINVAL, "This is no time")
    return seconds * NANO + nanoseconds


def _open_at(  # noqa: PLR0917 - the import's own
    files: Files, memory: Memory, handle: int, _follow: int, path: int, size: int, how: int, access: int
) -> bytes:
    if how > 15 or access > 63:
        raise OSError(errno.EINVAL, "Unknown flags")
    opening = Opening(
        create=bool(how & 1),
        folder=bool(how & 2),
        exclusive=bool(how & 4),
        truncate=bool(how & 8),
        reads=bool(access & READS),
        writes=bool(access & WRITES),
    )
    return struct.pack("<I", files.open(handle, _path(memory, path, size), opening))


def _stat_at(files: Files, memory: Memory, handle: int, _follow: int, path: int, size: int) -> bytes:
    return _stat(files.stat_at(handle, _path(memory, path, size)))


def _hash_at(files: Files, memory: Memory, handle: int, _follow: int, path: int, size: int) -> bytes:
    return _hash(files.stat_at(handle, _path(memory, path, size)))


def _make_folder(files: Files, memory: Memory, handle: int, path: int, size: int) -> bytes:
    files.make_folder(handle, _path(memory, path, size))
    return b""


def _remove_folder(files: Files, memory: Memory, handle: int, path: int, size: int) -> bytes:
    files.remove_folder(handle, _path(memory, path, size))
    return b""


def _remove_file(files: Files, memory: Memory, handle: int, path: int, size: int) -> bytes:
    files.remove_file(handle, _path(memory, path, size))
    return b""


def _rename(  # noqa: PLR0917 - the import's own
    files: Files, memory: Memory, handle: int, path: int, size: int, new_handle: int, new_path: int, new_size: int
) -> bytes:
    files.rename(handle, _path(memory, path, size), new_handle, _path(memory, new_path, new_size))
    return b""


def _no_links(_files: Files, _memory: Memory, *_: int) -> bytes:
    raise PermissionError(errno.EPERM, "There are no links in a workspace")


def _read_link(files: Files, memory: Memory, handle: int, path: int, size: int) -> bytes:
    files.stat_at(handle, _path(memory, path, size))
    raise OSError(errno.EINVAL, "This is no link")


def _set_times_at(files: Files, memory: Memory, handle: int, _follow: int, path: int, size: int, *times: int) -> bytes:
    files.set_times_at(handle, _path(memory, path, size), _moment(*times[:3]), _moment(*times[3:]))
    return b""


def _set_times(files: Files, _memory: Memory, handle: int, *times: int) -> bytes:
    files.set_times(handle, _moment(*times[:3]), _moment(*times[3:]))
    return b""


def _set_size(files: Files, _memory: Memory, handle: int, size: int) -> bytes:
    files.resize(handle, size)
    return b""


def _flags(files: Files, _memory: Memory, handle: int) -> bytes:
    reads, writes = files.access(handle)
    folder = CHANGES if stat.S_ISDIR(files.stat(handle).st_mode) else 0
    return bytes((reads * READS | writes * WRITES | folder,))


def _type(files: Files, _memory: Memory, handle: int) -> bytes:
    return bytes((_kind(files.stat(handle)),))


def _describe(files: Files, _memory: Memory, handle: int) -> bytes:
    return _stat(files.stat(handle))


def _identify(files: Files, _memory: Memory, handle: int) -> bytes:
    return _hash(files.stat(handle))


def _nothing(files: Files, _memory: Memory, handle: int, *_: int) -> bytes:
    """Advice is taken note of by nobody, and nothing waits for the disk: what was written is there for all to read."""
    files.stat(handle)
    return b""


def _read(files: Files, memory: Memory, handle: int, size: int, offset: int) -> bytes:
    data = files.read(handle, min(size, READ), offset)
    return _list(memory, data) + bytes((not data and size > 0,))


def _write(  # noqa: PLR0917 - the import's own
    files: Files, memory: Memory, handle: int, pointer: int, size: int, offset: int
) -> bytes:
    return struct.pack("<Q", files.write(handle, memory.read(pointer, min(size, READ)), offset))


def _read_via_stream(files: Files, _memory: Memory, handle: int, offset: int) -> bytes:
    files.read_from(handle, offset)
    return bytes(4)


def _write_via_stream(files: Files, _memory: Memory, handle: int, offset: int) -> bytes:
    files.write_to(handle, offset)
    return bytes(4)


def _append_via_stream(files: Files, _memory: Memory, handle: int) -> bytes:
    files.write_to(handle, None)
    return bytes(4)


def _read_directory(files: Files, _memory: Memory, handle: int) -> bytes:
    return struct.pack("<I", files.list(handle))


def _read_entry(files: Files, memory: Memory, handle: int) -> bytes:
    entry = files.next_entry(handle)
    if entry is None:
        return bytes(1)
    return struct.pack("<B3xB3x", 1, FOLDER if entry.folder else REGULAR_FILE) + _list(memory, entry.name.encode())


def _methods(resource: str, answers: dict[str, tuple[str, int, _Answer]]) -> dict[str, tuple[str, int, _Answer]]:
    return {f"filesystem/types#[method]{resource}.{name}": answer for name, answer in answers.items()}


ANSWERS: Final[dict[str, tuple[str, int, _Answer]]] = {
    **_methods(
        "descriptor",
        {
            "open-at": ("iiiiiii", 4, _open_at),
            "stat-at": ("iiiii", 8, _stat_at),
            "metadata-hash-at": ("iiiii", 8, _hash_at),
            "create-directory-at": ("iiii", 1, _make_folder),
            "remove-directory-at": ("iiii", 1, _remove_folder),
            "unlink-file-at": ("iiii", 1, _remove_file),
            "rename-at": ("iiiiiii", 1, _rename),
            "readlink-at": ("iiii", 4, _read_link),
            "symlink-at": ("iiiiii", 1, _no_links),
            "link-at": ("iiiiiiii", 1, _no_links),
            "set-times-at": ("iiiiiIiiIii", 1, _set_times_at),
            "set-times": ("iiIiiIii", 1, _set_times),
            "set-size": ("iIi", 1, _set_size),
            "get-flags": ("ii", 1, _flags),
            "get-type": ("ii", 1, _type),
            "stat": ("ii", 8, _describe),
            "metadata-hash": ("ii", 8, _identify),
            "advise": ("iIIii", 1, _nothing),
            "sync": ("ii", 1, _nothing),
            "sync-data": ("ii", 1, _nothing),
            "read": ("iIIi", 4, _read),
            "write": ("iiiIi", 8, _write),
            "read-via-stream": ("iIi", 4, _read_via_stream),
            "write-via-stream": ("iIi", 4, _write_via_stream),
            "append-via-stream": ("ii", 4, _append_via_stream),
            "read-directory": ("ii", 4, _read_directory),
        },
    ),
    **_methods("directory-entry-stream", {"read-directory-entry": ("ii", 4, _read_entry)}),
}
"""Import -> (signature, where ok and error lie behind the tag, answer). The last argument is the result's address."""


def answered(offset: int, answer: _Answer, files: Files, memory: Memory, arguments: tuple[int, ...]) -> None:
    """Answer one import."""
    try:
        result = bytes(offset) + answer(files, memory, *arguments[:-1])
    except OSError as error:
        if isinstance(error, WorkspaceFull):
            files.refusal = error.number, error.sentence
        result = b"\1" + bytes(offset - 1) + bytes((_CODES.get(error.errno or 0, IO),))
    memory.write(arguments[-1], result)


def preopened(memory: Memory) -> bytes:
    """What get-directories answers: one folder, whether there is a workspace or not."""
    name = _list(memory, MOUNT)
    pointer = memory.allocate(4 + len(name))
    memory.write(pointer, struct.pack("<I", ROOT) + name)
    return struct.pack("<II", pointer, 1)

"""How a cell ended, as data: for whatever the script did, this is what the caller gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from guest_stdlib.channel.events import Failure

__all__ = ["Failure", "Outcome", "OutputBuffer", "State", "Usage"]

State = Literal["kept", "restored", "lost"]

HEAD: Final = 0.75  # of the output limit; the rest is tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a cell used: milliseconds, counts, bytes. `calls` crossed, `rejected_calls` were refused before or after
    they did; `rounds` counts the times that the guest waited for calls. `memory_bytes` is the interpreter's whole
    memory at the end.
    """

    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    calls: int = 0
    rejected_calls: int = 0
    memory_bytes: int = 0
    output_bytes: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one cell.

    `value` is that of its last expression. `error` is None if all went well. `session` says what became of the names:
    kept, restored (put back to before the cell), or lost (the next cell starts anew). `notices` are sentences worth
    reading.
    """

    value: object = None
    stdout: str = ""
    stderr: str = ""
    error: Failure | None = None
    session: State = "kept"
    usage: Usage = Usage()
    notices: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the cell ended without an error."""
        return self.error is None


class OutputBuffer:
    """Collects stdout and stderr. Of each, `limit` bytes are kept: head and tail; the middle is counted."""

    def __init__(self, limit: int) -> None:
        self._streams = {"stdout": _Stream(limit), "stderr": _Stream(limit)}
        self.total = 0

    def add(self, stream: str, text: str) -> str:
        """Take one piece of output. Returns what of it is kept for certain, as the stream's head."""
        data = text.encode("utf-8", "surrogatepass")
        self.total += len(data)
        kept = self._streams[stream].add(data)
        return text if kept == len(data) else data[:kept].decode("utf-8", "surrogatepass")

    @property
    def dropped(self) -> int:
        """How many bytes are not kept."""
        for stream in self._streams.values():
            stream.trim()
        return sum(stream.dropped for stream in self._streams.values())

    def text(self, stream: str) -> str:
        """What is kept of a stream, with a line in place of what is not."""
        return self._streams[stream].text()

    def parts(self) -> tuple[tuple[str, str], ...]:
        """What is kept so far, as (stream, text), to go on with elsewhere."""
        return tuple((name, text) for name, stream in self._streams.items() if (text := stream.text()))


class _Stream:
    def __init__(self, limit: int) -> None:
        self._head_limit = int(limit * HEAD)
        self._tail_limit = max(limit - self._head_limit, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> int:
        room = self._head_limit - len(self._head)
        fits = b""
        if room > 0 and not self._tail:
            fits = data if len(data) <= room else data[: _boundary(data, room)]
            self._head += fits
            data = data[len(fits) :]
        self._tail += data
        if (
            len(self._tail) > 2 * self._tail_limit
        ):  # now and then, so that each byte is moved a constant number of times
            self.trim()
        return len(fits)

    def trim(self) -> None:
        if (excess := len(self._tail) - self._tail_limit) > 0:
            cut = _boundary(self._tail, excess)
            self.dropped += cut
            del self._tail[:cut]

    def text(self) -> str:
        self.trim()
        head, tail = (part.decode("utf-8", "surrogatepass") for part in (self._head, self._tail))
        return f"{head}\n[... {self.dropped} bytes left out ...]\n{tail}" if self.dropped else head + tail


def _boundary(data: bytes | bytearray, at: int) -> int:
    """The nearest place at or before `at` that does not cut a character."""
    while at > 0 and at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at

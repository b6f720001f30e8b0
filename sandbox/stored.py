"""A session on disk: the interpreter's memory, and everything of the host's that belongs to it. Plain data, no pickle.

Nothing in it is trusted when it comes back: each part is checked by the one who knows it (`snapshot.unpack` for the
memory, the channel for its own state and for values, `Settings` for the rest), and anything off is a
`SuspendedError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self, cast

from guest_stdlib.channel import Call, ChannelError, HostChannel, Phase, Return, Throw

from . import snapshot
from .errors import SuspendedError
from .interpreter import Frozen
from .resting import PendingCall, Resting
from .settings import Settings
from .snapshot import Snapshot
from .workspace import Files

__all__ = ["Stored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What `suspend` keeps. `note` is the caller's own plain data. Of files only the number of the last handle is kept:
    none are open, or had better be (those that only the checkpoint had open are bad descriptors to it from then on).
    """

    settings: Settings
    memory: Snapshot
    channel: dict[str, object]
    checkpoint: Frozen | None
    cells: int
    notice: str | None
    monotonic: int
    drawn: int
    resting: Resting | None
    workspace: bool = False  # whether it had one
    latest_file: int = 0
    note: Mapping[str, object] = field(default_factory=dict)

    def pack(self) -> bytes:
        """Bytes for the disk."""
        return snapshot.pack(
            self.memory,
            {
                "settings": self.settings.to_plain(),
                "channel": self.channel,
                "cells": self.cells,
                "notice": self.notice,
                "monotonic": self.monotonic,
                "drawn": self.drawn,
                "resting": _resting_to_plain(self.resting, self.settings) if self.resting else None,
                "checkpoint": None
                if self.checkpoint is None
                else {"memory": snapshot.pack(self.checkpoint.memory, {}), "channel": self.checkpoint.channel},
                "workspace": self.workspace,
                "latest_file": self.latest_file,
                "note": dict(self.note),
            },
        )

    @classmethod
    def unpack(cls, data: bytes, *, records: Mapping[str, type], max_memory: int) -> Self:
        """The inverse of `pack`. Raises `SuspendedError` for anything that `pack` did not write."""
        memory, state = snapshot.unpack(data, max_memory=max_memory)
        settings = Settings.from_plain(state.get("settings"), records=records)
        try:
            channel = HostChannel.restore(state["channel"], settings.codec())
            checkpoint = cast("dict[str, Any] | None", state["checkpoint"])
            resting = cast("dict[str, Any] | None", state["resting"])
            cells = _number(state["cells"])
            latest_file = _number(state["latest_file"])
            if cells != cast("dict[str, object]", state["channel"])["last_cell"]:
                raise ValueError("its cells")
            if (resting is not None) != (channel.phase is Phase.WAITING):
                raise ValueError("its phase")
            return cls(
                settings=settings,
                memory=memory,
                channel=cast("dict[str, object]", state["channel"]),
                checkpoint=None
                if checkpoint is None
                else Frozen(
                    memory=snapshot.unpack(checkpoint["memory"], max_memory=max_memory)[0],
                    channel=_channel(checkpoint["channel"], settings),
                    files=Files(None, latest=latest_file),
                ),
                cells=cells,
                notice=None if state["notice"] is None else _exactly(state["notice"], str),
                monotonic=_number(state["monotonic"]),
                drawn=_number(state["drawn"]),
                resting=None if resting is None else _resting_from_plain(resting, channel.open_calls, settings),
                workspace=_exactly(state["workspace"], bool),
                latest_file=latest_file,
                note=_exactly(state["note"], dict),
            )
        except _MALFORMED as error:
            raise SuspendedError(f"this suspended session is malformed ({error})") from error


_MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, ChannelError)
_LARGEST: Final = 1 << 62


def _exactly[Kind](value: object, kind: type[Kind]) -> Kind:
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value


def _number(value: object) -> int:
    if not 0 <= _exactly(value, int) <= _LARGEST:
        raise ValueError("a number that is too large or too small")
    return cast("int", value)


def _channel(plain: object, settings: Settings) -> dict[str, object]:
    HostChannel.restore(plain, settings.codec())  # refuses what it did not write
    return cast("dict[str, object]", plain)


def _stream(name: object) -> str:
    if name not in ("stdout", "stderr"):
        raise ValueError("an unknown stream")
    return name


def _resting_to_plain(resting: Resting, settings: Settings) -> dict[str, object]:
    return {
        "number": resting.number,
        "name": resting.name,
        "pending": [[waiting.call.call, waiting.made] for waiting in resting.pending],
        "settled": settings.codec().stored().encode(resting.settled),
        "wake": resting.wake,
        "calls": resting.calls,
        "rounds": resting.rounds,
        "output": [list(part) for part in resting.output],
    }


def _resting_from_plain(plain: Mapping[str, Any], calls: Mapping[int, Call], settings: Settings) -> Resting:
    settled: list[Return | Throw] = []
    for event in settings.codec().stored().decode(plain["settled"]):
        if not isinstance(event, (Return, Throw)):
            raise TypeError("something in place of an answer")
        settled.append(event)
    return Resting(
        number=_number(plain["number"]),
        name=_exactly(plain["name"], str),
        pending=tuple(PendingCall(call=calls[number], made=bool(made)) for number, made in plain["pending"]),
        settled=tuple(settled),
        wake=None if plain["wake"] is None else _number(int(plain["wake"])) + plain["wake"] % 1,
        calls=_number(plain["calls"]),
        rounds=_number(plain["rounds"]),
        output=tuple((_stream(stream), _exactly(text, str)) for stream, text in plain["output"]),
    )

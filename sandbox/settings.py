"""What a session is opened with: everything that stays the same over its life, over its copies, and on disk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import NoneType
from typing import Any, Literal, Self, cast

from guest_stdlib.channel import Codec, CodecLimits, Open
from guest_stdlib.declared import Declared, DeclaredError, DeclaredRecord
from guest_stdlib.results import Shortened

from .clock import Clock, RealClock, VirtualClock
from .errors import SuspendedError
from .limits import Limits
from .randomness import SeededRandomness, SystemRandomness
from .workspace import Workspace
from .world import Randomness

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The frozen part of a session.

    `records` maps the names of dataclasses and enums that may cross to the classes. `token` and `cold` are marks that
    the guest's proxies put on calls; what they mean is the caller's business. `seed` makes a run repeatable: random
    numbers follow from it, and the clock starts at 2026-01-01 and moves only when something sleeps. `workspace` is what
    the guest has at /workspace; its copies share it.
    """

    capabilities: tuple[Declared, ...] = ()
    errors: tuple[DeclaredError, ...] = ()
    declared_records: tuple[DeclaredRecord, ...] = ()
    records: Mapping[str, type] = field(default_factory=dict)
    policy: Literal["open", "restricted"] = "open"
    token: str | None = None
    cold: bool = False
    seed: int | None = None
    limits: Limits = field(default_factory=Limits)
    workspace: Workspace | None = None

    def opening(self) -> Open:
        """The session's first event."""
        return Open(
            capabilities=tuple(capability.as_plain() for capability in self.capabilities),
            errors=tuple(error.as_plain() for error in self.errors),
            records=tuple(record.as_plain() for record in self.declared_records),
            policy=self.policy,
            token=self.token,
            cold=self.cold,
            seed=self.seed,
            limits=self.limits.for_guest(),
            workspace=self.workspace is not None,
        )

    def codec(self) -> Codec:
        """The codec for this session's frames."""
        limits = self.limits
        may_cross = CodecLimits(
            frame_bytes=limits.frame_bytes, depth=limits.depth, items=limits.items, value_bytes=limits.value_bytes
        )
        records = {Shortened.__name__: Shortened, **self.records}
        return Codec(may_cross, records, clock=time.thread_time_ns)

    def clock(self, start: int = 0) -> Clock:
        """A clock that continues at `start` nanoseconds."""
        return RealClock(start) if self.seed is None else VirtualClock(start)

    def randomness(self, drawn: int = 0) -> Randomness:
        """Randomness, continuing after `drawn` blocks."""
        return SystemRandomness() if self.seed is None else SeededRandomness(self.seed, drawn)

    def repeatable(self, path: str) -> bool:
        """Whether a call to `path` may be made again without harm."""
        name, _, method = path.rpartition(".")
        return any(
            declared.repeatable
            for capability in self.capabilities
            if capability.name == name
            for declared in capability.methods
            if declared.name == method
        )

    def to_plain(self) -> dict[str, object]:
        """For the disk. The classes behind `records` and the workspace stay out: whoever resumes brings their own."""
        return {
            "capabilities": [capability.as_plain() for capability in self.capabilities],
            "errors": [error.as_plain() for error in self.errors],
            "records": [record.as_plain() for record in self.declared_records],
            "policy": self.policy,
            "token": self.token,
            "cold": self.cold,
            "seed": self.seed,
            "limits": asdict(self.limits),
        }

    @classmethod
    def from_plain(cls, plain: object, *, records: Mapping[str, type]) -> Self:
        """The inverse of `to_plain`. Raises `SuspendedError` for anything else."""
        try:
            fields = dict(cast("Mapping[str, object]", plain))
            _check_types(fields)
            return cls(
                capabilities=tuple(
                    Declared.from_plain(item) for item in cast("list[dict[str, object]]", fields["capabilities"])
                ),
                errors=tuple(DeclaredError(**item) for item in _with_fields(fields["errors"])),
                declared_records=tuple(DeclaredRecord(**item) for item in _with_fields(fields["records"])),
                records=records,
                policy=cast("Literal['open', 'restricted']", fields["policy"]),
                token=cast("str | None", fields["token"]),
                cold=bool(fields["cold"]),
                seed=cast("int | None", fields["seed"]),
                limits=Limits(**cast("dict[str, int]", fields["limits"])),
            )
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise SuspendedError(f"this suspended session is malformed (its settings: {error})") from error


def _with_fields(items: object) -> list[dict[str, Any]]:
    """Each item's own `fields` were a tuple before they crossed."""
    return [{**item, "fields": tuple(item["fields"])} for item in cast("list[dict[str, Any]]", items)]


def _check_types(fields: Mapping[str, object]) -> None:
    """Refuse what would only fail later, far from here."""
    if fields["policy"] not in ("open", "restricted"):
        raise ValueError("its policy")
    for name, kinds in (("token", (str, NoneType)), ("seed", (int, NoneType)), ("cold", (bool,))):
        if type(fields[name]) not in kinds:
            raise TypeError(f"its {name}")
    for declared in cast("list[dict[str, object]]", fields["capabilities"]):
        if type(declared["name"]) is not str:
            raise TypeError("the name of a capability")

"""The tasks that go along with a loop, as the loop sees them. `steering` is one; a loop may also have none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from host.capability import Capability
from host.context import Inherited
from host.loop.offers import Offer

__all__ = ["Company"]


class Company(Protocol):
    """What a loop asks of its tasks."""

    def fixed(self) -> Iterator[Offer]:
        """The tool that starts one."""
        ...

    def steering(self) -> Iterator[Offer]:
        """The tools that exist while tasks run."""
        ...

    def view(self) -> str:
        """What runs now, in words; "" where nothing does."""
        ...

    def gone(self, tool: str) -> str | None:
        """What to say of a steering tool that is no more; None if it never was one."""
        ...

    @property
    def ever(self) -> frozenset[str]:
        """The names of all steering tools there have been."""
        ...

    @property
    def busy(self) -> bool:
        """Whether results are still to come."""
        ...

    @property
    def held_up(self) -> str | None:
        """What to say where no result will come by itself; None where one may."""
        ...

    def started_by(self, call: str) -> bool:
        """Whether a task was started by this call, so that its result is still to come."""
        ...

    def pass_on(self, above: Inherited) -> None:
        """What was received from above is new: the forked ones are to hear of it."""
        ...

    def in_code(self) -> tuple[Capability, ...]:
        """What the loop's code has of them."""
        ...

    def no_code_runs(self) -> None:
        """No code of the loop can await a result any more, for now."""
        ...

"""Types that declarations mention."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import Enum

from host.capability import Capability
from host.context import Inherited


class Unit(Enum):
    """A unit of temperature."""

    CELSIUS = "C"
    FAHRENHEIT = "F"


@dataclass(frozen=True)
class Forecast:
    """What the weather will be."""

    day: date
    degrees: float
    unit: Unit = Unit.CELSIUS
    notes: list[str] = field(default_factory=list)


class Weather(Capability):
    """The weather service.

    For the whole world.
    """

    async def today(self, city: str) -> str:
        """Today's weather in a city."""
        return f"sun in {city}"

    async def explain(self, question: str, *, inherited: Inherited) -> str:
        """Delegates: receives the conversation, unless the caller says context="cold"."""
        return f"{question} {bool(inherited)}"

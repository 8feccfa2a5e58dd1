"""Read the values of a claim, in the unit in which its quantity is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dumbbell import units
from dumbbell.compare.measures import Measure
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import shown

_NUMBER = re.compile(
    r"\s*[+-]?\s*(?P<whole>[0-9]*)\.?(?P<part>[0-9]*)(?:[eE](?P<power>[+-]?[0-9]+))?"
)
_PERCENT = re.compile(r"\s*(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)\s*%\s*")


@dataclass(frozen=True, slots=True)
class _Written:
    """How a value with a unit is written in a claim."""

    parse: Callable[[str], float]
    to_shown: float
    unit: str
    example: str


def _rate_bps(text: str) -> float:
    return float(units.parse_rate_bps(text))


_WRITTEN: Mapping[str, _Written] = MappingProxyType(
    {
        "ms": _Written(units.parse_real_time_s, 1e3, "ms", "a time with its unit, such as '20ms'"),
        "s": _Written(units.parse_real_time_s, 1.0, "s", "a time with its unit, such as '1.5s'"),
        "Mbit/s": _Written(_rate_bps, 1e-6, "mbit", "a rate with its unit, such as '9.4mbit'"),
        "packets/s": _Written(
            units.parse_packet_rate_pps, 1.0, "pps", "packets per second, such as '110pps'"
        ),
        "datagrams/s": _Written(
            units.parse_packet_rate_pps, 1.0, "pps", "datagrams per second, such as '110pps'"
        ),
    }
)
"""By shown unit, how a value is written; other units take a plain number."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit in which a claim's numbers are shown.

    Attributes:
        unit: ``ms``, ``Mbit/s``, ``%``, ``packets``; ``1`` for a pure number.
        factor: Factor from the quantity's own unit to ``unit``.
    """

    unit: str
    factor: float

    @classmethod
    def of(cls, measure: Measure) -> Scale:
        """The scale of a measure."""
        unit, factor = measure.shown_unit
        return cls(unit or "1", factor)

    def read(self, value: str | float, path: str) -> float:
        """Convert a value from a file to this unit.

        Args:
            value: Text with a unit for times and rates, otherwise a number; shares are numbers from
                0 to 1, not per cent.
            path: Path in the file, for the error.

        Raises:
            SpecError: The value does not have that form.
        """
        written = _WRITTEN.get(self.unit)
        if written is None:
            if isinstance(value, str):
                allowed = "a number" + (", as a share: 0.05 is 5 %" if self.unit == "%" else "")
                raise SpecError(path, shown(value), allowed, _as_share(value, self))
            return value * self.factor if self.unit == "%" else value
        if not isinstance(value, str):
            raise SpecError(path, shown(value), written.example, f"{value:g}{written.unit}")
        sign = -1.0 if value.strip().startswith("-") else 1.0
        try:
            return sign * written.parse(value.strip().lstrip("-+")) * written.to_shown
        except units.UnitError as error:
            raise SpecError(path, shown(value), written.example, error.hint) from None

    def read_margin(self, value: str | float, path: str, of: float | None = None) -> float:
        """Read a margin: a positive value; ``2%`` is relative to a reference value.

        Raises:
            SpecError: It is not a margin.
        """
        match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        if match is not None and of is not None:
            found = abs(of) * float(match["number"]) / 100
        else:
            found = self.read(value, path)
        if not found > 0:
            raise SpecError(path, shown(value), "more than zero: what counts as equal")
        return found

    def rounding(self, value: str | float, path: str) -> float:
        """Rounding error of a value in this unit: half a unit of the last digit written."""
        number = _last_digit(value)
        if isinstance(value, str):
            unit = value.strip().lstrip("-+")
            unit = re.sub(r"^[0-9.]+(?:[eE][-+]?[0-9]+)?", "", unit).strip()
            return self.read(f"{number / 2:.12g}{unit}", path)
        return self.read(number / 2, path)


PURE = Scale("1", 1.0)
"""Scale of ratios and shares."""


def _last_digit(value: str | float) -> float:
    match = _NUMBER.match(value if isinstance(value, str) else repr(value).removesuffix(".0"))
    if match is None:
        return 0.0
    return float(10.0 ** (int(match["power"] or 0) - len(match["part"])))


def _as_share(value: str, scale: Scale) -> str | None:
    match = _PERCENT.fullmatch(value)
    return f"{float(match['number']) / 100:g}" if match and scale.unit in ("%", "1") else None

"""A twin: the fitted line, the uncertainty of its parameters, and its predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dumbbell.twin.discipline import Decision
from dumbbell.twin.line import Line
from dumbbell.twin.prediction import Predicted
from dumbbell.twin.scene import Way

FORMAT = "dumbbell twin 1"
"""Value of the key ``format`` of a twin's JSON."""


class Trust(StrEnum):
    """Whether a twin may be used for advice."""

    PREDICTS = "predicts"
    FAILS = "predicts badly"
    UNTESTED = "not tested"


class Quantity(StrEnum):
    """What a number of a line is."""

    RATE = "rate"
    BASE_ROUND_TRIP = "base round trip"
    BUFFER = "buffer"
    BURST = "burst"
    VARIATION = "variation"
    OVERHEAD = "overhead"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of the line.

    Attributes:
        quantity: What it is.
        way: Its direction; None for a number of both.
        unit: Unit of the numbers.
        value: Fitted value; NaN if unknown.
        low: Lower end of its 95 % interval; NaN if unknown.
        high: Upper end.
        direct: Value computed from the measurement without simulation; NaN without one.
        unidentifiable: Why the measurement does not identify it; empty if it does.
    """

    quantity: Quantity
    way: Way | None
    unit: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    direct: float = math.nan
    unidentifiable: str = ""

    @property
    def name(self) -> str:
        """Return its name in tables, such as ``rate up``."""
        return self.quantity.value if self.way is None else f"{self.quantity} {self.way}"


@dataclass(frozen=True, slots=True)
class Twin:
    """The result of an estimation.

    Attributes:
        line: The line; a direction without load is a copy of the opposite direction.
        ways: Directions measured under load.
        parameters: Its numbers.
        decisions: Decision on the discipline by direction.
        predicted: Predictions of data not used in the fit.
        sources: Names of the files.
        notes: Assumptions, a sentence each.
        seed: Seed of all its simulations.
    """

    line: Line
    ways: tuple[Way, ...]
    parameters: tuple[Parameter, ...]
    decisions: Mapping[Way, Decision]
    predicted: tuple[Predicted, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    seed: int

    @property
    def trust(self) -> Trust:
        """Return the trust, based on its predictions."""
        if not self.predicted:
            return Trust.UNTESTED
        return Trust.PREDICTS if all(p.is_inside for p in self.predicted) else Trust.FAILS

    @property
    def misses(self) -> Sequence[Predicted]:
        """Return its wrong predictions."""
        return [each for each in self.predicted if not each.is_inside]

    def parameter(self, quantity: Quantity, way: Way | None = None) -> Parameter | None:
        """Return the first parameter of that quantity and direction; None if there is none."""
        found = (each for each in self.parameters if (each.quantity, each.way) == (quantity, way))
        return next(found, None)

    @property
    def document(self) -> dict[str, Any]:
        """Return the JSON form: units are in key names or beside the numbers; null if unknown."""
        return {
            "format": FORMAT,
            "trust": self.trust.value,
            "sources": list(self.sources),
            "seed": self.seed,
            "parameters": [
                {
                    "name": each.name,
                    "quantity": each.quantity.value,
                    "way": each.way and each.way.value,
                    "unit": each.unit,
                    "value": _finite(each.value),
                    "low": _finite(each.low),
                    "high": _finite(each.high),
                    "direct": _finite(each.direct),
                    "not_identifiable": each.unidentifiable or None,
                }
                for each in self.parameters
            ],
            "disciplines": {
                way.value: {
                    "class": decision.class_.value,
                    "simulated_as": self.line.end(way).tc_text,
                    "distances": {
                        each.value: _finite(far) for each, far in decision.distances.items()
                    },
                }
                for way, decision in self.decisions.items()
            },
            "held_out": [
                {
                    "source": each.source,
                    "load": each.load,
                    "name": each.name,
                    "unit": each.unit,
                    "measured": _finite(each.measured),
                    "predicted": _finite(each.predicted),
                    "low": _finite(each.low),
                    "high": _finite(each.high),
                    "is_inside": each.is_inside,
                }
                for each in self.predicted
            ],
            "notes": list(self.notes),
            "line": {
                "rtt_ns": self.line.rtt_ns,
                **{
                    way.value: {
                        "rate_bps": self.line.end(way).rate_bps,
                        "model": self.line.end(way).model.word,
                        "size": self.line.end(way).size,
                    }
                    for way in Way
                },
            },
        }


def _finite(value: float) -> float | None:
    return round(float(value), 9) if math.isfinite(value) else None

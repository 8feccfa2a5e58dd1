"""A twin: the line that was found, how sure each of its numbers is, and how it predicts."""

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


class Trust(StrEnum):
    """Whether a twin may be asked for advice."""

    PREDICTS = "predicts"
    FAILS = "predicts badly"
    UNTESTED = "not tested"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of the line.

    Attributes:
        name: Such as ``rate up``.
        unit: Of the numbers.
        value: By the fit; NaN where nothing is known.
        low: Lower end of its 95 % interval; NaN unknown.
        high: Upper end.
        direct: By arithmetic on the measurement alone; NaN where there is none.
        unidentifiable: Why the measurement does not say it; empty where it does.
    """

    name: str
    unit: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    direct: float = math.nan
    unidentifiable: str = ""


@dataclass(frozen=True, slots=True)
class Twin:
    """What was found.

    Attributes:
        line: The line; of a direction without a load it is a copy of the other.
        ways: Directions that were measured under a load.
        parameters: Its numbers.
        decisions: By direction, of the discipline.
        predicted: Numbers of what it was not fitted to.
        sources: Files.
        notes: What was taken for granted, a sentence each.
        seed: Of all its simulations.
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
        """By what it predicted."""
        if not self.predicted:
            return Trust.UNTESTED
        return Trust.PREDICTS if all(p.is_inside for p in self.predicted) else Trust.FAILS

    @property
    def misses(self) -> Sequence[Predicted]:
        """What it predicted wrongly."""
        return [each for each in self.predicted if not each.is_inside]

    def parameter(self, name: str) -> Parameter | None:
        """One of them; None where there is no such."""
        return next((each for each in self.parameters if each.name == name), None)

    @property
    def document(self) -> dict[str, Any]:
        """For JSON: numbers with their units in the keys' names or beside them; null unknown."""
        return {
            "trust": self.trust.value,
            "sources": list(self.sources),
            "seed": self.seed,
            "parameters": [
                {
                    "name": each.name,
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
                    "simulated_as": self.line.end(way).qdisc
                    if "police" not in self.line.end(way).table
                    else self.line.end(way).table["police"],
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

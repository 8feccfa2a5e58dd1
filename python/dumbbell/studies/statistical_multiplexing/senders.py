"""Two interpretations of the reduced sending rate, each with one free parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dumbbell.studies.statistical_multiplexing import published


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """A sender with one number that the source does not print.

    Attributes:
        label: Name of the runs and claims at its best value; prefix of their ids.
        where: Completes "The median of the SM round-trip times, ...".
        calibration: Id of the claim about the number.
        statement: Statement of that claim.
        parameter: The number, in words.
        who: The senders as the subject of a sentence, with a place for their number.
        unit: Its unit.
        nominal: Value in the source's commands.
        argument: The argument of `arms.as_published` that takes it.
        per_unit: Units of that argument per unit of the number.
        is_poisson: Whether arrivals are still Poisson, so that M/G/1 applies.
    """

    label: str
    where: str
    calibration: str
    statement: str
    parameter: str
    who: str
    unit: str
    nominal: float
    argument: str
    per_unit: float = 1.0
    is_poisson: bool

    def arguments(self, value: float) -> Mapping[str, float]:
        """Return the arguments of `arms.as_published` at a value of the number."""
        return {self.argument: self.per_unit * value}

    def subject(self, value: str) -> str:
        """Return the subject of a sentence, with the number in words, such as ``3 ms``."""
        return self.who.format(value)

    def words(self, value: float) -> str:
        """Return the name of a grid point: ``load 78 packets/s``."""
        return f"{self.parameter} {value:.3g} {self.unit}"


SLOWER = Sender(
    label="fitted",
    where="at the fitted load",
    calibration="load",
    statement="The load that explains the printed quartiles best; 110 packets/s were asked",
    parameter="load",
    who=f"senders that send {{}} where {published.PACKETS_PER_SECOND:g} were asked for",
    unit="packets/s",
    nominal=published.PACKETS_PER_SECOND,
    argument="packets_per_second",
    is_poisson=True,
)
"""Random gaps with the requested distribution, but a larger mean."""
OVERSLEEPING = Sender(
    label="oversleeping",
    where="with senders that oversleep",
    calibration="oversleep",
    statement="How much longer than asked each sleep of a sender has to be, "
    "for the printed quartiles to come out best",
    parameter="oversleep",
    who="senders that sleep {} too long after every packet",
    unit="ms",
    nominal=0.0,
    argument="oversleep_us",
    per_unit=1e3,
    is_poisson=False,
)
"""Random gaps as requested, each longer by the same time, as with a timer that fires late."""
SENDERS = (SLOWER, OVERSLEEPING)
"""All senders tried."""

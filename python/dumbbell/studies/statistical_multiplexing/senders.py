"""What may have sent less than was asked: two readings of the senders, one free number each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dumbbell.studies.statistical_multiplexing import published


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """A sender with one number that the source does not print.

    Attributes:
        label: Of the runs and claims at its best value; their ids begin with it.
        where: Completes "The median of the SM round-trip times, ...".
        calibration: Id of the claim about the number.
        statement: Of that claim.
        parameter: The number, in words.
        who: The senders as the subject of a sentence, with a place for their number.
        unit: Its unit.
        nominal: What the source's commands ask for.
        argument: Of `arms.as_published`, which takes it.
        per_unit: That argument's units in one of this.
        is_poisson: Whether packets still come as a Poisson process, so that M/G/1 is their theory.
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
        """Of `arms.as_published`, at a value of the number."""
        return {self.argument: self.per_unit * value}

    def subject(self, value: str) -> str:
        """As the subject of a sentence, with the number in words, such as ``3 ms``."""
        return self.who.format(value)

    def words(self, value: float) -> str:
        """As a point of a grid: ``load 78 packets/s``."""
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
"""Random gaps as asked for, but longer in the mean."""
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
"""Random gaps as asked for, each longer by the same time: what a timer does that wakes late."""
SENDERS = (SLOWER, OVERSLEEPING)
"""All that are tried."""

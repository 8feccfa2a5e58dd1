"""The decision of a rule: a verdict with the numbers behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dumbbell.claims.evidence import Setting
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import Estimate, IntervalKind


@dataclass(frozen=True, slots=True)
class MeasuredInterval:
    """A measured number with the interval that the rule looked at.

    Attributes:
        value: In the rule's unit, or None.
        low: Lower end, or None where nothing bounds it.
        high: Upper end.
        kind: What the interval is for, or None without one.
        level: Its level, or None where no level is claimed for it.
        n: Independent replications behind it.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    kind: IntervalKind | None = None
    level: float | None = None
    n: int = 0

    @classmethod
    def of(cls, estimate: Estimate) -> MeasuredInterval:
        """From an estimate; ends that are not finite are none."""
        # Batches of one long run are one run.
        n = 1 if estimate.kind is IntervalKind.BATCH_MEANS else estimate.n
        return cls(
            finite(estimate.value),
            finite(estimate.low),
            finite(estimate.high),
            estimate.kind,
            estimate.level,
            n,
        )


@dataclass(frozen=True, slots=True)
class VerdictRegion:
    """Settings of a grid at which one verdict was given."""

    verdict: Verdict
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class MissedLevel:
    """A printed level that the nearest point of a grid does not give."""

    level: str
    printed: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Identified:
    """Which values of a parameter the source leaves open agree with a printed number.

    Attributes:
        parameter: Its name.
        agree: Values whose members' spread holds the printed number.
        disagree: Values whose members' spread does not.
    """

    parameter: str
    agree: tuple[float | str, ...]
    disagree: tuple[float | str, ...]

    @property
    def is_told(self) -> bool:
        """Whether the printed number tells anything about the parameter."""
        return bool(self.agree and self.disagree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict and what it was read from.

    Attributes:
        verdict: The conclusion.
        found: The number measured and the interval the rule used.
        margin: What counted as equal, where the rule has a margin, in the rule's unit.
        p_value: Where the rule has one.
        depends_on: Free parameters that decide, with ``Verdict.DEPENDS_ON`` only.
        turns: Where on a grid which verdict was given.
        at: Points of a grid that explain all printed levels.
        nearest: Where none does, the point that comes nearest.
        missed: What it misses.
        identified: Which open choices a printed number tells about.
        remark: What else a reader must know, in a sentence without a full stop.
        levels: The printed levels of a joint claim with what was found at the point shown.
    """

    verdict: Verdict
    found: MeasuredInterval
    margin: float | None = None
    p_value: float | None = None
    depends_on: tuple[str, ...] = ()
    turns: tuple[VerdictRegion, ...] = ()
    at: tuple[Setting, ...] = ()
    nearest: Setting | None = None
    missed: tuple[MissedLevel, ...] = ()
    identified: tuple[Identified, ...] = ()
    remark: str = ""
    levels: tuple[tuple[str, float, MeasuredInterval], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a parameter or a point without the verdict that names it, and the reverse."""
        if bool(self.depends_on) != (self.verdict is Verdict.DEPENDS_ON):
            raise ValueError(f"{self.verdict.value} with depends_on {self.depends_on!r}")
        if bool(self.at) != (self.verdict is Verdict.EXPLAINED_AT):
            raise ValueError(f"{self.verdict.value} with at {self.at!r}")

    def shown_as(self, verdict: Verdict, remark: str) -> Decision:
        """The same numbers under a verdict that counts nowhere."""
        return replace(
            self,
            verdict=verdict,
            depends_on=(),
            at=(),
            nearest=None,
            missed=(),
            turns=(),
            p_value=None,
            remark=remark,
        )


def finite(value: float) -> float | None:
    """The number, or None where it is infinite or none."""
    return float(value) if math.isfinite(value) else None

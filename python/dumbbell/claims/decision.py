"""A rule's decision: a verdict and the numbers it is based on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dumbbell.claims.evidence import Setting
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import Estimate, IntervalKind


@dataclass(frozen=True, slots=True)
class MeasuredInterval:
    """A measured number and the interval that the rule used.

    Attributes:
        value: In the rule's unit, or None.
        low: Lower end, or None where the interval is unbounded.
        high: Upper end.
        kind: What the interval covers (mean, prediction, ...), or None without an interval.
        level: Its confidence level, or None where none is claimed.
        n: Number of independent replications.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    kind: IntervalKind | None = None
    level: float | None = None
    n: int = 0

    @classmethod
    def of(cls, estimate: Estimate) -> MeasuredInterval:
        """Convert an estimate; ends that are not finite become None."""
        # Batches of one long run count as one run.
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
    """A printed level that the nearest grid point does not reproduce."""

    level: str
    printed: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Identified:
    """Which values of an unpublished parameter agree with a printed number.

    Attributes:
        parameter: The parameter's name.
        agree: Values for which the range of the ensemble's members contains the printed number.
        disagree: Values for which it does not.
    """

    parameter: str
    agree: tuple[float | str, ...]
    disagree: tuple[float | str, ...]

    @property
    def constrains_parameter(self) -> bool:
        """Whether the printed number constrains the parameter."""
        return bool(self.agree and self.disagree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict and the evidence for it.

    Attributes:
        verdict: The conclusion.
        found: The measured number and the interval that the rule used.
        margin: Margin of equivalence in the rule's unit, where the rule has one.
        p_value: The rule's p-value, where it has one.
        depends_on: Free parameters that decide the verdict, with ``Verdict.DEPENDS_ON`` only.
        turns: Which verdict was given at which settings of a grid.
        at: Grid points that explain all printed levels.
        nearest: The grid point that comes nearest, where none explains all levels.
        missed: The levels that the nearest point misses.
        identified: Which unpublished parameters a printed number constrains.
        remark: Further information for the reader, in a sentence without a full stop.
        levels: The printed levels of a joint claim, with what was measured at the point shown.
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
        """Refuse parameters or points that do not fit the verdict."""
        if bool(self.depends_on) != (self.verdict is Verdict.DEPENDS_ON):
            raise ValueError(f"{self.verdict.value} with depends_on {self.depends_on!r}")
        if bool(self.at) != (self.verdict is Verdict.EXPLAINED_AT):
            raise ValueError(f"{self.verdict.value} with at {self.at!r}")

    def shown_as(self, verdict: Verdict, remark: str) -> Decision:
        """The same numbers under a verdict that is never counted."""
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
    """The number, or None where it is infinite or not available."""
    return float(value) if math.isfinite(value) else None

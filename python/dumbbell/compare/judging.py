"""Statistics over replications: numbers with intervals, and what may be said of differences.

Each interval covers one number at 95 %. Statements about differences hold for all rows of a table
jointly: p-values are adjusted by Holm over rows and cells.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dumbbell.claims import Pairing, Sides, Verdict
from dumbbell.claims.rules import Agreement as AgreementRule
from dumbbell.claims.rules.equivalent import (
    DELAY_MARGIN_MS,
    RATE_MARGIN_MBPS,
    RATE_MARGIN_SHARE,
)
from dumbbell.claims.rules.intervals import cut
from dumbbell.compare.measures import Scale
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Floats
from dumbbell.stats import (
    Estimate,
    TwoGroups,
    difference_interval,
    equivalence,
    geometric_interval,
    holm,
    paired_p_value,
    student_interval,
    two_groups,
)
from dumbbell.stats.estimate import IntervalKind

LEVEL = 0.95
FAMILYWISE = 0.05
"""Probability that a table without any difference reports one; and likewise for equality."""
LEAST_MEMBERS = 5
"""Fewest members of an ensemble for a statement about a difference."""
AGREEMENT_SHARE = 0.05
"""Relative margin of the agreement of two backends."""


class Basis(enum.Enum):
    """Meaning of the two ends printed with a number."""

    MEAN = "mean"
    """95 % interval of the mean over replications (Student)."""
    GEOMETRIC = "geometric mean"
    """The same on a logarithmic scale, for a skewed quantity; for a difference, a ratio."""
    SPREAD = "spread"
    """Minimum and maximum over an ensemble."""
    CONSTANT = "the same in all runs"
    """No interval: all replications are equal."""
    SINGLE = "one run"
    """No interval: there is one run."""
    UNDEFINED = "not defined"
    """No number: some run has none."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number of an arm, or a difference.

    Attributes:
        value: The mean or geometric mean; NaN where undefined.
        low: Lower end, as `basis` says; NaN without one.
        high: Upper end.
        basis: Meaning of the ends.
        n: Number of replications.
        groups: The two groups that the runs fall into, or None if they are one.
        is_cut: Whether an end of the interval was outside the possible range and was clipped.
    """

    value: float
    low: float
    high: float
    basis: Basis
    n: int
    groups: TwoGroups | None = None
    is_cut: bool = False

    @property
    def has_ends(self) -> bool:
        """Whether there is an interval or a spread."""
        return math.isfinite(self.low) and math.isfinite(self.high)


class Outcome(enum.Enum):
    """What may be said of a difference; the value is the word for it."""

    DIFFERS = "differs"
    SAME = "the same"
    OPEN = "not decided"


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell compared with the first one, on one backend.

    Attributes:
        quantity: The quantity.
        cell: Label of the cell.
        base: Label of the first cell.
        backend: Backend of both.
        measured: The cell minus the base, pair by pair; with basis ``GEOMETRIC`` their ratio.
        margin: Largest difference that does not matter, in the quantity's unit; None if undefined.
        p_value: P-value of "no difference", adjusted by Holm; NaN without a test.
        p_equivalence: P-value of "at least as large as the margin", adjusted by Holm; NaN without a
            test.
        outcome: What may be said.
    """

    quantity: Quantity
    cell: str
    base: str
    backend: str
    measured: Measured
    margin: float | None
    p_value: float = math.nan
    p_equivalence: float = math.nan
    outcome: Outcome = Outcome.OPEN


@dataclass(frozen=True, slots=True)
class BackendAgreement:
    """One backend compared with another, in one cell.

    Attributes:
        quantity: The quantity.
        cell: Label of the cell.
        backend: The backend.
        other: The backend it is compared with.
        measured: Backend minus other, pair by pair.
        margin: The larger of 5 % of the other backend's value and one packet's time or 0.5 ms (for
            rates, the usual margin); None if undefined.
        outcome: ``SAME`` where they agree.
    """

    quantity: Quantity
    cell: str
    backend: str
    other: str
    measured: Measured
    margin: float | None
    outcome: Outcome


def measured(
    values: Floats,
    scale: Scale,
    *,
    possible: tuple[float, float] | None = None,
    is_ensemble: bool = False,
) -> Measured:
    """A number of an arm with a suitable interval or spread.

    An interval from few widely scattered runs may extend beyond the possible range, such as below a
    rate of zero. It is clipped there, which does not change its coverage because the true mean lies
    in that range.

    Args:
        values: One value per replication.
        scale: Scale of the quantity.
        possible: Smallest and largest possible mean, extended to the observed values. None for a
            difference, which is unbounded and not searched for groups.
        is_ensemble: Whether the replications are members of an ensemble.
    """
    plain = _without_interval(values)
    if plain is not None:
        return plain
    if is_ensemble:
        return _spread(values)
    if scale is Scale.TAIL and (values > 0).all():
        return _of(geometric_interval(values, LEVEL), Basis.GEOMETRIC)
    student = student_interval(values, LEVEL)
    if possible is None:
        return _of(student, Basis.MEAN)
    low, high = min(possible[0], values.min()), max(possible[1], values.max())
    found = _of(cut(student, low, high), Basis.MEAN)
    is_cut = (found.low, found.high) != (student.low, student.high)
    return replace(found, groups=two_groups(values), is_cut=is_cut)


def margin_of(quantity: Quantity, capacity_bps: float) -> float | None:
    """Largest difference that does not matter, in the quantity's unit.

    Args:
        quantity: The quantity.
        capacity_bps: Upper bound of a rate; infinite if nothing limits it.
    """
    match quantity.measure.scale:
        case Scale.DELAY:
            return DELAY_MARGIN_MS * (1.0 if quantity.unit == "ms" else 1e-3)
        case Scale.RATE:
            return 1e6 * min(RATE_MARGIN_MBPS, RATE_MARGIN_SHARE * capacity_bps / 1e6)
        case Scale.SHARE:
            return RATE_MARGIN_SHARE
        case Scale.TAIL | Scale.OTHER:
            return None


def paired(
    quantity: Quantity,
    sides: tuple[str, str, str],
    ours: Floats,
    base: Floats,
    margin: float | None,
    *,
    is_ensemble: bool = False,
) -> Difference:
    """One difference; its outcome is set later, jointly with the others (`judged`).

    Args:
        quantity: The quantity.
        sides: Labels of cell and base, and the backend.
        ours: The cell's numbers, one per replication.
        base: The base's numbers for the same replications.
        margin: Largest difference that does not matter.
        is_ensemble: Whether replications are members of an ensemble.
    """
    cell, against, backend = sides
    n = min(len(ours), len(base))
    ours, base = ours[:n], base[:n]
    differences = ours - base
    found = Difference(quantity, cell, against, backend, measured(differences, Scale.OTHER), margin)
    if found.measured.basis is Basis.UNDEFINED or n < 2:
        return found
    if not differences.any():
        return replace(found, outcome=Outcome.SAME)  # equal in all runs: a fact that needs no test
    if is_ensemble:
        outcome = _outcome_of_spread(differences, margin)
        spread = measured(differences, Scale.OTHER, is_ensemble=True)
        return replace(found, measured=spread, outcome=outcome)
    if quantity.measure.scale is Scale.TAIL and (ours > 0).all() and (base > 0).all():
        ratios = ours / base
        times = _without_interval(ratios) or _of(
            geometric_interval(ratios, LEVEL, kind=IntervalKind.GEOMETRIC_RATIO), Basis.GEOMETRIC
        )
        times = replace(times, basis=Basis.GEOMETRIC)
        return replace(found, measured=times, p_value=paired_p_value(np.log(ratios)))
    p_equivalence = math.nan
    if margin is not None:
        p_equivalence = equivalence(difference_interval(ours, base, LEVEL), margin).p_value
    return replace(found, p_value=paired_p_value(differences), p_equivalence=p_equivalence)


def judged(differences: Sequence[Difference]) -> list[Difference]:
    """Set the outcomes of all differences of a table jointly.

    *The same* if the difference is within the margin (two one-sided tests, each at 2.5 %,
    equivalent to a 95 % interval inside the margin); otherwise *differs* if it is not zero at 5 %.
    Both p-values are adjusted by Holm: for each kind of statement, at most 5 % of tables contain a
    wrong one.
    """
    against_zero = _adjusted([each.p_value for each in differences])
    within = _adjusted([each.p_equivalence for each in differences])
    found = []
    for each, p_value, p_equivalence in zip(differences, against_zero, within, strict=True):
        outcome = each.outcome
        if p_equivalence <= FAMILYWISE / 2:
            outcome = Outcome.SAME
        elif p_value <= FAMILYWISE:
            outcome = Outcome.DIFFERS
        found.append(replace(each, p_value=p_value, p_equivalence=p_equivalence, outcome=outcome))
    return found


def agreement(
    quantity: Quantity,
    sides: tuple[str, str, str],
    ours: Floats,
    other: Floats,
    *,
    capacity_bps: float,
    packet_s: float,
    is_ensemble: bool = False,
) -> BackendAgreement:
    """Whether two backends agree, by the rule for backends (`dumbbell.claims.Agreement`).

    Args:
        quantity: The quantity.
        sides: Label of the cell, the backend, and the backend it is compared with.
        ours: One number per replication.
        other: Numbers of the same replications; both backends draw the same random traffic.
        capacity_bps: Upper bound of a rate.
        packet_s: Transmission time of a packet at the narrowest link.
        is_ensemble: Whether replications are members of an ensemble.
    """
    cell, backend, against = sides
    n = min(len(ours), len(other))
    ours, other = ours[:n], other[:n]
    found = measured(ours - other, Scale.OTHER, is_ensemble=is_ensemble)
    scale = quantity.measure.scale
    in_unit = 1e3 if quantity.unit == "ms" else 1.0
    floor = (
        max(packet_s, 0.5e-3) * in_unit
        if scale in (Scale.DELAY, Scale.TAIL)
        else margin_of(quantity, capacity_bps)
    )
    if floor is None or found.basis is Basis.UNDEFINED:
        return BackendAgreement(quantity, cell, backend, against, found, None, Outcome.OPEN)
    rule = AgreementRule(
        relative=AGREEMENT_SHARE, floor=floor, unit=quantity.unit, is_tail=scale is Scale.TAIL
    )
    evidence = Sides(ours, other, Pairing.SHARED_STREAMS)
    margin = rule.margin(evidence)
    if is_ensemble:
        outcome = _outcome_of_spread(ours - other, margin)
    else:
        outcome = _OUTCOMES.get(rule.decide(evidence).verdict, Outcome.OPEN)
    return BackendAgreement(quantity, cell, backend, against, found, margin, outcome)


_OUTCOMES = {Verdict.REPRODUCED: Outcome.SAME, Verdict.NOT_REPRODUCED: Outcome.DIFFERS}


def _without_interval(values: Floats) -> Measured | None:
    n = len(values)
    if not n or not np.isfinite(values).all():
        return Measured(math.nan, math.nan, math.nan, Basis.UNDEFINED, n)
    value = float(values.mean())
    if n == 1:
        return Measured(value, math.nan, math.nan, Basis.SINGLE, n)
    # Rounding errors give equal numbers a spread in their last digits.
    if float(np.ptp(values)) <= 1e-12 * abs(value):
        return Measured(value, math.nan, math.nan, Basis.CONSTANT, n)
    return None


def _of(estimate: Estimate, basis: Basis) -> Measured:
    return Measured(estimate.value, estimate.low, estimate.high, basis, estimate.n)


def _spread(values: Floats) -> Measured:
    low, high = float(values.min()), float(values.max())
    return Measured(float(values.mean()), low, high, Basis.SPREAD, len(values))


def _outcome_of_spread(differences: Floats, margin: float | None) -> Outcome:
    """Outcome for an ensemble, which is not a sample: a statement must hold for each member."""
    if len(differences) < LEAST_MEMBERS:
        return Outcome.OPEN
    if margin is not None and bool((abs(differences) <= margin).all()):
        return Outcome.SAME
    least = margin or 0.0
    one_way = (differences > least).all() or (differences < -least).all()
    return Outcome.DIFFERS if one_way else Outcome.OPEN


def _adjusted(p_values: Sequence[float]) -> list[float]:
    """Holm's adjustment of the p-values that are not NaN."""
    found = np.array(p_values, dtype=np.float64)
    there = ~np.isnan(found)
    found[there] = holm(found[there])
    return [float(each) for each in found]

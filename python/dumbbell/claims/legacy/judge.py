"""One judge per kind of claim: an interval in, a verdict out.

Every judge takes the claim first and the evidence second. None draws random numbers, none
chooses a threshold: those are in the claim and in :mod:`dumbbell.claims.rules`. Evidence that is
not a number is *not testable*; an interval that few replications leave below the claim's level
(or without ends) is *inconclusive*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.claims.legacy.model import Claim, Judged
from dumbbell.claims.legacy.rules import HARDLY_MATTERS_MARGIN, UNINFORMATIVE_HALF_WIDTH, Kind
from dumbbell.claims.p_values import contradiction_p_value
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import Band, Estimate, IntervalKind, equivalence

Side = Literal["equals", "at least", "at most"]
_SAME_LEVEL = 1e-9


def judge_theory_equals(
    claim: Claim, estimate: Estimate, *, backend: str = "sim", note: str = ""
) -> Judged:
    """Theory equals measurement, by equivalence with the claim's margin.

    Args:
        claim: With ``theory`` and ``margin``.
        estimate: Stationary mean (or ratio of means) and its interval, in ``claim.unit``.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: The claim is of another kind or lacks a number, or the interval's level is
            above the claim's.
    """
    _expect(claim, Kind.THEORY_EQUALS)
    theory, margin = _needed(claim, "theory"), _needed(claim, "margin")
    return _judged(
        claim,
        estimate,
        lambda: _equivalent(estimate, theory, margin),
        backend=backend,
        note=note,
        p_value=contradiction_p_value(estimate, theory, margin),
    )


def judge_published_number(
    claim: Claim, prediction: Estimate, *, backend: str = "sim", note: str = ""
) -> Judged:
    """A published single number against what one run as published would print.

    Args:
        claim: With ``published``.
        prediction: Central prediction interval for one future run of the published length,
            sampling and start; never the interval of a mean.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: The claim is of another kind or lacks a number, or the interval's level is
            above the claim's.
    """
    _expect(claim, Kind.PUBLISHED_NUMBER)
    published = _needed(claim, "published")
    _is_prediction(claim, prediction)
    judged = _judged(
        claim, prediction, lambda: _predicted(prediction, published), backend=backend, note=note
    )
    if judged.verdict is Verdict.UNINFORMATIVE and not prediction.contains(published):
        # The rule is about the width alone; where the number lies is worth a word all the same.
        outside = "the published number lies outside this wide interval"
        return replace(judged, note="; ".join(part for part in (judged.note, outside) if part))
    return judged


def judge_ordering(claim: Claim, band: Band, *, backend: str = "sim", note: str = "") -> Judged:
    """An ordering over a whole range, by a simultaneous band of the difference.

    The difference is taken in the claimed direction: for "SM's CDF is left of TDM's" it is
    F_SM - F_TDM, claimed positive. Measured, low and high of the result are the smallest
    difference over the range and the band of that smallest difference.

    Args:
        claim: ``margin`` (default 0) is how far the wrong way still counts as no difference.
        band: Simultaneous band of the difference over the range named, for example by
            :func:`dumbbell.stats.cdf_difference_band`.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: The claim is of another kind, or the band's level is not the claim's.
    """
    _expect(claim, Kind.ORDERING)
    # The smallest difference lies between the smallest edges: a band that holds everywhere at
    # once holds at the minimum.
    least = Estimate(
        value=float(band.value.min()),
        low=float(band.low.min()),
        high=float(band.high.min()),
        level=band.level,
        n=band.n,
        kind=IntervalKind.BAND,
    )
    margin = claim.margin or 0.0

    def decide() -> Verdict:
        if band.above(-margin):
            return Verdict.REPRODUCED
        return Verdict.NOT_REPRODUCED if least.high < -margin else Verdict.INCONCLUSIVE

    return _judged(claim, least, decide, backend=backend, note=note)


def judge_hardly_matters(
    claim: Claim, difference: Estimate, *, backend: str = "sim", note: str = ""
) -> Judged:
    """ "Hardly matters", "the same as": equivalence of a difference with zero.

    Not being significant is not being equal: a wide interval is inconclusive.

    Args:
        claim: ``margin`` when given, else the default of its unit
            (:data:`dumbbell.claims.rules.HARDLY_MATTERS_MARGIN`).
        difference: The difference and its interval, in ``claim.unit``.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: The claim is of another kind, its unit has no default margin, or the levels
            differ.
    """
    _expect(claim, Kind.HARDLY_MATTERS)
    margin = claim.margin
    if margin is None:
        if claim.unit not in HARDLY_MATTERS_MARGIN:
            known = ", ".join(HARDLY_MATTERS_MARGIN)
            raise ValueError(
                f"claim {claim.id}: no margin, and no default for unit {claim.unit!r} "
                f"(there is one for {known})"
            )
        margin = HARDLY_MATTERS_MARGIN[claim.unit]
    decided_margin = margin
    return _judged(
        claim,
        difference,
        lambda: _equivalent(difference, 0.0, decided_margin),
        backend=backend,
        note=note,
    )


def judge_stated(
    claim: Claim,
    estimate: Estimate,
    *,
    side: Side = "equals",
    backend: str = "sim",
    note: str = "",
) -> Judged:
    """A share, or a range, against the number stated: one side, equivalence, or prediction.

    A share is of flows that do better (:func:`dumbbell.claims.share_better`); a range is the
    distance from 5th to 95th percentile (:func:`dumbbell.claims.percentile_range`) or a ratio of
    two.

    Args:
        claim: With ``published`` (or ``theory``). With ``margin`` the estimate must be equivalent
            to it; without, it must be a prediction interval for one run.
        estimate: In the claim's unit, with its interval over replications.
        side: ``at least`` and ``at most`` judge sentences such as "most flows" or "varies more"
            one-sidedly.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: The claim is of another kind or lacks a number, or the interval's level is
            above the claim's.
    """
    _expect(claim, Kind.SHARE, Kind.RANGE)
    stated = claim.published if claim.published is not None else claim.theory
    if stated is None:
        raise ValueError(f"claim {claim.id}: needs a published or theoretical number")
    if side != "equals":
        return _judged(
            claim, estimate, lambda: _one_sided(estimate, stated, side), backend=backend, note=note
        )
    if claim.margin is not None:
        margin = claim.margin
        return _judged(
            claim,
            estimate,
            lambda: _equivalent(estimate, stated, margin),
            backend=backend,
            note=note,
        )
    _is_prediction(claim, estimate)
    return _judged(
        claim, estimate, lambda: _predicted(estimate, stated), backend=backend, note=note
    )


def judge_supremum(
    claim: Claim,
    maxima: ArrayLike,
    *,
    rounding: float = 0.0,
    backend: str = "sim",
    note: str = "",
) -> Judged:
    """A least upper bound: every run's exact maximum reaches it and none passes it.

    Sampled peaks (ten pings) are not maxima: judge those as a published number.

    Args:
        claim: ``theory`` is the bound (for a full queue, m/mu), ``margin`` one packet's time.
        maxima: Exact maximum of each run, in ``claim.unit``, shape (runs,).
        rounding: Resolution of the maxima (1 ns in ``claim.unit``), allowed above the bound.
        backend: Where it was measured.
        note: A remark to keep beside the verdict.

    Raises:
        ValueError: The claim is of another kind or lacks a number.
    """
    _expect(claim, Kind.SUPREMUM)
    bound, one_packet = _needed(claim, "theory"), _needed(claim, "margin")
    peaks = np.asarray(maxima, dtype=np.float64).ravel()
    if not peaks.size or not np.isfinite(peaks).all():
        return not_testable(claim, "a run has no maximum", backend=backend)
    lowest, highest = float(peaks.min()), float(peaks.max())
    passed = highest > bound + rounding
    missed = lowest < bound - one_packet - rounding
    if passed:
        found = f"a run passes the bound by {highest - bound:.3g} {claim.unit}"
    elif missed:
        found = f"a run stays {bound - lowest:.3g} {claim.unit} below the bound"
    else:
        found = ""
    return Judged(
        claim=claim,
        backend=backend,
        measured=highest,
        low=lowest,
        high=highest,
        n_replications=int(peaks.size),
        verdict=Verdict.NOT_REPRODUCED if passed or missed else Verdict.REPRODUCED,
        note="; ".join(part for part in (note, found) if part),
    )


def not_testable(claim: Claim, reason: str, *, backend: str = "sim") -> Judged:
    """Keep a claim in the table although nothing run can speak to it.

    Args:
        claim: Of any kind.
        reason: Why, in a sentence for the reader.
        backend: Where it would have been measured.
    """
    return Judged(
        claim=claim,
        backend=backend,
        measured=None,
        low=None,
        high=None,
        n_replications=0,
        verdict=Verdict.NOT_TESTABLE,
        note=reason,
    )


def _equivalent(estimate: Estimate, target: float, margin: float) -> Verdict:
    return {
        "inside": Verdict.REPRODUCED,
        "outside": Verdict.NOT_REPRODUCED,
        "straddles": Verdict.INCONCLUSIVE,
    }[equivalence(estimate, margin, target).verdict]


def _predicted(prediction: Estimate, published: float) -> Verdict:
    centre = (prediction.low + prediction.high) / 2
    if prediction.half_width > UNINFORMATIVE_HALF_WIDTH * abs(centre):
        return Verdict.UNINFORMATIVE
    return Verdict.REPRODUCED if prediction.contains(published) else Verdict.NOT_REPRODUCED


def _one_sided(estimate: Estimate, stated: float, side: Side) -> Verdict:
    above, below = estimate.low >= stated, estimate.high <= stated
    holds, fails = (above, below) if side == "at least" else (below, above)
    if holds:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if fails else Verdict.INCONCLUSIVE


def _judged(
    claim: Claim,
    estimate: Estimate,
    decide: Callable[[], Verdict],
    *,
    backend: str,
    note: str,
    p_value: float | None = None,
) -> Judged:
    """Decide, unless the estimate is no number or its interval is not worth the level asked."""
    if estimate.level > claim.level + _SAME_LEVEL:
        raise ValueError(
            f"claim {claim.id}: the interval's level is {estimate.level}, the claim's {claim.level}"
        )
    found = ""
    if not math.isfinite(estimate.value) or math.isnan(estimate.low) or math.isnan(estimate.high):
        verdict, found = Verdict.NOT_TESTABLE, "no value was measured"
    elif math.isinf(estimate.low) or math.isinf(estimate.high):
        verdict, found = Verdict.INCONCLUSIVE, "too few replications for an interval"
    elif estimate.level < claim.level - _SAME_LEVEL:
        verdict = Verdict.INCONCLUSIVE
        found = (
            f"{estimate.n} replications give an interval of {100 * estimate.level:.3g} % only, "
            f"not {100 * claim.level:g} %"
        )
    else:
        verdict = decide()
    return Judged(
        claim=claim,
        backend=backend,
        measured=_or_none(estimate.value),
        low=_or_none(estimate.low),
        high=_or_none(estimate.high),
        n_replications=1 if estimate.kind == IntervalKind.BATCH_MEANS else estimate.n,
        verdict=verdict,
        p_value=p_value,
        note="; ".join(part for part in (note, found) if part),
    )


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _expect(claim: Claim, *kinds: Kind) -> None:
    if claim.kind not in kinds:
        taken = " or ".join(repr(kind.value) for kind in kinds)
        raise ValueError(
            f"claim {claim.id}: kind is {claim.kind.value!r}; this judge takes {taken}"
        )


def _needed(claim: Claim, name: Literal["theory", "published", "margin"]) -> float:
    value: float | None = getattr(claim, name)
    if value is None:
        raise ValueError(f"claim {claim.id}: {claim.kind.value!r} needs {name}")
    return value


def _is_prediction(claim: Claim, estimate: Estimate) -> None:
    # The interval of a mean is the classic wrong yardstick for one published run, so it is refused.
    if estimate.kind != IntervalKind.PREDICTION:
        raise ValueError(
            f"claim {claim.id}: a published number is held against a prediction interval, "
            f"not the interval of a {estimate.kind}"
        )

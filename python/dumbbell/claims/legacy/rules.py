"""The rules in words, and their thresholds: one entry per kind of claim."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    """What sort of statement a claim is; it selects the rule."""

    THEORY_EQUALS = "theory: equals"
    PUBLISHED_NUMBER = "published single number"
    ORDERING = "ordering"
    HARDLY_MATTERS = "hardly matters"
    SHARE = "share of flows that do better"
    RANGE = "range, variability"
    SUPREMUM = "supremum"
    FREE_PARAMETERS = "depends on free parameters"


HARDLY_MATTERS_MARGIN = MappingProxyType({"ms": 2.0, "s": 0.002, "Mbit/s": 3.0})
"""Default margin of "hardly matters" and "the same as", per unit."""

UNINFORMATIVE_HALF_WIDTH = 0.5
"""A prediction interval wider than +-50 % of its centre cannot test a published number."""


def _margin_words(margin: float | None, unit: str) -> str:
    if margin is None:
        return "the margin"
    return f"±{margin:.4g}" if unit in ("", "1") else f"±{margin:.4g} {unit}"


def rule_text(kind: Kind, margin: float | None, unit: str, level: float) -> str:
    """The standard wording of a kind's rule, with this claim's margin and level filled in.

    Args:
        kind: Kind of claim.
        margin: Margin in ``unit``, or None.
        unit: Unit of the margin; ``1`` for a pure number.
        level: Level of the interval, such as 0.95.
    """
    percent = f"{100 * level:g} %"
    band = _margin_words(margin, unit)
    equal_or_predicted = (
        f"{percent} prediction interval of one run contains the published number"
        if margin is None
        else f"{percent} interval inside the stated value {band}"
    )
    words = {
        Kind.THEORY_EQUALS: (
            f"Equivalence: reproduced when the {percent} interval lies inside theory {band}, "
            "not reproduced when it lies wholly outside, else inconclusive."
        ),
        Kind.PUBLISHED_NUMBER: (
            f"Reproduced when the published number lies in the central {percent} prediction "
            "interval of one run as published; uninformative when that interval is wider than "
            f"±{100 * UNINFORMATIVE_HALF_WIDTH:g} % of its centre."
        ),
        Kind.ORDERING: (
            f"A simultaneous {percent} band of the difference over the range named: reproduced "
            "when all of it lies on the claimed side"
            + (f" (give or take {band})" if margin else "")
            + ", not reproduced when some of it lies wholly on the other."
        ),
        Kind.HARDLY_MATTERS: (
            f"Equivalence: reproduced when the {percent} interval of the difference lies inside "
            f"{band}, not reproduced when it lies wholly outside, else inconclusive."
        ),
        Kind.SHARE: (
            "The quantile at which the two CDFs cross (flows are not paired): "
            f"{equal_or_predicted}."
        ),
        Kind.RANGE: f"5th to 95th percentile, not the extremes: {equal_or_predicted}.",
        Kind.SUPREMUM: (
            "Exact maximum of every run at most the bound and within one packet "
            f"({band.removeprefix('±')}) below it."
        ),
        Kind.FREE_PARAMETERS: (
            "Judged on a grid of the parameters the source does not give, fixed beforehand: "
            "reproduced only when it holds on all of it, else depends on what decides."
        ),
    }
    return words[kind]

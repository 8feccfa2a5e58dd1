"""What a share and a spread have in common: one number, on one side of it or equal to it."""

from __future__ import annotations

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Parameter
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated, around_margin, span_of
from dumbbell.claims.rules.base import check_margin, check_number, percent, quantity, side_words
from dumbbell.claims.rules.intervals import cut, held_against


def check_fields(stated: float, side: Side, margin: float | None) -> None:
    """Refuse equality without a margin, and a margin without equality.

    Raises:
        ValueError: As said.
    """
    check_number(stated, "stated_value")
    if side is Side.EQUALS:
        if margin is None:
            raise ValueError("equality needs a margin, written before the run")
        check_margin(margin)
    elif margin is not None:
        raise ValueError(f"{side.value!r} takes no margin")


def words_of(value: float, side: Side, margin: float | None, unit: str, level: float) -> str:
    """The end of a rule's words."""
    if side is Side.EQUALS and margin is not None:
        return (
            f"reproduced when the {percent(level)} interval lies inside {quantity(value, unit)} "
            f"±{quantity(margin, unit)}, not reproduced when wholly outside, else inconclusive."
        )
    return (
        f"reproduced when the {percent(level)} interval lies wholly "
        f"{side_words(side, value, unit)}, not reproduced when wholly on the other side, else "
        "inconclusive."
    )


def decide_one(
    evidence: Parameter,
    *,
    value: float,
    side: Side,
    margin: float | None,
    level: float,
    possible: tuple[float, float],
) -> Decision:
    """An interval against a number; its ends are cut to what is possible."""
    found, verdict = held_against(evidence, stated=value, side=side, margin=margin, level=level)
    return Decision(
        verdict=verdict, found=MeasuredInterval.of(cut(found, *possible)), margin=margin
    )


def glyph_of(
    decision: Decision, *, value: float, side: Side, margin: float | None, origin: Origin
) -> Glyph:
    """The stated number in the middle; the margin, or the side claimed, shaded."""
    found = decision.found
    if side is Side.EQUALS and margin is not None:
        reach, shaded = around_margin(margin), (value - margin, value + margin)
    else:
        reach = span_of(value, found.value, found.low, found.high)
        infinite = float("inf")
        shaded = (value, infinite) if side is Side.AT_LEAST else (-infinite, value)
    return Glyph(
        centre=value,
        reach=reach,
        measured=found.value,
        low=found.low,
        high=found.high,
        marks=(Stated(value, origin),),
        shaded=shaded,
        side=side,
    )

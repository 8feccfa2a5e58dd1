"""Counts of outcomes as one bar of an SVG: holds, does not hold, not decided."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.judge.words import FAILS, HOLDS, OPEN
from dumbbell.report.theme import INTERVAL, SERIES

COLOURS: Mapping[str, str] = {HOLDS: SERIES[2], FAILS: SERIES[1], OPEN: INTERVAL}
"""Colour of each outcome, in the order of the bar."""


def outcome_bar(counts: Mapping[str, int], x: float, y: float, width: float, height: float) -> str:
    """Rectangles side by side, each as wide as its share of all counts; all in user units.

    Args:
        counts: Number of expectations by outcome.
        x: Left edge.
        y: Upper edge.
        width: Width of all counts together.
        height: Height.
    """
    whole = sum(counts.values())
    parts, left = [], x
    for outcome, colour in COLOURS.items():
        part = width * counts[outcome] / whole if whole else 0.0
        if part:
            parts.append(
                f'<rect x="{left:.2f}" y="{y:.2f}" width="{part:.2f}" height="{height:.2f}" '
                f'fill="{colour}"/>'
            )
        left += part
    return "".join(parts)

"""The claims as a page shows them: rows, their small drawings, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from dumbbell.claims import ClaimView, Glyph, Origin, Side, Verdict
from dumbbell.report.badges import BADGES, SCORE_ORDER, count_words, sorted_claims
from dumbbell.report.numbers import plain, unit_suffix, with_uncertainty
from dumbbell.stats import IntervalKind

_KIND_WORDS = {
    IntervalKind.PREDICTION: "prediction",
    IntervalKind.BAND: "band, its least",
    IntervalKind.WHOLE_GRID: "intervals, whole grid",
    IntervalKind.PROFILE: "profile interval",
}
_UNCOUNTED = (
    (
        (Verdict.PREVIEW,),
        "Previews",
        "Shorter, coarser or smaller than the published run: shown, not judged, counted nowhere.",
    ),
    (
        (Verdict.CALIBRATION,),
        "Calibrations",
        "Printed numbers that chose a parameter, with the parameter: counted nowhere.",
    ),
    (
        (Verdict.CHECK_FAILS, Verdict.CHECK_HOLDS),
        "Checks of ours",
        "What holds by construction; one that fails is a fault of this program.",
    ),
)


def claim_views(claims: Sequence[ClaimView]) -> list[dict[str, Any]]:
    """The rows of the claims table; where there are several backends, each row says which."""
    several = len({one.backend for one in claims}) > 1
    # A claim's first row in the study's order has its name; the rows of other backends theirs too.
    first = {one.id: one.backend for one in reversed(claims)}
    views = []
    for one in sorted_claims(claims):
        plain_name = one.backend == first[one.id]
        anchor = one.id if plain_name else f"{one.id}-{one.backend}"
        views.append(claim_view(one) | {"anchor": anchor, "where": one.backend if several else ""})
    return views


def uncounted_views(claims: Sequence[ClaimView]) -> list[dict[str, Any]]:
    """Previews, calibrations and checks, each under a heading of their own."""
    groups = []
    for verdicts, title, hint in _UNCOUNTED:
        own = [one for one in claims if not one.counts and one.verdict in verdicts]
        if own:
            groups.append({"title": title, "hint": hint, "claims": claim_views(own)})
    return groups


def claim_view(claim: ClaimView) -> dict[str, Any]:
    """What the claims table prints for a claim."""
    value, interval = with_uncertainty(claim.measured, claim.low, claim.high)
    badge = BADGES[claim.verdict]
    return {
        "id": claim.id,
        "statement": claim.statement,
        "source": claim.source,
        "rule": claim.words,
        "backend": claim.backend,
        "published": plain(claim.published),
        "theory": plain(claim.theory),
        "elsewhere": plain(claim.elsewhere),
        "measured": value,
        "interval": interval,
        "interval_kind": interval_words(claim).replace(" %", "\u00a0%"),
        "unit": unit_suffix(claim.unit),
        "n": claim.n_replications,
        "note": claim.note,
        "verdict": claim.verdict_text,
        "symbol": badge.symbol,
        "css": badge.css,
        "strip": Markup("".join(map(glyph_svg, claim.glyphs))),
    }


def interval_words(claim: ClaimView) -> str:
    """What the interval of a claim is, such as ``95 % prediction``."""
    if claim.interval_kind is IntervalKind.EXTREMES:
        return "smallest to largest"
    if claim.interval_kind is None or claim.level is None:
        return ""
    return f"{100 * claim.level:.4g} % {_KIND_WORDS.get(claim.interval_kind, 'interval')}"


_WIDTH, _HEIGHT, _PAD = 132.0, 18.0, 8.0
_MIDDLE = _HEIGHT / 2


def _x(glyph: Glyph, value: float) -> float:
    return _WIDTH / 2 + glyph.place(value) * (_WIDTH / 2 - _PAD)


def glyph_svg(glyph: Glyph) -> str:
    """A small drawing: shaded margin, interval bar, measured dot, published diamond, theory tick.

    What it is held against stands in the middle of every drawing, so equal values stand at equal
    places; what lies beyond the axis stands at its end as a chevron.
    """
    if glyph.measured is None and glyph.low is None:
        return ""
    parts = [_shade(glyph), f'<line class="middle" x1="{_WIDTH / 2:g}" x2="{_WIDTH / 2:g}" '
             f'y1="2" y2="{_HEIGHT - 2:g}"/>', _bar(glyph)]  # fmt: skip
    parts += [_mark(glyph, stated.value, stated.origin) for stated in glyph.marks]
    if glyph.measured is not None:
        if glyph.is_beyond(glyph.measured):
            parts.append(_chevron(glyph, glyph.measured))
        else:
            parts.append(f'<circle cx="{_x(glyph, glyph.measured):.1f}" cy="{_MIDDLE:g}" r="3"/>')
    parts.append(_arrow(glyph))
    return (
        f'<svg class="strip" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" '
        f'height="{_HEIGHT:g}" aria-hidden="true">{"".join(parts)}</svg>'
    )


def _shade(glyph: Glyph) -> str:
    if glyph.shaded is None:
        return ""
    left, right = (_x(glyph, end) for end in glyph.shaded)
    return (
        f'<rect class="margin" x="{left:.1f}" y="1" width="{max(1.0, right - left):.1f}" '
        f'height="{_HEIGHT - 2:g}"/>'
    )


def _bar(glyph: Glyph) -> str:
    if glyph.low is None or glyph.high is None:
        return ""
    left, right = _x(glyph, glyph.low), _x(glyph, glyph.high)
    left = min(left, right - 1.5)
    return (
        f'<rect class="bar" x="{left:.1f}" y="{_MIDDLE - 3.5:g}" width="{right - left:.1f}" '
        'height="7"/>'
    )


def _mark(glyph: Glyph, value: float, origin: Origin) -> str:
    at = _x(glyph, value)
    if origin is Origin.THEORY:
        return f'<line x1="{at:.1f}" x2="{at:.1f}" y1="1" y2="{_HEIGHT - 1:g}"/>'
    css = ' class="elsewhere"' if origin is Origin.ELSEWHERE else ""
    return (
        f'<path{css} d="M{at - 5:.1f},{_MIDDLE:g} L{at:.1f},{_MIDDLE - 5:g} '
        f'L{at + 5:.1f},{_MIDDLE:g} L{at:.1f},{_MIDDLE + 5:g} Z"/>'
    )


def _chevron(glyph: Glyph, value: float) -> str:
    way = 1 if value > glyph.centre else -1
    at = _WIDTH / 2 + way * (_WIDTH / 2 - 1.5)
    return (
        f'<polyline class="beyond" points="{at - 5 * way:.1f},{_MIDDLE - 5:g} {at:.1f},{_MIDDLE:g} '
        f'{at - 5 * way:.1f},{_MIDDLE + 5:g}"/>'
    )


def _arrow(glyph: Glyph) -> str:
    if glyph.side is Side.EQUALS:
        return ""
    way = 1 if glyph.side is Side.AT_LEAST else -1
    start, end = _WIDTH / 2, _WIDTH / 2 + way * 16
    return (
        f'<path class="side" d="M{start:g},2.5 L{end:g},2.5 M{end - 3 * way:g},0.5 L{end:g},2.5 '
        f'L{end - 3 * way:g},4.5"/>'
    )


def count_views(claims: Sequence[ClaimView]) -> list[dict[str, Any]]:
    """Verdict counts with their badges, as one reads a score."""
    counts = dict.fromkeys(SCORE_ORDER, 0)
    for claim in claims:
        if claim.counts:
            counts[claim.verdict] += 1
    return [
        {
            "words": count_words(verdict, count),
            "symbol": BADGES[verdict].symbol,
            "css": BADGES[verdict].css,
        }
        for verdict, count in counts.items()
        if count
    ]

"""The claims section of a page: rows, small drawings, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dumbbell.claims import ClaimView, Verdict, counts_of, facts_of
from dumbbell.claims.rules import CountedAs
from dumbbell.report.badges import (
    BADGES,
    SCORE_ORDER,
    SCORES,
    count_words,
    facts_words,
    sorted_claims,
)
from dumbbell.report.glyphs import glyph_svg
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


def claim_rows(claims: Sequence[ClaimView]) -> list[dict[str, Any]]:
    """The rows of the claims table, disagreements first; a family is one row.

    If there are several backends, each row names its backend.
    """
    several = len({one.backend for one in claims}) > 1
    # The first row of a claim, in the study's order, has the claim's name; rows of other backends
    # repeat it.
    first = {one.id: one.backend for one in reversed(claims)}

    def shown(one: ClaimView) -> dict[str, Any]:
        plain_name = one.backend == first[one.id]
        anchor = one.id if plain_name else f"{one.id}-{one.backend}"
        return claim_view(one) | {"anchor": anchor, "where": one.backend if several else ""}

    rows = []
    for members in _families(claims):
        worst = sorted_claims(members)[0]
        row = shown(worst) | {"members": []}
        family = worst.family
        if family is not None and len(members) > 1:
            # In the study's order: m = 2, 4, 8, 16 reads from left to right.
            row["members"] = [shown(one) | {"label": _label(one)} for one in members]
            row["anchor"] = f"family-{family.name}" + (f"-{worst.backend}" if several else "")
            row["statement"] = family.statement
            row["label_of_rule"] = _label(worst)
            row["counts"] = _badges(Counter(one.verdict for one in members))
        rows.append((worst, row))
    order = {id(one): place for place, one in enumerate(sorted_claims([w for w, _ in rows]))}
    return [row for worst, row in sorted(rows, key=lambda each: order[id(each[0])])]


def _families(claims: Sequence[ClaimView]) -> list[list[ClaimView]]:
    """Group claims of one family and backend, at the place of the first of them."""
    groups: dict[tuple[str, str], list[ClaimView]] = {}
    for one in claims:
        name = ("claim", one.id) if one.family is None else ("family", one.family.name)
        groups.setdefault((":".join(name), one.backend), []).append(one)
    return list(groups.values())


def _label(claim: ClaimView) -> str:
    return claim.family.label if claim.family is not None else ""


def shown_and_folded(
    claims: Sequence[ClaimView],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows shown at first, and the reproduced rows, which a page folds.

    A whole family is shown if any of its members was not reproduced. A study's page folds all rows,
    and lists what was not reproduced above them (`against_views`).
    """
    rows = claim_rows(claims)
    folded = [row for row in rows if _is_reproduced(row)]
    return [row for row in rows if not _is_reproduced(row)], folded


def _is_reproduced(row: Mapping[str, Any]) -> bool:
    members = row["members"] or [row]
    return all(member["is_reproduced"] for member in members)


def uncounted_views(claims: Sequence[ClaimView]) -> list[dict[str, Any]]:
    """Return previews, calibrations and checks, each group under its heading."""
    groups = []
    for verdicts, title, hint in _UNCOUNTED:
        own = [one for one in claims if not one.counts and one.verdict in verdicts]
        if own:
            fails = any(one.verdict is Verdict.CHECK_FAILS for one in own)
            group = {"title": title, "hint": hint, "claims": claim_rows(own), "is_open": fails}
            groups.append(group)
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
        "is_reproduced": claim.verdict is Verdict.REPRODUCED,
        "symbol": badge.symbol,
        "css": badge.css,
        "amended": claim.amended,
        "glyphs": [(glyph.label, Markup(glyph_svg(glyph))) for glyph in claim.glyphs],
    }


def interval_words(claim: ClaimView) -> str:
    """Return the kind of a claim's interval, such as ``95 % prediction``."""
    if claim.interval_kind is IntervalKind.EXTREMES:
        return "smallest to largest"
    if claim.interval_kind is None or claim.level is None:
        return ""
    return f"{100 * claim.level:.4g} % {_KIND_WORDS.get(claim.interval_kind, 'interval')}"


def score_views(claims: Sequence[ClaimView], said: str = "") -> list[dict[str, Any]]:
    """Count facts, those of the source first, with the misses expected by chance.

    Args:
        claims: All claims of a page.
        said: Heading of the source's claims, if the source is not a publication.
    """
    titles = {**SCORES, CountedAs.SOURCE: said} if said else SCORES
    return [
        {
            "title": titles[count.standing],
            "words": facts_words(count),
            "badges": _badges(count.verdicts),
            "chance": count.chance_words,
        }
        for count in counts_of(claims)
    ]


def against_views(claims: Sequence[ClaimView]) -> list[dict[str, Any]]:
    """Return the facts that were not reproduced, which stay visible while the claims are folded."""
    against = []
    for fact in facts_of(claims):
        if fact.verdict not in (Verdict.NOT_REPRODUCED, Verdict.NOT_EXPLAINED):
            continue
        row = next(row for row in fact.rows if row.verdict is fact.verdict)
        badge = BADGES[fact.verdict]
        against.append(
            {
                "statement": row.statement,
                "symbol": badge.symbol,
                "css": badge.css,
                "verdict": fact.verdict.value,
                "others": len(fact.rows) - 1,
            }
        )
    return against


def _badges(verdicts: Mapping[Verdict, int]) -> list[dict[str, Any]]:
    return [
        {
            "words": count_words(verdict, verdicts[verdict]),
            "symbol": BADGES[verdict].symbol,
            "css": BADGES[verdict].css,
        }
        for verdict in SCORE_ORDER
        if verdicts.get(verdict)
    ]

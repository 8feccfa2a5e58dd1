"""The page and the index as HTML text: one file each, nothing fetched, everything escaped."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from dumbbell.claims import Judged, Kind
from dumbbell.report import figures as figure_files
from dumbbell.report.badges import BADGES, SCORE_ORDER, count_words, sorted_claims
from dumbbell.report.drawing import NARROW, WIDE, topology_svg
from dumbbell.report.figures import DrawnFigure
from dumbbell.report.model import IndexEntry, LoadRow, Report, verdict_counts
from dumbbell.report.numbers import (
    json_safe,
    plain,
    signed_percent,
    unit_suffix,
    with_uncertainty,
)
from dumbbell.report.topology import hop_rows

MAX_SPEC_BYTES = 1_000_000
"""A figure whose specification is larger is shown as a picture instead of interactively."""

MANY_NUMBERS = 24
"""So many printed numbers stand among the other claims; of more, all are folded below them."""

_SHOWN_META = 60
"""Longest value of a meta or provenance entry printed on the page; the files have it all."""


_UNIT_SUFFIXES = ("s", "ms", "ns", "bytes", "mbps", "pkts")


def page_html(report: Report, drawn: Sequence[DrawnFigure]) -> str:
    """The self-contained page of a report.

    Args:
        report: What to show.
        drawn: Its figures, drawn, in order.
    """
    shown = [_figure(one) for one in drawn]
    interactive = any(figure["spec"] for figure in shown)
    claims, numbers = shown_and_folded(report.judged)
    template = _environment().get_template("page.html.j2")
    return template.render(
        report=report,
        claims=claim_views(claims),
        numbers=claim_views(numbers),
        number_counts=count_views(numbers),
        counts=count_views(report.judged),
        topologies=[
            {
                "label": topology.label,
                "wide": Markup(topology_svg(topology, WIDE)),
                "narrow": Markup(topology_svg(topology, NARROW)),
                "hops": hop_rows(topology),
            }
            for topology in report.topologies
        ],
        values=report.values,
        figures=shown,
        loads=[_load(row) for row in report.loads],
        load_warnings=[row.what for row in report.loads if row.differs],
        commands=commands_by_host(report.commands),
        meta=_facts(report.meta),
        provenance=_facts(report.provenance),
        bundle=Markup(figure_files.javascript()) if interactive else "",
    )


def index_html(entries: Sequence[IndexEntry]) -> str:
    """The page that lists every study, its verdicts and one figure each."""
    template = _environment().get_template("index.html.j2")
    return template.render(
        entries=[
            {"entry": entry, "counts": count_views(entry.judged), "total": len(entry.judged)}
            for entry in entries
        ],
        totals=count_views([judged for entry in entries for judged in entry.judged]),
        claims=sum(len(entry.judged) for entry in entries),
    )


def shown_and_folded(judged: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """Claims that a reader meets first, and printed numbers that would bury them.

    A table of a source judged number by number is dozens of rows, which its study shows as a table
    again: two metres of a phone's screen before the first figure.
    """
    numbers = [one for one in judged if one.claim.kind is Kind.PUBLISHED_NUMBER]
    if len(numbers) <= MANY_NUMBERS:
        return list(judged), []
    return [one for one in judged if one.claim.kind is not Kind.PUBLISHED_NUMBER], numbers


def claim_views(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The rows of the claims table; where there are several backends, each row says which."""
    several = len({one.backend for one in judged}) > 1
    # A claim's first row in the study's order has its name; the rows of other backends theirs too.
    first = {one.claim.id: one.backend for one in reversed(judged)}
    views = []
    for one in sorted_claims(judged):
        plain_name = one.backend == first[one.claim.id]
        anchor = one.claim.id if plain_name else f"{one.claim.id}-{one.backend}"
        views.append(claim_view(one) | {"anchor": anchor, "where": one.backend if several else ""})
    return views


def claim_view(judged: Judged) -> dict[str, Any]:
    """What the claims table prints for a claim."""
    claim = judged.claim
    value, interval = with_uncertainty(judged.measured, judged.low, judged.high)
    badge = BADGES[judged.verdict]
    return {
        "id": claim.id,
        "statement": claim.statement,
        "source": claim.source,
        "rule": claim.rule,
        "backend": judged.backend,
        "published": plain(claim.published),
        "theory": plain(claim.theory),
        "measured": value,
        "interval": interval,
        "interval_kind": interval_words(judged).replace(" %", "\u00a0%"),
        "unit": unit_suffix(claim.unit),
        "n": judged.n_replications,
        "note": judged.note,
        "verdict": judged.verdict_text,
        "symbol": badge.symbol,
        "css": badge.css,
        "strip": Markup(interval_strip(judged)),
    }


def interval_words(judged: Judged) -> str:
    """What the interval of a claim is, such as ``95 % prediction``."""
    claim = judged.claim
    percent = f"{100 * claim.level:g} %"
    if claim.kind is Kind.SUPREMUM:
        return "smallest to largest maximum"
    # The kind alone does not tell: a fitted parameter is of it too, with an interval of its own.
    if claim.kind is Kind.FREE_PARAMETERS and " grid" in claim.rule:
        return f"{percent} intervals, whole grid"
    if claim.kind is Kind.ORDERING:
        return f"least of a {percent} band"
    # What is judged one-sidedly has an interval of its mean, and a rule of its own that says so.
    stated = claim.kind in (Kind.SHARE, Kind.RANGE) and claim.margin is None
    predicted = claim.kind is Kind.PUBLISHED_NUMBER or (stated and "prediction" in claim.rule)
    return f"{percent} prediction" if predicted else f"{percent} interval"


def interval_strip(judged: Judged) -> str:
    """A small drawing of a claim: interval as bar, measured dot, published diamond, theory tick.

    Empty when there is no interval or nothing to compare it with.
    """
    claim = judged.claim
    if judged.measured is None or judged.low is None or judged.high is None:
        return ""
    marks = [v for v in (claim.published, claim.theory) if v is not None]
    if not marks:
        return ""
    points = [judged.low, judged.high, judged.measured, *marks]
    least, most = min(points), max(points)
    if most <= least:
        return ""
    width, height, pad = 132.0, 18.0, 8.0

    def x(value: float) -> float:
        return pad + (value - least) / (most - least) * (width - 2 * pad)

    middle = height / 2
    parts = [
        f'<rect class="bar" x="{x(judged.low):.1f}" y="{middle - 3.5:.1f}" '
        f'width="{max(1.5, x(judged.high) - x(judged.low)):.1f}" height="7"/>'
    ]
    if claim.theory is not None:
        at = x(claim.theory)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="1" y2="{height - 1:g}"/>')
    parts.append(f'<circle cx="{x(judged.measured):.1f}" cy="{middle:g}" r="3"/>')
    if claim.published is not None:
        at = x(claim.published)
        parts.append(
            f'<path d="M{at - 5:.1f},{middle:g} L{at:.1f},{middle - 5:g} '
            f'L{at + 5:.1f},{middle:g} L{at:.1f},{middle + 5:g} Z"/>'
        )
    return (
        f'<svg class="strip" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" aria-hidden="true">{"".join(parts)}</svg>'
    )


def count_views(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Verdict counts with their badges, as one reads a score."""
    counts = verdict_counts(judged)
    return [
        {
            "words": count_words(verdict, counts[verdict]),
            "symbol": BADGES[verdict].symbol,
            "css": BADGES[verdict].css,
        }
        for verdict in SCORE_ORDER
        if verdict in counts
    ]


def commands_by_host(
    commands: Mapping[str, Sequence[tuple[str, str]]],
) -> list[dict[str, Any]]:
    """Per arm the hosts in order of appearance, each with its lines as one text to paste."""
    arms = []
    for arm, lines in commands.items():
        hosts: dict[str, list[str]] = {}
        for host, command in lines:
            hosts.setdefault(host, []).append(command)
        blocks = [{"host": host, "text": "\n".join(typed)} for host, typed in hosts.items()]
        arms.append({"arm": arm, "hosts": blocks})
    return arms


def script_json(value: Any) -> Markup:
    """JSON that may stand in a script element: no ``<``, ``>`` or ``&`` is left in it."""
    text = json.dumps(json_safe(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _figure(drawn: DrawnFigure) -> dict[str, Any]:
    figure = drawn.figure
    spec = script_json(drawn.spec)
    view = {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "description": figure.description or figure.caption,
        "spec": spec,
        "picture": "",
    }
    if len(spec.encode("utf-8")) > MAX_SPEC_BYTES:
        picture = base64.b64encode(figure_files.png(drawn)).decode("ascii")
        view |= {"spec": "", "picture": f"data:image/png;base64,{picture}"}
    return view


def _load(row: LoadRow) -> dict[str, Any]:
    return {
        "what": row.what,
        "asked": plain(row.asked),
        "measured": plain(row.measured),
        "unit": unit_suffix(row.unit),
        "difference": signed_percent(row.relative_difference),
        "differs": row.differs,
        "note": row.note,
    }


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Entries short enough to print; nested ones are left to the JSON files."""
    shown = []
    for name, value in facts.items():
        safe = json_safe(value)
        if isinstance(safe, dict):
            continue
        text = ", ".join(map(str, safe)) if isinstance(safe, list) else str(safe)
        if isinstance(safe, float):
            text = plain(safe)
        if len(text) > _SHOWN_META and not isinstance(safe, str):
            continue
        shown.append((_fact_name(name), text))
    return shown


def _fact_name(name: str) -> str:
    """``wall_time_s`` as a reader writes it: ``wall time (s)``."""
    words, _, last = name.rpartition("_")
    if words and last in _UNIT_SUFFIXES:
        return f"{words.replace('_', ' ')} ({last})"
    return name.replace("_", " ")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The style sheet and the script are ours and contain no user's text.
    environment.globals["style"] = Markup(_template("style.css"))
    environment.globals["script"] = Markup(_template("page.js"))
    return environment


def _template(name: str) -> str:
    return (files("dumbbell.report") / "templates" / name).read_text(encoding="utf-8")

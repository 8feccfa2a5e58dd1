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

from dumbbell.claims import facts_of, views_of
from dumbbell.printable import printable
from dumbbell.report.claims_section import score_views, shown_and_folded, uncounted_views
from dumbbell.report.drawing import NARROW, WIDE, topology_svg
from dumbbell.report.figure_frames import PNG, SVG
from dumbbell.report.figures import MAX_SPEC_BYTES, PICTURES, SPEC, FigureFiles
from dumbbell.report.model import IndexEntry, LoadRow, Report
from dumbbell.report.numbers import (
    json_safe,
    plain,
    signed_percent,
    unit_suffix,
)
from dumbbell.report.topology import hop_rows

_SHOWN_META = 60
"""Longest value of a meta or provenance entry printed on the page; the files have it all."""


_UNIT_SUFFIXES = ("s", "ms", "ns", "bytes", "mbps", "pkts")


def page_html(report: Report, figures: Sequence[FigureFiles], script: str) -> str:
    """The self-contained page of a report.

    Args:
        report: What to show.
        figures: Its figures, in order, with the files that could be drawn.
        script: What draws them in a browser; where it is empty pictures are shown instead.
    """
    shown = [_figure(one, is_interactive=bool(script)) for one in figures]
    interactive = any(figure["spec"] for figure in shown)
    views = views_of(report.judged)
    claims, agreeing = shown_and_folded([view for view in views if view.counts])
    template = _environment().get_template("page.html.j2")
    return template.render(
        report=report,
        claims=claims,
        agreeing=agreeing,
        has_elsewhere=any(view.elsewhere is not None for view in views),
        is_amended=any(view.amended is not None for view in views),
        uncounted=uncounted_views(views),
        scores=score_views(views),
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
        bundle=Markup(script) if interactive else "",
    )


def index_html(entries: Sequence[IndexEntry]) -> str:
    """The page that lists every study, its verdicts and one figure each."""
    template = _environment().get_template("index.html.j2")
    return template.render(
        entries=[
            {
                "entry": entry,
                "scores": score_views(views_of(entry.judged)),
            }
            for entry in entries
        ],
        facts=sum(len(facts_of(views_of(entry.judged))) for entry in entries),
        not_run=sum(bool(entry.not_run) for entry in entries),
    )


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


def _figure(files: FigureFiles, *, is_interactive: bool) -> dict[str, Any]:
    figure = files.drawn.figure
    spec, picture = script_json(files.drawn.spec), ""
    if not files.pictures:
        spec = Markup()  # what cannot be drawn here is not left to the reader's browser
    elif not is_interactive or len(spec.encode("utf-8")) > MAX_SPEC_BYTES:
        spec, picture = Markup(), _picture(files)
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "description": figure.description or figure.caption,
        "spec": spec,
        "picture": picture,
        "missing": files.sentence,
        "suffixes": [*(suffix for suffix in PICTURES if suffix in files.pictures), ".csv", SPEC],
    }


def _picture(files: FigureFiles) -> str:
    """The figure as an address that holds it."""
    kind, suffix = ("png", PNG) if PNG in files.pictures else ("svg+xml", SVG)
    content = base64.b64encode(files.pictures[suffix]).decode("ascii")
    return f"data:image/{kind};base64,{content}"


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


def _shown(value: Any) -> Any:
    """What a template prints, readable in the order in which it is written."""
    return value if hasattr(value, "__html__") else printable(str(value), lines=True)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        finalize=_shown,
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

"""The page and the index as HTML text: self-contained files, no network access, text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import jinja2
from markupsafe import Markup

from dumbbell.claims import facts_of, views_of
from dumbbell.printable import printable
from dumbbell.report.claims_section import (
    against_views,
    score_views,
    shown_and_folded,
    uncounted_views,
)
from dumbbell.report.drawing import NARROW, WIDE, topology_svg
from dumbbell.report.figure_frames import PNG
from dumbbell.report.figure_views import figure_view, in_families, script_json
from dumbbell.report.figures import FigureFiles
from dumbbell.report.glossary import Explainer
from dumbbell.report.model import IndexEntry, LoadRow, Opening, Report
from dumbbell.report.numbers import json_safe, plain, signed_percent, unit_suffix
from dumbbell.report.overview import by_topic
from dumbbell.report.palette import style_sheet
from dumbbell.report.printed_section import printed_view
from dumbbell.report.topology import hop_rows

_SHOWN_META = 60
"""Longest value of a meta or provenance entry printed on the page; the files have all entries."""


NO_DRAWINGS: Mapping[str, Markup] = MappingProxyType({})
_STYLES = ("style.css", "claims.css", "printed.css", "layout.css", "paper.css")
_UNIT_SUFFIXES = ("s", "ms", "ns", "bytes", "mbps", "pkts")


@dataclass(frozen=True, slots=True)
class Links:
    """Links from a page to other pages; empty if absent.

    Attributes:
        index: Address of the index page of several studies.
        docs: Address of the study's documentation page.
        live: Address of the bundle that runs live figures (`dumbbell.lab.write_live`).
    """

    index: str = ""
    docs: str = ""
    live: str = ""


NO_LINKS = Links()


def page_html(
    report: Report, figures: Sequence[FigureFiles], script: str, links: Links = NO_LINKS
) -> str:
    """Return the self-contained page of a report.

    Args:
        report: The report.
        figures: Its figures, in order, with the files that were drawn.
        script: Script that makes figures interactive; without it the figures stay static.
        links: Links to other pages.
    """
    shown = [figure_view(one, is_interactive=bool(script)) for one in figures]
    hero = _hero(report, shown)
    interactive = any(figure["spec"] for figure in shown)
    views = views_of(report.judged)
    claims, agreeing = shown_and_folded([view for view in views if view.counts])
    template = _environment().get_template("page.html.j2")
    return template.render(
        report=report,
        links=links,
        marked=Explainer().marked if report.answer else _unmarked,
        hero=hero,
        live=script_json(report.live.as_json()) if report.live and links.live else "",
        preview=_preview(hero, figures),
        claims=claims,
        agreeing=agreeing,
        has_elsewhere=any(view.elsewhere is not None for view in views),
        is_amended=any(view.amended is not None for view in views),
        uncounted=uncounted_views(views),
        scores=score_views(views, report.said),
        against=against_views(views),
        printed=printed_view(report.printed) if report.printed else None,
        topologies=[
            {
                "label": topology.label,
                "wide": Markup(topology_svg(topology, WIDE)),
                "narrow": Markup(topology_svg(topology, NARROW)),
                "hops": hop_rows(topology),
            }
            for topology in report.topologies
        ],
        leading=[table for table in report.values if table.is_leading],
        values=[table for table in report.values if not table.is_leading],
        figures=in_families([figure for figure in shown if figure is not hero]),
        loads=[_load(row) for row in report.loads],
        load_warnings=[row.what for row in report.loads if row.differs],
        commands=commands_by_host(report.commands),
        meta=_facts(report.meta),
        provenance=_facts(report.provenance),
        bundle=Markup(script) if interactive else "",
    )


LABORATORY = "laboratory.html"
"""Name of the laboratory's page, beside the index."""
_TO_LABORATORY = (
    f'<p class="laboratory"><a href="{LABORATORY}">The laboratory</a>: change rate, buffer, '
    "discipline and traffic, and watch the packets; the simulator runs in the page.</p>"
)
_NO_LABORATORY = '<p class="laboratory" hidden></p>'


def index_html(
    entries: Sequence[IndexEntry],
    drawings: Mapping[str, Markup] = NO_DRAWINGS,
    *,
    has_laboratory: bool = False,
    opening: Opening | None = None,
    more: Sequence[IndexEntry] = (),
) -> str:
    """Return the page that lists every study with its answer, its advice and one figure.

    Args:
        entries: The studies.
        drawings: Each study's figure, as SVG for a page.
        has_laboratory: Whether the laboratory's page is in the same folder.
        opening: The first entry.
        more: Studies that run only on request; ``not_run`` gives the command, if they were not run.
    """
    template = _environment().get_template("index.html.j2")
    every = [*entries, *more]
    pictured = [entry for entry in every if entry.study in drawings]
    views = [
        {
            "entry": entry,
            "drawing": drawings.get(entry.study, ""),
            "scores": score_views(views_of(entry.judged)),
            "command": entry.not_run if number >= len(entries) else "",
        }
        for number, entry in enumerate(every)
    ]
    return template.render(
        entries=entries,
        topics=by_topic(views),
        advice=[(entry, each) for entry in every for each in entry.advice],
        opening=opening,
        marked=Explainer().marked,
        preview=f"{pictured[0].study}/figures/{pictured[0].figure}.png" if pictured else "",
        facts=sum(len(facts_of(views_of(entry.judged))) for entry in entries),
        not_run=sum(bool(entry.not_run) for entry in entries),
        laboratory=Markup(_TO_LABORATORY if has_laboratory else _NO_LABORATORY),
        search=Markup(_template("index.js")),
    )


def with_laboratory(index: str) -> str:
    """Add the laboratory's link to an index page written without it."""
    return index.replace(_NO_LABORATORY, _TO_LABORATORY, 1)


def rendered(template: str, **values: Any) -> str:
    """Render another template of `templates/`, with our style sheet and everything escaped.

    Args:
        template: File name of the template.
        values: Values for the template.
    """
    return _environment().get_template(template).render(**values)


def _hero(report: Report, shown: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the figure under the answer, if the page has an answer."""
    first = report.shown_first
    if not report.answer or first is None:
        return None
    return next((figure for figure in shown if figure["name"] == first.name), None)


def _preview(hero: Mapping[str, Any] | None, figures: Sequence[FigureFiles]) -> str:
    """Return the address of the picture for link previews."""
    files = [one for one in figures if hero and one.drawn.figure.name == hero["name"]]
    return (
        f"figures/{files[0].drawn.figure.name}{PNG}" if files and PNG in files[0].pictures else ""
    )


def _unmarked(text: str) -> tuple[str, list[Markup]]:
    return text, []


def commands_by_host(
    commands: Mapping[str, Sequence[tuple[str, str]]],
) -> list[dict[str, Any]]:
    """Return, per arm, the hosts in order of appearance, each with its commands as one text."""
    arms = []
    for arm, lines in commands.items():
        hosts: dict[str, list[str]] = {}
        for host, command in lines:
            hosts.setdefault(host, []).append(command)
        blocks = [{"host": host, "text": "\n".join(typed)} for host, typed in hosts.items()]
        arms.append({"arm": arm, "hosts": blocks})
    return arms


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
    """Return entries short enough to print; nested entries are only in the JSON files."""
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
    """Format ``wall_time_s`` as ``wall time (s)``."""
    words, _, last = name.rpartition("_")
    if words and last in _UNIT_SUFFIXES:
        return f"{words.replace('_', ' ')} ({last})"
    return name.replace("_", " ")


def _shown(value: Any) -> Any:
    """Return the template's values in printable form, in page order."""
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
    # The style sheets and the script are ours and contain no user-supplied text.
    styles = [style_sheet(), *map(_template, _STYLES)]
    environment.globals["style"] = Markup("\n".join(styles))
    environment.globals["marks_style"] = Markup(_template("marks.css"))
    environment.globals["script"] = Markup(_template("page.js"))
    return environment


def _template(name: str) -> str:
    return (files("dumbbell.report") / "templates" / name).read_text(encoding="utf-8")

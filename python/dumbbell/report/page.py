"""The page and the index as HTML text: one file each, nothing fetched, everything escaped."""

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
from dumbbell.report.palette import style_sheet
from dumbbell.report.printed_section import printed_view
from dumbbell.report.topology import hop_rows

_SHOWN_META = 60
"""Longest value of a meta or provenance entry printed on the page; the files have it all."""


NO_DRAWINGS: Mapping[str, Markup] = MappingProxyType({})
_STYLES = ("style.css", "claims.css", "printed.css", "layout.css", "paper.css")
_UNIT_SUFFIXES = ("s", "ms", "ns", "bytes", "mbps", "pkts")


@dataclass(frozen=True, slots=True)
class Links:
    """Where else a page leads; each is empty where there is nothing.

    Attributes:
        index: Address of the page above several studies.
        docs: Address of the documentation's page on the study.
        live: Address of the bundle that runs live figures (`dumbbell.lab.write_live`).
    """

    index: str = ""
    docs: str = ""
    live: str = ""


NO_LINKS = Links()


def page_html(
    report: Report, figures: Sequence[FigureFiles], script: str, links: Links = NO_LINKS
) -> str:
    """The self-contained page of a report.

    Args:
        report: What to show.
        figures: Its figures, in order, with the files that could be drawn.
        script: What draws them again in a browser, to be pointed at; where it is empty the
            drawings stay as they are.
        links: Where else it leads.
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
        values=report.values,
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
    """The page that lists every study, its answer, what to set, and one figure each.

    Args:
        entries: The studies.
        drawings: Study to its figure, as SVG for a page.
        has_laboratory: Whether the laboratory's page is beside it.
        opening: What it begins with.
        more: Studies that are run when they are named; ``not_run`` is how, where they were not.
    """
    template = _environment().get_template("index.html.j2")
    pictured = [entry for entry in entries if entry.study in drawings]
    return template.render(
        entries=[
            {
                "entry": entry,
                "drawing": drawings.get(entry.study, ""),
                "scores": score_views(views_of(entry.judged)),
            }
            for entry in entries
        ],
        advice=[(entry, each) for entry in entries for each in entry.advice],
        opening=opening,
        marked=Explainer().marked,
        more=[{"entry": entry, "drawing": drawings.get(entry.study, "")} for entry in more],
        preview=f"{pictured[0].study}/figures/{pictured[0].figure}.png" if pictured else "",
        facts=sum(len(facts_of(views_of(entry.judged))) for entry in entries),
        not_run=sum(bool(entry.not_run) for entry in entries),
        laboratory=Markup(_TO_LABORATORY if has_laboratory else _NO_LABORATORY),
    )


def with_laboratory(index: str) -> str:
    """An index page that was written before there was a laboratory, with the link to it."""
    return index.replace(_NO_LABORATORY, _TO_LABORATORY, 1)


def rendered(template: str, **values: Any) -> str:
    """A page of another template of `templates/`, with our style and everything escaped.

    Args:
        template: Its file's name.
        values: What it prints.
    """
    return _environment().get_template(template).render(**values)


def _hero(report: Report, shown: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The figure under the answer, on a page that has one."""
    first = report.shown_first
    if not report.answer or first is None:
        return None
    return next((figure for figure in shown if figure["name"] == first.name), None)


def _preview(hero: Mapping[str, Any] | None, figures: Sequence[FigureFiles]) -> str:
    """Address of the picture in previews of links to the page."""
    files = [one for one in figures if hero and one.drawn.figure.name == hero["name"]]
    return (
        f"figures/{files[0].drawn.figure.name}{PNG}" if files and PNG in files[0].pictures else ""
    )


def _unmarked(text: str) -> tuple[str, list[Markup]]:
    return text, []


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
    # The style sheets and the script are ours and contain no user's text.
    styles = [style_sheet(), *map(_template, _STYLES)]
    environment.globals["style"] = Markup("\n".join(styles))
    environment.globals["marks_style"] = Markup(_template("marks.css"))
    environment.globals["script"] = Markup(_template("page.js"))
    return environment


def _template(name: str) -> str:
    return (files("dumbbell.report") / "templates" / name).read_text(encoding="utf-8")

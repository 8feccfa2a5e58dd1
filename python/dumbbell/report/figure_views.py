"""Figures as a page shows them: pre-drawn, and redrawn interactively on hover."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from dumbbell.report.figure_frames import PNG, SVG
from dumbbell.report.figures import PICTURES, SPEC, FigureFiles
from dumbbell.report.inline_svg import inline_svg
from dumbbell.report.narrow_charts import narrow
from dumbbell.report.numbers import json_safe
from dumbbell.report.palette import as_variables

_DATA = ("datasets", "data")
"""Keys shared by the specifications for both widths; they take most of the bytes."""


def figure_view(files: FigureFiles, *, is_interactive: bool) -> dict[str, Any]:
    """Return what the template prints for a figure.

    Args:
        files: The figure and its files.
        is_interactive: Whether the page has the script that redraws it.
    """
    figure = files.drawn.figure
    is_picture = PNG in files.pictures and not files.narrow
    drawings = Markup("") if is_picture else _drawings(files)
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "description": _description(files),
        "drawings": drawings,
        "spec": _specs(files.drawn.spec) if is_interactive and drawings else Markup(),
        "picture": _png(files) if is_picture else "",
        "missing": files.sentence,
        "suffixes": [*(suffix for suffix in PICTURES if suffix in files.pictures), ".csv", SPEC],
        "family": figure.family,
    }


def in_families(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group consecutive figures of one family; other figures form groups of one."""
    groups: list[dict[str, Any]] = []
    for family, members in groupby(figures, key=lambda figure: figure["family"]):
        if family:
            groups.append({"family": family, "figures": list(members)})
        else:
            groups += [{"family": "", "figures": [each]} for each in members]
    return groups


def script_json(value: Any) -> Markup:
    """Return JSON that may stand in a script element: ``<``, ``>`` and ``&`` are escaped."""
    return _safe_in_script(_json(value))


def _specs(spec: Mapping[str, Any]) -> Markup:
    """Return the full-width specification, and the phone's without the data, which is shared."""
    phone = {key: each for key, each in narrow(spec).items() if key not in _DATA}
    return _safe_in_script(as_variables(_json({"wide": spec, "narrow": phone})))


def _json(value: Any) -> str:
    return json.dumps(json_safe(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _safe_in_script(text: str) -> Markup:
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _description(files: FigureFiles) -> str:
    figure = files.drawn.figure
    if figure.description:
        return figure.description
    return f"{figure.title}. {figure.caption}" if figure.title else figure.caption


def _drawings(files: FigureFiles) -> Markup:
    """Return the figure for full width and for a phone; the style sheet shows one of them."""
    if SVG not in files.pictures:
        return Markup()
    of = {"wide": files.pictures[SVG], "narrow": files.narrow}
    name, description = files.drawn.figure.name, _description(files)
    shown = {kind: svg for kind, svg in of.items() if svg}
    return Markup("").join(
        inline_svg(
            svg,
            prefix=f"{name}-{kind}",
            css=f"chart {kind}" if len(shown) > 1 else "chart",
            description=description,
        )
        for kind, svg in shown.items()
    )


def _png(files: FigureFiles) -> str:
    """Return the figure as a data URL."""
    content = base64.b64encode(files.pictures[PNG]).decode("ascii")
    return f"data:image/png;base64,{content}"

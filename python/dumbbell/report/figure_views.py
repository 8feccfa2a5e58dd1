"""Figures as a page shows them: drawn already, and drawn again when pointed at."""

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
"""What the specifications for both widths have in common, and most of their bytes."""


def figure_view(files: FigureFiles, *, is_interactive: bool) -> dict[str, Any]:
    """What the template prints of a figure.

    Args:
        files: The figure and what could be drawn of it.
        is_interactive: Whether the page has the script that draws it again.
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
    """Figures of one family that follow one another together; each other one alone."""
    groups: list[dict[str, Any]] = []
    for family, members in groupby(figures, key=lambda figure: figure["family"]):
        if family:
            groups.append({"family": family, "figures": list(members)})
        else:
            groups += [{"family": "", "figures": [each]} for each in members]
    return groups


def script_json(value: Any) -> Markup:
    """JSON that may stand in a script element: no ``<``, ``>`` or ``&`` is left in it."""
    return _safe_in_script(_json(value))


def _specs(spec: Mapping[str, Any]) -> Markup:
    """For reading width, and for a phone without the data, which is the same."""
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
    """The figure for reading width and for a phone, of which the style sheet shows one."""
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
    """The figure as an address that holds it."""
    content = base64.b64encode(files.pictures[PNG]).decode("ascii")
    return f"data:image/png;base64,{content}"

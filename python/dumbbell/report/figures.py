"""A figure's files: the same chart as SVG, PNG and PDF, and its data as CSV. No browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import vl_convert

from dumbbell.report.model import Figure
from dumbbell.report.theme import themed

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.report.model import Frame

PNG_SCALE = 2.0
"""Pixels per CSS pixel of a PNG: sharp on a projector and in a paper's two columns."""


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure and its Vega-Lite specification with theme and data in it."""

    figure: Figure
    spec: dict[str, Any]


def draw(figure: Figure) -> DrawnFigure:
    """Turn a figure's chart into Vega-Lite, with the theme."""
    # Altair refuses more than 5000 rows by default; builders thin their data, and what others
    # bring is measured on the page (see dumbbell.report.page) rather than lost after a long run.
    with themed(), alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = figure.chart.to_dict()
    spec["description"] = figure.description or figure.caption
    return DrawnFigure(figure, spec)


def write_figure(drawn: DrawnFigure, folder: Path) -> None:
    """Write ``NAME.svg``, ``.png``, ``.pdf`` and ``.csv`` into an existing folder."""
    stem = folder / drawn.figure.name
    svg = _svg(drawn)
    for suffix in (".svg", ".png", ".pdf"):
        stem.with_name(f"{stem.name}{suffix}").write_bytes(_converted(svg, suffix))
    # As text, since the errors of a library's own writing do not say that a disk is full.
    csv = as_polars(drawn.figure.data).write_csv()
    stem.with_name(f"{stem.name}.csv").write_text(csv, encoding="utf-8", newline="")


def png(drawn: DrawnFigure) -> bytes:
    """The figure as PNG, :data:`PNG_SCALE` pixels per CSS pixel."""
    return picture(drawn, ".png")


def picture(drawn: DrawnFigure, suffix: str) -> bytes:
    """The figure in the format that a file name's suffix stands for: .svg, .png or .pdf."""
    return _converted(_svg(drawn), suffix)


def _svg(drawn: DrawnFigure) -> str:
    # allowed_base_urls: a chart that names data elsewhere fails instead of fetching it.
    version = vega_lite_version()
    spec = still(drawn.spec)
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
    return _renumbered(svg)


def still(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a picture needs of a specification: nothing that only a pointer finds or moves.

    Without zoom, layers that cannot be seen, and clipping where no axis ends before its data, all
    of which cost time and bytes: every clipped layer up to a tenth of a second of a PNG.
    """
    layers = spec.get("layer")
    if not layers:
        return dict(spec)
    seen = [layer for layer in layers if _mark_of(layer).get("opacity") != 0]
    if not any(_has_domain(layer, axis) for layer in seen for axis in ("x", "y")):
        seen = [_without_clip(layer) for layer in seen]
    # Vega-Lite clips whatever can be zoomed.
    params = [each for each in spec.get("params", ()) if each.get("bind") != "scales"]
    return {**spec, "layer": seen, "params": params}


def _mark_of(layer: Mapping[str, Any]) -> Mapping[str, Any]:
    mark = layer.get("mark")
    return mark if isinstance(mark, Mapping) else {}


def _has_domain(layer: Mapping[str, Any], axis: str) -> bool:
    channel = layer.get("encoding", {}).get(axis, {})
    return any(key.startswith("domain") for key in channel.get("scale") or {})


def _without_clip(layer: Mapping[str, Any]) -> dict[str, Any]:
    if "clip" not in _mark_of(layer):
        return dict(layer)
    mark = {key: value for key, value in layer["mark"].items() if key != "clip"}
    return {**layer, "mark": mark}


def _converted(svg: str, suffix: str) -> bytes:
    """From the SVG to another format, so that Vega works out a chart once for all three."""
    if suffix == ".png":
        return vl_convert.svg_to_png(svg, scale=PNG_SCALE)
    return vl_convert.svg_to_pdf(svg) if suffix == ".pdf" else svg.encode("utf-8")


def _renumbered(svg: str) -> str:
    """The same SVG with its clip paths and gradients numbered from 1.

    Vega counts them over the life of the process: without this a figure's bytes would depend on
    how many were drawn before it.
    """
    numbers: dict[str, int] = {}

    def renumber(found: re.Match[str]) -> str:
        number = numbers.setdefault(found[2] + found[3], len(numbers) + 1)
        return f"{found[1]}{found[2]}{number}"

    return re.sub(r"""(id="|url\(#)([a-z]+_?)(\d+)(?=[")])""", renumber, svg)


@cache
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed in one script, of the version Altair writes for."""
    # The type stub of vl-convert 1.9 asks for a snippet; None (its default) exports vegaEmbed.
    bundle = vl_convert.javascript_bundle(None, vega_lite_version())  # type: ignore[arg-type]
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise RuntimeError("the JavaScript bundle cannot be put into a script element as it is")
    return bundle


@cache
def vega_lite_version() -> str:
    """Vega-Lite's major and minor version as vl-convert names it: ``6.1``.

    Raises:
        RuntimeError: vl-convert has no version of the major number Altair writes for.
    """
    major, minor = alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    known = vl_convert.get_vegalite_versions()
    same_major = [version for version in known if version.split(".")[0] == major]
    if not same_major:
        raise RuntimeError(f"vl-convert knows Vega-Lite {', '.join(known)}; Altair writes v{major}")
    return f"{major}.{minor}" if f"{major}.{minor}" in known else same_major[-1]


def as_polars(frame: Frame) -> pl.DataFrame:
    """A polars frame from polars, pandas or columns by name."""
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame))
    # pandas is optional: its frame is read column by column, which needs no pyarrow.
    return pl.DataFrame({str(name): frame[name].to_numpy().tolist() for name in frame.columns})

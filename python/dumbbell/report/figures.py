"""A figure's files: the chart as SVG, PNG and PDF on request, its data as CSV.

A page also contains a drawing for phones; see `dumbbell.report.narrow_charts`.

No browser is needed. ``NAME.vl.json`` is the Vega-Lite source of the pictures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import altair as alt

from dumbbell.errors import DumbbellError
from dumbbell.printable import printable, utf8
from dumbbell.report.figure_frames import PDF, PNG, SCRIPT, SVG, Request
from dumbbell.report.figure_process import Drawing, FigureProcesses
from dumbbell.report.kept_script import keep_script, kept_script
from dumbbell.report.model import Figure
from dumbbell.report.narrow_charts import narrow
from dumbbell.report.numbers import json_safe
from dumbbell.report.spreadsheets import for_spreadsheets
from dumbbell.report.theme import themed

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.report.model import Frame

PICTURES = (SVG, PNG, PDF)
"""Available picture formats."""
SPEC = ".vl.json"
"""Suffix of a figure's specification."""
MAX_SPEC_BYTES = 1_000_000
"""A figure with a larger specification is shown as a picture instead of interactively."""


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure and its Vega-Lite specification, with theme and data embedded."""

    figure: Figure
    spec: dict[str, Any]


def draw(figure: Figure) -> DrawnFigure:
    """Turn a figure's chart into Vega-Lite, with the theme and only printable text."""
    # Altair refuses more than 5000 rows by default. Our builders thin their data; the page checks
    # the size of other charts (see dumbbell.report.page), so that no chart is lost after a long
    # run. There is no check against the schema, which takes as long as drawing: the builders' tests
    # do that.
    with themed(), alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = figure.chart.to_dict(validate=False)
    spec["description"] = figure.description or figure.caption
    return DrawnFigure(figure, _shown(spec))


def _shown(value: Any) -> Any:
    """Return the value with all text made printable: names of a foreign file appear in titles and
    data.

    Characters that XML excludes (most controls, unpaired surrogates) crash the drawing process, and
    bidirectional controls can falsify a label.
    """
    if isinstance(value, str):
        return printable(value, lines=True)
    if isinstance(value, Mapping):
        return {printable(key, lines=True): _shown(each) for key, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class FigureFiles:
    """Result of drawing a figure.

    Attributes:
        drawn: The figure and its specification.
        pictures: Contents of the files that were made, by suffix.
        lost: Why the others are missing, as part of a sentence; empty when none is missing.
        asked: Suffixes of the requested pictures.
        narrow: The version for phones, as SVG; empty where it could not be drawn.
    """

    drawn: DrawnFigure
    pictures: Mapping[str, bytes]
    lost: str = ""
    asked: Sequence[str] = PICTURES
    narrow: bytes = b""

    @property
    def missing(self) -> list[str]:
        """Return suffixes of the pictures that could not be made."""
        return [suffix for suffix in self.asked if suffix not in self.pictures]

    @property
    def sentence(self) -> str:
        """Return what is missing and why; empty when nothing is."""
        if not self.missing:
            return ""
        if not self.pictures:
            return f"This figure could not be drawn: {self.lost}."
        names = " and ".join(suffix.removeprefix(".").upper() for suffix in self.missing)
        return f"There is no {names} of this figure: {self.lost}."


class DrawingError(DumbbellError):
    """A picture could not be drawn."""


_scripts: dict[str, str] = {}
"""Cached by version of Vega-Lite: bundling takes seconds, and all pages use the same script."""


class FigureDrawer:
    """Draws figures in child processes; a failure loses only the figure concerned.

    Not thread-safe. A context manager: the children live until it exits.
    """

    def __init__(self, processes: FigureProcesses | None = None) -> None:
        """Start no child yet.

        Args:
            processes: The child processes; the default number when None.
        """
        self._processes = processes or FigureProcesses()
        self._script: Drawing | None = None

    def __enter__(self) -> Self:
        """Return self."""
        self._processes.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End the children, even while they draw."""
        self._processes.close()

    def rest(self) -> None:
        """End the children; another figure starts a new one."""
        self._processes.close()

    def prepare(self) -> None:
        """Make what every page needs and takes seconds, in the background."""
        if self._script is None and _vega_lite() not in _scripts:
            if kept := kept_script(_vega_lite()):
                _scripts[_vega_lite()] = kept
            else:
                self._script = self._processes.submit({"vega_lite": _vega_lite()})

    def script(self) -> str:
        """Return Vega, Vega-Lite and vega-embed as one script; empty where it is unavailable."""
        self.prepare()
        if self._script is not None:
            self._processes.wait([self._script])
            if made := self._script.parts.get(SCRIPT):
                _scripts[_vega_lite()] = made.decode("utf-8")
                keep_script(_vega_lite(), _scripts[_vega_lite()])
                self._script = None
        return _scripts.get(_vega_lite(), "")

    def files(
        self,
        figures: Iterable[DrawnFigure],
        suffixes: Sequence[str] | None = None,
        *,
        shared: str = "",
    ) -> list[FigureFiles]:
        """Yield the files of each figure; figures are drawn in parallel.

        Args:
            figures: Figures to draw; each is started before the next is taken from the iterable.
            suffixes: Requested pictures; when None, those that a page needs: SVG, PNG for figures
                too large for a browser to draw, and the drawing for a phone.
            shared: Name of the figure shown in link previews: it also gets a PNG.
        """
        begun = []
        for figure in figures:
            wanted = suffixes or at_once(figure, is_shared=figure.figure.name == shared)
            begun.append((figure, wanted, self._processes.submit(_request(figure.spec, wanted))))
        self._processes.wait([drawing for _, _, drawing in begun])
        made = [
            FigureFiles(figure, drawing.parts, drawing.lost, wanted)
            for figure, wanted, drawing in begun
        ]
        return made if suffixes else self._with_narrow(made)

    def _with_narrow(self, made: Iterable[FigureFiles]) -> list[FigureFiles]:
        """Add the drawings for a phone of the figures that could be drawn."""
        begun = []
        for files in made:
            phone = None
            if files.pictures and is_small(files.drawn):
                phone = self._processes.submit(_request(narrow(files.drawn.spec), [SVG]))
            begun.append((files, phone))
        self._processes.wait([phone for _, phone in begun if phone])
        return [
            replace(files, narrow=phone.parts.get(SVG, b"")) if phone else files
            for files, phone in begun
        ]

    def picture(self, drawn: DrawnFigure, suffix: str) -> bytes:
        """Return a figure in the format of a file name's suffix: .svg, .png or .pdf.

        Raises:
            DrawingError: It could not be drawn.
        """
        return self.pictures(drawn.figure.name, drawn.spec, [suffix])[suffix]

    def pictures(
        self, name: str, spec: Mapping[str, Any], suffixes: Sequence[str]
    ) -> Mapping[str, bytes]:
        """Return the pictures of a specification, by suffix.

        Raises:
            DrawingError: A picture could not be drawn.
        """
        return self._made(name, _request(spec, suffixes))

    def converted(self, name: str, svg: str, suffix: str) -> bytes:
        """Return a drawing of ours, which names no other file, in another format.

        Args:
            name: Its name, for error messages.
            svg: The drawing.
            suffix: `PNG` or `PDF`.

        Raises:
            DrawingError: It could not be converted.
        """
        request: Request = {"svg": svg, "suffixes": [suffix], "vega_lite": _vega_lite()}
        return self._made(name, request)[suffix]

    def _made(self, name: str, request: Request) -> Mapping[str, bytes]:
        drawing = self._processes.submit(request)
        self._processes.wait([drawing])
        for suffix in request["suffixes"]:
            if suffix not in drawing.parts:
                raise DrawingError(f"{name}{suffix} could not be drawn: {drawing.lost}")
        return drawing.parts


def at_once(drawn: DrawnFigure, *, is_shared: bool = False) -> tuple[str, ...]:
    """Return suffixes of the pictures that a page needs; few programs preview an SVG."""
    return (SVG, PNG) if is_shared or not is_small(drawn) else (SVG,)


def is_small(drawn: DrawnFigure) -> bool:
    """Whether the page can embed and redraw the figure; otherwise it is a picture."""
    return len(_spec_text(drawn)) <= MAX_SPEC_BYTES


def _spec_text(drawn: DrawnFigure) -> str:
    return json.dumps(json_safe(drawn.spec), ensure_ascii=False, allow_nan=False)


def write_figure(files: FigureFiles, folder: Path) -> None:
    """Write ``NAME.csv``, ``NAME.vl.json`` and the available pictures, such as ``NAME.svg``.

    Args:
        files: The files.
        folder: An existing one.
    """
    figure = files.drawn.figure
    for suffix, content in files.pictures.items():
        (folder / f"{figure.name}{suffix}").write_bytes(content)
    spec = _spec_text(files.drawn)
    (folder / f"{figure.name}{SPEC}").write_text(f"{spec}\n", encoding="utf-8")
    # Written as text, because errors of the library's writer do not mention a full disk.
    csv = for_spreadsheets(as_polars(figure.data)).write_csv()
    (folder / f"{figure.name}.csv").write_bytes(utf8(csv))


def _request(spec: Mapping[str, Any], suffixes: Sequence[str]) -> Request:
    return {"spec": still(spec), "suffixes": list(suffixes), "vega_lite": _vega_lite()}


def _vega_lite() -> str:
    """Return the major and minor version of Vega-Lite that Altair writes."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def still(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the specification without interactive parts, for a picture.

    Removes zoom, invisible layers, and clipping where no axis ends before its data. These cost time
    and bytes: every clipped layer takes up to a tenth of a second of a PNG.
    """
    layers = spec.get("layer")
    if not layers:
        return dict(spec)
    seen = [layer for layer in layers if _mark_of(layer).get("opacity") != 0]
    if not any(_has_domain(layer, axis) for layer in seen for axis in ("x", "y")):
        seen = [_without_clip(layer) for layer in seen]
    # Vega-Lite clips all marks that can be zoomed.
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


def as_polars(frame: Frame) -> pl.DataFrame:
    """Return a polars frame of a polars or pandas frame or of columns by name."""
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame))
    # pandas is optional: its frame is read column by column, which does not require pyarrow.
    return pl.DataFrame({str(name): frame[name].to_numpy().tolist() for name in frame.columns})

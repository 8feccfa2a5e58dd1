"""A figure's files: the chart as SVG at once, PNG and PDF when asked for, its data as CSV.

A page also has the drawing for a phone; see `dumbbell.report.narrow_charts`.

No browser is needed. ``NAME.vl.json`` is what the pictures are made from, as Vega-Lite.
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
"""What can be drawn."""
SPEC = ".vl.json"
"""Suffix of a figure's specification."""
MAX_SPEC_BYTES = 1_000_000
"""A figure whose specification is larger is shown as a picture instead of interactively."""


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure and its Vega-Lite specification with theme and data in it."""

    figure: Figure
    spec: dict[str, Any]


def draw(figure: Figure) -> DrawnFigure:
    """Turn a figure's chart into Vega-Lite, with the theme and only text that can be shown."""
    # Altair refuses more than 5000 rows by default; builders thin their data, and what others
    # bring is measured on the page (see dumbbell.report.page) rather than lost after a long run.
    # Not checked against the schema, which takes as long as drawing: the tests of the builders do.
    with themed(), alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = figure.chart.to_dict(validate=False)
    spec["description"] = figure.description or figure.caption
    return DrawnFigure(figure, _shown(spec))


def _shown(value: Any) -> Any:
    """The same with every text printable: names of a stranger's file reach titles and data.

    Characters that XML has not (most controls, halves of surrogate pairs) end the process that
    draws, and those that change the direction of writing let a label lie.
    """
    if isinstance(value, str):
        return printable(value, lines=True)
    if isinstance(value, Mapping):
        return {printable(key, lines=True): _shown(each) for key, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class FigureFiles:
    """What became of a figure.

    Attributes:
        drawn: The figure and its specification.
        pictures: Contents of the files that could be made, by suffix.
        lost: Why the others could not, as part of a sentence; empty when there are all.
        asked: Suffixes of the pictures that were wanted.
        narrow: The figure as a phone shows it, as SVG; empty where it could not be drawn.
    """

    drawn: DrawnFigure
    pictures: Mapping[str, bytes]
    lost: str = ""
    asked: Sequence[str] = PICTURES
    narrow: bytes = b""

    @property
    def missing(self) -> list[str]:
        """Suffixes of the pictures that could not be made."""
        return [suffix for suffix in self.asked if suffix not in self.pictures]

    @property
    def sentence(self) -> str:
        """What is missing and why; empty when nothing is."""
        if not self.missing:
            return ""
        if not self.pictures:
            return f"This figure could not be drawn: {self.lost}."
        names = " and ".join(suffix.removeprefix(".").upper() for suffix in self.missing)
        return f"There is no {names} of this figure: {self.lost}."


class DrawingError(DumbbellError):
    """A picture could not be drawn."""


_scripts: dict[str, str] = {}
"""By version of Vega-Lite, once made: it takes seconds, and all pages have the same."""


class FigureDrawer:
    """Draws figures in child processes; one that cannot be drawn costs itself.

    To be used in one thread, as a context: the children live until it is left.
    """

    def __init__(self, processes: FigureProcesses | None = None) -> None:
        """Start nothing yet.

        Args:
            processes: The children; as many as there are by default when None.
        """
        self._processes = processes or FigureProcesses()
        self._script: Drawing | None = None

    def __enter__(self) -> Self:
        """Itself."""
        self._processes.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """End the children, whatever they do."""
        self._processes.close()

    def prepare(self) -> None:
        """Have made what takes seconds and every page needs, beside the caller's own work."""
        if self._script is None and _vega_lite() not in _scripts:
            if kept := kept_script(_vega_lite()):
                _scripts[_vega_lite()] = kept
            else:
                self._script = self._processes.submit({"vega_lite": _vega_lite()})

    def script(self) -> str:
        """Vega, Vega-Lite and vega-embed in one JavaScript; empty where it cannot be had."""
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
        """The files of each figure, drawn side by side.

        Args:
            figures: What is drawn; each is begun before the next is asked for.
            suffixes: Which pictures; when None those that a page needs: SVG, and PNG of what
                is too large to be drawn by a browser; and the drawing for a phone.
            shared: Name of the figure that is shown where somebody links to the page: PNG too.
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
        """With the drawings for a phone of those that could be drawn at all."""
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
        """A figure in the format that a file name's suffix stands for: .svg, .png or .pdf.

        Raises:
            DrawingError: It could not be drawn.
        """
        return self.pictures(drawn.figure.name, drawn.spec, [suffix])[suffix]

    def pictures(
        self, name: str, spec: Mapping[str, Any], suffixes: Sequence[str]
    ) -> Mapping[str, bytes]:
        """The pictures of a specification, by suffix.

        Raises:
            DrawingError: One could not be drawn.
        """
        drawing = self._processes.submit(_request(spec, suffixes))
        self._processes.wait([drawing])
        for suffix in suffixes:
            if suffix not in drawing.parts:
                raise DrawingError(f"{name}{suffix} could not be drawn: {drawing.lost}")
        return drawing.parts


def at_once(drawn: DrawnFigure, *, is_shared: bool = False) -> tuple[str, ...]:
    """Suffixes of the pictures that a page needs; few programs show an SVG in a link's preview."""
    return (SVG, PNG) if is_shared or not is_small(drawn) else (SVG,)


def is_small(drawn: DrawnFigure) -> bool:
    """Whether a page can hold it as a drawing, and draw it again; else it is a picture."""
    return len(_spec_text(drawn)) <= MAX_SPEC_BYTES


def _spec_text(drawn: DrawnFigure) -> str:
    return json.dumps(json_safe(drawn.spec), ensure_ascii=False, allow_nan=False)


def write_figure(files: FigureFiles, folder: Path) -> None:
    """Write ``NAME.csv``, ``NAME.vl.json`` and the pictures there are, such as ``NAME.svg``.

    Args:
        files: Of a figure.
        folder: An existing one.
    """
    figure = files.drawn.figure
    for suffix, content in files.pictures.items():
        (folder / f"{figure.name}{suffix}").write_bytes(content)
    spec = _spec_text(files.drawn)
    (folder / f"{figure.name}{SPEC}").write_text(f"{spec}\n", encoding="utf-8")
    # As text, since the errors of a library's own writing do not say that a disk is full.
    csv = for_spreadsheets(as_polars(figure.data)).write_csv()
    (folder / f"{figure.name}.csv").write_bytes(utf8(csv))


def _request(spec: Mapping[str, Any], suffixes: Sequence[str]) -> Request:
    return {"spec": still(spec), "suffixes": list(suffixes), "vega_lite": _vega_lite()}


def _vega_lite() -> str:
    """Major and minor version that Altair writes for."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


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


def as_polars(frame: Frame) -> pl.DataFrame:
    """A polars frame from polars, pandas or columns by name."""
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame))
    # pandas is optional: its frame is read column by column, which needs no pyarrow.
    return pl.DataFrame({str(name): frame[name].to_numpy().tolist() for name in frame.columns})

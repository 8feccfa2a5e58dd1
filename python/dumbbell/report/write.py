"""Writing: a report's folder and the index, whole or not at all."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dumbbell.claims import to_json_text, to_rows
from dumbbell.errors import SpecError
from dumbbell.folders import ResultFolder, file_for_library, replace_file, write_content
from dumbbell.printable import utf8, whole_json
from dumbbell.report.figure_frames import SVG
from dumbbell.report.figures import FigureDrawer, FigureFiles, as_polars, draw, write_figure
from dumbbell.report.folder import REPORT, report_folder
from dumbbell.report.inline_svg import inline_svg
from dumbbell.report.model import IndexEntry, Opening, Report, ValueTable
from dumbbell.report.numbers import json_safe
from dumbbell.report.page import LABORATORY, Links, index_html, page_html, with_laboratory
from dumbbell.report.printed_section import printed_rows

INDEX_MARKER = ".dumbbell-index"
"""A file of this name says that the index beside it is ours to replace."""
_NARROW = f"-narrow{SVG}"
"""Of the figure that the index shows."""
_INDEX = ("index.json", "index.html")


class FigureWarning(UserWarning):
    """A figure, or a file of one, that could not be drawn and is missing from a page."""


def write_report(
    report: Report,
    out_dir: str | Path | ResultFolder,
    *,
    drawer: FigureDrawer | None = None,
    tell: Callable[[str], None] | None = None,
    has_index: bool = False,
    live: str = "",
) -> Path:
    """Write a report's folder; an earlier report there is replaced in one step.

    Files that somebody else put there stay.

    The folder holds ``index.html`` (self-contained), ``claims.json``, ``meta.json``,
    ``provenance.json``, ``printed.json`` where a source prints numbers, ``values.json`` where there
    are tables of values,
    ``figures/NAME.{svg,png,pdf,csv}``, ``tables/NAME.parquet`` and the report's further files.
    Figures are drawn in child processes. One that cannot be drawn is missing, and the page says so
    in its place.

    Args:
        report: What to write.
        out_dir: Folder; new, empty or an earlier report of the same study. Of `report_folder`
            where more is to be said about it.
        drawer: Where figures are drawn; one of its own when None.
        tell: What to do with a sentence on figures that are missing; a `FigureWarning` when None.
        has_index: Whether an index will stand in the folder above; the page leads to one that is
            there already in any case.
        live: Address of the bundle that runs live figures, such as ``../live.js``; there must be
            one (`dumbbell.lab.write_live`). Without it the page has drawn figures alone.

    Returns:
        Path of the page.

    Raises:
        SpecError: The folder is not ours, or holds the report of another study.
        OSError: It cannot be written; a full disk names the folder.
    """
    place = out_dir if isinstance(out_dir, ResultFolder) else report_folder(out_dir, report.study)
    with ExitStack() as stack:
        folder = stack.enter_context(place.replaced())
        drawer = drawer or stack.enter_context(FigureDrawer())
        if report.figures:
            drawer.prepare()
        files = drawer.files(map(draw, report.figures), shared=_shared(report))
        _write_text(folder / "claims.json", to_json_text(report.judged))
        _write_text(folder / "meta.json", _json_text(report.meta))
        _write_text(folder / "provenance.json", _json_text(report.provenance))
        if report.printed:
            _write_text(folder / "printed.json", _json_text(printed_rows(report.printed)))
        if report.values:
            _write_text(
                folder / "values.json", _json_text([_values(each) for each in report.values])
            )
        if files:
            (folder / "figures").mkdir()
        for one in files:
            write_figure(one, folder / "figures")
            if one.narrow and one.drawn.figure.name == _shared(report):
                (folder / "figures" / f"{_shared(report)}{_NARROW}").write_bytes(one.narrow)
        if report.tables:
            (folder / "tables").mkdir()
        for name, table in report.tables.items():
            with file_for_library(folder / "tables" / f"{name}.parquet") as file:
                as_polars(table).write_parquet(file)
        for name, content in report.files.items():
            write_content(folder / name, content)
        # Last, so that even a staging folder never shows a page without its files.
        links = links_of(report.study, place.folder, has_index=has_index)
        links = replace(links, live=live)
        page = page_html(report, files, _script(drawer, files), links)
        _write_text(folder / "index.html", page)
    for sentence in _missing(files):
        (tell or _warn)(sentence)
    return place.folder / "index.html"


def check_index(out_dir: str | Path) -> None:
    """Refuse to replace an index page that is not ours.

    Raises:
        SpecError: There is one.
    """
    target = Path(out_dir)
    if (target / INDEX_MARKER).is_file() or _is_of_earlier_version(target):
        return
    for name in _INDEX:
        if (target / name).exists():
            raise SpecError(
                "--out",
                target / name,
                "another folder, as this file was not written by dumbbell: move it or choose one",
            )


def write_index(
    entries: Sequence[IndexEntry],
    out_dir: str | Path,
    *,
    opening: Opening | None = None,
    more: Sequence[IndexEntry] = (),
) -> Path:
    """Write ``index.html`` and ``index.json`` above the studies' folders.

    Args:
        entries: One per study, each written to ``out_dir/STUDY`` unless it was not run.
        out_dir: Folder that holds the studies.
        opening: What the page begins with.
        more: Studies that are run when they are named: those whose pages are there are linked and
            shown with the first of their figures, of the others the command is said.

    Returns:
        Path of the index page.

    Raises:
        SpecError: Somebody else's index is there.
        OSError: It cannot be written; a full disk names the file.
    """
    target = Path(out_dir)
    check_index(target)
    entries = [_without_missing(entry, target) for entry in entries]
    summary = [
        {"study": entry.study, "title": entry.title, "claims": to_rows(entry.judged)}
        | ({"not_run": entry.not_run} if entry.not_run else {})
        for entry in entries
    ]
    replace_file(target / INDEX_MARKER, "".join(f"{name}\n" for name in _INDEX))
    replace_file(target / "index.json", _json_text(summary))
    drawings = {entry.study: _drawing(entry, target) for entry in entries if entry.figure}
    has_laboratory = (target / LABORATORY).is_file()
    more = [_as_found(entry, target) for entry in more]
    drawings |= {entry.study: _drawing(entry, target) for entry in more if entry.figure}
    page = index_html(entries, drawings, has_laboratory=has_laboratory, opening=opening, more=more)
    replace_file(target / "index.html", page)
    return target / "index.html"


def link_laboratory(folder: str | Path) -> bool:
    """Lead from the index in a folder, where it is ours, to the laboratory that is now beside it.

    Args:
        folder: Where the laboratory was written.

    Returns:
        Whether there is such an index.

    Raises:
        OSError: It cannot be written.
    """
    target, index = Path(folder), Path(folder) / "index.html"
    if not (target / INDEX_MARKER).is_file() or not index.is_file():
        return False
    before = index.read_text(encoding="utf-8")
    after = with_laboratory(before)
    if after != before:
        replace_file(index, after)
    return True


def has_pages(folder: str | Path) -> bool:
    """Whether pages of studies lie in folders of this one."""
    return bool(pages_in(folder))


def pages_in(folder: str | Path) -> list[str]:
    """Names of this folder's folders with pages of studies."""
    target = Path(folder)
    if not target.is_dir():
        return []
    return sorted(each.name for each in target.iterdir() if (each / REPORT.marker).is_file())


def links_of(study: str, folder: Path, *, has_index: bool = False) -> Links:
    """Where the page of a study leads: the index above it, and the documentation's page.

    The documentation is that of a checkout of dumbbell's source which the folder lies in; a wheel
    has none.
    """
    above = folder.absolute().parent
    checkout = Path(__file__).resolve().parents[3]
    docs = checkout / "docs" / f"{study}.md"
    is_inside = folder.resolve().is_relative_to(checkout)
    return Links(
        index="../index.html" if has_index or (above / INDEX_MARKER).is_file() else "",
        docs=Path(os.path.relpath(docs, folder.resolve())).as_posix()
        if is_inside and docs.is_file()
        else "",
    )


def _shared(report: Report) -> str:
    """Name of the figure in previews of links to an explanation."""
    first = report.shown_first
    return first.name if report.answer and first else ""


def _drawing(entry: IndexEntry, folder: Path) -> Markup:
    """A study's figure as part of the index."""
    figures = folder / entry.study / "figures"
    narrow = figures / f"{entry.figure}{_NARROW}"
    drawn = narrow if narrow.is_file() else figures / f"{entry.figure}{SVG}"
    return inline_svg(
        drawn.read_bytes(), prefix=entry.study, css="chart", description=entry.caption
    )


def _values(table: ValueTable) -> dict[str, Any]:
    rows = [
        {"name": row.name, "unit": row.unit, "cells": [cell.fields for cell in row.filled]}
        for row in table.rows
    ]
    return {"title": table.title, "columns": list(table.columns), "rows": rows}


def _is_of_earlier_version(target: Path) -> bool:
    """Whether the index was written before there was a marker: its JSON lists studies."""
    try:
        listed = json.loads((target / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(listed, list) and all(
        isinstance(each, dict) and each.keys() == {"study", "title", "claims"} for each in listed
    )


def _without_missing(entry: IndexEntry, folder: Path) -> IndexEntry:
    """An entry whose figure could not be drawn has none."""
    picture = folder / entry.study / "figures" / f"{entry.figure}.svg"
    return entry if picture.is_file() else replace(entry, figure="", caption="")


def _as_found(entry: IndexEntry, folder: Path) -> IndexEntry:
    """A study that is run when it is named, as it lies there from an earlier command."""
    place = folder / entry.study
    if not (place / REPORT.marker).is_file():
        return replace(entry, not_run=f"dumbbell reproduce {entry.study}")
    names = sorted(each.stem for each in (place / "figures").glob(f"*{SVG}"))
    wide = [name for name in names if not f"{name}{SVG}".endswith(_NARROW)]
    return replace(entry, figure=wide[0] if wide else "", caption=entry.title)


def _script(drawer: FigureDrawer, files: Sequence[FigureFiles]) -> str:
    """What draws figures in a browser, for a page that has some to draw."""
    return drawer.script() if any(one.pictures for one in files) else ""


def _missing(files: Sequence[FigureFiles]) -> list[str]:
    """A sentence for each reason for which figures are missing."""
    by_reason: dict[str, list[str]] = {}
    for one in files:
        if one.missing:
            names = "".join(one.missing) if one.pictures else ""
            by_reason.setdefault(one.lost, []).append(f"{one.drawn.figure.name}{names}")
    return [
        f"{len(names)} of {len(files)} figures not drawn ({', '.join(names)}): {reason}"
        for reason, names in by_reason.items()
    ]


def _warn(sentence: str) -> None:
    warnings.warn(sentence, FigureWarning, stacklevel=3)


def _json_text(value: Mapping[str, Any] | Sequence[Any]) -> str:
    text = json.dumps(json_safe(value), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{whole_json(text)}\n"


def _write_text(path: Path, text: str) -> None:
    path.write_bytes(utf8(text))

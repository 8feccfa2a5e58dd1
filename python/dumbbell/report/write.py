"""Writing of a report's folder and of the index, atomically."""

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
from dumbbell.report.overview import OVERVIEW, as_kept, overview_of
from dumbbell.report.page import LABORATORY, Links, index_html, page_html, with_laboratory
from dumbbell.report.printed_section import printed_rows

INDEX_MARKER = ".dumbbell-index"
"""A file of this name marks the index beside it as ours, so it may be replaced."""
_NARROW = f"-narrow{SVG}"
"""Suffix of the narrow figure that the index shows."""
_INDEX = ("index.json", "index.html")


class FigureWarning(UserWarning):
    """A figure or one of its files could not be drawn and is missing from a page."""


def write_report(
    report: Report,
    out_dir: str | Path | ResultFolder,
    *,
    drawer: FigureDrawer | None = None,
    tell: Callable[[str], None] | None = None,
    has_index: bool = False,
    live: str = "",
    is_last: bool = False,
) -> Path:
    """Write a report's folder; an earlier report there is replaced atomically.

    Other files in the folder are kept.

    The folder holds ``index.html`` (self-contained), ``claims.json``, ``meta.json``,
    ``provenance.json``, ``overview.json`` (what an index shows) if the page has an answer,
    ``printed.json`` where a source prints numbers, ``values.json`` where there are tables of
    values, ``figures/NAME.{svg,png,pdf,csv}``, ``tables/NAME.parquet`` and the report's further
    files. Figures are drawn in child processes. If a figure cannot be drawn, the page states that
    in its place.

    Args:
        report: What to write.
        out_dir: Folder; new, empty or an earlier report of the same study; a `report_folder` to
            give more options.
        drawer: Draws the figures; a new one when None.
        tell: Called with a sentence on missing figures; a `FigureWarning` when None.
        has_index: Whether an index will be written in the parent folder; an index already there is
            linked in any case.
        live: Address of the bundle that runs live figures, such as ``../live.js``; there must be
            one (`dumbbell.lab.write_live`). Without it the page has static figures only.
        is_last: Whether nothing else will be drawn: the child processes, of 100 MB each, end before
            the page is put together.

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
        if report.answer:
            _write_text(folder / OVERVIEW, _json_text(overview_of(report)))
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
        script = _script(drawer, files)
        if is_last:
            drawer.rest()
        page = page_html(report, files, script, links)
        _write_text(folder / "index.html", page)
    for sentence in _missing(files):
        (tell or _warn)(sentence)
    return place.folder / "index.html"


def check_index(out_dir: str | Path) -> None:
    """Refuse to replace an index page that is not ours.

    Raises:
        SpecError: The existing index is not ours.
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
        opening: The first entry of the page.
        more: Studies that run only on request: existing pages are linked and shown with their first
            figure; for the others the command is printed.

    Returns:
        Path of the index page.

    Raises:
        SpecError: An index that is not ours is there.
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
    """Link the laboratory from the index in the same folder, if the index is ours.

    Args:
        folder: Folder of the laboratory.

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
    """Return whether subfolders of this folder hold pages of studies."""
    return bool(pages_in(folder))


def pages_in(folder: str | Path) -> list[str]:
    """Return names of subfolders that hold pages of studies."""
    target = Path(folder)
    if not target.is_dir():
        return []
    return sorted(each.name for each in target.iterdir() if (each / REPORT.marker).is_file())


def links_of(study: str, folder: Path, *, has_index: bool = False) -> Links:
    """Return the links of a study's page: the index above it, and its documentation page.

    The documentation is that of the dumbbell source checkout that contains the folder; a wheel has
    none.
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
    """Return the name of the figure in link previews of an explanation."""
    first = report.shown_first
    return first.name if report.answer and first else ""


def _drawing(entry: IndexEntry, folder: Path) -> Markup:
    """Return a study's figure for embedding in the index."""
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
    """Whether the index was written by a version without the marker: its JSON lists studies."""
    try:
        listed = json.loads((target / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(listed, list) and all(
        isinstance(each, dict) and each.keys() == {"study", "title", "claims"} for each in listed
    )


def _without_missing(entry: IndexEntry, folder: Path) -> IndexEntry:
    """Drop the figure of an entry if it could not be drawn."""
    picture = folder / entry.study / "figures" / f"{entry.figure}.svg"
    return entry if picture.is_file() else replace(entry, figure="", caption="")


def _as_found(entry: IndexEntry, folder: Path) -> IndexEntry:
    """Return a study that runs only on request, as an earlier command left it."""
    place = folder / entry.study
    if not (place / REPORT.marker).is_file():
        return replace(entry, not_run=f"dumbbell reproduce {entry.study}")
    kept = as_kept(entry, place)
    names = sorted(each.stem for each in (place / "figures").glob(f"*{SVG}"))
    wide = [name for name in names if not f"{name}{SVG}".endswith(_NARROW)]
    if kept.figure in wide:
        return kept
    return replace(kept, figure=wide[0] if wide else "", caption=entry.title)


def _script(drawer: FigureDrawer, files: Sequence[FigureFiles]) -> str:
    """Return the script that draws figures in a browser, if the page has such figures."""
    return drawer.script() if any(one.pictures for one in files) else ""


def _missing(files: Sequence[FigureFiles]) -> list[str]:
    """Return a sentence for each reason why figures are missing."""
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

"""``dumbbell analyze A.flent.gz B.flent.gz``: measurements side by side, their plots overlaid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.analyze_flent import drawn_plots, headline, statistic_of
from dumbbell.cli.failing import print_warning
from dumbbell.cli.flent import MOST_FILES, read_files
from dumbbell.cli.tables import print_table
from dumbbell.cli.telling import tell
from dumbbell.cli.told_apart import told_apart
from dumbbell.errors import SpecError
from dumbbell.printable import listed

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile
    from dumbbell.report import Report

_Row = tuple[str, str, str, list[float]]
"""Series, statistic, unit, and the value in each file; NaN in those without that series."""


def analyze_flents(
    paths: Sequence[Path], *, out: Path | None, console: Console, replace: bool = False
) -> None:
    """Print the numbers of several measurements side by side; a page overlays their plots.

    Raises:
        SpecError: A file is not what it should be, or there are too many.
    """
    from dumbbell.report import report_folder, write_report

    if len(paths) > MOST_FILES:
        allowed = f"at most {MOST_FILES} files, as more curves cannot be told apart"
        raise SpecError("FILE", f"{len(paths)} files", allowed)
    place = None
    if out is not None:
        name = f"measurements {', '.join(told_apart(paths))}"
        place = report_folder(out, name, replace=replace, tell=tell)
        place.check()
    files = read_files(paths)
    rows = side_by_side(files)
    for name, file in files.items():
        console.print(Text(f"{name}: {headline(file)}"))
    print_table(_grid(rows, list(files)), console)
    if place is not None:
        page = write_report(_report(files, rows), place, tell=print_warning)
        console.print(f"page: {page}", markup=False, soft_wrap=True)


def side_by_side(files: Mapping[str, FlentFile]) -> list[_Row]:
    """Means of every series that a file has, and 95th percentiles of latencies."""
    from dumbbell.formats.flent import series_values, summary_rows

    units = {
        row.series: row.unit for file in files.values() for row in summary_rows(file) if row.points
    }
    rows = []
    for series, unit in sorted(units.items()):
        values = [np.array(series_values(file, series)) for file in files.values()]
        for name in ("mean", "95 %") if unit == "ms" else ("mean",):
            found = [statistic_of(name, each) if each.size else float("nan") for each in values]
            rows.append((series, name, unit, found))
    return rows


def _grid(rows: Sequence[_Row], names: Sequence[str]) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for _ in range(3):
        grid.add_column("", no_wrap=True)
    for name in names:
        grid.add_column(Text(name), justify="right", overflow="fold")
    for series, statistic, unit, values in rows:
        cells = ["-" if math.isnan(value) else f"{value:.2f}" for value in values]
        grid.add_row(*map(Text, (series, statistic, unit, *cells)))
    return grid


def _report(files: Mapping[str, FlentFile], rows: Sequence[_Row]) -> Report:
    import polars as pl

    from dumbbell.report import Cell, Report, ValueRow, ValueTable

    table = ValueTable(
        "Side by side",
        list(files),
        [
            ValueRow(
                f"{series}, {statistic}",
                unit,
                [None if math.isnan(value) else Cell(value) for value in values],
            )
            for series, statistic, unit, values in rows
        ],
        "One measurement each: what differs may differ by chance.",
    )
    long = [
        {"file": name, "series": series, "statistic": statistic, "unit": unit, "value": value}
        for series, statistic, unit, values in rows
        for name, value in zip(files, values, strict=True)
        if not math.isnan(value)
    ]
    return Report(
        study="flent-files",
        title=f"{listed(files)}, side by side",
        summary=" ".join(f"{name}: {headline(file)}." for name, file in files.items()),
        values=[table],
        figures=drawn_plots(files),
        meta={
            "measurements": {
                name: {key: file.text(key) for key in ("NAME", "TITLE", "TIME", "HOST")}
                for name, file in files.items()
            }
        },
        tables={"side_by_side": pl.DataFrame(long)},
    )

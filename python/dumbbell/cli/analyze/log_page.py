"""The page of logs, and their tables in other formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dumbbell.cli.analyze.logs import cell_of, headline, rows_of
from dumbbell.cli.analyze.tables import table_files, write_tables
from dumbbell.compare.exporting import Format
from dumbbell.formats.logs import LogTable
from dumbbell.metrics.logs import LogSeries
from dumbbell.printable import listed
from dumbbell.report import (
    Cell,
    Curve,
    Figure,
    Report,
    Sample,
    ValueRow,
    ValueTable,
    ecdf_chart,
    line_with_band,
    write_report,
)

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.cli.analyze.logs import AnalyzedLog
    from dumbbell.folders import Content, ResultFolder

MOST_CURVES = 6
_NAMES = ("rtt_ms", "delay_ms")
"""Series whose distribution is also drawn."""


def write_log_page(
    analyzed: Sequence[AnalyzedLog],
    place: ResultFolder,
    formats: Sequence[Format],
    *,
    has_page: bool,
    tell: Callable[[str], None],
) -> str:
    """Write the page, the tables, or both.

    Returns:
        The paths.
    """
    frames = _frames(analyzed)
    files = table_files(frames, formats, kind="log")
    if has_page:
        page = write_report(_report(analyzed, frames, files), place, tell=tell)
        return f"page: {page}"
    return write_tables(place, files)


def _report(
    analyzed: Sequence[AnalyzedLog], frames: dict[str, pl.DataFrame], files: dict[str, Content]
) -> Report:
    names = [each.name for each in analyzed]
    notes = []
    for each in analyzed:
        said = [*each.log.problems, *filter(None, [str(each.log.unknown)])]
        notes += [f"{each.name}: {sentence}" for sentence in said]
        if each.beside is not None:
            notes.append(f"{each.name}: {each.beside.said}.")
    one = len(analyzed) == 1
    return Report(
        study="log" if one else "logs",
        title=f"What is in {names[0]}?" if one else f"{listed(names)}, side by side",
        summary=" ".join(f"{headline(each)}." for each in analyzed),
        values=_values(analyzed),
        figures=_figures(analyzed),
        notes=notes,
        meta={
            each.name: {"format": each.log.format.value, "variant": each.log.variant}
            for each in analyzed
        },
        tables=frames,
        files=files,
    )


def _values(analyzed: Sequence[AnalyzedLog]) -> list[ValueTable]:
    tables = []
    for each in analyzed:
        if each.beside is not None:
            tables.append(_beside(each))
    rest = [each for each in analyzed if each.beside is None]
    for format_ in dict.fromkeys(each.log.format for each in rest):
        group = [each for each in rest if each.log.format is format_]
        rows = [
            ValueRow(
                ", ".join(filter(None, [first.of, first.title])),
                first.unit,
                [None if number is None else cell_of(number) for number in numbers],
            )
            for first, numbers in rows_of(group)
        ]
        if rows:
            columns = [each.name for each in group] if len(group) > 1 else ["measured"]
            caption = "Brackets: 95 %, of a mean whose samples are hardly correlated in batches."
            tables.append(ValueTable(format_.value, columns, rows, caption))
    return tables


def _beside(each: AnalyzedLog) -> ValueTable:
    assert each.beside is not None
    rows = []
    for number in each.numbers:
        same = each.beside.of(number)
        cells: list[Cell | str | None] = [cell_of(number)]
        if same is None:
            cells += [None, None]
        elif each.beside.runs == 1:
            cells += [Cell(same.simulated), None]
        else:
            cells += [Cell(same.simulated, same.low, same.high), "yes" if same.is_inside else "no"]
        name = ", ".join(filter(None, [number.of, number.title]))
        rows.append(ValueRow(name, number.unit, cells))
    caption = f"{each.beside.said}. Only numbers with the same definition stand beside each other."
    title = f"{each.name}, measured and simulated"
    return ValueTable(title, ("measured", "simulated [one run]", "inside"), rows, caption)


def _figures(analyzed: Sequence[AnalyzedLog]) -> list[Figure]:
    """Each series over time with one curve per file and flow; for delays also the distribution."""
    by_name: dict[tuple[str, bool], list[tuple[str, LogSeries]]] = {}
    for each in analyzed:
        for series in each.series:
            if len(series.values) > 1:
                label = " ".join(filter(None, [each.name if len(analyzed) > 1 else "", series.of]))
                key = series.name, series.is_timed
                by_name.setdefault(key, []).append((label or each.name, series))
    figures = []
    for (name, is_timed), curves in by_name.items():
        shown = curves[:MOST_CURVES]
        first = shown[0][1]
        title = f"{first.title[:1].upper()}{first.title[1:]}"
        drawn = [Curve(label, series.t_s, series.values) for label, series in shown]
        x_title = "Time (s)" if is_timed else "Number"
        unit = f" ({first.unit})"
        plot = line_with_band(drawn, x_title=x_title, y_title=f"{title}{unit}", points=False)
        caption = f"{title} over time." if is_timed else f"{title}, one after the other."
        if len(curves) > len(shown):
            caption += f" The first {len(shown)} of {len(curves)}; the tables have all."
        slug = f"{name}{'' if is_timed else '-by-number'}".replace("_", "-")
        figures.append(Figure(slug, plot.chart, plot.data, caption, title))
        if name in _NAMES:
            samples = [Sample(label, "", series.values) for label, series in shown]
            plot = ecdf_chart(samples, x_title=f"{title}{unit}", colour_title="")
            caption = f"{title}: share of the samples at or below a value."
            figures.append(
                Figure(f"{slug}-cdf", plot.chart, plot.data, caption, f"{title}, distribution")
            )
    return figures


def _frames(analyzed: Sequence[AnalyzedLog]) -> dict[str, pl.DataFrame]:
    """The tables of each log by name; with several logs the first column is the file."""
    frames: dict[str, pl.DataFrame] = {}
    for number, each in enumerate(analyzed, start=1):
        for name, table in each.log.tables.items():
            key = name if len(analyzed) == 1 else f"{number}-{name}"
            frames[key] = _frame(table)
    return frames


def _frame(table: LogTable) -> pl.DataFrame:
    import polars as pl

    types = {"whole": pl.Int64, "real": pl.Float64, "text": pl.String}
    return pl.DataFrame(
        {each.name: table[each.name].tolist() for each in table.columns},
        schema={each.name: types[each.holds] for each in table.columns},
    )

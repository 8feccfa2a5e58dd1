"""The page and the tables of Flent data files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.cli.analyze.flent_comparison import ComparedNumber
from dumbbell.errors import SpecError
from dumbbell.printable import listed
from dumbbell.report import (
    Cell,
    Figure,
    Report,
    Sample,
    Topology,
    ValueRow,
    ValueTable,
    ecdf_chart,
)

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.cli.analyze.flent_files import MeasuredFile
    from dumbbell.folders import Content
    from dumbbell.formats.flent import FlentFile, SummaryRow

FIGURES = ("all_scaled", "totals", "ellipsis", "ping", "tcp_cwnd", "drops", "delay", "backlog")
"""Plots on the page besides the test's default one, if a file has data for them."""


def flent_tables(measured: Sequence[MeasuredFile]) -> dict[str, pl.DataFrame]:
    """Tables by name: numbers of all series, and samples of flows, queues and probes.

    With several files, the first column of each table is the file.
    """
    import polars as pl

    from dumbbell.formats.flent import imported_run, summary_rows

    frames: dict[str, list[pl.DataFrame]] = {}
    for each in measured:
        first = [pl.lit(each.name).alias("file")] if len(measured) > 1 else []
        run = imported_run(each.file)
        tables = {name: pl.DataFrame(run.named_columns(name)) for name in run.tables}
        for name, frame in {"series": _series(summary_rows(each.file)), **tables}.items():
            frames.setdefault(name, []).append(frame.select(*first, pl.all()))
    return {name: pl.concat(of_each) for name, of_each in frames.items()}


def _series(rows: Sequence[SummaryRow]) -> pl.DataFrame:
    import polars as pl

    names = ("mean", "median", "p95", "p99", "least", "greatest")
    schema = {"series": pl.String, "unit": pl.String, "samples": pl.Int64}
    columns: dict[str, list[Any]] = {
        "series": [row.series for row in rows],
        "unit": [row.unit for row in rows],
        "samples": [row.points for row in rows],
    }
    columns |= {name: [getattr(row, name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema={**schema, **dict.fromkeys(names, pl.Float64)})


def measured_report(
    each: MeasuredFile, tables: Mapping[str, pl.DataFrame], files: Mapping[str, Content]
) -> Report:
    """The page of one file.

    Args:
        each: The file, and its runs if there are any.
        tables: The result of `flent_tables`.
        files: Files to write next to the page.
    """
    from dumbbell.cli.analyze.flent_files import headline
    from dumbbell.formats.flent import flent_bytes

    file, beside = each.file, each.beside
    summary = f"{headline(file)}."
    topologies = []
    runs: Sequence[FlentFile] = ()
    values = []
    if beside is not None:
        runs = beside.runs
        topologies = [Topology.of("Simulated", beside.experiment)]
        inside = sum(row.inside for row in beside.rows)
        known = sum(row.is_known for row in beside.rows)
        summary += (
            f" {inside} of {known} numbers lie where one more of {len(runs)} simulated runs of "
            "the same test would lie, with 95 % each."
        )
        values = [beside_table(beside.rows, len(runs))]
    return Report(
        study=f"flent-{file.text('NAME')}",
        title=f"{file.text('NAME')} {file.text('TITLE')}".strip(),
        summary=summary,
        topologies=topologies,
        values=[*values, *_value_tables(file, is_folded=beside is not None)],
        figures=[*_beside_figures(file, runs), *drawn_plots(file, said=", measured")],
        notes=each.notes,
        meta={
            "measurement": {
                **{key: file.text(key) for key in ("NAME", "TITLE", "TIME", "HOST")},
                **{key: file.number(key) for key in ("LENGTH", "STEP_SIZE")},
            },
            "experiment": None if beside is None else beside.experiment.resolved(),
        },
        tables=dict(tables),
        files={
            **files,
            **{f"simulated-{number}.flent.gz": flent_bytes(run) for number, run in enumerate(runs)},
        },
    )


def _value_tables(file: FlentFile, *, is_folded: bool) -> list[ValueTable]:
    """All series; columns of sockets, queues and hosts in a collapsed table."""
    from dumbbell.cli.analyze.flent_files import parted_rows

    columns = ("mean", "median", "95 %", "99 %", "samples")
    series, others = parted_rows(file)
    tables = []
    for title, rows, folded in (
        ("Measured", series, is_folded),
        ("Sockets, queues and hosts", others, True),
    ):
        cells = [
            ValueRow(
                row.series,
                row.unit,
                [*map(Cell, (row.mean, row.median, row.p95, row.p99)), str(row.points)],
            )
            for row in rows
        ]
        if cells:
            caption = "Means are those that the measuring programs gave, where they gave one."
            tables.append(ValueTable(title, columns, cells, caption, folded))
    return tables


def beside_table(rows: Sequence[ComparedNumber], n_runs: int) -> ValueTable:
    """Measured and simulated numbers, as a table for a page."""

    def cells(row: ComparedNumber) -> list[Cell | str | None]:
        measured = Cell(row.measured)
        if not row.is_known:
            return [measured, None, None]
        if not row.has_interval:
            return [measured, Cell(row.simulated), None]
        return [measured, Cell(row.simulated, row.low, row.high), "yes" if row.inside else "no"]

    return ValueTable(
        "Measured and simulated",
        ("measured", "simulated [one run]", "inside"),
        [ValueRow(f"{row.series}, {row.statistic}", row.unit, cells(row)) for row in rows],
        f"Simulated: mean over {n_runs} runs, and where one more would lie, 95 %.",
    )


def drawn_plots(of: FlentFile | Mapping[str, FlentFile], *, said: str = "") -> list[Figure]:
    """For each file: its default plot, then those of `FIGURES`.

    Args:
        of: The file, or several by name, which are overlaid.
        said: Text at the end of each caption.
    """
    from dumbbell.report.flent_plots import draw_plot, plot_names

    files = of.values() if isinstance(of, Mapping) else [of]
    of_each = [plot_names(file) for file in files]
    known = {name for names in of_each for name in names}
    wanted = [names[0] for names in of_each if names]
    wanted += [name for name in FIGURES if name in known]
    figures = []
    for name in dict.fromkeys(wanted):
        try:
            plot = draw_plot(of, name)
        except SpecError:
            continue  # a file may lack series of its test
        caption = f"{plot.caption}{said}"
        figures.append(Figure(name.replace("_", "-"), plot.chart, plot.data, caption, caption))
    return figures


def _beside_figures(file: FlentFile, runs: Sequence[FlentFile]) -> list[Figure]:
    from dumbbell.formats.flent import series_values

    figures = []
    for series, x_title in (
        ("Ping (ms) ICMP", "Ping (ms)"),
        ("TCP upload sum", "Upload (Mbit/s)"),
        ("TCP download sum", "Download (Mbit/s)"),
    ):
        samples = [Sample("measured", "", series_values(file, series))]
        pooled = [value for run in runs for value in series_values(run, series)]
        samples.append(Sample("simulated", "", pooled))
        samples = [sample for sample in samples if len(sample.values)]  # type: ignore[arg-type]
        if len(samples) < 2:
            continue
        caption = f"{series}: all samples of the measurement and of {len(runs)} simulated runs"
        name = f"beside-{series.replace(' (ms)', '').replace(' ', '-').lower()}"
        plot = ecdf_chart(samples, x_title=x_title, colour_title="")
        figures.append(Figure(name, plot.chart, plot.data, caption, f"{series}, side by side"))
    return figures


def side_by_side_report(
    measured: Sequence[MeasuredFile],
    table: ValueTable,
    tables: Mapping[str, pl.DataFrame],
    files: Mapping[str, Content],
) -> Report:
    """The page of several files, with overlaid plots."""
    import polars as pl

    from dumbbell.cli.analyze.flent_files import headline, side_by_side

    compared = [
        {"file": each.name, "series": series, "statistic": name, "unit": unit, "value": value}
        for series, name, unit, values in side_by_side(measured)
        for each, value in zip(measured, values, strict=True)
        if not math.isnan(value)
    ]
    return Report(
        study="flent-files",
        title=f"{listed(each.name for each in measured)}, side by side",
        summary=" ".join(f"{each.name}: {headline(each.file)}." for each in measured),
        values=[table],
        figures=drawn_plots({each.name: each.file for each in measured}),
        meta={
            "measurements": {
                each.name: {key: each.file.text(key) for key in ("NAME", "TITLE", "TIME", "HOST")}
                for each in measured
            }
        },
        tables={**tables, "side_by_side": pl.DataFrame(compared)},
        files=dict(files),
    )

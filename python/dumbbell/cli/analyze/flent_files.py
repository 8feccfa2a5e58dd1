"""``dumbbell analyze FILE.flent.gz...``: evaluate Flent's files, and compare with simulated
runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.analyze.flent_comparison import (
    ComparedNumber,
    beside_grid,
    check_replications,
    compare,
    compared_as_json,
    simulated_runs,
    statistic_of,
    statistics_of,
)
from dumbbell.cli.analyze.flent_network import same_test
from dumbbell.cli.analyze.flent_options import FlentRunOptions, Statement, statements_of
from dumbbell.cli.common.confirmation import agree_to_replications
from dumbbell.cli.flent.tests import MOST_FILES, read_files
from dumbbell.cli.terminal.errors import print_warning
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.named_pipes import say_if_pipe
from dumbbell.cli.terminal.output import say
from dumbbell.cli.terminal.tables import print_table
from dumbbell.errors import SpecError
from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile, SummaryRow
    from dumbbell.report import ValueTable
    from dumbbell.spec import Experiment

MOST_COLUMNS = 40
"""Most rows of sockets, queues and hosts on a terminal; page, tables and JSON have all."""
_KIND = "flent"
_Row = tuple[str, str, str, list[float]]
"""Series, statistic, unit, and the value in each file; NaN in files without that series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRuns:
    """The simulated runs that were requested.

    Attributes:
        asked: The network and controllers.
        replications: Number of runs.
        jobs: Threads; 0 for one per core.
        yes: Whether to skip the confirmation of runs that take hours.
    """

    asked: FlentRunOptions
    replications: int
    jobs: int = 0
    yes: bool = False

    def __post_init__(self) -> None:
        """Refuse too few runs."""
        check_replications(self.replications)


@dataclass(frozen=True, slots=True)
class BesideFlent:
    """Simulated runs to compare a measurement with.

    Attributes:
        experiment: Traffic and network of the runs.
        runs: Their data files.
        rows: Their numbers with the measured ones.
    """

    experiment: Experiment
    runs: Sequence[FlentFile]
    rows: Sequence[ComparedNumber]


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """A data file, its statements about its network, and the runs it is compared with.

    Attributes:
        name: Name that distinguishes it from the other files.
        path: Its path.
        file: Its content.
        statements: What it states about its network.
        notes: The statements as sentences, and where the simulated network comes from.
        beside: The runs; None if nothing is simulated.
    """

    name: str
    path: Path
    file: FlentFile
    statements: Sequence[Statement]
    notes: Sequence[str]
    beside: BesideFlent | None = None


def analyze_flent(
    paths: Sequence[Path],
    *,
    runs: SimulatedRuns | None,
    out: Path | None,
    to: str | None,
    replace: bool,
    as_json: bool,
    console: Console,
) -> None:
    """Print the numbers of data files, compared with simulated runs if ``runs`` is given.

    If the simulation is not possible, the measured numbers are printed before the error is raised.

    Raises:
        SpecError: A file or an option is not valid, or an option is missing.
        RunError: A simulated run failed.
    """
    from dumbbell.cli.analyze.tables import measured_folder, table_formats

    if len(paths) > MOST_FILES:
        allowed = f"at most {MOST_FILES} files, as a figure cannot show more curves distinctly"
        raise SpecError("FILE", f"{len(paths)} files", allowed)
    if runs is not None and len(paths) > 1:
        allowed = "one data file: runs beside several measurements would be of one network"
        raise SpecError("--simulate", f"{len(paths)} files", allowed)
    formats = table_formats(to)
    is_wanted = out is not None or bool(formats)
    place = measured_folder(paths, out, kind=_KIND, replace=replace, is_wanted=is_wanted)
    measured = _read(paths, runs)
    try:
        if runs is not None:
            measured = [_with_runs(measured[0], runs)]
    except SpecError:
        _print(measured, console, as_json=as_json)
        raise
    said = []
    if place is not None:
        from dumbbell.cli.analyze.flent_page import (
            flent_tables,
            measured_report,
            side_by_side_report,
        )
        from dumbbell.cli.analyze.tables import table_files, write_tables
        from dumbbell.report import write_report

        tables = flent_tables(measured)
        files = table_files(tables, formats, kind=_KIND)
        if out is None:
            said = [write_tables(place, files)]
        else:
            report = (
                measured_report(measured[0], tables, files)
                if len(measured) == 1
                else side_by_side_report(measured, _side_by_side_table(measured), tables, files)
            )
            said = [f"page: {write_report(report, place, tell=print_warning)}"]
    _print(measured, console, as_json=as_json)
    for each in said:
        console.print(each, soft_wrap=True)


def _read(paths: Sequence[Path], runs: SimulatedRuns | None) -> list[MeasuredFile]:
    from dumbbell.formats.flent import read_flent
    from dumbbell.spec.flent import TEST_NAMES

    if len(paths) == 1:
        say_if_pipe(paths[0])
        files = {printable(paths[0].name): read_flent(paths[0])}
    else:
        files = read_files(paths)
    measured = []
    for path, (name, file) in zip(paths, files.items(), strict=True):
        statements = statements_of(file)
        given = [] if runs is None else [*runs.asked.network, *_controller_given(runs.asked)]
        notes = [
            each.sentence(
                can_run=file.text("NAME") in TEST_NAMES and len(paths) == 1,
                is_running=runs is not None,
                given=given,
            )
            for each in statements
        ]
        measured.append(MeasuredFile(name, path, file, statements, notes))
    return measured


def _controller_given(asked: FlentRunOptions) -> list[str]:
    from dumbbell.cli.analyze.flent_options import CONTROLLER

    return [CONTROLLER] if asked.congestion_control else []


def _with_runs(measured: MeasuredFile, runs: SimulatedRuns) -> MeasuredFile:
    same = same_test(measured.file, runs.asked)
    agree_to_replications(same.experiment, runs.replications, jobs=runs.jobs, yes=runs.yes)
    files = simulated_runs(same, runs.replications, jobs=runs.jobs)
    beside = BesideFlent(same.experiment, files, compare(measured.file, files))
    return MeasuredFile(
        measured.name,
        measured.path,
        measured.file,
        measured.statements,
        [*measured.notes, *same.notes],
        beside,
    )


def _print(measured: Sequence[MeasuredFile], console: Console, *, as_json: bool) -> None:
    if as_json:
        say(json_text({"measurements": [_as_json(each) for each in measured]}))
    elif len(measured) > 1:
        for each in measured:
            console.print(Text(f"{each.name}: {headline(each.file)}"))
            _print_notes(each, console)
        print_table(_side_by_side_grid(measured), console)
    else:
        _print_one(measured[0], console)


def _print_one(each: MeasuredFile, console: Console) -> None:
    console.print(Text(headline(each.file)))
    _print_notes(each, console)
    series, others = parted_rows(each.file)
    if each.beside is not None:
        print_table(beside_grid(each.beside.rows), console)
    elif series:
        print_table(_grid("", series), console)
    if others:
        shown = others[:MOST_COLUMNS]
        grid = _grid("Sockets, queues and hosts", shown)
        if len(others) > len(shown):
            grid.caption = (
                f"the first {len(shown)} of {len(others)}; --out, --to and --json have all"
            )
        print_table(grid, console)
    empty = [row for row in (*series, *others) if not row.points]
    if len(empty) == len(series) + len(others):
        console.print(Text("The file has no series with a value."))


def _print_notes(each: MeasuredFile, console: Console) -> None:
    for note in each.notes:
        console.print(Text(note), soft_wrap=True)


def parted_rows(file: FlentFile) -> tuple[list[SummaryRow], list[SummaryRow]]:
    """Split the rows: the test's measurements, and columns of sockets, queues and hosts.

    Columns of a series without values of its own, such as those of a call, count as measurements.
    """
    from dumbbell.formats.flent import is_column, summary_rows

    rows = summary_rows(file)
    beside = ("qdisc_stats_", "cpu_stats_", "wifi_stats_", "netstat_")

    def is_beside(series: str) -> bool:
        of = series.rpartition("::")[0]
        return is_column(series) and (of in file.results or series.startswith(beside))

    series = [row for row in rows if not is_beside(row.series)]
    return series, [row for row in rows if is_beside(row.series)]


def headline(file: FlentFile) -> str:
    """The test and its circumstances, as far as the file states them."""
    length_s, host = file.number("LENGTH"), file.text("HOST")
    how = _joined(" ", f"{length_s:g} s" if length_s else "", f"to {host}" if host else "")
    what = _joined(", ", file.text("NAME"), file.text("TITLE"))
    return _joined(": ", what, _joined(", ", how, file.text("TIME")))


def _joined(between: str, *parts: str) -> str:
    return between.join(part for part in parts if part)


def _empty_grid(title: str) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    if title:
        grid.title = Text(title, style="bold")
    grid.caption_justify = "left"
    return grid


def _grid(title: str, rows: Sequence[SummaryRow]) -> Grid:
    """Flent's own columns, and the 95th percentile."""
    grid = _empty_grid(title)
    grid.add_column("", no_wrap=True)
    for head in ("mean", "median", "95 %", "99 %", "samples"):
        grid.add_column(head, justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for row in rows:
        numbers = [f"{value:.2f}" for value in (row.mean, row.median, row.p95, row.p99)]
        cells = numbers if row.points else ["-"] * 4
        grid.add_row(*map(Text, (row.series, *cells, str(row.points), row.unit)))
    return grid


def side_by_side(measured: Sequence[MeasuredFile]) -> list[_Row]:
    """Means of every series in any file, and 95th percentiles of latencies."""
    units = {
        row.series: row.unit for each in measured for row in parted_rows(each.file)[0] if row.points
    }
    return [
        (series, name, unit, [statistic_of(name, each.file, series) for each in measured])
        for series, unit in sorted(units.items())
        for name in statistics_of(unit)
    ]


def _side_by_side_grid(measured: Sequence[MeasuredFile]) -> Grid:
    grid = _empty_grid("")
    for _ in range(3):
        grid.add_column("", no_wrap=True)
    for each in measured:
        grid.add_column(Text(each.name), justify="right", no_wrap=True)
    for series, statistic, unit, values in side_by_side(measured):
        cells = ["-" if math.isnan(value) else f"{value:.2f}" for value in values]
        grid.add_row(*map(Text, (series, statistic, unit, *cells)))
    return grid


def _side_by_side_table(measured: Sequence[MeasuredFile]) -> ValueTable:
    from dumbbell.report import Cell, ValueRow, ValueTable

    return ValueTable(
        "Side by side",
        [each.name for each in measured],
        [
            ValueRow(
                f"{series}, {statistic}",
                unit,
                [None if math.isnan(value) else Cell(value) for value in values],
            )
            for series, statistic, unit, values in side_by_side(measured)
        ],
        "One measurement each: what differs may differ by chance.",
    )


def _as_json(each: MeasuredFile) -> Mapping[str, Any]:
    from dumbbell.formats.flent import summary_rows

    file, beside = each.file, each.beside
    return {
        "source": each.path.name,
        "test": file.text("NAME"),
        "title": file.text("TITLE"),
        "time": file.text("TIME"),
        "host": file.text("HOST"),
        "length_s": file.number("LENGTH"),
        "step_s": file.number("STEP_SIZE"),
        "says": [
            {"where": one.where, "said": dict(one.said), "set": list(one.options)}
            for one in each.statements
        ],
        "series": [
            {
                "name": row.series,
                "unit": row.unit,
                "samples": row.points,
                "mean": row.mean,
                "median": row.median,
                "p95": row.p95,
                "p99": row.p99,
                "least": row.least,
                "greatest": row.greatest,
            }
            for row in summary_rows(file)
        ],
        "beside": None
        if beside is None
        else {
            "runs": len(beside.runs),
            "notes": list(each.notes[len(each.statements) :]),
            "numbers": [compared_as_json(row) for row in beside.rows],
        },
    }

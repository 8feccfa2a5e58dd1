"""``dumbbell analyze``: logs of ping, ITGDec, iperf3, ss, tc, irtt and netperf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.common.unique_names import unique_names
from dumbbell.cli.terminal.errors import print_warning
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.tables import print_table
from dumbbell.errors import SpecError
from dumbbell.formats.logs import Log, LogText, log_of_text
from dumbbell.metrics.logs import LogNumber, LogSeries, log_numbers, log_series
from dumbbell.printable import printable
from dumbbell.report.cells import Cell

if TYPE_CHECKING:
    from dumbbell.cli.analyze.log_comparison import ComparisonOptions, SimulatedLog

MOST_LOGS = 12
MOST_STEPS = 12
"""Most rows of a terminal's table over time; page and tables have all."""
_SUMMED = ("totals", "sums")
"""Tables that are sums of others."""


@dataclass(frozen=True, slots=True, eq=False)
class AnalyzedLog:
    """A log, its numbers and series, and the runs it is compared with.

    Attributes:
        name: Name that distinguishes its file from the others.
        log: Its content.
        numbers: Its numbers.
        series: Its series.
        beside: Simulated numbers; None if not requested.
    """

    name: str
    log: Log
    numbers: Sequence[LogNumber]
    series: Sequence[LogSeries]
    beside: SimulatedLog | None = None


def analyze_logs(
    files: Sequence[Path],
    *,
    beside: ComparisonOptions | None,
    out: Path | None,
    to: str | None,
    replace: bool,
    as_json: bool,
    console: Console,
) -> None:
    """Print the numbers of logs; ``out`` writes a page, ``to`` their tables.

    Raises:
        FormatError: A file cannot be read at all.
        SpecError: There are too many files, the folder contains other files, or the runs do not fit
            the log.
    """
    from dumbbell.cli.analyze.log_page import write_log_page
    from dumbbell.cli.analyze.tables import measured_folder, table_formats

    if len(files) > MOST_LOGS:
        raise SpecError("FILE", f"{len(files)} files", f"at most {MOST_LOGS} logs at a time")
    formats = table_formats(to)
    is_wanted = out is not None or bool(formats)
    place = measured_folder(files, out, kind="log", replace=replace, is_wanted=is_wanted)
    analyzed = [
        AnalyzedLog(name, log, log_numbers(log), log_series(log))
        for name, log in zip(unique_names(files), map(_read, files), strict=True)
    ]
    if beside is not None:
        from dumbbell.cli.analyze.log_comparison import set_beside

        analyzed = set_beside(analyzed, beside)
    said = None
    if place is not None:
        has_page = out is not None
        said = write_log_page(analyzed, place, formats, has_page=has_page, tell=print_warning)
    if as_json:
        say(json_text({"logs": [_as_json(each) for each in analyzed]}))
    else:
        for each in _together(analyzed):
            _show(each, console)
    if said is not None:
        console.print(said, markup=False, soft_wrap=True)


def _read(file: Path) -> Log:
    log = log_of_text(LogText.of_file(file))
    for problem in (*log.problems, *filter(None, [str(log.unknown)])):
        tell(printable(f"{file}: {problem}"))
    return log


def _together(analyzed: Sequence[AnalyzedLog]) -> list[list[AnalyzedLog]]:
    """Group logs of one format, unless each is compared with runs."""
    if any(each.beside for each in analyzed):
        return [[each] for each in analyzed]
    groups: dict[str, list[AnalyzedLog]] = {}
    for each in analyzed:
        groups.setdefault(each.log.format, []).append(each)
    return list(groups.values())


def headline(each: AnalyzedLog) -> str:
    """The detected format of a file, and how much of it was read."""
    log = each.log
    shown = {name: len(table) for name, table in log.tables.items() if name not in _SUMMED}
    rows = ", ".join(f"{count} {name}" for name, count in shown.items() if count)
    variant = f" ({printable(log.variant)})" if log.variant else ""
    return f"{each.name}: {log.format.value}{variant}, {rows or 'only its last lines'}"


def _show(group: Sequence[AnalyzedLog], console: Console) -> None:
    for each in group:
        console.print(Text(headline(each)))
    if len(group) == 1 and group[0].beside is not None:
        _show_beside(group[0], group[0].beside, console)
    else:
        _show_numbers(group, console)
    if len(group) == 1:
        for grid in _over_time(group[0]):
            print_table(grid, console)


def cell_of(number: LogNumber) -> Cell:
    """The number with its interval, if it has one."""
    if number.interval is None:
        return Cell(number.value)
    return Cell(number.value, number.interval.low, number.interval.high)


def rows_of(group: Sequence[AnalyzedLog]) -> list[tuple[LogNumber, list[LogNumber | None]]]:
    """The numbers of several logs of one format: for each row, every log's number or None.

    With several logs, whose flows and queues have different names, the numbers are matched by their
    order.
    """
    keyed = []
    for each in group:
        order = {of: place for place, of in enumerate(dict.fromkeys(n.of for n in each.numbers))}
        keyed.append({(order[number.of], number.name): number for number in each.numbers})
    keys = dict.fromkeys(key for each in keyed for key in each)
    firsts = [next(each[key] for each in keyed if key in each) for key in keys]
    return [
        (first, [each.get(key) for each in keyed])
        for key, first in sorted(zip(keys, firsts, strict=True), key=lambda pair: pair[0][0])
    ]


def _show_numbers(group: Sequence[AnalyzedLog], console: Console) -> None:
    grid = _grid("")
    grid.add_column("", no_wrap=True)
    for each in group:
        head = each.name if len(group) > 1 else "measured"
        grid.add_column(Text(head), justify="right", no_wrap=True)
    if len(group) == 1:
        grid.add_column("samples", justify="right", no_wrap=True)
    last = ""
    for first, numbers in rows_of(group):
        if first.of != last and first.of:
            grid.add_row(Text(printable(first.of), style="bold"))
        last = first.of
        cells = ["-" if each is None else cell_of(each).text for each in numbers]
        if len(group) == 1:
            cells.append("" if first.samples is None else str(first.samples))
        grid.add_row(Text(first.title), Text(first.unit), *map(Text, cells))
    print_table(grid, console)


def _show_beside(each: AnalyzedLog, beside: SimulatedLog, console: Console) -> None:
    console.print(Text(beside.said), soft_wrap=True)
    grid = _grid("")
    grid.add_column("", no_wrap=True)
    heads = ("measured", "samples", "simulated", "one run, 95 %", "inside")
    many = beside.runs > 1
    for head in heads if many else heads[:3]:
        grid.add_column(head, justify="right", no_wrap=True)
    last = ""
    for number in each.numbers:
        if number.of != last and number.of:
            grid.add_row(Text(printable(number.of), style="bold"))
        last = number.of
        samples = "" if number.samples is None else str(number.samples)
        cells = [cell_of(number).text, samples]
        found = beside.of(number)
        if found is None:
            cells += ["-"] * (3 if many else 1)
        else:
            cells.append(Cell(found.simulated).text)
            if many:
                cells.append(f"{Cell(found.low).text} to {Cell(found.high).text}")
                cells.append("yes" if found.is_inside else "no")
        grid.add_row(Text(number.title), Text(number.unit), *map(Text, cells))
    print_table(grid, console)


def _over_time(each: AnalyzedLog) -> list[Grid]:
    """One table per flow, queue or connection with some of its samples."""
    grids = []
    of_each: dict[str, list[LogSeries]] = {}
    for series in each.series:
        of_each.setdefault(series.of, []).append(series)
    for of, together in list(of_each.items())[:3]:
        first = together[0]
        same = [series for series in together if len(series.t_s) == len(first.t_s)]
        if len(first.t_s) < 2:
            continue
        grid = _grid(f"Over time{f', {printable(of)}' if of else ''}")
        grid.columns[0].header = Text("s" if first.is_timed else "number")
        grid.columns[0].justify = "right"
        for series in same:
            head = f"{series.title}\n{series.unit}"
            grid.add_column(Text(head), justify="right", no_wrap=True)
        count = len(first.t_s)
        step = -(-count // MOST_STEPS)
        for at in range(0, count, step):
            when = f"{first.t_s[at]:.3f}" if first.is_timed else f"{first.t_s[at]:.0f}"
            cells = [Cell(float(series.values[at])).text for series in same]
            grid.add_row(Text(when), *map(Text, cells))
        if step > 1:
            grid.caption = f"one of {step} of {count}"
        grids.append(grid)
    return grids


def _as_json(each: AnalyzedLog) -> Mapping[str, Any]:
    unknown = each.log.unknown
    found: dict[str, Any] = {
        "source": each.log.source,
        "format": each.log.format.value,
        "variant": each.log.variant,
        "problems": list(each.log.problems),
        "not_understood": {
            "count": unknown.count,
            "first_at": unknown.where or None,
            "first": unknown.text or None,
        },
        "rows": {name: len(table) for name, table in each.log.tables.items()},
        "numbers": [_number_as_json(number, each.beside) for number in each.numbers],
        "over_time": [
            {
                "of": series.of,
                "name": series.name,
                "unit": series.unit,
                "t_s" if series.is_timed else "number": series.t_s.tolist(),
                "values": series.values.tolist(),
            }
            for series in each.series
        ],
    }
    if each.beside is not None:
        found["beside"] = {"said": each.beside.said, "runs": each.beside.runs}
    return found


def _number_as_json(number: LogNumber, beside: SimulatedLog | None) -> Mapping[str, Any]:
    interval = number.interval
    found: dict[str, Any] = {
        "of": number.of,
        "name": number.name,
        "unit": number.unit,
        "value": number.value,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "samples": number.samples,
    }
    same = None if beside is None else beside.of(number)
    if same is not None:
        found["simulated"] = {
            "value": same.simulated,
            "low": same.low,
            "high": same.high,
            "is_inside": same.is_inside,
            "definition": same.definition,
        }
    return found


def _grid(title: str) -> Grid:
    """A table with a first column for names."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    if title:
        grid.title = Text(title, style="bold")
    grid.caption_justify = "left"
    grid.add_column("", no_wrap=True)
    return grid

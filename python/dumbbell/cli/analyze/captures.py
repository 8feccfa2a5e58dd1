"""``dumbbell analyze``: the flows in captures, or in tshark's output for captures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.analyze.flent_comparison import beside_grid, compared_as_json
from dumbbell.cli.analyze.flent_page import beside_table
from dumbbell.cli.analyze.tables import (
    measured_folder,
    table_files,
    table_formats,
    write_tables,
)
from dumbbell.cli.common.unique_names import unique_names
from dumbbell.cli.terminal.errors import print_warning
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.named_pipes import say_if_pipe
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.tables import print_table
from dumbbell.compare.exporting import Format
from dumbbell.errors import SpecError
from dumbbell.folders import ResultFolder
from dumbbell.formats import read_capture, read_tshark_csv, write_view
from dumbbell.formats.kinds import FileKind, kind_of
from dumbbell.metrics.captured import CapturedFlows, captured_places
from dumbbell.metrics.observation_point import seen_from
from dumbbell.printable import printable
from dumbbell.report import write_report
from dumbbell.report.capture_loss import loss_notes
from dumbbell.report.capture_page import (
    MOST_ROWS,
    capture_report,
    captured_tables,
    flow_cells,
    largest,
    mean,
    median,
    place_name,
    seen_places,
    shown,
    sizes,
)
from dumbbell.tables import Run

if TYPE_CHECKING:
    from dumbbell.cli.analyze.capture_comparison import BesideCapture
    from dumbbell.cli.analyze.log_comparison import ComparisonOptions

MOST_PLACES = 6
"""Most capture points whose flows the terminal shows."""
_KIND = "capture"
MOST_CAPTURES = 6
"""Most captures side by side on one page."""


def analyze_capture(
    files: Sequence[Path],
    *,
    out: Path | None,
    view: str | None,
    write: Path | None,
    as_json: bool,
    console: Console,
    beside: ComparisonOptions | None = None,
    to: str | None = None,
    replace: bool = False,
) -> None:
    """Print the flows of files; ``out`` writes a page, ``to`` their tables, ``write`` one capture
    point.

    Raises:
        FormatError: A file cannot be read at all.
        SpecError: There is no such capture point, the folder contains other files, or there are too
            many files.
    """
    if len(files) > MOST_CAPTURES:
        allowed = f"at most {MOST_CAPTURES} captures, as a figure cannot show more distinctly"
        raise SpecError("FILE", f"{len(files)} files", allowed)
    if write is not None and len(files) > 1:
        raise SpecError("--write", write, "one capture at a time")
    formats = table_formats(to)
    is_wanted = out is not None or bool(formats)
    place = measured_folder(files, out, kind=_KIND, replace=replace, is_wanted=is_wanted)
    if write is not None and files[0].is_fifo():
        raise SpecError("--write", write, "a capture in a file; a pipe is read once")
    runs: dict[str, Run] = {}
    for name, file in zip(unique_names(files), files, strict=True):
        say_if_pipe(file)
        run = runs[name] = read_tshark_csv(file) if _is_csv(file) else read_capture(file)
        for problem in run.meta["problems"]:
            tell(printable(f"{file}: {problem}"))
    if write is not None:
        if _is_csv(files[0]):
            raise SpecError("--write", write, "a capture; a CSV has no packets")
        _write(next(iter(runs.values())), files[0], write, view)
    besides: Mapping[str, BesideCapture] = {}
    if beside is not None:
        from dumbbell.cli.analyze.capture_comparison import set_beside_captures

        besides = set_beside_captures(runs, beside)
    # Before anything is printed, since the reader of our output may exit early (`| head`).
    said = (
        None if place is None else _written(runs, besides, place, formats, has_page=out is not None)
    )
    if as_json:
        say(json_text(_numbers(runs, besides)))
    else:
        _show(runs, console)
        for each in besides.values():
            console.print(Text(each.said))
            print_table(beside_grid(each.rows), console)
    if said is not None:
        console.print(said, soft_wrap=True)


def _written(
    runs: Mapping[str, Run],
    besides: Mapping[str, BesideCapture],
    place: ResultFolder,
    formats: Sequence[Format],
    *,
    has_page: bool,
) -> str:
    """Write the page, the tables, or both; returns the paths."""
    tables = table_files(captured_tables(runs), formats, kind=_KIND)
    if not has_page:
        return write_tables(place, tables)
    report = capture_report(runs)
    values = [beside_table(each.rows, each.runs) for each in besides.values()]
    whole = dataclasses.replace(
        report,
        files={**report.files, **tables},
        values=[*values, *report.values],
        notes=[*(f"{each.said}." for each in besides.values()), *report.notes],
    )
    return f"page: {write_report(whole, place, tell=print_warning)}"


def _is_csv(file: Path) -> bool:
    return kind_of(file) is FileKind.TSHARK_CSV


def _write(run: Run, file: Path, target: Path, view: str | None) -> None:
    names = {place_name(run, *place): place for place in captured_places(run)}
    if view is None and len(names) == 1:
        view = next(iter(names))
    if view not in names:
        raise SpecError("--view", view or "", "one of: " + ", ".join(map(repr, names)))
    queue, place = names[view]
    name = run.queue_names[queue]
    # A file without interface names has one unnamed interface.
    queue_name = "" if name == file.name else name
    pkts = write_view(file, target, queue=queue_name, place=place)
    tell(f"{target}: {pkts} packets")


def _numbers(runs: Mapping[str, Run], besides: Mapping[str, BesideCapture]) -> dict[str, Any]:
    """Numbers of one capture, or of several by name."""
    found = {
        name: {**_numbers_of(run), "beside": _beside_as_json(besides.get(name))}
        for name, run in runs.items()
    }
    return next(iter(found.values())) if len(runs) == 1 else {"captures": found}


def _beside_as_json(beside: BesideCapture | None) -> dict[str, Any] | None:
    if beside is None:
        return None
    numbers = [compared_as_json(row) for row in beside.rows]
    return {"said": beside.said, "runs": beside.runs, "numbers": numbers}


def _numbers_of(run: Run) -> dict[str, Any]:
    flow_names = run.flow_names  # a new list at each access
    return {
        "source": run.meta["source"],
        "read": run.meta["read"],
        "problems": run.meta["problems"],
        "places": [
            {
                "name": seen.label,
                "flows": [
                    {
                        "flow": flow_names[index],
                        "pkts": int(flows.pkts[row]),
                        "bytes": int(flows.bytes[row]),
                        "duration_s": float(flows.duration_s[row]),
                        "throughput_bps": float(flows.throughput_bps[row]),
                        "loss_by_flag": float(flows.loss_by_flag[row]),
                        "loss_by_bytes": float(flows.loss_by_bytes[row]),
                        "seen_at": at.point[row].value,
                        "round_trip_to_sender_s": float(at.behind_s[row]),
                        "round_trip_to_receiver_s": float(at.ahead_s[row]),
                    }
                    for row, index in enumerate(flows.flow.tolist())
                ],
            }
            for seen, flows, at in (
                (seen, seen.flows, seen_from(run, seen.queue, seen.place, seen.flows))
                for seen in seen_places(run)
            )
        ],
    }


def _show(runs: Mapping[str, Run], console: Console) -> None:
    is_one = len(runs) == 1
    for name, run in runs.items():
        read = run.meta["read"]
        source = printable(run.meta["source"]) if is_one else name
        console.print(Text(f"{source}: {read['format']}, {read['pkts']} packets read"))
    found = [
        seen for name, run in runs.items() for seen in seen_places(run, "" if is_one else name)
    ]
    if not found:
        return
    print_table(_places([(seen.label, seen.flows) for seen in found]), console)
    most = max(1, MOST_PLACES // len(runs))
    shown = [each for run in runs.values() for each in [e for e in found if e.run is run][:most]]
    for seen in shown:
        name, flows = seen.label, seen.flows
        print_table(_flows(seen.run, name, flows), console)
        for note in loss_notes(seen):
            console.print(Text(note))
        if flows.without_duration:
            count = flows.without_duration
            console.print(Text(f"{name}: {count} flows of one instant have no throughput"))
    if len(found) > len(shown):
        console.print(Text(f"the flows of {len(shown)} of {len(found)} places"))


def _places(found: list[tuple[str, CapturedFlows]]) -> Grid:
    grid = _grid("Places")
    for head in (
        "Flows",
        "Packets",
        "Median\nMbit/s",
        "Mean loss %\nby flag",
        "Mean loss %\nby bytes",
    ):
        grid.add_column(Text(head), justify="right", no_wrap=True)
    for name, flows in found[:MOST_ROWS]:
        for size, keep in sizes(flows):
            if keep.any():
                grid.add_row(
                    Text(f"{name}, {size}"),
                    str(int(keep.sum())),
                    str(int(flows.pkts[keep].sum())),
                    shown(median(flows.throughput_bps[keep]) / 1e6).text,
                    shown(100 * mean(flows.loss_by_flag[keep])).text,
                    shown(100 * mean(flows.loss_by_bytes[keep])).text,
                )
    if len(found) > MOST_ROWS:
        grid.caption = f"the first {MOST_ROWS} of {len(found)}"
    return grid


def _flows(run: Run, name: str, flows: CapturedFlows) -> Grid:
    order = largest(flows)
    count = flows.flow.size
    grid = _grid(f"Flows, {name}")
    for head in ("Packets", "MB", "s", "Mbit/s", "Loss %\nby flag", "Loss %\nby bytes"):
        grid.add_column(Text(head), justify="right", no_wrap=True)
    for row in order:
        cells = [cell.text for cell in flow_cells(flows, row)]
        grid.add_row(Text(run.flow_names[int(flows.flow[row])]), *cells)
    if count > len(order):
        grid.caption = f"the {len(order)} largest of {count}"
    return grid


def _grid(title: str) -> Grid:
    """A table whose first column of names may break between words."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    grid.title = Text(title, style="bold")
    grid.caption_justify = "left"
    grid.add_column("")
    return grid

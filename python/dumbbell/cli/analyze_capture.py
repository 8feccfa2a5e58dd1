"""``dumbbell analyze``: the flows of a capture, or of what tshark printed of one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.jsonable import json_text
from dumbbell.errors import SpecError
from dumbbell.formats import read_capture, read_tshark_csv, write_view
from dumbbell.metrics.captured import CapturedFlows, captured_flows, captured_places
from dumbbell.report import check_replaceable, write_report
from dumbbell.report.capture_page import (
    MOST_ROWS,
    capture_report,
    flow_cells,
    largest,
    mean,
    median,
    place_name,
    shown,
    sizes,
)
from dumbbell.tables import Run

MOST_PLACES = 6
"""Places whose flows the terminal shows."""


def analyze_capture(
    file: Path,
    *,
    out: Path | None,
    view: str | None,
    write: Path | None,
    as_json: bool,
    console: Console,
) -> None:
    """Print the flows of a file; with ``out`` write its page, with ``write`` a view of it.

    Raises:
        FormatError: Nothing of the file can be read.
        SpecError: There is no such view, or the folder holds files that are not ours.
    """
    if out is not None:
        check_replaceable(out)
    is_csv = file.suffix.lower() == ".csv"
    run = read_tshark_csv(file) if is_csv else read_capture(file)
    places = captured_places(run)
    for problem in run.meta["problems"]:
        print(f"{file}: {problem}", file=sys.stderr)
    if write is not None:
        if is_csv:
            raise SpecError("--write", write, "a capture; a CSV has no packets")
        _write(run, file, write, view)
    found = [(place_name(run, *place), captured_flows(run, *place)) for place in places]
    # Before anything is printed: whoever reads that may go away (`| head`).
    page = write_report(capture_report(run), out) if out is not None else None
    if as_json:
        print(json_text(_numbers(run, found)))
        return
    _show(run, found, console)
    if page is not None:
        console.print(f"page: {page}", markup=False, soft_wrap=True)


def _write(run: Run, file: Path, target: Path, view: str | None) -> None:
    names = {place_name(run, *place): place for place in captured_places(run)}
    if view is None and len(names) == 1:
        view = next(iter(names))
    if view not in names:
        raise SpecError("--view", view or "", "one of: " + ", ".join(map(repr, names)))
    queue, place = names[view]
    name = run.queue_names[queue]
    # A file without names of interfaces has its own instead.
    queue_name = "" if name == file.name else name
    pkts = write_view(file, target, queue=queue_name, place=place)
    print(f"{target}: {pkts} packets", file=sys.stderr)


def _numbers(run: Run, found: list[tuple[str, CapturedFlows]]) -> dict[str, Any]:
    return {
        "source": run.meta["source"],
        "read": run.meta["read"],
        "problems": run.meta["problems"],
        "places": [
            {
                "name": name,
                "flows": [
                    {
                        "flow": run.flow_names[index],
                        "pkts": int(flows.pkts[row]),
                        "bytes": int(flows.bytes[row]),
                        "duration_s": float(flows.duration_s[row]),
                        "throughput_bps": float(flows.throughput_bps[row]),
                        "loss_by_flag": float(flows.loss_by_flag[row]),
                        "loss_by_bytes": float(flows.loss_by_bytes[row]),
                    }
                    for row, index in enumerate(flows.flow.tolist())
                ],
            }
            for name, flows in found
        ],
    }


def _show(run: Run, found: list[tuple[str, CapturedFlows]], console: Console) -> None:
    read = run.meta["read"]
    console.print(Text(f"{run.meta['source']}: {read['format']}, {read['pkts']} packets read"))
    if not found:
        return
    console.print(_places(found))
    for name, flows in found[:MOST_PLACES]:
        console.print(_flows(run, name, flows))
        if flows.without_duration:
            count = flows.without_duration
            console.print(Text(f"{name}: {count} flows of one instant have no throughput"))
    if len(found) > MOST_PLACES:
        console.print(Text(f"the flows of the first {MOST_PLACES} of {len(found)} places"))


def _places(found: list[tuple[str, CapturedFlows]]) -> Grid:
    grid = _grid("Places")
    for head in ("Flows", "Packets", "Median\nMbit/s", "Mean loss %\nby flag", "\nby bytes"):
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
    for head in ("Packets", "MB", "s", "Mbit/s", "Loss %\nby flag", "\nby bytes"):
        grid.add_column(Text(head), justify="right", no_wrap=True)
    for row in order:
        cells = [cell.text for cell in flow_cells(flows, row)]
        grid.add_row(Text(run.flow_names[int(flows.flow[row])]), *cells)
    if count > len(order):
        grid.caption = f"the {len(order)} largest of {count}"
    return grid


def _grid(title: str) -> Grid:
    """With a first column for names, which are folded where there is no room and never cut."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    grid.title = Text(title, style="bold")
    grid.caption_justify = "left"
    grid.add_column("", overflow="fold")
    return grid

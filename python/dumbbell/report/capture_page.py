"""The page of a capture: throughput and loss of its flows as CDFs, and bytes over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dumbbell.metrics.captured import CapturedFlows, captured_flows, captured_places
from dumbbell.report.cells import Cell
from dumbbell.report.charts import Curve, Sample, ecdf_chart, line_with_band
from dumbbell.report.model import Figure, Report, ValueRow, ValueTable
from dumbbell.tables import Run

LARGE_BYTES = 100_000
"""More than this is a large flow, as in the published experiments on buffer sizes."""
MOST_ROWS = 20
"""Flows of a place that are listed, largest first; the tables have all."""
MOST_PLACES_DRAWN = 3
"""Curves of more places cannot be told apart; the tables have all."""
MOST_POINTS = 120
"""Of a curve over time."""
_RULES = (
    "Loss by flag is the share of packets with Wireshark's tcp.analysis.retransmission "
    "(retransmissions, fast and spurious ones), the rule of the published experiment. Loss by "
    "bytes is ours: segments below the highest sequence number seen, over segments with payload."
)


def capture_report(run: Run) -> Report:
    """The page of an imported run with ``captured_flows``.

    Args:
        run: As `dumbbell.formats.read_capture` or ``read_tshark_csv`` gives it.

    Raises:
        TableError: The run has no such table.
    """
    places = [
        (place_name(run, *place), captured_flows(run, *place)) for place in captured_places(run)
    ]
    source = str(run.meta.get("source", ""))
    flows = len(run.flow_names)
    read = run.meta.get("read", {})
    summary = (
        f"{source}: {read.get('pkts', 0)} packets read, {flows} flows at {len(places)} "
        f"{'place' if len(places) == 1 else 'places'}."
    )
    notes = [_RULES, *run.meta.get("problems", [])]
    if len(places) > MOST_PLACES_DRAWN:
        notes.append(
            f"Figures and lists have the first {MOST_PLACES_DRAWN} places, the tables all."
        )
    for name, found in places:
        if found.without_duration:
            notes.append(
                f"{name}: {found.without_duration} flows of one instant have no duration and are "
                "not among the throughputs."
            )
    return Report(
        study="capture",
        title=f"What is in {source}?",
        summary=summary,
        values=[_values(places), *(_largest(run, *each) for each in places[:MOST_PLACES_DRAWN])],
        figures=[*_distributions(places[:MOST_PLACES_DRAWN]), *_over_time(run)],
        notes=notes,
        meta={key: value for key, value in run.meta.items() if key != "series"},
        tables={"captured_flows": run.named_columns("captured_flows")},
    )


def place_name(run: Run, queue: int, place: int) -> str:
    """A place as one says it: ``a->b after``, or the interface's name."""
    name = run.queue_names[queue]
    return {0: f"{name} before", 1: f"{name} after"}.get(place, name)


def sizes(found: CapturedFlows) -> list[tuple[str, np.ndarray[Any, np.dtype[np.bool_]]]]:
    """Large and small flows apart."""
    is_large = found.bytes > LARGE_BYTES
    return [("> 100 KB", is_large), ("<= 100 KB", ~is_large)]


def _values(places: Sequence[tuple[str, CapturedFlows]]) -> ValueTable:
    rows = {
        ("Flows", ""): [Cell(found.flow.size) for _, found in places],
        ("Packets", ""): [Cell(found.pkts.sum()) for _, found in places],
        ("Median throughput", "Mbit/s"): [
            shown(median(found.throughput_bps) / 1e6) for _, found in places
        ],
        ("Mean loss of a flow by flag", "%"): [
            shown(100 * mean(found.loss_by_flag)) for _, found in places
        ],
        ("Mean loss of a flow by bytes", "%"): [
            shown(100 * mean(found.loss_by_bytes)) for _, found in places
        ],
    }
    return ValueTable(
        title="Flows",
        columns=[name for name, _ in places],
        rows=[ValueRow(name, unit, cells) for (name, unit), cells in rows.items()],
        caption="Each flow in the direction that carried more bytes.",
    )


def _largest(run: Run, place: str, found: CapturedFlows) -> ValueTable:
    columns = ["Packets", "MB", "s", "Mbit/s", "Loss by flag, %", "Loss by bytes, %"]
    rows = [
        ValueRow(run.flow_names[int(found.flow[row])], "", flow_cells(found, row))
        for row in largest(found)
    ]
    title = f"Flows, {place}"
    caption = f"The {len(rows)} largest of {found.flow.size}; captured_flows.parquet has all."
    return ValueTable(title, columns, rows, caption if len(rows) < found.flow.size else "")


def largest(found: CapturedFlows) -> list[int]:
    """Places of the flows with the most bytes, at most `MOST_ROWS`."""
    order: list[int] = (-found.bytes).argsort(kind="stable")[:MOST_ROWS].tolist()
    return order


def flow_cells(found: CapturedFlows, row: int) -> list[Cell]:
    """Packets, MB, seconds, Mbit/s, and loss by both rules in per cent."""
    numbers = (
        found.bytes[row] / 1e6,
        found.duration_s[row],
        found.throughput_bps[row] / 1e6,
        100 * found.loss_by_flag[row],
        100 * found.loss_by_bytes[row],
    )
    return [Cell(found.pkts[row]), *map(shown, numbers)]


def median(values: np.ndarray[Any, Any]) -> float:
    """Of those that are known; NaN without any."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


def mean(values: np.ndarray[Any, Any]) -> float:
    """Of those that are known; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def shown(value: float) -> Cell:
    """Three digits, or the whole number."""
    return Cell(value, digits=3)


def _distributions(places: Sequence[tuple[str, CapturedFlows]]) -> list[Figure]:
    what: Mapping[str, tuple[str, str, str]] = {
        "throughput": ("Throughput of a flow (Mbit/s)", "throughput_bps", "Throughput of flows"),
        "loss-by-flag": ("Loss of a flow by flag (%)", "loss_by_flag", "Loss by Wireshark's flag"),
        "loss-by-bytes": ("Loss of a flow by bytes (%)", "loss_by_bytes", "Loss by our rule"),
    }
    figures = []
    for name, (title, attribute, heading) in what.items():
        factor = 1e-6 if name == "throughput" else 100.0
        samples = []
        for place, found in places:
            values = getattr(found, attribute)
            for size, keep in sizes(found):
                known = values[keep & ~np.isnan(values)]
                if known.size:
                    samples.append(Sample(size, place, known * factor))
        if samples:
            plot = ecdf_chart(samples, x_title=title, colour_title="Size", dash_title="Place")
            caption = f"{heading}: the share of flows at or below a value, large and small apart."
            figures.append(Figure(name, *plot, caption=caption, title=heading))
    return figures


def _over_time(run: Run) -> list[Figure]:
    curves = []
    for each in run.meta.get("series", [])[:MOST_PLACES_DRAWN]:
        counts = np.array(each["bytes"], dtype=float)
        together = -(-counts.size // MOST_POINTS) or 1
        # The last interval is left out where it is not whole.
        counts = counts[: counts.size // together * together].reshape(-1, together).sum(axis=1)
        width_s = together * each["width_ns"] / 1e9
        rate = counts * 8e-6 / width_s
        if rate.size > 1:
            at = each["begin_ns"] / 1e9 + width_s * (np.arange(rate.size) + 0.5)
            name = {0: f"{each['queue']} before", 1: f"{each['queue']} after"}
            curves.append(Curve(name.get(each["place"], each["queue"]), at, rate))
    if not curves:
        return []
    plot = line_with_band(curves, x_title="Time (s)", y_title="Rate (Mbit/s)")
    caption = "Bits of all frames seen at a place, both directions, in equal intervals."
    return [Figure("rate", *plot, caption=caption, title="Rate over time")]

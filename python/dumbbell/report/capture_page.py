"""The page of one or several captures: flows over time, and CDFs of throughput and loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import polars as pl

from dumbbell.formats.capture import SERIES
from dumbbell.metrics.captured import CapturedFlows, captured_flows, captured_places
from dumbbell.printable import listed, printable
from dumbbell.report.capture_loss import loss_notes
from dumbbell.report.capture_over_time import (
    SeenPlace,
    figures_over_time,
    not_followed,
    without_replies,
)
from dumbbell.report.cells import Cell
from dumbbell.report.charts import Curve, Plot, Sample, ecdf_chart, line_with_band
from dumbbell.report.model import Figure, Report, ValueRow, ValueTable
from dumbbell.tables import Run

LARGE_BYTES = 100_000
"""A flow of more bytes is large, as in the published experiments on buffer sizes."""
MOST_ROWS = 20
"""Flows listed per place, largest first; the tables list all."""
MOST_PLACES_DRAWN = 3
"""Maximum number of places drawn: more curves cannot be distinguished; the tables have all."""
MOST_PANELS = 6
"""Maximum number of places of all captures together."""
MOST_POINTS = 120
"""Maximum points of a curve over time."""
_RULES = (
    "Loss by flag is the share of packets with Wireshark's tcp.analysis.retransmission "
    "(retransmissions, fast and spurious ones), the rule of the published experiment. Loss by "
    "bytes is ours: segments below the highest sequence number seen, over segments with payload."
)


def capture_report(runs: Mapping[str, Run]) -> Report:
    """The page of a capture, or of several side by side on common axes.

    Args:
        runs: As `dumbbell.formats.read_capture` or ``read_tshark_csv`` returns them, by
            distinguishing name.

    Raises:
        TableError: A run has no ``captured_flows``.
        ValueError: There is no run.
    """
    if not runs:
        raise ValueError("a page needs a capture")
    is_one = len(runs) == 1
    places = [
        seen for name, run in runs.items() for seen in seen_places(run, "" if is_one else name)
    ]
    most = max(1, MOST_PLACES_DRAWN if is_one else MOST_PANELS // len(runs))
    # The same place of each capture, one below the other.
    of_each = [[seen for seen in places if seen.run is run][:most] for run in runs.values()]
    drawn = [seen for together in zip_longest(*of_each) for seen in together if seen is not None]
    return Report(
        study="capture" if is_one else "captures",
        title=f"What is in {next(iter(runs))}?" if is_one else f"{listed(runs)}, side by side",
        summary=" ".join(_read(name, run) for name, run in runs.items()),
        values=[_values(places), *(_largest(seen, is_folded=not is_one) for seen in drawn)],
        figures=[
            *figures_over_time(drawn),
            *_distributions(drawn, is_one=is_one),
            *_rates(runs, most),
        ],
        notes=[_RULES, *_notes(runs, places, drawn, most)],
        meta=_meta(runs),
        tables=captured_tables(runs),
    )


def seen_places(run: Run, capture: str = "") -> list[SeenPlace]:
    """Return the places of a capture, prefixed with its name where one is given."""
    places, names = captured_places(run), run.flow_names
    return [
        SeenPlace(
            _label(run, *place, capture, is_only=len(places) == 1),
            run,
            *place,
            captured_flows(run, *place),
            names,
        )
        for place in places
    ]


def _label(run: Run, queue: int, place: int, capture: str, *, is_only: bool) -> str:
    """Return the name of a place, with the name of its capture if there are several."""
    name = place_name(run, queue, place)
    if not capture:
        return name
    return capture if is_only else f"{capture}: {name}"


def _read(name: str, run: Run) -> str:
    flows, places = len(run.flow_names), len(captured_places(run))
    pkts = run.meta.get("read", {}).get("pkts", 0)
    return (
        f"{name}: {pkts} packets read, {flows} flows at {places} "
        f"{'place' if places == 1 else 'places'}."
    )


def _notes(
    runs: Mapping[str, Run], places: Sequence[SeenPlace], drawn: Sequence[SeenPlace], most: int
) -> list[str]:
    notes = []
    for name, run in runs.items():
        before = f"{name}: " if len(runs) > 1 else ""
        notes += [f"{before}{problem}" for problem in run.meta.get("problems", [])]
    if len(places) > len(drawn):
        of = " of each capture" if len(runs) > 1 else ""
        notes.append(f"Figures and lists have the first {most} places{of}, the tables all.")
    for seen in places:
        if seen.flows.without_duration:
            notes.append(
                f"{seen.label}: {seen.flows.without_duration} flows of one instant have no "
                "duration and are not among the throughputs."
            )
    losses = [note for seen in drawn for note in loss_notes(seen)]
    return [*losses, *notes, *without_replies(drawn), *not_followed(drawn)]


def _meta(runs: Mapping[str, Run]) -> dict[str, Any]:
    said = {
        name: {key: value for key, value in run.meta.items() if key != SERIES}
        for name, run in runs.items()
    }
    return next(iter(said.values())) if len(said) == 1 else said


def captured_tables(runs: Mapping[str, Run]) -> dict[str, pl.DataFrame]:
    """Return both tables of captured flows, with a column for the capture if there are several."""
    tables = {}
    for table in ("captured_flows", "captured_intervals"):
        frames = [
            pl.DataFrame(run.named_columns(table)).select(
                *([pl.lit(name).alias("capture")] if len(runs) > 1 else []), pl.all()
            )
            for name, run in runs.items()
            if table in run.tables
        ]
        if frames:
            tables[table] = pl.concat(frames)
    return tables


def place_name(run: Run, queue: int, place: int) -> str:
    """Return a place in readable form: ``a->b after``, or the interface's name, made printable."""
    name = printable(run.queue_names[queue])
    return {0: f"{name} before", 1: f"{name} after"}.get(place, name)


def sizes(found: CapturedFlows) -> list[tuple[str, np.ndarray[Any, np.dtype[np.bool_]]]]:
    """Return which flows are large and which are small."""
    is_large = found.bytes > LARGE_BYTES
    return [("> 100 KB", is_large), ("<= 100 KB", ~is_large)]


def _values(places: Sequence[SeenPlace]) -> ValueTable:
    all_found = [seen.flows for seen in places]
    rows = {
        ("Flows", ""): [Cell(found.flow.size) for found in all_found],
        ("Packets", ""): [Cell(found.pkts.sum()) for found in all_found],
        ("Median throughput", "Mbit/s"): [
            shown(median(found.throughput_bps) / 1e6) for found in all_found
        ],
        ("Mean loss of a flow by flag", "%"): [
            shown(100 * mean(found.loss_by_flag)) for found in all_found
        ],
        ("Mean loss of a flow by bytes", "%"): [
            shown(100 * mean(found.loss_by_bytes)) for found in all_found
        ],
    }
    return ValueTable(
        title="Flows",
        columns=[seen.label for seen in places],
        rows=[ValueRow(name, unit, cells) for (name, unit), cells in rows.items()],
        caption="Each flow in the direction that carried more bytes.",
    )


def _largest(seen: SeenPlace, *, is_folded: bool) -> ValueTable:
    found = seen.flows
    columns = ["Packets", "MB", "s", "Mbit/s", "Loss by flag, %", "Loss by bytes, %"]
    rows = [ValueRow(seen.name_of(row), "", flow_cells(found, row)) for row in largest(found)]
    title = f"Flows, {seen.label}"
    caption = f"The {len(rows)} largest of {found.flow.size}; captured_flows.parquet has all."
    caption = caption if len(rows) < found.flow.size else ""
    return ValueTable(title, columns, rows, caption, is_folded)


def largest(found: CapturedFlows) -> list[int]:
    """Return the rows of the flows with the most bytes, at most `MOST_ROWS`."""
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
    """Return the median of the known values; NaN without any."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


def mean(values: np.ndarray[Any, Any]) -> float:
    """Return the mean of the known values; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def shown(value: float) -> Cell:
    """Format with three significant digits, or as a whole number."""
    return Cell(value, digits=3)


def _distributions(places: Sequence[SeenPlace], *, is_one: bool) -> list[Figure]:
    """Draw CDFs: colours show sizes, lines show places; with several captures, vice versa."""
    what: Mapping[str, tuple[str, str, str]] = {
        "throughput": ("Throughput of a flow (Mbit/s)", "throughput_bps", "Throughput of flows"),
        "loss-by-flag": ("Loss of a flow by flag (%)", "loss_by_flag", "Loss by Wireshark's flag"),
        "loss-by-bytes": ("Loss of a flow by bytes (%)", "loss_by_bytes", "Loss by our rule"),
    }
    figures = []
    for name, (title, attribute, heading) in what.items():
        factor = 1e-6 if name == "throughput" else 100.0
        samples = []
        for seen in places:
            values = getattr(seen.flows, attribute)
            for size, keep in sizes(seen.flows):
                known = values[keep & ~np.isnan(values)]
                if known.size:
                    keys = (size, seen.label) if is_one else (seen.label, size)
                    samples.append(Sample(*keys, known * factor))
        if samples:
            titles = ("Size", "Place") if is_one else ("Place", "Size")
            plot = ecdf_chart(samples, x_title=title, colour_title=titles[0], dash_title=titles[1])
            caption = f"{heading}: the share of flows at or below a value, large and small apart."
            figures.append(Figure(name, *_with_long_names(plot), caption=caption, title=heading))
    return figures


def _rates(runs: Mapping[str, Run], most: int) -> list[Figure]:
    """Draw rates at the first places of each capture, even those with packets but no flows."""
    curves = []
    for capture, run in runs.items():
        series = run.meta.get(SERIES, [])
        for each in series[:most]:
            counts = np.array(each["bytes"], dtype=float)
            together = -(-counts.size // MOST_POINTS) or 1
            # The last interval is left out unless it is complete.
            counts = counts[: counts.size // together * together].reshape(-1, together).sum(axis=1)
            width_s = together * each["width_ns"] / 1e9
            rate = counts * 8e-6 / width_s
            if rate.size > 1:
                at = each["begin_ns"] / 1e9 + width_s * (np.arange(rate.size) + 0.5)
                queue = run.queue_names.index(each["queue"])
                before = capture if len(runs) > 1 else ""
                name = _label(run, queue, each["place"], before, is_only=len(series) == 1)
                curves.append(Curve(name, at, rate))
    if not curves:
        return []
    plot = line_with_band(curves, x_title="Time (s)", y_title="Rate (Mbit/s)", points=False)
    caption = "Bits of all frames seen at a place, both directions, in equal intervals."
    return [
        Figure(
            "rate", *_with_long_names(plot), caption=caption, title="Rate of everything over time"
        )
    ]


def _with_long_names(plot: Plot) -> Plot:
    """List names of places one below the other: side by side they exceed the page's width."""
    return Plot(plot.chart.configure_legend(columns=1), plot.data)

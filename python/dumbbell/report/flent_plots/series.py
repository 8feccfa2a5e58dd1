"""Input of the plots: series of a data file at its steps; and the type of a drawn plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import altair as alt
import numpy as np
import polars as pl

from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile, is_measured, raw_samples
from dumbbell.stats.errors import Floats

SMOOTHED_STEPS = 10
RATE, LATENCY = "Mbit/s", "Latency (ms)"
_DEFAULT_DELAY_S = 5.0
MOST_POINTS = 40_000
"""Maximum points in a plot. A file can contain millions, and each takes kilobytes in drawing."""
_FEWEST_POINTS = 20


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """A chart, its data, and a caption.

    Attributes:
        chart: Altair chart.
        data: Data of the chart.
        caption: Caption, in a sentence.
    """

    chart: alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart
    data: pl.DataFrame
    caption: str


@dataclass(frozen=True, slots=True)
class Line:
    """One series of a time plot.

    Attributes:
        label: Its name in the legend.
        x: Seconds from the test's start, shape (n,).
        y: Values there, in the axis' unit.
        second_axis: Whether it belongs to the axis on the right.
        average: Whether it is drawn as an average: black, and thicker.
    """

    label: str
    x: Floats
    y: Floats
    second_axis: bool = False
    average: bool = False


Files = Mapping[str, FlentFile]
"""Files by the name that distinguishes their series in a plot; a single file has an empty name."""
Drawer = Callable[[Files], DrawnPlot]
Lines = Callable[[FlentFile], list[Line]]


def no_data(what: str) -> SpecError:
    """Return the exception for a file without data for a plot."""
    return SpecError("plot", what, "a plot that the file has data for")


def titled(label: str, title: str) -> str:
    """Return a series' label in a plot of several files."""
    return f"{label}, {title}" if title else label


def lines_of(files: Files, *parts: Lines) -> list[Line]:
    """Return the lines of every file; with several files, averages are coloured, not black."""
    return [
        replace(line, label=titled(line.label, title), average=line.average and not title)
        for title, file in files.items()
        for part in parts
        for line in part(file)
    ]


def at_steps(file: FlentFile, series: str) -> tuple[Floats, Floats]:
    """Return times (s) and values of a series, where defined, shape (n,) each."""
    values = file.results.get(series, [])
    pairs = [(x, v) for x, v in zip(file.x_values, values, strict=False) if v is not None]
    both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def smooth(values: Floats, width: int = SMOOTHED_STEPS) -> Floats:
    """Return means over ``width`` neighbours, fewer at the ends."""
    if len(values) < 2:
        return values
    sums = np.concatenate(([0.0], np.cumsum(values)))
    place = np.arange(len(values))
    low = np.maximum(place - width // 2, 0)
    high = np.minimum(place + (width + 1) // 2, len(values))
    smoothed: Floats = (sums[high] - sums[low]) / (high - low)
    return smoothed


def measured_series(file: FlentFile, prefix: str) -> list[str]:
    """Return the measured series of a kind, excluding derived ones."""
    names = (s for s in file.results if s.startswith(prefix))
    return [s for s in names if is_series(s) and is_measured(file, s)]


def is_series(name: str) -> bool:
    """Return whether it is a series: ``TCP upload BE::tcp_cwnd`` is a column of samples."""
    return "::" not in name or name.rpartition("::")[2].isdecimal()


def _first(file: FlentFile, *names: str) -> str | None:
    return next((name for name in names if name in file.results), None)


def ping_series(file: FlentFile) -> str | None:
    """Return the latency series for plots of totals."""
    return _first(file, "Ping (ms) avg", "Ping (ms) ICMP")


def rate_series(file: FlentFile) -> dict[str, str]:
    """Return series by label: the sums of both directions, or every flow without sums."""
    sums = {
        label: f"TCP {label.lower()} sum"
        for label in ("Download", "Upload")
        if f"TCP {label.lower()} sum" in file.results
    }
    flows = [*measured_series(file, "TCP"), *measured_series(file, "UDP")]
    return sums or {_capital(name.removeprefix("TCP ")): name for name in flows}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def delay_of_s(file: FlentFile) -> float:
    """Return the delay before and after the load, ``-d``, which Flent's files do not contain."""
    ours = file.metadata.get("DUMBBELL")
    delay = ours.get("delay_s") if isinstance(ours, Mapping) else None
    return float(delay) if isinstance(delay, int) else _DEFAULT_DELAY_S


def loaded(file: FlentFile, x: Floats, y: Floats) -> Floats:
    """Return the values, excluding the delays before and after the load."""
    delay_s = delay_of_s(file)
    last = (file.x_values[-1] if file.x_values else 0.0) - delay_s
    kept: Floats = y[(x > delay_s) & (x <= last)]
    return kept


def fewer(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """Thin to at most `most` points without a visible change: the extremes of each stretch.

    Args:
        x: Ascending, shape (n,).
        y: Values there.
        most: Points to keep, at least 2; of every stretch the minimum and the maximum.
    """
    if len(x) <= most:
        return x, y
    stretches = most // 2
    width = -(-len(y) // stretches)
    padded = np.pad(y, (0, width * stretches - len(y)), mode="edge").reshape(stretches, width)
    first = width * np.arange(stretches)
    places = np.unique(np.concatenate((padded.argmin(1) + first, padded.argmax(1) + first)))
    places = places[places < len(y)]
    return x[places], y[places]


def same_quantiles(values: Floats, most: int) -> Floats:
    """Return at most `most` values, at equidistant ranks from minimum to maximum."""
    if len(values) <= most:
        return values
    ranks = np.linspace(0, len(values) - 1, most).round().astype(np.int64)
    kept: Floats = np.sort(values)[ranks]
    return kept


def points_each(series: int) -> int:
    """Return the maximum points of each of `series` series in a plot."""
    return max(_FEWEST_POINTS, MOST_POINTS // max(1, series))


def raw_lines(file: FlentFile, key: str, prefix: str) -> list[Line]:
    """Return lines from the series at the steps, or from the samples if a file has only those."""
    lines = []
    for name, samples in file.raw_values.items():
        if not name.startswith(prefix) or not is_series(name):
            continue
        if f"{name}::{key}" in file.results:
            x, y = at_steps(file, f"{name}::{key}")
        else:
            x, y = raw_samples(file, samples, key)
        if len(x):
            lines.append(Line(name.removeprefix(prefix).strip(), x, y))
    return lines

"""What ``flent -f summary`` prints of a data file: mean, median and 99th percentile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.formats.flent.file import FlentFile

_LONGEST_UNIT = 20


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One series.

    Attributes:
        series: Its name.
        mean: Over all of its values; NaN where there are none.
        median: Of the same.
        p99: 99th percentile, linear between the two nearest.
        unit: ``Mbits/s`` or ``ms``.
        points: How many values.
    """

    series: str
    mean: float
    median: float
    p99: float
    unit: str
    points: int


def summary_rows(file: FlentFile) -> list[SummaryRow]:
    """A row a series, by name; those of sockets and queues (``A::b``) are left out.

    Measured series count their raw samples, computed ones their values at the steps.
    """
    rows = []
    for series in sorted(file.results):
        if "::" in series and not series.rpartition("::")[2].isdecimal():
            continue  # a column of a socket or queue; `TCP upload::1` is a flow
        values = series_values(file, series)
        unit = _unit(file, series)
        if not values:
            rows.append(SummaryRow(series, *(float("nan"),) * 3, unit, 0))
            continue
        mean, (median, p99) = np.mean(values), np.percentile(values, (50, 99))
        row = SummaryRow(series, float(mean), float(median), float(p99), unit, len(values))
        rows.append(row)
    return rows


def series_values(file: FlentFile, series: str) -> list[float]:
    """Samples of a series as taken, or its values at the steps when it has none."""
    raw = [sample.get("val") for sample in file.raw_values.get(series, [])]
    numbers = [float(v) for v in raw if isinstance(v, int | float) and not isinstance(v, bool)]
    return numbers or [value for value in file.results.get(series, []) if value is not None]


def summary_text(file: FlentFile) -> str:
    """The rows as a table, in Flent's columns."""
    rows = summary_rows(file)
    width = max((len(row.series) for row in rows), default=0)
    title = f"\n  Title: '{file.text('TITLE')}'" if file.text("TITLE") else ""
    head = f"Summary of {file.text('NAME')} test run from {file.text('TIME')}{title}\n\n"
    names = ("avg", "median", "99th %", "# data pts")
    lines = [" " * (width + 4) + "".join(f"{name:>13}" for name in names)]
    for row in rows:
        if not row.points:
            lines.append(f" {row.series:<{width}} : No data.")
            continue
        numbers = "".join(f"{value:>13.2f}" for value in (row.mean, row.median, row.p99))
        lines.append(f" {row.series:<{width}} : {numbers}{row.points:>13} {row.unit}")
    return head + "\n".join(lines) + "\n"


def _unit(file: FlentFile, series: str) -> str:
    """As the file has it, when that is a word; else by the series' name."""
    told = file.series_meta(series).get("UNITS")
    if isinstance(told, str) and 0 < len(told) <= _LONGEST_UNIT and told.isprintable():
        return told
    return "ms" if series.startswith("Ping") else "Mbits/s"

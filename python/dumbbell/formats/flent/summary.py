"""The output of ``flent -f summary``: mean, median and 99th percentile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.formats.flent.file import FlentFile, is_column

_LONGEST_UNIT = 20
_LARGEST_MEAN = 1e20
_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Statistics of one series.

    Attributes:
        series: Its name.
        mean: See `series_mean`; NaN without values.
        median: Median of `series_values`; NaN without values, like all below.
        p95: 95th percentile, interpolated linearly.
        p99: 99th percentile.
        least: Minimum.
        greatest: Maximum.
        unit: Unit from the file, such as ``Mbits/s`` or ``ms``; empty if unknown.
        points: Number of values.
    """

    series: str
    mean: float
    median: float
    p95: float
    p99: float
    least: float
    greatest: float
    unit: str
    points: int


def summary_rows(file: FlentFile) -> list[SummaryRow]:
    """One row per series, sorted by name as in Flent's own summary.

    Series named ``A::b`` are columns of the samples of A, such as a socket's window, a queue's
    backlog or a call's delay.
    """
    return [_row(file, series) for series in sorted(file.results)]


def _row(file: FlentFile, series: str) -> SummaryRow:
    values = series_values(file, series)
    unit = _unit(file, series)
    if not values:
        return SummaryRow(series, *(_NAN,) * 6, unit, 0)
    median, p95, p99 = map(float, np.percentile(values, (50, 95, 99)))
    mean = series_mean(file, series)
    return SummaryRow(series, mean, median, p95, p99, min(values), max(values), unit, len(values))


def series_mean(file: FlentFile, series: str) -> float:
    """The mean reported by the measuring program over its whole time; otherwise that of the values.

    netperf's samples have unequal durations, so their mean differs from the flow's mean rate: bytes
    over time, as printed by the program at its end (``MEAN_VALUE`` in the metadata). Flent prefers
    that value too. NaN without either.
    """
    told = file.series_meta(series).get("MEAN_VALUE")
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    if is_number and told and abs(told) <= _LARGEST_MEAN:
        return float(told)
    values = series_values(file, series)
    return float(np.mean(values)) if values else _NAN


def series_values(file: FlentFile, series: str) -> list[float]:
    """Original samples of a series, or its values at the steps if it has none."""
    samples, key = file.raw_values.get(series), "val"
    if samples is None and "::" in series:
        of, _, key = series.rpartition("::")
        samples = file.raw_values.get(of)
    raw = [sample.get(key) for sample in samples or []]
    numbers = [float(v) for v in raw if isinstance(v, int | float) and not isinstance(v, bool)]
    return numbers or [value for value in file.results.get(series, []) if value is not None]


def summary_text(file: FlentFile) -> str:
    """The rows as a table, with Flent's columns."""
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
        lines.append(f" {row.series:<{width}} : {numbers}{row.points:>13} {row.unit}".rstrip())
    return head + "\n".join(lines) + "\n"


_COLUMN_UNITS = {
    "dropped": "packets",
    "ecn_mark": "packets",
    "backlog_bytes": "bytes",
    "backlog_pkts": "packets",
    "sent_bytes": "bytes",
    "sent_pkts": "packets",
    "tcp_cwnd": "packets",
    "tcp_rtt": "ms",
    "tcp_rtt_var": "ms",
    "tcp_pacing_rate": "Mbits/s",
    "tcp_delivery_rate": "Mbits/s",
    "delay": "ms",
    "induced_delay": "ms",
    "jitter": "ms",
    "bitrate": "Kbits/s",
    "loss": "count",
}
"""Units of columns of sockets, queues and calls (VoIP), which files do not repeat (Flent 2.1.1)."""


def _unit(file: FlentFile, series: str) -> str:
    """Unit from the file, if it is a valid word; otherwise by the name of the series.

    The unit of a series does not apply to its columns.
    """
    if series.endswith(" fairness"):
        return ""  # Jain's index; Flent's files wrongly give it the rates' unit
    told = file.series_meta(series).get("UNITS")
    if isinstance(told, str) and 0 < len(told) <= _LONGEST_UNIT and told.isprintable():
        return told
    if is_column(series):
        return _COLUMN_UNITS.get(series.rpartition("::")[2], "")
    return "ms" if series.startswith("Ping") else "Mbits/s"

"""What ``flent -f summary`` prints of a data file: mean, median and 99th percentile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.formats.flent.file import FlentFile, is_column

_LONGEST_UNIT = 20
_LARGEST_MEAN = 1e20
_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One series.

    Attributes:
        series: Its name.
        mean: See `series_mean`; NaN where there are no values.
        median: Of its values, see `series_values`; NaN where there are none, as all below.
        p95: 95th percentile, linear between the two nearest.
        p99: 99th percentile.
        least: Least value.
        greatest: Greatest value.
        unit: As the file says it, such as ``Mbits/s`` or ``ms``; empty where nothing says it.
        points: How many values.
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
    """A row a series, by name, as Flent's own summary has them.

    Those named ``A::b`` are columns of the samples of A, such as the windows of a socket, the
    backlog of a queue or the delay of a call.
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
    """The mean that the measuring program gave itself, over its whole time; else of the values.

    netperf's samples are of unequal duration, so that their mean is not that of the flow: it is
    the bytes over the time that count, which the program printed at its end (``MEAN_VALUE`` in the
    metadata). Flent takes it first, too. NaN where there is neither.
    """
    told = file.series_meta(series).get("MEAN_VALUE")
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    if is_number and told and abs(told) <= _LARGEST_MEAN:
        return float(told)
    values = series_values(file, series)
    return float(np.mean(values)) if values else _NAN


def series_values(file: FlentFile, series: str) -> list[float]:
    """Samples of a series as taken, or its values at the steps when it has none."""
    samples, key = file.raw_values.get(series), "val"
    if samples is None and "::" in series:
        of, _, key = series.rpartition("::")
        samples = file.raw_values.get(of)
    raw = [sample.get(key) for sample in samples or []]
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
"""Of columns of sockets, queues and calls (VoIP), whose units files do not repeat: Flent 2.1.1."""


def _unit(file: FlentFile, series: str) -> str:
    """As the file has it, when that is a word; else by the series' name.

    A column has the unit of no other: that of its series is of the values.
    """
    if series.endswith(" fairness"):
        return ""  # Jain's index; Flent's files give it the rates' unit
    told = file.series_meta(series).get("UNITS")
    if isinstance(told, str) and 0 < len(told) <= _LONGEST_UNIT and told.isprintable():
        return told
    if is_column(series):
        return _COLUMN_UNITS.get(series.rpartition("::")[2], "")
    return "ms" if series.startswith("Ping") else "Mbits/s"

"""Numbers of crusader's results: its summary, and round trips as in other pings.

The summary's numbers are defined as in crusader 0.3 (Zoxc/crusader,
``src/crusader-lib/src/plot.rs``): throughput without the first and last part of a load, and the
maximum of the round-trip time smoothed over windows of 400 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.formats.logs import CrusaderLog, LogTable
from dumbbell.formats.logs.model import Array
from dumbbell.metrics.logs.number import (
    Floats,
    LogNumber,
    LogSeries,
    mean_number,
    percentile_numbers,
)

MOST_POINTS = 1 << 20
"""Maximum points of a sum over time; an hour at 20 ms has 180,000."""
_LEFT_OUT_S, _LEFT_OUT = 2.0, 0.2
"""Part left out at a load's beginning: a fifth, at most two seconds."""
_LEFT_OUT_OF_END_S, _LEFT_OUT_OF_END = 0.5, 0.1
_LEAST_WINDOW_US = 200_000
_GROUPS = ("download", "upload", "download of both", "upload of both")
_MBIT = 1e-6


@dataclass(frozen=True, slots=True)
class _Sum:
    """Total bytes of streams at the sampling instants, in microseconds."""

    at_us: Array
    bytes: Floats


def crusader_numbers(log: CrusaderLog) -> list[LogNumber]:
    """Return throughput, peak of the smoothed RTT, loss and round trips of each load."""
    sums = _sums(log)
    both = [sums[name] for name in _GROUPS[2:] if name in sums]
    loads = {name: sums[name] for name in _GROUPS[:2] if name in sums}
    if len(both) == 2:
        loads["bidirectional"] = _together(both)
    found: list[LogNumber] = []
    for name, load in loads.items():
        window = _window(log, name, load)
        if window is None:
            continue
        found += _throughput(name, "", log, load, window[0])
        if name == "bidirectional":
            for way in _GROUPS[2:]:
                of_way = _window(log, name, sums[way])
                if of_way is not None:
                    said = f"{way.split()[0]}_"
                    found += _throughput(name, said, log, sums[way], of_way[0])
        found += _echoes(name, log, "pings", window)
        if "peer_pings" in log.tables:
            found += _echoes(f"{name}, pings of the peer", log, "peer_pings", window)
    if not sums and "pings" in log.tables:
        whole = (log.start_ns // 1000, (log.start_ns + log.duration_ns) // 1000)
        found += _echoes("idle", log, "pings", whole)
    return found


def crusader_series(log: CrusaderLog) -> list[LogSeries]:
    """Return round trips by time of sending, and throughput of each group of streams."""
    series = []
    if "pings" in log.tables:
        table = log.tables["pings"]
        keep = (table["rtt_ns"] >= 0) & (table["sent_ns"] >= 0)
        t_s = table["sent_ns"][keep] / 1e9
        rtt_ms = table["rtt_ns"][keep] / 1e6
        series.append(LogSeries("", "rtt_ms", "round trip", "ms", t_s, rtt_ms))
    for name, each in _sums(log).items():
        seconds = np.diff(each.at_us) / 1e6
        rate = 8 * _MBIT * np.diff(each.bytes) / seconds
        t_s = each.at_us[1:] / 1e6
        series.append(LogSeries(name, "throughput_mbps", "throughput", "Mbit/s", t_s, rate))
    return series


def _sums(log: CrusaderLog) -> dict[str, _Sum]:
    """Return the sum of each group of streams, if it can be computed."""
    step = log.sample_interval_ns // 1000
    if "streams" not in log.tables or step <= 0:
        return {}
    table = log.tables["streams"]
    found = {}
    for name in _GROUPS:
        of_group = (table["group"] == name) & (table["t_ns"] >= 0) & (table["bytes"] >= 0)
        sums = [
            each
            for number in np.unique(table["stream"][of_group]).tolist()
            if (each := _interpolated(table, of_group & (table["stream"] == number), step))
        ]
        if sums:
            found[name] = _together(sums)
    return found


def _interpolated(table: LogTable, keep: Array, step: int) -> _Sum | None:
    """Interpolate a stream at multiples of the interval; skip times that are too far apart."""
    at_us = np.maximum.accumulate(table["t_ns"][keep] // 1000)
    begin, end = int(at_us[0]) // step, -(-int(at_us[-1]) // step)
    if end - begin >= MOST_POINTS:
        return None
    grid = np.arange(begin, end + 1, dtype=np.int64) * step
    return _Sum(grid, np.interp(grid, at_us, table["bytes"][keep].astype(np.float64)))


def _together(sums: list[_Sum]) -> _Sum:
    """Add streams: 0 bytes before a stream begins, and its final value after its end."""
    step = min(
        (int(each.at_us[1] - each.at_us[0]) for each in sums if len(each.at_us) > 1), default=1
    )
    first = min(int(each.at_us[0]) for each in sums)
    last = max(int(each.at_us[-1]) for each in sums)
    if (last - first) // step >= MOST_POINTS:
        return sums[0]
    grid = np.arange(first, last + 1, step, dtype=np.int64)
    total = np.zeros(len(grid))
    for each in sums:
        total += np.interp(grid, each.at_us, each.bytes, left=0.0)
    return _Sum(grid, total)


def _window(log: CrusaderLog, name: str, load: _Sum) -> tuple[int, int] | None:
    """Return begin and scheduled end of a load: as crusader wrote them, or from its first byte."""
    if "tests" in log.tables:
        tests = log.tables["tests"]
        for row in np.flatnonzero(tests["test"] == name)[:1].tolist():
            begin, end = int(tests["start_ns"][row]) // 1000, int(tests["end_ns"][row]) // 1000
            return begin, min(end, begin + log.load_ns // 1000)
    some = np.flatnonzero(load.bytes > 0)
    if not len(some) or log.load_ns < 0:
        return None
    begin = int(load.at_us[some[0]])
    return begin, begin + log.load_ns // 1000


def _throughput(of: str, way: str, log: CrusaderLog, load: _Sum, begin_us: int) -> list[LogNumber]:
    load_s = log.load_ns / 1e9
    begin = begin_us + int(1e6 * min(_LEFT_OUT * load_s, _LEFT_OUT_S))
    end = begin_us + int(1e6 * (load_s - min(_LEFT_OUT_OF_END * load_s, _LEFT_OUT_OF_END_S)))
    last = len(load.at_us) - 1
    first_at, last_at = (
        min(int(np.searchsorted(load.at_us, point)), last) for point in (begin, end)
    )
    seconds = float(load.at_us[last_at] - load.at_us[first_at]) / 1e6
    if seconds <= 0:
        return []
    rate = 8 * _MBIT * float(load.bytes[last_at] - load.bytes[first_at]) / seconds
    said = f", {way.rstrip('_')}" if way else ""
    title = f"throughput without its first and last part{said}"
    return [LogNumber(of, f"throughput_{way}steady_mbps", title, "Mbit/s", rate)]


def _echoes(of: str, log: CrusaderLog, which: str, window: tuple[int, int]) -> list[LogNumber]:
    if which not in log.tables:
        return []
    table = log.tables[which]
    order = np.argsort(table["sent_ns"], kind="stable")
    pings = {each.name: table[each.name][order] for each in table.columns}
    found = _peak(of, log, pings, window)
    sent_us = pings["sent_ns"] // 1000
    keep = (sent_us >= window[0]) & (sent_us <= window[1])
    where, rtt_ns = pings["lost_where"][keep], pings["rtt_ns"][keep]
    if not len(where):
        return found
    lost = 100.0 * float((where != "").mean())
    found.append(LogNumber(of, "loss_percent", "pings lost", "%", lost, None, len(where)))
    if not (where == "unknown").any():
        for way, said in (("up", "there"), ("down", "back")):
            share = 100.0 * float((where == way).mean())
            title = f"lost on the way {said}"
            found.append(LogNumber(of, f"loss_{way}_percent", title, "%", share, None, len(where)))
    rtt_ms = rtt_ns[rtt_ns >= 0] / 1e6
    if len(rtt_ms):
        found.append(mean_number(of, "rtt_mean_ms", "round trip, mean", "ms", rtt_ms))
        found += percentile_numbers(of, "rtt", "round trip", "ms", rtt_ms)
    return found


def _peak(
    of: str, log: CrusaderLog, pings: Mapping[str, Array], window: tuple[int, int]
) -> list[LogNumber]:
    """Return the maximum mean RTT of a window, and the delays of the same window."""
    half_us = max(3 * log.ping_interval_ns // 1000, _LEAST_WINDOW_US)
    sent_us = pings["sent_ns"] // 1000
    begin, end = max(0, int(sent_us[0]) - half_us), int(sent_us[-1]) + half_us
    step = half_us // 4
    if (end - begin) // step >= MOST_POINTS:
        return []
    at = np.arange(begin, end + 1, step, dtype=np.int64)
    at = at[(at >= window[0]) & (at <= window[1])]
    low = np.searchsorted(sent_us, at - half_us)
    high = np.searchsorted(sent_us, at + half_us, side="right")
    is_answered = pings["rtt_ns"] >= 0

    def mean(values: Array) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(np.where(is_answered, values, 0).astype(float))])
        counts = np.concatenate([[0], np.cumsum(is_answered)])
        count = counts[high] - counts[low]
        enough = count > 2
        total = np.where(enough, sums[high] - sums[low], np.nan)
        found: Floats = total / np.where(enough, count, 1) / 1e6
        return found

    rtt = mean(pings["rtt_ns"])
    if not np.isfinite(rtt).any():
        return []
    place = int(np.nanargmax(rtt))
    title = "round trip, greatest of those smoothed over 400 ms"
    found = [LogNumber(of, "rtt_peak_ms", title, "ms", float(rtt[place]))]
    if (pings["delay_up_ns"][is_answered] >= 0).all():
        up = float(mean(pings["delay_up_ns"])[place])
        for name, said, value in (("up", "there", up), ("down", "back", float(rtt[place]) - up)):
            title = f"one-way delay {said} (two clocks) at that greatest"
            found.append(LogNumber(of, f"delay_{name}_at_peak_ms", title, "ms", value))
    return found

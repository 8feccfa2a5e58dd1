"""Numbers of Waveform's bufferbloat test: its throughput, and round trips of its samples."""

from __future__ import annotations

import numpy as np

from dumbbell.formats.logs import WaveformLog
from dumbbell.formats.logs.waveform import STAGES
from dumbbell.metrics.logs.number import (
    Floats,
    LogNumber,
    LogSeries,
    mean_number,
    percentile_numbers,
)


def waveform_numbers(log: WaveformLog) -> list[LogNumber]:
    """Return throughput and RTTs of each stage, and their increase over the unloaded stage."""
    rates = log.tables["rates"]
    said = dict(zip(rates["stage"].tolist(), rates["throughput_mbps"].tolist(), strict=True))
    found: list[LogNumber] = []
    unloaded = _round_trips_ms(log, "unloaded")
    for stage in STAGES:
        if stage in said:
            title = "throughput"
            found.append(LogNumber(stage, "throughput_mbps", title, "Mbit/s", said[stage]))
        rtt_ms = _round_trips_ms(log, stage)
        if not len(rtt_ms):
            continue
        found.append(mean_number(stage, "rtt_mean_ms", "round trip, mean", "ms", rtt_ms))
        found += percentile_numbers(stage, "rtt", "round trip", "ms", rtt_ms)
        if stage != "unloaded" and len(unloaded):
            longer = float(rtt_ms.mean() - unloaded.mean())
            title = "round trip, mean, beyond unloaded"
            found.append(LogNumber(stage, "rtt_increase_mean_ms", title, "ms", longer))
    return found


def waveform_series(log: WaveformLog) -> list[LogSeries]:
    """Return round trips of each stage by sample number: the export has no times."""
    found = []
    for stage in STAGES:
        rtt_ms = _round_trips_ms(log, stage)
        at = np.arange(1, len(rtt_ms) + 1, dtype=np.float64)
        if len(rtt_ms):
            found.append(LogSeries(stage, "rtt_ms", "round trip", "ms", at, rtt_ms, is_timed=False))
    return found


def _round_trips_ms(log: WaveformLog, stage: str) -> Floats:
    table = log.tables["round_trips"]
    found: Floats = table["rtt_ms"][table["stage"] == stage].astype(np.float64)
    return found

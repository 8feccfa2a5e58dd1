"""Numbers of logs, and their time series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.formats.logs import (
    CrusaderLog,
    Iperf3Log,
    IperfLog,
    IrttLog,
    ItgLog,
    Log,
    Ndt7Log,
    NetperfLog,
    PingLog,
    SsLog,
    TcLog,
    WaveformLog,
)
from dumbbell.metrics.logs.crusader import crusader_numbers, crusader_series
from dumbbell.metrics.logs.latency import (
    irtt_numbers,
    irtt_series,
    itg_numbers,
    itg_series,
    ping_numbers,
    ping_series,
)
from dumbbell.metrics.logs.ndt7 import ndt7_numbers, ndt7_series
from dumbbell.metrics.logs.number import LogNumber, LogSeries, mean_interval
from dumbbell.metrics.logs.state import ss_numbers, ss_series, tc_numbers, tc_series
from dumbbell.metrics.logs.throughput import (
    iperf3_numbers,
    iperf3_series,
    iperf_numbers,
    iperf_series,
    netperf_numbers,
    netperf_series,
)
from dumbbell.metrics.logs.waveform import waveform_numbers, waveform_series

__all__ = ["LogNumber", "LogSeries", "log_numbers", "log_series", "mean_interval"]


_NUMBERS: Mapping[type[Log], Callable[[Any], list[LogNumber]]] = {
    PingLog: ping_numbers,
    IrttLog: irtt_numbers,
    ItgLog: itg_numbers,
    Iperf3Log: iperf3_numbers,
    IperfLog: iperf_numbers,
    NetperfLog: netperf_numbers,
    SsLog: ss_numbers,
    TcLog: tc_numbers,
    CrusaderLog: crusader_numbers,
    Ndt7Log: ndt7_numbers,
    WaveformLog: waveform_numbers,
}
_SERIES: Mapping[type[Log], Callable[[Any], list[LogSeries]]] = {
    PingLog: ping_series,
    IrttLog: irtt_series,
    ItgLog: itg_series,
    Iperf3Log: iperf3_series,
    IperfLog: iperf_series,
    NetperfLog: netperf_series,
    SsLog: ss_series,
    TcLog: tc_series,
    CrusaderLog: crusader_series,
    Ndt7Log: ndt7_series,
    WaveformLog: waveform_series,
}


def log_numbers(log: Log) -> list[LogNumber]:
    """Return the usual numbers of the program, in page order."""
    return _NUMBERS[type(log)](log)


def log_series(log: Log) -> list[LogSeries]:
    """Return the time series of the log."""
    return _SERIES[type(log)](log)

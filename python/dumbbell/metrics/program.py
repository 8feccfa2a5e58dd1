"""Results reported by programs that ran inside a run (docs/programs.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.metrics.registry import metric
from dumbbell.tables import NO_INSTANT, Run

__all__ = [
    "mean_program_delay_s",
    "mean_program_rtt_ms",
    "mean_program_transfer_time_s",
    "program_counted_bytes",
    "program_interval_throughput_quantiles_bps",
    "program_interval_throughputs_bps",
    "program_loss_ratio",
    "program_rtt_ms",
    "program_rtt_quantiles_ms",
    "program_throughput_bps",
    "program_transfer_goodput_quantiles_bps",
    "program_transfer_goodputs_bps",
    "program_transfer_time_quantiles_s",
    "program_transfer_times_s",
    "program_transferred_bytes",
]

_SECTION = "Programs"
_NS_PER_MS = 1e6
_ASKING, _ANSWERING = 0, 1
Floats = NDArray[np.float64]


@metric("ms", _SECTION)
def program_rtt_ms(run: Run, program: str | int) -> Floats:
    """Round-trip times printed by ``ping``, of the answered requests, in order.

    Args:
        run: A run of the kernel.
        program: Name or index of a program of kind ``ping``.

    Returns:
        Milliseconds, shape (answers,), rounded as by ping.
    """
    rtt = run.column("program_round_trips", "rtt_ns", program=program)
    answered: Floats = rtt[rtt != NO_INSTANT] / _NS_PER_MS
    return answered


@metric("ms", _SECTION)
def program_rtt_quantiles_ms(run: Run, program: str | int, q: ArrayLike) -> Floats:
    """Sample quantiles of `program_rtt_ms`, computed as by R's ``quantile`` (type 7) and NumPy.

    Args:
        run: The run.
        program: Name or index.
        q: Levels in [0, 1], any shape; 1 is the maximum.

    Returns:
        An array of the shape of ``q``; NaN without answers.
    """
    return _quantiles(program_rtt_ms(run, program), q)


@metric("ms", _SECTION)
def mean_program_rtt_ms(run: Run, program: str | int) -> float:
    """Mean of `program_rtt_ms`; NaN without answers."""
    rtt = program_rtt_ms(run, program)
    return float(rtt.mean()) if rtt.size else float("nan")


@metric("1", _SECTION)
def program_loss_ratio(run: Run, program: str | int) -> float:
    """Requests or datagrams reported lost by a program over those sent; NaN if not reported.

    For ``ping`` requests without an answer; for D-ITG, and for iperf and iperf3 over UDP, datagrams
    missed by the receiver.
    """
    sent, lost = (_said(run, program, column) for column in ("sent_pkts", "lost_pkts"))
    return lost / sent if sent > 0 and lost >= 0 else float("nan")


@metric("bit/s", _SECTION)
def program_throughput_bps(run: Run, program: str | int) -> float:
    """Payload over time of the whole test, as reported by the program; NaN if not reported.

    Received payload if the program reports it; for netperf the count of its own side.
    """
    return _said(run, program, "throughput_bps")


@metric("s", _SECTION)
def mean_program_delay_s(run: Run, program: str | int) -> float:
    """Mean one-way delay reported by the program (ITGDec); NaN if not reported."""
    return _said(run, program, "delay_mean_s")


@metric("s", _SECTION)
def program_transfer_times_s(run: Run, program: str | int) -> Floats:
    """Duration of each transfer: curl's ``time_total`` (curl(1), ``--write-out``), in order.

    From the start to the last byte, including the handshake of a new connection.

    Args:
        run: A run of the kernel.
        program: Name or index of a program of kind ``curl``.

    Returns:
        Seconds, shape (transfers,), rounded to microseconds as by curl.
    """
    times: Floats = run.column("program_transfers", "total_s", program=program).astype(np.float64)
    return times


@metric("s", _SECTION)
def mean_program_transfer_time_s(run: Run, program: str | int) -> float:
    """Mean of `program_transfer_times_s`; NaN without transfers."""
    times = program_transfer_times_s(run, program)
    return float(times.mean()) if times.size else float("nan")


@metric("s", _SECTION)
def program_transfer_time_quantiles_s(run: Run, program: str | int, q: ArrayLike) -> Floats:
    """Sample quantiles of `program_transfer_times_s`, of type 7 as in NumPy.

    Args:
        run: The run.
        program: Name or index.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN without transfers.
    """
    return _quantiles(program_transfer_times_s(run, program), q)


@metric("bytes", _SECTION)
def program_transferred_bytes(run: Run, program: str | int) -> float:
    """Payload of all transfers together: curl's ``size_download``, without headers."""
    return float(run.column("program_transfers", "bytes", program=program).sum())


@metric("bit/s", _SECTION)
def program_transfer_goodputs_bps(run: Run, program: str | int) -> Floats:
    """Payload of each transfer over its duration: ``size_download`` over ``time_total``.

    curl's ``speed_download`` is the same in whole bytes per second. `program_throughput_bps` is
    that of all transfers together.

    Args:
        run: The run.
        program: Name or index of a program of kind ``curl``.

    Returns:
        Shape (transfers,), without transfers shorter than a microsecond.
    """
    times = program_transfer_times_s(run, program)
    size = run.column("program_transfers", "bytes", program=program)
    rates: Floats = 8.0 * size[times > 0] / times[times > 0]
    return rates


@metric("bit/s", _SECTION)
def program_transfer_goodput_quantiles_bps(run: Run, program: str | int, q: ArrayLike) -> Floats:
    """Sample quantiles of `program_transfer_goodputs_bps`, of type 7 as in NumPy.

    Args:
        run: The run.
        program: Name or index.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN without transfers.
    """
    return _quantiles(program_transfer_goodputs_bps(run, program), q)


@metric("bytes", _SECTION)
def program_counted_bytes(
    run: Run, program: str | int, at_s: ArrayLike, *, side: int | None = None
) -> Floats:
    """Bytes counted by a program up to given times, over all its streams; linear within an
    interval.

    Args:
        run: The run.
        program: Name or index of a program that reports in intervals (iperf3, iperf, netperf).
        at_s: Times since the run's start, s, any shape.
        side: 0 for the client's count, 1 for the server's; if None that of the receiver.

    Returns:
        Bytes, of the shape of ``at_s``; NaN without reported intervals.
    """
    times = np.asarray(at_s, dtype=np.float64)
    wanted = _reading_side(run, program) if side is None else side
    columns = _intervals(run, program, wanted)
    streams = np.unique(columns["stream"])
    total = np.full(times.shape, 0.0 if streams.size else np.nan)
    for stream in streams:
        of = columns["stream"] == stream
        begin, end, counted = (columns[name][of] for name in ("start_ns", "end_ns", "bytes"))
        order = np.argsort(end, kind="stable")
        ends_s = np.concatenate([begin[order][:1], end[order]]) / 1e9
        sums = np.concatenate([[0.0], np.cumsum(counted[order], dtype=np.float64)])
        total += np.interp(times, ends_s, sums)
    return total


@metric("bit/s", _SECTION)
def program_interval_throughputs_bps(run: Run, program: str | int) -> Floats:
    """Throughput of each interval that a program reports, over all its streams.

    Intervals have the configured length, from the start of the program; if both sides report, those
    of the receiver count. A shorter last interval is left out.

    Args:
        run: The run.
        program: Name or index of a program that reports in intervals (iperf3, iperf, netperf).

    Returns:
        Shape (intervals,); empty without reported intervals.
    """
    columns = _intervals(run, program, _reading_side(run, program))
    if not columns["end_ns"].size:
        return np.empty(0)
    width_s = _asked(run, program)["interval_ns"] / 1e9
    begin_s, end_s = columns["start_ns"].min() / 1e9, columns["end_ns"].max() / 1e9
    # An interval slightly shorter than the full length counts as full: programs print four digits.
    count = int((end_s - begin_s) / width_s + 0.01)
    edges_s = begin_s + width_s * np.arange(count + 1)
    counted = program_counted_bytes(run, program, edges_s)
    rates: Floats = 8 * np.diff(counted) / width_s
    return rates


@metric("bit/s", _SECTION)
def program_interval_throughput_quantiles_bps(run: Run, program: str | int, q: ArrayLike) -> Floats:
    """Sample quantiles of `program_interval_throughputs_bps`.

    Args:
        run: The run.
        program: Name or index.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN without intervals.
    """
    return _quantiles(program_interval_throughputs_bps(run, program), q)


def _quantiles(sample: Floats, q: ArrayLike) -> Floats:
    levels = np.asarray(q, dtype=np.float64)
    return np.quantile(sample, levels) if sample.size else np.full(levels.shape, np.nan)


def _said(run: Run, program: str | int, column: str) -> float:
    (value,) = run.column("programs", column, program=program)
    return float(value)


def _asked(run: Run, program: str | int) -> Any:
    names = run.program_names
    index = names.index(program) if isinstance(program, str) else program
    return (run.spec or {})["programs"][index]


def _intervals(run: Run, program: str | int, side: int) -> dict[str, NDArray[np.int64]]:
    of = {"program": program, "side": side}
    return {
        name: run.column("program_intervals", name, **of).astype(np.int64)
        for name in ("stream", "start_ns", "end_ns", "bytes")
    }


def _reading_side(run: Run, program: str | int) -> int:
    """The side that counts received data: the server, except for a reversed iperf3, and for
    netperf, which reports only on the client."""
    if _asked(run, program).get("reverse"):
        return _ASKING
    answered = run.column("program_intervals", "side", program=program) == _ANSWERING
    return _ANSWERING if answered.any() else _ASKING

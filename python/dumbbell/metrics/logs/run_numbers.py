"""The numbers of logs that a run also has, with the same definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.formats.logs import LogFormat
from dumbbell.metrics.flow import goodput_bps, mean_delay_s
from dumbbell.metrics.ping import mean_ping_rtt_ms, ping_loss_ratio, ping_rtt_quantiles_ms
from dumbbell.spec import Resolved
from dumbbell.spec.refusal import nearest
from dumbbell.tables import Run

_NS_PER_MS, _NS_PER_S = 1e6, 1e9
_MBIT = 1e-6
_ECHOES = {
    "rtt_mean_ms": "mean over the answered requests",
    "rtt_min_ms": "least of them",
    "rtt_p50_ms": "median of them (R's type 7)",
    "rtt_p95_ms": "95th percentile of them",
    "rtt_p99_ms": "99th percentile of them",
    "loss_percent": "requests without an answer over requests",
}
_STREAMS = {
    "goodput_mbps": "payload received over the time of the test; of a run, of the measured window",
    "loss_percent": "datagrams not received over datagrams sent",
}
SAME: Mapping[LogFormat, Mapping[str, str]] = MappingProxyType(
    {
        LogFormat.PING: _ECHOES,
        LogFormat.IRTT: _ECHOES,
        LogFormat.ITGDEC: {
            "payload_mean_bytes": "payload over datagrams, of those received; ideal sources: sizes",
            "loss_percent": "datagrams not received over datagrams sent",
            "delay_mean_ms": "mean one-way delay; left out where datagrams were fragmented",
        },
        LogFormat.IPERF3: {
            **_STREAMS,
            "retransmitted_pps": "segments sent again over the time of the test; of a run, all",
            "srtt_mean_ms": "mean of the sender's smoothed round-trip time at regular instants",
        },
        LogFormat.NETPERF: _STREAMS,
        LogFormat.IPERF: _STREAMS,
        LogFormat.SS: {
            "cwnd_mean_pkts": "mean of the congestion window at the calls",
            "srtt_mean_ms": "mean of the smoothed round-trip time at the calls",
            "srtt_p50_ms": "median of it",
            "srtt_p95_ms": "95th percentile of it",
            "pacing_rate_mean_mbps": "mean of the pacing rate at the calls; without pacing none",
            "delivery_rate_mean_mbps": "mean of the delivery rate at the calls",
        },
        LogFormat.TC: {
            "drop_percent": "dropped over dropped and sent, between the first call and the last",
            "wire_rate_mbps": "bytes sent between the first call and the last over that time",
            "backlog_mean_kilobytes": "mean of the backlog at the calls",
            "backlog_mean_pkts": "mean of the backlog at the calls",
            "delay_estimate_mean_ms": "mean of what pie or codel takes its delay for, at the calls",
        },
    }
)
"""Numbers of a run with the same definition, and that definition."""

_PROBE, _FLOW, _QUEUE = "probe", "flow", "queue"
KIND: Mapping[LogFormat, str] = MappingProxyType(
    {
        LogFormat.PING: _PROBE,
        LogFormat.IRTT: _PROBE,
        LogFormat.ITGDEC: _FLOW,
        LogFormat.IPERF3: _FLOW,
        LogFormat.NETPERF: _FLOW,
        LogFormat.IPERF: _FLOW,
        LogFormat.SS: _FLOW,
        LogFormat.TC: _QUEUE,
    }
)
"""The kind of object in a run that the log's numbers describe."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The object of a run that a log is compared with.

    Attributes:
        kind: ``probe``, ``flow`` or ``queue``.
        names: Name of one object, or names of several flows combined.
    """

    kind: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        """Return text such as ``probe rtt``, ``flows a and b``."""
        several = "s" if len(self.names) > 1 else ""
        return f"{self.kind}{several} {', '.join(self.names)}"


def counterpart(run: Run, format_: LogFormat, asked: Sequence[str]) -> Counterpart:
    """Return the object of the run that a log of that format is compared with.

    Args:
        run: The run.
        format_: Format of the log.
        asked: Names; empty for the only one of its kind or, for queues, the one with the longest
            average backlog.

    Raises:
        SpecError: There is none, there are several and none was named, or the name is unknown.
    """
    if format_ not in KIND:
        allowed = f"a log of {', '.join(each.value for each in KIND)}"
        raise SpecError("--beside", format_.value, allowed)
    kind = KIND[format_]
    names = {_PROBE: run.probe_names, _FLOW: run.flow_names, _QUEUE: run.queue_names}[kind]
    known = [name for name in asked if name in names]
    if known:
        if len(known) > 1 and format_ in (LogFormat.SS, LogFormat.TC, LogFormat.PING):
            raise SpecError("--of", ", ".join(known), f"one {kind} for {format_.value}")
        return Counterpart(kind, tuple(known))
    others = {*run.probe_names, *run.flow_names, *run.queue_names}
    for name in asked:
        if name not in others:
            raise SpecError(
                "--of", name, f"one of {', '.join(sorted(others))}", nearest(name, others)
            )
    if kind == _QUEUE and names:
        return Counterpart(kind, (fullest_queue(run),))
    if len(names) != 1:
        allowed = f"the name of a {kind}: {', '.join(names)}" if names else f"a run with a {kind}"
        raise SpecError("--of", "", allowed)
    return Counterpart(kind, (names[0],))


def run_numbers(run: Run, format_: LogFormat, of: Counterpart) -> dict[str, float]:
    """Return the numbers of `SAME` that the run has; others are left out.

    Args:
        run: A run with a description.
        format_: Format of the log.
        of: The object in the run.
    """
    found = _MAKERS[format_](run, of.names)
    return {
        name: float(value)
        for name, value in found.items()
        if name in SAME[format_] and np.isfinite(value)
    }


def _echoes(run: Run, names: Sequence[str]) -> dict[str, float]:
    quantiles = ping_rtt_quantiles_ms(run, [0.0, 0.5, 0.95, 0.99], list(names)).tolist()
    keys = ("rtt_min_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms")
    return {
        "rtt_mean_ms": mean_ping_rtt_ms(run, list(names)),
        **dict(zip(keys, quantiles, strict=True)),
        "loss_percent": 100.0 * ping_loss_ratio(run, list(names)),
    }


def _streams(run: Run, names: Sequence[str]) -> dict[str, float]:
    found = {"goodput_mbps": _MBIT * sum(goodput_bps(run, name) for name in names)}
    if not _are_tcp(run, names):
        found["loss_percent"] = 100.0 * _lost_datagrams(run, names)
    return found


def _iperf3(run: Run, names: Sequence[str]) -> dict[str, float]:
    found = _streams(run, names)
    if not _are_tcp(run, names):
        return found
    again = sum(int(run.column("flows", "retransmitted_pkts", flow=name)[0]) for name in names)
    found["retransmitted_pps"] = again / (_described(run).duration_ns / _NS_PER_S)
    srtt = [_sampled(run, "srtt_ns", name) / _NS_PER_MS for name in names]
    if all(len(each) for each in srtt):
        found["srtt_mean_ms"] = float(np.concatenate(srtt).mean())
    return found


def _itg(run: Run, names: Sequence[str]) -> dict[str, float]:
    def total(column: str) -> int:
        return sum(int(run.column("flows", column, flow=name)[0]) for name in names)

    datagrams, payload = total("received_datagrams"), total("received_payload_bytes")
    found = {"loss_percent": 100.0 * _lost_datagrams(run, names)}
    if datagrams:
        found["payload_mean_bytes"] = payload / datagrams
    if not _are_tcp(run, names) and total("delay_count") <= total("sent_datagrams"):
        found["delay_mean_ms"] = 1e3 * mean_delay_s(run, list(names))
    return found


def _socket(run: Run, names: Sequence[str]) -> dict[str, float]:
    (name,) = names
    cwnd, srtt = _sampled(run, "cwnd_pkts", name), _sampled(run, "srtt_ns", name) / _NS_PER_MS
    pacing = _sampled(run, "pacing_rate_bps", name) * _MBIT
    delivery = _sampled(run, "delivery_rate_bps", name) * _MBIT
    found = {}
    for key, values in (
        ("cwnd_mean_pkts", cwnd),
        ("srtt_mean_ms", srtt),
        ("pacing_rate_mean_mbps", pacing),
        ("delivery_rate_mean_mbps", delivery),
    ):
        if len(values):
            found[key] = float(values.mean())
    if len(srtt):
        found["srtt_p50_ms"] = float(np.percentile(srtt, 50))
        found["srtt_p95_ms"] = float(np.percentile(srtt, 95))
    return found


def _queue(run: Run, names: Sequence[str]) -> dict[str, float]:
    (name,) = names
    keep = run.column("queue_samples", "t_ns", queue=name) >= _described(run).warm_up_ns

    def column(which: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return run.column("queue_samples", which, queue=name)[keep].astype(np.float64)

    at = column("t_ns")
    if len(at) < 2:
        return {}
    sent, dropped = np.ptp(column("departed_pkts")), np.ptp(column("dropped_pkts"))
    found = {
        "wire_rate_mbps": 8e-6 * np.ptp(column("departed_bytes")) / (np.ptp(at) / _NS_PER_S),
        "backlog_mean_kilobytes": 1e-3 * column("backlog_bytes").mean(),
        "backlog_mean_pkts": column("backlog_pkts").mean(),
    }
    if sent + dropped:
        found["drop_percent"] = 100.0 * dropped / (sent + dropped)
    delay = column("delay_estimate_ns")
    if (delay >= 0).all():
        found["delay_estimate_mean_ms"] = delay.mean() / _NS_PER_MS
    return {key: float(value) for key, value in found.items()}


_MAKERS: Mapping[LogFormat, Callable[[Run, Sequence[str]], dict[str, float]]] = {
    LogFormat.PING: _echoes,
    LogFormat.IRTT: _echoes,
    LogFormat.ITGDEC: _itg,
    LogFormat.IPERF3: _iperf3,
    LogFormat.NETPERF: _streams,
    LogFormat.IPERF: _streams,
    LogFormat.SS: _socket,
    LogFormat.TC: _queue,
}


def _described(run: Run) -> Resolved:
    if run.spec is None:
        raise SpecError("--beside", run.origin, "a run with a description, not an imported one")
    return Resolved(run.spec)


def _are_tcp(run: Run, names: Sequence[str]) -> bool:
    described = _described(run)
    return any(described.flow(name).transport == "tcp" for name in names)


def _lost_datagrams(run: Run, names: Sequence[str]) -> float:
    sent = sum(int(run.column("flows", "sent_datagrams", flow=name)[0]) for name in names)
    got = sum(int(run.column("flows", "received_datagrams", flow=name)[0]) for name in names)
    return max(0, sent - got) / sent if sent else float("nan")


def _sampled(run: Run, column: str, flow: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the known values at the samples of the measured window."""
    keep = run.column("flow_samples", "t_ns", flow=flow) >= _described(run).warm_up_ns
    values = run.column("flow_samples", column, flow=flow)[keep]
    return values[values >= 0].astype(np.float64)


def fullest_queue(run: Run) -> str:
    """Return the queue with the largest average backlog in bytes."""
    held = [
        float(run.column("queues", "backlog_mean_bytes", queue=name)[0]) for name in run.queue_names
    ]
    return run.queue_names[int(np.argmax(np.nan_to_num(held, nan=-1.0)))]

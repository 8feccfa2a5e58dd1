"""From a run of rrul to the numbers and series of the source's plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.spec.flent import FlentTest
from dumbbell.studies.pie_rrul import arms
from dumbbell.tables import NO_INSTANT, Run

Floats = NDArray[np.float64]
SIGMAS = 2.0
"""Of the ellipse."""


@dataclass(frozen=True, slots=True)
class Series:
    """What Flent plots of a run: one value a step of 0.2 s while the TCP flows send.

    Attributes:
        t_s: End of each step, from the test's start.
        upload_mbps: Payload that the server got, all four uploads together.
        download_mbps: What the client got.
        latency_ms: Mean of the probes sent in the step that were answered; NaN for none.
        queue_delay_ms: What PIE takes its delay for, as ``tc -s qdisc`` prints it; NaN where the
            discipline has no such number.
        drops_pkts: Dropped in the step by the router's queue, as tc counts.
    """

    t_s: Floats
    upload_mbps: Floats
    download_mbps: Floats
    latency_ms: Floats
    queue_delay_ms: Floats
    drops_pkts: Floats


def series(run: Run, test: FlentTest) -> Series:
    """The series of a run of the study."""
    queue = router_queue(run)
    steps, loaded = _load(test)
    t_s: Floats = np.arange(1, steps + 1, dtype=np.float64) * test.step_s
    estimate = _sampled(run, "queue_samples", "delay_estimate_ns", steps, queue=queue)
    dropped = _sampled(run, "queue_samples", "dropped_pkts", steps, queue=queue)
    return Series(
        t_s=t_s[loaded],
        upload_mbps=_goodput_mbps(run, test, steps, upload=True)[loaded],
        download_mbps=_goodput_mbps(run, test, steps, upload=False)[loaded],
        latency_ms=_latency_ms(run, test, steps)[loaded],
        queue_delay_ms=np.where(estimate < 0, np.nan, estimate / 1e6)[loaded],
        drops_pkts=np.diff(dropped, prepend=0.0)[loaded],
    )


def measured(run: Run, test: FlentTest) -> dict[str, float]:
    """The numbers of the observation tables, and what the claims need beside them."""
    of = series(run, test)
    steps, loaded = _load(test)
    known = of.latency_ms[np.isfinite(of.latency_ms)]
    each = [_payload_mbps(run, stream.flow, test) for stream in test.streams if stream.upload]
    more = [name for name in run.flow_names if name.startswith("more-upload")]
    upload, download = float(of.upload_mbps.mean()), float(of.download_mbps.mean())
    latency, spread = float(known.mean()), SIGMAS * float(known.std(ddof=1))
    reach = SIGMAS * float(of.upload_mbps.std(ddof=1))
    return {
        "latency_ms": latency,
        "latency_low_ms": latency - spread,
        "latency_high_ms": latency + spread,
        "latency_udp_ms": _mean(_latency_ms(run, test, steps, ("udp",))[loaded]),
        "latency_p95_ms": float(np.quantile(known, 0.95)),
        "latency_p99_ms": float(np.quantile(known, 0.99)),
        "upload_mbps": upload,
        "upload_low_mbps": upload - reach,
        "upload_high_mbps": upload + reach,
        "upload_each_mbps": upload / 4,
        "upload_with_more_mbps": upload + sum(_payload_mbps(run, name, test) for name in more),
        "upload_fairness": sum(each) ** 2 / (len(each) * sum(x * x for x in each)),
        "download_mbps": download,
        "download_each_mbps": download / 4,
        "download_range_mbps": _spread(of.download_mbps),
        "latency_range_ms": _spread(known),
        "queue_delay_ms": _mean(of.queue_delay_ms),
        "drops_pkts": float(of.drops_pkts.sum()),
        "drops_per_s": float(of.drops_pkts.sum()) / test.length_s,
    }


def covariance_ellipse(x: Floats, y: Floats, points: int = 73) -> tuple[Floats, Floats]:
    """The closed curve two standard deviations from the mean of (x, y), as Flent draws it.

    Its width and height are four standard deviations of x and of y, whatever their correlation.
    """
    centre = np.array([x.mean(), y.mean()])
    values, vectors = np.linalg.eigh(np.cov(x, y))
    angle = np.linspace(0.0, 2.0 * np.pi, points)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    curve = SIGMAS * vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    return centre[0] + curve[0], centre[1] + curve[1]


def router_queue(run: Run) -> str:
    """The router's queue towards the server, whatever stands between them."""
    back = f"{arms.ROUTER}->{arms.CLIENT}"
    queues = (name for name in run.queue_names if name.startswith(f"{arms.ROUTER}->"))
    return next(name for name in queues if name != back)


def differences(values: Mapping[str, Floats], names: tuple[str, ...]) -> Floats:
    """All differences of two arms, a row a replication: shape (n, pairs)."""
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    return np.stack([values[b] - values[a] for a, b in pairs], axis=1)


def _load(test: FlentTest) -> tuple[int, NDArray[np.bool_]]:
    """How many steps the test has, and during which of them the TCP flows send."""
    steps = round(test.total_s / test.step_s)
    t_s = np.arange(1, steps + 1) * test.step_s
    return steps, (t_s > test.delay_s + 1e-9) & (t_s < test.delay_s + test.length_s + 1e-9)


def _sampled(run: Run, table: str, column: str, steps: int, **of: str) -> Floats:
    """A column at every step; its last value again where a run has fewer rows."""
    values = run.column(table, column, **of).astype(np.float64)[:steps]
    last = values[-1] if values.size else 0.0
    return np.concatenate([values, np.full(steps - values.size, last)])


def _goodput_mbps(run: Run, test: FlentTest, steps: int, *, upload: bool) -> Floats:
    got = np.zeros(steps)
    for stream in test.streams:
        if stream.upload == upload:
            got += _sampled(run, "flow_samples", "delivered_payload_bytes", steps, flow=stream.flow)
    return 8.0 * np.diff(got, prepend=0.0) / (test.step_s * 1e6)


def _payload_mbps(run: Run, flow: str, test: FlentTest) -> float:
    """Payload of a flow over the load's time."""
    got = _sampled(
        run, "flow_samples", "delivered_payload_bytes", round(test.total_s / test.step_s), flow=flow
    )
    return float(
        8e-6 * got[round((test.delay_s + test.length_s) / test.step_s) - 1] / test.length_s
    )


def _latency_ms(
    run: Run, test: FlentTest, steps: int, kinds: tuple[str, ...] = ("ping", "udp")
) -> Floats:
    """Flent's ``Ping (ms) avg``: row by row over the probes that were answered."""
    total, count = np.zeros(steps), np.zeros(steps)
    for probe in (probe for probe in test.probes if probe.kind in kinds):
        sent, rtt = (
            run.column("probes", column, probe=probe.probe) for column in ("sent_ns", "rtt_ns")
        )
        place = (sent // round(test.step_s * 1e9)).astype(np.int64)
        known = (rtt != NO_INSTANT) & (place < steps)
        np.add.at(total, place[known], rtt[known] / 1e6)
        np.add.at(count, place[known], 1.0)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _spread(values: Floats) -> float:
    """5th to 95th percentile."""
    low, high = np.quantile(values, (0.05, 0.95))
    return float(high - low)

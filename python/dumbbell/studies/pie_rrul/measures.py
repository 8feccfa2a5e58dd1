"""Reduction of a run of rrul: the numbers and series of the source's plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import relative_spread
from dumbbell.metrics.path import resolved_of
from dumbbell.replication import Replications
from dumbbell.replication.replications import Quantity
from dumbbell.spec.flent import FlentTest
from dumbbell.stats import Estimate, difference_interval, prediction_interval
from dumbbell.studies.pie_rrul import arms
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.tables import NO_INSTANT, Run

Floats = NDArray[np.float64]
RoundTrips = tuple[NDArray[np.int64], Floats]
"""Answered requests of one probe: time of sending, ns, and round-trip time, ms."""
SIGMAS = 2.0
"""Standard deviations of the ellipse."""
UPLOADS = 4
"""Number of flows of rrul in each direction, a fixed number."""


@dataclass(frozen=True, slots=True)
class Series:
    """Series that Flent plots: one value per step of 0.2 s while the TCP flows send.

    Attributes:
        t_s: End of each step, from the test's start.
        upload_mbps: Payload received by the server, total of the four uploads.
        download_mbps: Payload received by the client.
        latency_ms: Mean RTT of the answered probes sent in the step; NaN for none.
        queue_delay_ms: PIE's delay estimate, as ``tc -s qdisc`` prints it; NaN if the discipline
            has no such number.
        drops_pkts: Packets dropped by the router's queue in the step, as tc counts.
    """

    t_s: Floats
    upload_mbps: Floats
    download_mbps: Floats
    latency_ms: Floats
    queue_delay_ms: Floats
    drops_pkts: Floats


def series(run: Run, test: FlentTest) -> Series:
    """Return the series of a run of the study."""
    steps, loaded = load_steps(test)
    return with_queue(
        run,
        test,
        upload_mbps=_goodput_mbps(run, test, steps, upload=True)[loaded],
        download_mbps=_goodput_mbps(run, test, steps, upload=False)[loaded],
        latency_ms=_latency_ms(run, test, steps)[loaded],
    )


def with_queue(
    run: Run, test: FlentTest, *, upload_mbps: Floats, download_mbps: Floats, latency_ms: Floats
) -> Series:
    """Return a run's series, with those of the router's queue as ``tc -s qdisc`` prints them."""
    queue = router_queue(run)
    steps, loaded = load_steps(test)
    t_s: Floats = np.arange(1, steps + 1, dtype=np.float64) * test.step_s
    estimate = _sampled(run, "queue_samples", "delay_estimate_ns", steps, queue=queue)
    dropped = _sampled(run, "queue_samples", "dropped_pkts", steps, queue=queue)
    return Series(
        t_s=t_s[loaded],
        upload_mbps=upload_mbps,
        download_mbps=download_mbps,
        latency_ms=latency_ms,
        queue_delay_ms=np.where(estimate < 0, np.nan, estimate / 1e6)[loaded],
        drops_pkts=np.diff(dropped, prepend=0.0)[loaded],
    )


def written_mbps(run: Run, test: FlentTest) -> Floats:
    """Return what the uploads' senders wrote in each step of the load; NaN if not recorded.

    A greedy program writes when a third of its send buffer is free, so its count grows in steps of
    that size; received bytes do not.
    """
    steps, loaded = load_steps(test)
    if "flow_writes" not in run.tables:
        return np.full(int(loaded.sum()), np.nan)
    took = np.zeros(steps)
    for stream in test.streams:
        if stream.upload:
            took += _sampled(run, "flow_writes", "written_payload_bytes", steps, flow=stream.flow)
    rate: Floats = 8.0 * np.diff(took, prepend=0.0) / (test.step_s * 1e6)
    return rate[loaded]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The numbers of a run: those of the observation tables, and further ones for the claims.

    Attributes:
        latency_ms: Mean of the steps' latencies.
        latency_sd_ms: Their standard deviation.
        latency_udp_ms: Mean over UDP probes only.
        latency_p99_ms: 99th percentile.
        latency_spread: 5th to 95th percentile over the median.
        upload_mbps: Payload of the four uploads together.
        upload_sd_mbps: Standard deviation of the steps' values.
        upload_with_more_mbps: The same, including an additional TCP flow.
        upload_fairness: Jain's index of the four uploads.
        written_mbps: Mean of what the four uploads' senders wrote; NaN where it was not recorded.
        written_sd_mbps: Standard deviation of the steps' values.
        download_mbps: Payload of the four downloads together.
        download_spread: 5th to 95th percentile over the median.
        queue_delay_ms: Mean of PIE's delay estimate; NaN for another discipline.
        drops_pkts: Drops of the router's queue.
        drops_per_s: Drops per second of load.
    """

    latency_ms: float
    latency_sd_ms: float
    latency_udp_ms: float
    latency_p99_ms: float
    latency_spread: float
    upload_mbps: float
    upload_sd_mbps: float
    upload_with_more_mbps: float
    upload_fairness: float
    download_mbps: float
    download_spread: float
    queue_delay_ms: float
    drops_pkts: float
    drops_per_s: float
    written_mbps: float = float("nan")
    written_sd_mbps: float = float("nan")

    @property
    def written_low_mbps(self) -> float:
        """Return the lower end of the ellipse, counted as netperf does: by its send calls."""
        return self.written_mbps - SIGMAS * self.written_sd_mbps

    @property
    def written_high_mbps(self) -> float:
        """Upper end."""
        return self.written_mbps + SIGMAS * self.written_sd_mbps

    @property
    def latency_low_ms(self) -> float:
        """Lower end of the ellipse."""
        return self.latency_ms - SIGMAS * self.latency_sd_ms

    @property
    def latency_high_ms(self) -> float:
        """Upper end."""
        return self.latency_ms + SIGMAS * self.latency_sd_ms

    @property
    def upload_low_mbps(self) -> float:
        """Lower end of the ellipse."""
        return self.upload_mbps - SIGMAS * self.upload_sd_mbps

    @property
    def upload_high_mbps(self) -> float:
        """Upper end."""
        return self.upload_mbps + SIGMAS * self.upload_sd_mbps

    @property
    def upload_each_mbps(self) -> float:
        """Mean of the four flows."""
        return self.upload_mbps / UPLOADS

    @property
    def download_each_mbps(self) -> float:
        """Mean of the four flows."""
        return self.download_mbps / UPLOADS


def measured(run: Run, test: FlentTest) -> Measured:
    """Return the numbers of a run of ``test``."""
    steps, loaded = load_steps(test)
    more = [name for name in run.flow_names if name == arms.MORE_UPLOAD]
    return numbers(
        series(run, test),
        test,
        uploads_mbps=[_payload_mbps(run, each.flow, test) for each in test.streams if each.upload],
        latency_udp_ms=mean_of_known(_latency_ms(run, test, steps, ("udp",))[loaded]),
        written_mbps=written_mbps(run, test),
        more_mbps=sum(_payload_mbps(run, name, test) for name in more),
    )


def numbers(
    of: Series,
    test: FlentTest,
    *,
    uploads_mbps: Sequence[float],
    latency_udp_ms: float,
    written_mbps: Floats,
    more_mbps: float = 0.0,
) -> Measured:
    """Return the numbers of the series that Flent plots of a run.

    Args:
        of: The series of the run.
        test: The test.
        uploads_mbps: Payload of each upload, over the load's time.
        latency_udp_ms: Mean of the latency over UDP alone.
        written_mbps: Writes of the uploads' senders in each step; NaN if not recorded.
        more_mbps: Payload of an additional upload.
    """
    known = of.latency_ms[np.isfinite(of.latency_ms)]
    upload = float(of.upload_mbps.mean())
    drops = float(of.drops_pkts.sum())
    squares = sum(each * each for each in uploads_mbps)
    return Measured(
        latency_ms=float(known.mean()),
        latency_sd_ms=float(known.std(ddof=1)),
        latency_udp_ms=latency_udp_ms,
        latency_p99_ms=float(np.quantile(known, 0.99)),
        latency_spread=relative_spread(known),
        upload_mbps=upload,
        upload_sd_mbps=float(of.upload_mbps.std(ddof=1)),
        upload_with_more_mbps=upload + more_mbps,
        upload_fairness=sum(uploads_mbps) ** 2 / (len(uploads_mbps) * squares),
        download_mbps=float(of.download_mbps.mean()),
        download_spread=relative_spread(of.download_mbps),
        queue_delay_ms=mean_of_known(of.queue_delay_ms),
        drops_pkts=drops,
        drops_per_s=drops / test.length_s,
        written_mbps=mean_of_known(written_mbps),
        written_sd_mbps=float(written_mbps.std(ddof=1)),
    )


@dataclass(frozen=True)
class RunsBySetting:
    """Runs of PIE at several settings of one scenario; the number of runs may differ by setting.

    Attributes:
        groups: Groups of disjoint settings; replication k of all groups is paired.
    """

    groups: tuple[Replications[Setting, Measured], ...]

    @property
    def settings(self) -> list[Setting]:
        """Return all settings, in the study's order."""
        there = {setting for group in self.groups for setting in group.arms}
        return [setting for setting in arms.SETTINGS if setting in there]

    def among(self, settings: Sequence[Setting]) -> list[Setting]:
        """Return those of ``settings`` that were run."""
        return [setting for setting in settings if setting in self.settings]

    def values(self, setting: Setting, quantity: Quantity[Measured]) -> Floats:
        """Return a quantity of each replication of a setting; shape (n,)."""
        return self._of(setting).values(setting, quantity)

    def columns(self, settings: Sequence[Setting], quantity: Quantity[Measured]) -> list[Floats]:
        """Return a quantity at several settings, of the replications that all of them have."""
        n = min(self._of(setting).n for setting in settings)
        return [self.values(setting, quantity)[:n] for setting in settings]

    def mean(self, setting: Setting, quantity: Quantity[Measured]) -> Estimate:
        """Return the mean over the replications, with its interval."""
        return self._of(setting).estimate(setting, quantity)

    def one_run(self, setting: Setting, quantity: Quantity[Measured]) -> Estimate:
        """Return the prediction interval of one more run."""
        return prediction_interval(self.values(setting, quantity))

    def difference(self, a: Setting, b: Setting, quantity: Quantity[Measured]) -> Estimate:
        """Return the mean of A minus B over the replications that both have."""
        ours, other = self.columns([a, b], quantity)
        return difference_interval(ours, other)

    def run(self, setting: Setting) -> Run:
        """Return the run of replication 0."""
        return self._of(setting).run(setting)

    def _of(self, setting: Setting) -> Replications[Setting, Measured]:
        return next(group for group in self.groups if setting in group.results)


def router_queue(run: Run) -> str:
    """Return the router's queue towards the server, in any topology of the study."""
    queues = resolved_of(run).queues
    return next(q.name for q in queues if q.from_ == arms.ROUTER and q.to != arms.CLIENT)


def load_steps(test: FlentTest) -> tuple[int, NDArray[np.bool_]]:
    """Return the number of steps of the test, and the steps during which TCP flows send."""
    steps = round(test.total_s / test.step_s)
    t_s = np.arange(1, steps + 1) * test.step_s
    return steps, (t_s > test.delay_s + 1e-9) & (t_s < test.delay_s + test.length_s + 1e-9)


def _sampled(run: Run, table: str, column: str, steps: int, **of: str) -> Floats:
    """Return a column at every step; the last value is repeated if a run has fewer rows."""
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
    """Return the payload of a flow over the load's time."""
    got = _sampled(
        run, "flow_samples", "delivered_payload_bytes", round(test.total_s / test.step_s), flow=flow
    )
    return float(
        8e-6 * got[round((test.delay_s + test.length_s) / test.step_s) - 1] / test.length_s
    )


def _latency_ms(
    run: Run, test: FlentTest, steps: int, kinds: tuple[str, ...] = ("ping", "udp")
) -> Floats:
    """Return Flent's ``Ping (ms) avg``: per row, the mean over the answered probes."""
    names = [probe.probe for probe in test.probes if probe.kind in kinds]
    each = (round_trips(run, "probes", probe=name) for name in names)
    return average_latency_ms(each, test.step_s, steps)


def round_trips(run: Run, table: str, **of: str) -> RoundTrips:
    """Return the round trips of a probe, or of ping if the table is ``program_round_trips``."""
    sent, rtt = (run.column(table, column, **of) for column in ("sent_ns", "rtt_ns"))
    known = rtt != NO_INSTANT
    return sent[known].astype(np.int64), rtt[known] / 1e6


def average_latency_ms(measured: Iterable[RoundTrips], step_s: float, steps: int) -> Floats:
    """Return the mean of all round trips that began in a step; NaN for none; shape (steps,)."""
    total, count = np.zeros(steps), np.zeros(steps)
    for sent_ns, rtt_ms in measured:
        place = sent_ns // round(step_s * 1e9)
        known = (place >= 0) & (place < steps)
        np.add.at(total, place[known], rtt_ms[known])
        np.add.at(count, place[known], 1.0)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def mean_of_known(values: Floats) -> float:
    """Return the mean without NaN; NaN without values."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")

"""The study's figures: the source's own, and three that say why."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dumbbell import theory
from dumbbell.metrics import ping_rtt_ms, queue_length_distribution
from dumbbell.report import (
    Curve,
    Figure,
    IntervalRow,
    Sample,
    ecdf_chart,
    line_with_band,
    points_with_interval,
)
from dumbbell.stats import Estimate
from dumbbell.studies.statistical_multiplexing import arms, published
from dumbbell.studies.statistical_multiplexing.agreement import MARGIN_MS
from dumbbell.studies.statistical_multiplexing.ensembles import PingEnsemble
from dumbbell.tables import Run

SENDERS = ("1", "2")
STYLES = {"sim": "simulator", "kernel": "Linux kernel"}
"""Backend to what the legend calls it."""


def _samples(runs: Mapping[str, Run]) -> list[Sample]:
    return [
        Sample(arm, sender, ping_rtt_ms(runs[arm], probes=[f"ping-{sender}"]))
        for arm in published.ARMS
        for sender in SENDERS
    ]


def _shown_to(runs: Mapping[str, Run]) -> float:
    """Right end of the axis: the tail is there, but the quartiles are what was published."""
    return float(np.quantile(ping_rtt_ms(runs["TDM"]), 0.95))


def rtt_cdf(
    ensemble: PingEnsemble,
    name: str,
    where: str,
    laws: Mapping[str, theory.MXG1],
    base_rtt_ms: float,
) -> Figure:
    """RTT CDF of one run as published; colour = type, line style = sender.

    Args:
        ensemble: Its first run is drawn.
        name: File name of the figure.
        where: Completes the title, such as ``at the nominal load``.
        laws: Arm to the stationary law of its queue.
        base_rtt_ms: Round-trip time of the empty path.
    """
    runs = ensemble.first
    end = _shown_to(runs)
    curves = [_theory_curve(laws[arm], arm, base_rtt_ms, end) for arm in published.ARMS]
    chart = ecdf_chart(_samples(runs), x_title="Round trip time (ms)", theory=curves, x_max=end)
    caption = (
        f"Round-trip times of one run as published, {where}: 1000 pings of each sender in the "
        "first 200 s, starting from an empty queue. Thin lines: stationary theory (batches of IP "
        "fragments, headers and pings counted), left SM, right TDM, of which a run of 200 s is "
        "one sample: at a load near one it wanders far."
    )
    return Figure(name, *chart, caption, title=f"Delay CDF, {where}")


def _theory_curve(law: theory.MXG1, arm: str, base_rtt_ms: float, end_ms: float) -> Curve:
    """Stationary law of a ping's round-trip time.

    A ping waits for the work it finds (pings see time averages: their own load is small and they
    are not tied to the traffic) and is then transmitted itself, over an otherwise empty path.
    """
    rate_bps = published.STREAM_RATE_BPS * (2 if arm == "SM" else 1)
    least_ms = base_rtt_ms + 8e3 * published.ECHO_FRAME_BYTES / rate_bps
    beyond_ms = np.linspace(least_ms, max(end_ms, least_ms), 200)
    share = law.workload_cdf((beyond_ms - least_ms) / 1e3)
    # Pings that find the queue empty make a step at the least time there is.
    x, y = np.r_[0.0, least_ms, beyond_ms], np.r_[0.0, 0.0, share]
    return Curve("M/G/1 theory", x, y)


def rtt_cdf_on_both(
    sim: PingEnsemble, kernel: PingEnsemble, laws: Mapping[str, theory.MXG1]
) -> Figure:
    """RTT CDF of one run on both backends; colour = type, line style = backend.

    Args:
        sim: Its first run is drawn.
        kernel: Its first run, of the same arrivals.
        laws: Arm to the stationary law of its queue.
    """
    end = _shown_to(sim.first)
    samples = [
        Sample(arm, where, ping_rtt_ms(each.first[arm]))
        for where, each in ((STYLES["sim"], sim), (STYLES["kernel"], kernel))
        for arm in published.ARMS
    ]
    chart = ecdf_chart(
        samples,
        x_title="Round trip time (ms)",
        dash_title="Backend",
        theory=[_theory_curve(laws[arm], arm, 0.0, end) for arm in published.ARMS],
        x_max=end,
    )
    caption = (
        "One run as published in the simulator (solid) and on the Linux kernel in virtual time "
        "(dashed), both senders pooled. Both were given the same arrivals, so a dashed line that "
        "cannot be told from the solid one below it is agreement packet by packet, not chance."
    )
    title = "Delay CDF on both backends, at the nominal load"
    return Figure("rtt-cdf-kernel", *chart, caption, title=title)


def kernel_less_simulator(differences: Mapping[str, Estimate]) -> Figure:
    """Paired differences of mean delays, in microseconds."""
    rows = [
        IntervalRow(label, 1e3 * each.value, 1e3 * each.low, 1e3 * each.high, theory=0.0)
        for label, each in differences.items()
    ]
    chart = points_with_interval(
        rows,
        x_title="Kernel less simulator (µs)",
        interval_title="95 % interval",
        theory_title="no difference",
    )
    caption = (
        "Mean delay on the kernel less that of the same replications in the simulator; the "
        f"margin, written before, is {1e3 * MARGIN_MS:.0f} µs either way, and the delays "
        "themselves are tens to hundreds of milliseconds. With the ideal source the kernel's "
        "packets are a little longer: no frame is shorter than its 42 bytes of headers."
    )
    return Figure("kernel-less-simulator", *chart, caption, title="Do kernel and simulator agree?")


def queue_length_cdf(runs: Mapping[str, Run], where: str) -> Figure:
    """Time-weighted distribution of the packets in each shaped queue."""
    samples = []
    for arm in published.ARMS:
        for sender, queue in enumerate(arms.queues(arm, 2), start=1):
            packets, seconds = queue_length_distribution(runs[arm], queue)
            samples.append(Sample(arm, f"queue {sender}", packets, seconds))
    chart = ecdf_chart(
        samples,
        x_title="Packets in queue and transmission",
        y_title="Share of time",
        dash_title="Queue",
    )
    caption = (
        f"Packets in each shaped queue, {where}, one run of 600 s: the number is about the same "
        "in the one fast queue and in each slow one; by Little's law T = N/lambda the slow "
        "queues' packets then stay twice as long."
    )
    return Figure("queue-length-cdf", *chart, caption, title=f"Queue-length CDF, {where}")


def gain(factors: Mapping[str, Mapping[int, Estimate]]) -> Figure:
    """The multiplexing gain against the number of streams.

    Args:
        factors: Backend to number of streams to gain.
    """
    measured = []
    for backend, by_streams in factors.items():
        m = sorted(by_streams)
        estimates = [by_streams[each] for each in m]
        measured.append(
            Curve(
                "measured (95 % interval)",
                m,
                [e.value for e in estimates],
                [e.low for e in estimates],
                [e.high for e in estimates],
                style=STYLES[backend],
            )
        )
    streams = sorted(set().union(*factors.values()))
    chart = line_with_band(
        measured,
        style_title="Backend",
        x_title="Streams m",
        y_title="T_TDM / T_SM",
        theory=[Curve("theory: m", streams, streams)],
        log_x=True,
        log_y=True,
    )
    caption = (
        "Mean time in the system with separate queues over that with one shared queue, ideal "
        "source, stationary, 110 packets/s and 500 kbit/s per stream."
    )
    if len(factors) > 1:
        caption += f" Rings are the {STYLES['kernel']}'s, where it was run."
    return Figure("gain-against-streams", *chart, caption, title="The multiplexing gain")


def published_against_predicted(
    ensembles: Mapping[str, Mapping[str, PingEnsemble]],
) -> Figure:
    """Every printed quantile beside the prediction for one run as published.

    Args:
        ensembles: Label, such as ``nominal``, to backend to runs as published.
    """
    several = len({backend for both in ensembles.values() for backend in both}) > 1
    rows = [
        IntervalRow(
            f"{label}: {arm} {name}",
            predicted.value,
            predicted.low,
            predicted.high,
            published.RTT_MS[arm][name],
            style=STYLES[backend] if several else "",
        )
        for label, both in ensembles.items()
        for arm in published.ARMS
        for name in published.RTT_QUANTILES
        for backend, predicted in (
            (backend, ensemble.predictions(arm)[name]) for backend, ensemble in both.items()
        )
    ]
    chart = points_with_interval(rows, x_title="Round trip time (ms)", log_x=True)
    caption = (
        "What one run as published prints, with its 95 % prediction interval, and what the "
        "source printed. At the nominal load nothing fits; at the fitted load see the verdicts."
    )
    return Figure("published-against-predicted", *chart, caption, title="Published numbers")

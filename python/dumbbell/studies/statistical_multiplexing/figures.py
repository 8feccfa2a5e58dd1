"""The study's figures: the source's own, and three that say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from dumbbell.studies.statistical_multiplexing.ensembles import PingEnsemble
from dumbbell.tables import Run

SENDERS = ("1", "2")


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


def gain(factors: Mapping[int, Estimate]) -> Figure:
    """The multiplexing gain against the number of streams."""
    streams = np.array(sorted(factors), dtype=np.float64)
    estimates = [factors[int(m)] for m in streams]
    measured = Curve(
        "measured (95 % interval)",
        streams,
        [e.value for e in estimates],
        [e.low for e in estimates],
        [e.high for e in estimates],
    )
    chart = line_with_band(
        [measured],
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
    return Figure("gain-against-streams", *chart, caption, title="The multiplexing gain")


def published_against_predicted(
    ensembles: Sequence[tuple[str, PingEnsemble]],
) -> Figure:
    """Every printed quantile beside the prediction for one run as published."""
    rows = []
    for label, ensemble in ensembles:
        for arm in published.ARMS:
            for name, predicted in ensemble.predictions(arm).items():
                rows.append(
                    IntervalRow(
                        f"{label}: {arm} {name}",
                        predicted.value,
                        predicted.low,
                        predicted.high,
                        published.RTT_MS[arm][name],
                    )
                )
    chart = points_with_interval(rows, x_title="Round trip time (ms)", log_x=True)
    caption = (
        "What one run as published prints, with its 95 % prediction interval, and what the "
        "source printed. At the nominal load nothing fits; at the fitted load see the verdicts."
    )
    return Figure("published-against-predicted", *chart, caption, title="Published numbers")

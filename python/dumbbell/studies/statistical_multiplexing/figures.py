"""The study's figures: the source's figure, and three explanatory figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell import theory
from dumbbell.claims.rules.prediction import predict
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
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.claims import AGREEMENT, LAWS
from dumbbell.studies.statistical_multiplexing.fit import HOST_JITTER_MS
from dumbbell.studies.statistical_multiplexing.measures import (
    AsPublished,
    DelayComparison,
    one_run_ms,
    shaped_queues,
)
from dumbbell.tables import Run

SENDERS = ("1", "2")
STYLES = {"sim": "simulator", "kernel": "Linux kernel"}
"""Names of the backends in legends."""


def _first(found: AsPublished) -> dict[str, Run]:
    return {arm: found.run(arm) for arm in published.ARMS}


def _samples(runs: Mapping[str, Run]) -> list[Sample]:
    return [
        Sample(arm, sender, ping_rtt_ms(runs[arm], probes=[f"ping-{sender}"]))
        for arm in published.ARMS
        for sender in SENDERS
    ]


def _shown_to(runs: Mapping[str, Run]) -> float:
    """Return the right end of the axis: it cuts the tail, because quartiles were published."""
    return float(np.quantile(ping_rtt_ms(runs["TDM"]), 0.95))


@dataclass(frozen=True, slots=True)
class Poisson:
    """Senders with Poisson arrivals, for which M/G/1 is the theory.

    Attributes:
        packets_per_second: Rate of each sender.
        base_rtt_ms: Round-trip time of the empty path.
    """

    packets_per_second: float
    base_rtt_ms: float


def rtt_cdf(found: AsPublished, label: str, where: str, senders: Poisson | None) -> Figure:
    """Draw the RTT CDF of one run as published; colour = type, line style = sender.

    Args:
        found: Its first run is drawn.
        label: Name of the senders, such as ``nominal``.
        where: Completes a sentence, such as ``at the nominal load``.
        senders: Senders whose theory is drawn, if there is one.
    """
    runs = _first(found)
    end = _shown_to(runs)
    curves = []
    if senders is not None:
        load_pps, base_rtt_ms = senders.packets_per_second, senders.base_rtt_ms
        curves = [_theory_curve(arm, load_pps, base_rtt_ms, end) for arm in published.ARMS]
    chart = ecdf_chart(
        _samples(runs),
        x_title="Round trip time (ms)",
        theory=curves,
        published=printed_quartiles(),
        x_max=end,
    )
    caption = (
        f"Round-trip times of one run as published, {where}: 1000 pings of each sender in the "
        "first 200 s, starting from an empty queue. Diamonds are what the source prints."
    )
    if curves:
        caption += (
            " Thin lines: stationary theory (batches of IP fragments, headers and pings counted), "
            "left SM, right TDM, of which a run of 200 s is one sample: at a load near one it "
            "wanders far."
        )
    return Figure(f"rtt-cdf-{label}", *chart, caption, title=f"Delay CDF, {where}")


def printed_quartiles() -> list[Curve]:
    """Return the printed quartiles as points of the distributions."""
    return [
        Curve(arm, [each.ms for each in of], [each.level for each in of])
        for arm in published.ARMS
        if (of := [each for each in published.QUARTILES if each.arm == arm])
    ]


def _law(arm: str, packets_per_second: float) -> theory.MXG1:
    """The stationary law of the packets' stay: M^X/G/1 with pings as single packets.

    Pings come at constant intervals, not as a Poisson process; they are 2 % of the packets.
    """
    senders = 2 if arm == "SM" else 1
    rate = published.STREAM_RATE_BPS * senders
    datagrams = theory.itgsend_service(rate, published.MEAN_PAYLOAD_BYTES)
    echo = theory.constant_service(8 * published.ECHO_FRAME_BYTES / rate)
    arrivals, batch = theory.superpose(
        [
            (senders * packets_per_second, datagrams.batch),
            (senders / published.PING_INTERVAL_S, theory.single_packets(echo)),
        ]
    )
    return theory.MXG1(arrivals, batch)


def _theory_curve(arm: str, load_pps: float, base_rtt_ms: float, end_ms: float) -> Curve:
    """Stationary law of a ping's round-trip time.

    A ping waits for the work it finds and is then transmitted over an otherwise empty path. Pings
    see time averages, because their load is small and independent of the traffic.
    """
    rate_bps = published.STREAM_RATE_BPS * (2 if arm == "SM" else 1)
    least_ms = base_rtt_ms + 8e3 * published.ECHO_FRAME_BYTES / rate_bps
    beyond_ms = np.linspace(least_ms, max(end_ms, least_ms), 200)
    share = _law(arm, load_pps).workload_cdf((beyond_ms - least_ms) / 1e3)
    # Pings that find the queue empty make a step at the minimum RTT.
    x, y = np.r_[0.0, least_ms, beyond_ms], np.r_[0.0, 0.0, share]
    return Curve("M/G/1 theory", x, y)


def rtt_cdf_on_both(sim: AsPublished, kernel: AsPublished) -> Figure:
    """Draw the RTT CDF of one run on both backends; colour = type, line style = backend.

    Args:
        sim: Its first run is drawn.
        kernel: Its first run is drawn, with the same arrivals.
    """
    end = _shown_to(_first(sim))
    load_pps = published.PACKETS_PER_SECOND
    samples = [
        Sample(arm, where, each.first(arm).rtt_ms)
        for where, each in ((STYLES["sim"], sim), (STYLES["kernel"], kernel))
        for arm in published.ARMS
    ]
    chart = ecdf_chart(
        samples,
        x_title="Round trip time (ms)",
        dash_title="Backend",
        theory=[_theory_curve(arm, load_pps, 0.0, end) for arm in published.ARMS],
        published=printed_quartiles(),
        x_max=end,
    )
    caption = (
        "One run as published in the simulator (solid) and on the Linux kernel in virtual time "
        "(dashed), both senders pooled. Both were given the same arrivals, so a dashed line that "
        "cannot be told from the solid one below it is agreement packet by packet, not chance."
    )
    title = "Delay CDF on both backends, at the nominal load"
    return Figure("rtt-cdf-kernel", *chart, caption, title=title)


def kernel_less_simulator(compared: Sequence[DelayComparison]) -> Figure:
    """Draw paired differences of mean delays, in microseconds."""
    differences = {each.label: each.difference_ms.scaled(1e3) for each in compared}
    rows = [
        IntervalRow(label, each.value, each.low, each.high, theory=0.0)
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
        f"margin, written before, is {1e3 * AGREEMENT.floor:.0f} µs either way, and the delays "
        "themselves are tens to hundreds of milliseconds. With the ideal source the kernel's "
        "packets are a little longer: no frame is shorter than its 42 bytes of headers."
    )
    return Figure("kernel-less-simulator", *chart, caption, title="Do kernel and simulator agree?")


def queue_length_cdf(runs: Mapping[str, Run], where: str) -> Figure:
    """Draw the time-weighted distribution of the packets in each shaped queue."""
    samples = []
    for arm in published.ARMS:
        for sender, queue in enumerate(shaped_queues(runs[arm]), start=1):
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
    """Draw the multiplexing gain against the number of streams.

    Args:
        factors: Gain by backend and number of streams.
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
        published=[Curve("published, as printed", [2], [1 / published.MEAN_RATIO])],
        log_x=True,
        log_y=True,
    )
    caption = (
        "Mean time in the system with separate queues over that with one shared queue, ideal "
        "source, stationary, 110 packets/s and 500 kbit/s per stream. The source prints a ratio of "
        f"the means of {published.MEAN_RATIO:g}, of one run that was not stationary: the diamond "
        "is one over it."
    )
    if len(factors) > 1:
        caption += f" Rings are the {STYLES['kernel']}'s, where it was run."
    return Figure("gain-against-streams", *chart, caption, title="The multiplexing gain")


def predicted_ms(found: AsPublished, printed: published.Printed, backend: str) -> Estimate:
    """Return the prediction interval of one run as published."""
    values = one_run_ms(found, printed)
    return predict(values, LAWS[backend], 0.95, jitter=HOST_JITTER_MS)


def published_against_predicted(found: Mapping[tuple[str, str], AsPublished]) -> Figure:
    """Draw every printed quantile beside the prediction for one run as published.

    Args:
        found: Runs as published by label, such as ``nominal``, and backend.
    """
    several = len({backend for _, backend in found}) > 1
    rows = []
    for label in dict.fromkeys(label for label, _ in found):
        for printed in published.RTT:
            for backend, runs in ((b, runs) for (of, b), runs in found.items() if of == label):
                one = predicted_ms(runs, printed, backend)
                name = f"{label}: {printed.arm} {printed.name}"
                style = STYLES[backend] if several else ""
                rows.append(
                    IntervalRow(name, one.value, one.low, one.high, printed.ms, style=style)
                )
    chart = points_with_interval(rows, x_title="Round trip time (ms)", log_x=True)
    caption = (
        "What one run as published prints, with its 95 % prediction interval, and what the "
        "source printed. The quartiles chose the fitted senders, the maxima did not."
    )
    return Figure("published-against-predicted", *chart, caption, title="Published numbers")

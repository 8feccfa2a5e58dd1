"""The study's figures: the source's figure, and explanatory figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dumbbell import theory
from dumbbell.report import (
    Curve,
    Figure,
    IntervalRow,
    line_with_band,
    points_with_interval,
)
from dumbbell.stats import prediction_quantiles
from dumbbell.studies.queue_size_delay import limits, listing, measured, published
from dumbbell.studies.queue_size_delay.arms import QUEUE, SOURCES, SourceKind
from dumbbell.studies.queue_size_delay.limits import largest_delay_ms
from dumbbell.studies.queue_size_delay.measures import LATE, DelaysOfRuns, Floats
from dumbbell.tables import Run

DEQUEUED = "dequeue"


def _band(label: str, x: Sequence[float], columns: Sequence[Floats]) -> Curve:
    """Return the median and the 95 % prediction interval of one run, at each x."""
    each = [prediction_quantiles(values[np.isfinite(values)]) for values in columns]
    return Curve(label, x, [e.value for e in each], [e.low for e in each], [e.high for e in each])


def _runs(label: str, arms_by_limit: Mapping[str, DelaysOfRuns], style: str = "") -> list[Curve]:
    """Return the first three runs, one point per limit."""
    sizes = [limit for limit in published.LIMITS if limit in arms_by_limit]
    x = [published.LIMITS[limit] / 1024 for limit in sizes]
    return [
        Curve(label, x, [arms_by_limit[limit].ping_peak_ms[run] for limit in sizes], style=style)
        for run in range(min(published.RUNS, *(each.n for each in arms_by_limit.values())))
    ]


def peak_against_size(
    sim: Mapping[str, DelaysOfRuns], kernel: Mapping[str, DelaysOfRuns] | None
) -> Figure:
    """Draw the source's figure: peak delay of three runs against queue size, with m/mu.

    Args:
        sim: Runs of the D-ITG source by limit.
        kernel: The same on the kernel, if there are any.
    """
    sizes = list(published.LIMITS)
    x = [published.LIMITS[limit] / 1024 for limit in sizes]
    band = _band("95 % of runs, simulator", x, [sim[limit].ping_peak_ms for limit in sizes])
    runs = _runs("three runs, simulator", sim)
    if kernel:
        runs += _runs("three runs, Linux kernel", kernel, "kernel")
    measured_runs = [
        Curve(
            "a real kernel, three runs", x, [measured.PING_PEAKS_MS[limit][run] for limit in sizes]
        )
        for run in range(published.RUNS)
    ]
    largest = [0.0, *(largest_delay_ms(published.LIMITS[limit]) for limit in sizes)]
    chart = line_with_band(
        [band],
        x_title="Queue size (kb of 1024 bytes)",
        y_title="Greatest of ten pings (ms)",
        theory=[Curve("m/µ", [0.0, *x], largest)],
        published=measured_runs,
        runs=runs,
        colours_as={"three runs, simulator": band.label},
        points=False,
    )
    caption = (
        "As the source plots it: the greatest of ten pings in three runs at eight queue sizes "
        "(D-ITG source), over the band in which such runs lie, and m/µ. A colour is a backend: "
        "dots are the simulator's, rings the Linux kernel's in virtual time where it was asked "
        "for; black diamonds are what a real kernel gave. At this scale all lie on one line; the "
        "next figure shows what is under it."
    )
    return Figure("peak-against-size", *chart, caption, title="Peak delay against queue size")


def peak_over_largest(by_kind: Mapping[SourceKind, Mapping[str, DelaysOfRuns]]) -> Figure:
    """Draw ping peaks in units of m/mu, by source, beside those of a real kernel."""
    rows = []
    for limit, size in published.LIMITS.items():
        largest = largest_delay_ms(size)
        for kind, by_limit in by_kind.items():
            predicted = prediction_quantiles(by_limit[limit].ping_peak_ms)
            rows += [
                IntervalRow(
                    limit,
                    predicted.value / largest,
                    predicted.low / largest,
                    predicted.high / largest,
                    theory=limits.mean_ping_peak_ms(limit) / largest
                    if kind is SourceKind.IDEAL
                    else None,
                    published=None
                    if kind is SourceKind.IDEAL
                    else float(np.mean(measured.PING_PEAKS_MS[limit])) / largest,
                    style=SOURCES[kind],
                )
            ]
    chart = points_with_interval(
        rows,
        x_title="Greatest of ten pings over m/µ",
        measured_title="median",
        interval_title="95 % of runs",
        theory_title="theory, mean (ideal source)",
        published_title="a real kernel, mean of three",
    )
    caption = (
        "Ten pings come close to m/µ and never reach it: they miss it by about a packet or two "
        "whatever the size, which is much of a small queue and nothing of a large one."
    )
    return Figure("peak-over-largest", *chart, caption, title="How close ten pings come to m/µ")


def peak_against_load(by_rho: Mapping[float, DelaysOfRuns], limit: str) -> Figure:
    """Draw exact worst case and ping peak over m/mu, against load."""
    rhos = sorted(by_rho)
    largest = largest_delay_ms(published.LIMITS[limit])
    exact = [by_rho[rho].peak_ms / largest for rho in rhos]
    pings = [by_rho[rho].ping_peak_ms / largest for rho in rhos]
    chart = line_with_band(
        [
            _band("worst case of all packets (95 % of runs)", rhos, exact),
            _band("greatest of ten pings (95 % of runs)", rhos, pings),
        ],
        x_title="Load rho",
        y_title="Delay over m/µ",
        theory=[Curve("m/µ", [rhos[0], rhos[-1]], [1.0, 1.0])],
    )
    caption = (
        f"Behind {limit}, ideal source. From rho = 1.25 on the worst case of ten seconds is that "
        "of an infinite load; below one it is not, and ten pings see still less of it."
    )
    return Figure("peak-against-load", *chart, caption, title="Worst case against load")


def late_against_load(by_rho: Mapping[float, DelaysOfRuns], limit: str) -> Figure:
    """Draw the share of packets that find the queue nearly full, against load."""
    rhos = sorted(by_rho)
    size_bits = 8 * published.MEAN_PAYLOAD_BYTES
    fine = np.linspace(rhos[0], rhos[-1], 60)
    tails = []
    for rho in fine:
        law = limits.law(limit, float(rho) * published.RATE_BPS / size_bits)
        tails.append(law.delay_tail(LATE * law.T_max))
    chart = line_with_band(
        [_band("ten seconds (95 % of runs)", rhos, [by_rho[rho].late for rho in rhos])],
        x_title="Load rho",
        y_title=f"Share delayed for more than {LATE:g} m/µ",
        theory=[Curve("theory", fine, tails)],
    )
    caption = (
        f"Of the packets that the queue takes behind {limit}, the share that is delayed nearly as "
        "long as possible. At rho = 1.25 the worst case is m/µ already, yet one packet in four "
        "does better by a tenth; from rho = 2 on hardly any does."
    )
    return Figure("late-against-load", *chart, caption, title="How many see a full queue?")


def transient(arms_by_label: Mapping[str, DelaysOfRuns], rhos: Sequence[float]) -> Figure:
    """Draw the listing for 2 mb, the fluid model, and runs at several loads.

    Args:
        arms_by_label: Runs with pings by legend entry.
        rhos: Loads of the fluid curves.
    """
    numbers = np.arange(published.PING_COUNT, dtype=np.float64) + 0.5
    bands = []
    for label, arm in arms_by_label.items():
        answered = [column[np.isfinite(column)] for column in arm.rtt_ms.T]
        bands.append(_band(label, numbers.tolist(), answered))
    at = np.linspace(0.0, published.DURATION_S, 101)
    mu = published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    packets = published.LARGE_BYTES / published.MEAN_PAYLOAD_BYTES
    fluids = [
        Curve("fluid (rho - 1) t", at, 1e3 * theory.DD1(rho * mu, mu, packets).T_at(at))
        for rho in rhos
    ]
    # The listing's first ping was sent before the sender began; its second is our first.
    shown = {seq: rtt for seq, rtt in published.LISTING_MS.items() if seq >= listing.FIRST}
    seconds = [seq - listing.FIRST + 0.5 for seq in shown]
    chart = line_with_band(
        bands,
        x_title="Time since the sender began (s)",
        y_title="Round trip time (ms)",
        theory=fluids,
        published=[Curve("printed for 2 mb", seconds, list(shown.values()))],
    )
    caption = (
        "The pings printed for 2 mb (icmp_seq 3 to 12, the first taken as half a second after the "
        "sender began), runs at three loads with the band of 95 % of them, and the fluid that "
        "fills at rho - 1. The queue is full at 2561 ms."
    )
    return Figure("transient-2mb", *chart, caption, title="Ten seconds behind 2 mb")


def first_seconds(constant: Run, random: Run, limit: str) -> Figure:
    """Draw every packet's delay against its arrival: constant and random gaps and sizes."""
    curves = []
    for label, run in (("constant (D/D/1)", constant), ("exponential (M/M/1)", random)):
        gone = {"queue": QUEUE, "event": DEQUEUED}
        stay_ns = run.column("packets", "sojourn_ns", **gone)
        arrived_s = (run.column("packets", "t_ns", **gone) - stay_ns) / 1e9
        until = arrived_s <= 2.0
        curves.append(Curve(label, arrived_s[until], stay_ns[until] / 1e6))
    mu = published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    lam = published.PACKETS_PER_SECOND
    room = published.LIMITS[limit] + published.BURST_BYTES
    queue = theory.DD1(lam, mu, room / published.MEAN_PAYLOAD_BYTES)
    n = np.arange(0, int(queue.time_to_fill * lam))
    # The bucket's burst passes at once: queueing begins when the bucket is empty.
    head_start_s = published.BURST_BYTES / published.MEAN_PAYLOAD_BYTES / mu
    exact_ms = 1e3 * np.maximum(0.0, queue.W_of_packet(n) + 1 / mu - head_start_s)
    chart = line_with_band(
        curves,
        x_title="Arrival (s)",
        y_title="Delay (ms)",
        theory=[Curve("exact, until the queue is full", n / lam, exact_ms)],
        points=False,
    )
    caption = (
        f"Behind {limit}, the first two seconds. With constant gaps the n-th packet waits "
        "n (1/µ - 1/λ) less what the full bucket let through, until the queue is full; then every "
        "packet that is taken waits m/µ to within one. Random gaps and sizes do the same with "
        "noise."
    )
    return Figure("first-seconds", *chart, caption, title="D/D/1 beside M/M/1")


def other_reading(by_limit: Mapping[str, DelaysOfRuns]) -> Figure:
    """Draw the sizes read as kbit instead of kb."""
    rows = []
    for limit, size in published.IN_BITS.items():
        peaks = by_limit[limit].ping_peak_ms
        predicted = prediction_quantiles(peaks[np.isfinite(peaks)])
        rows.append(
            IntervalRow(
                limit,
                predicted.value,
                predicted.low,
                predicted.high,
                published=measured.IN_BITS_MS[limit],
                theory=largest_delay_ms(size),
            )
        )
    chart = points_with_interval(
        rows,
        x_title="Greatest of ten pings (ms)",
        measured_title="median",
        interval_title="95 % of runs",
        theory_title="m/µ",
        published_title="a real kernel, one run",
    )
    caption = (
        'The other reading of the text ("5kbits to 200kbits"): tc\'s kbit, 128 bytes each. At '
        "5kbit the queue holds one small packet."
    )
    return Figure("sizes-in-kbit", *chart, caption, title="The sizes in kbit")

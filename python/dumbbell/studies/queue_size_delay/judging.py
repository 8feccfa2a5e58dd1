"""The claims of the study, each with its rule, and how they are judged.

Margins are fixed here, before anything runs. Most are one packet's time, 0.63 ms: a queue holds
whole packets, so nobody can ask for better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dumbbell.claims.legacy import (
    Claim,
    Judged,
    Kind,
    Verdict,
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_supremum,
    judge_theory_equals,
)
from dumbbell.stats import (
    Estimate,
    difference_interval,
    prediction_quantiles,
    simultaneous_band,
    student_interval,
)
from dumbbell.studies.queue_size_delay import limits, listing, measured, published
from dumbbell.studies.queue_size_delay.arms import SOURCES
from dumbbell.studies.queue_size_delay.campaigns import LATE, Arm, Floats
from dumbbell.studies.queue_size_delay.limits import PACKET_MS, largest_delay_ms

LARGEST_FRAME_BYTES = 1514
NS_IN_MS = 1e-6
LATE_MARGIN = 0.02
"""Of the share of packets that find the queue nearly full."""
LOSS_MARGIN = 2 / (published.PACKETS_PER_SECOND * published.DURATION_S)
"""Two packets of the 20,000 that are sent."""
THEORY = "Level crossings of the unfinished work behind a token bucket (theory.ByteLimited)"
SAME_NUMBERS = "One description, two backends that draw the same random numbers"


def judge_peak(arm: Arm, kind: str, limit: str, backend: str) -> Judged:
    """The source's sentence: who finds the queue full waits m/mu, and nobody waits longer."""
    packet_ms = PACKET_MS
    if kind == "ditg":
        # ITGSend's datagrams have headers and fragments; the largest frame decides what fits.
        packet_ms = 8e3 * LARGEST_FRAME_BYTES / published.RATE_BPS
    claim = Claim(
        id=f"peak-{kind}-{limit}",
        statement=(
            f"The worst-case delay in ten seconds behind {limit} is m/mu ({SOURCES[kind]}, "
            "rho = 1.25)"
        ),
        source=published.SOURCE,
        kind=Kind.SUPREMUM,
        theory=largest_delay_ms(limits.ALL_BYTES[limit]),
        margin=packet_ms,
        unit="ms",
    )
    # A host on the kernel notes a packet's instants some hundred nanoseconds late.
    rounding = 2 * NS_IN_MS if backend == "sim" else 0.01
    return judge_supremum(claim, arm.peak_ms, rounding=rounding, backend=backend)


def judge_ping_law(arm: Arm, limit: str) -> Judged:
    """The greatest of ten pings, in the mean, against its law."""
    claim = Claim(
        id=f"ping-peak-{limit}",
        statement=f"The greatest of ten pings behind {limit} is, in the mean, what theory says",
        source=THEORY,
        kind=Kind.THEORY_EQUALS,
        theory=limits.mean_ping_peak_ms(limit),
        margin=PACKET_MS,
        unit="ms",
    )
    note = f"m/mu is {largest_delay_ms(limits.ALL_BYTES[limit]):.2f} ms; ten pings miss it"
    return judge_theory_equals(claim, student_interval(arm.ping_peak_ms), note=note)


def judge_order(by_limit: Mapping[str, Arm], kind: str, backend: str) -> Judged:
    """The source's finding: a larger queue, a longer delay."""
    peaks = np.column_stack([by_limit[limit].ping_peak_ms for limit in published.LIMITS])
    claim = Claim(
        id=f"larger-longer-{kind}",
        statement=f"The larger of two queues has the longer ping peak ({SOURCES[kind]})",
        source=published.SOURCE,
        kind=Kind.ORDERING,
        unit="ms",
    )
    band = simultaneous_band(np.diff(peaks, axis=1))
    note = "differences of neighbours among the eight sizes; the least is between 5kb and 10kb"
    return judge_ordering(claim, band, backend=backend, note=note)


def judge_as_bad_as_infinity(at_nominal: Arm, at_infinity: Arm, rho: float, limit: str) -> Judged:
    """The source's sentence about the worst case."""
    claim = Claim(
        id="as-bad-as-infinity",
        statement=f"The worst case at rho = 1.25 is that of rho = infinity (behind {limit})",
        source=published.SOURCE,
        kind=Kind.HARDLY_MATTERS,
        margin=PACKET_MS,
        unit="ms",
    )
    difference = difference_interval(at_infinity.peak_ms, at_nominal.peak_ms)
    note = f"rho = {rho:g} stands for infinity; difference of the exact peaks, run by run"
    return judge_hardly_matters(claim, difference, note=note)


def judge_late(arm: Arm, rho: float, packets_per_second: float, limit: str) -> Judged:
    """How many packets that are taken find the queue nearly full."""
    law = limits.law(limit, packets_per_second)
    claim = Claim(
        id=f"late-rho-{rho:g}",
        statement=(
            f"At rho = {rho:g} this share of the packets taken is delayed for more than "
            f"{LATE:g} m/mu (behind {limit})"
        ),
        source=THEORY,
        kind=Kind.THEORY_EQUALS,
        theory=law.delay_tail(LATE * law.T_max),
        margin=LATE_MARGIN,
        unit="1",
    )
    return judge_theory_equals(claim, student_interval(arm.late))


def judge_measured(arm: Arm, limit: str) -> Judged:
    """Three runs on a real kernel, each against what one of ours would print.

    The run that is farthest out is judged, at the level that leaves 95 % for the three together.
    """
    runs = measured.PING_PEAKS_MS[limit]
    level = 1 - 0.05 / len(runs)
    prediction = prediction_quantiles(arm.ping_peak_ms, level)
    farthest = max(runs, key=lambda peak: abs(peak - prediction.value))
    stalled = measured.STALLED_MS.get(limit)
    notes = [f"the runs printed {', '.join(f'{peak:g}' for peak in runs)} ms"]
    if stalled:
        notes.append(f"in the farthest, a packet took {stalled:g} ms: the machine stalled")
    claim = Claim(
        id=f"measured-{limit}",
        statement=f"Ping peaks of three runs on a real kernel behind {limit}; the farthest",
        source=measured.SOURCE.format(limit=limit),
        kind=Kind.PUBLISHED_NUMBER,
        published=farthest,
        unit="ms",
        level=level,
        rule=(
            f"Reproduced when all three lie in the central {100 * level:.1f} % prediction interval "
            "of one run (95 % for the three together), host jitter of "
            f"{measured.HOST_JITTER_MS:g} ms and the rounding of what ping prints included."
        ),
    )
    widened = _as_printed(prediction, farthest)
    return judge_published_number(claim, widened, note="; ".join(notes))


def judge_measured_large(arm: Arm, number: int) -> Judged:
    """A run on a real kernel behind 2 mb against ours at the rate that its sender logged."""
    peak, pps = measured.LARGE_PEAKS_MS[number], measured.LARGE_SENT_PPS[number]
    claim = Claim(
        id=f"measured-{published.LARGE}-run{number + 1}",
        statement=(
            f"Ping peak of run {number + 1} on a real kernel behind {published.LARGE}, at the "
            f"{pps:.0f} packets/s that its sender logged"
        ),
        source=measured.SOURCE.format(limit=published.LARGE),
        kind=Kind.PUBLISHED_NUMBER,
        published=peak,
        unit="ms",
    )
    return judge_published_number(claim, _as_printed(prediction_quantiles(arm.ping_peak_ms), peak))


def _as_printed(prediction: Estimate, printed: float) -> Estimate:
    """A prediction of what ping prints: host jitter in quadrature, then the rounding."""
    from scipy.special import ndtri

    value, rounding = prediction.value, measured.rounding_ms(printed)
    reach = float(ndtri((1 + prediction.level) / 2)) * measured.HOST_JITTER_MS
    return replace(
        prediction,
        low=value - math.hypot(value - prediction.low, reach) - rounding,
        high=value + math.hypot(prediction.high - value, reach) + rounding,
    )


def judge_growth(arm: Arm, label: str, where: str, note: str = "") -> Judged:
    """How much the delay grows over ten pings behind 2 mb."""
    claim = Claim(
        id=f"listing-{label}",
        statement=f"From the first to the last of ten pings behind 2 mb the delay grows, {where}",
        source=published.SOURCE,
        kind=Kind.PUBLISHED_NUMBER,
        published=listing.growth_ms(),
        unit="ms",
    )
    return judge_published_number(claim, prediction_quantiles(growth_ms(arm)), note=note)


def growth_ms(arm: Arm) -> Floats:
    """Last ping's delay less the first's, of the runs in which both came back."""
    growth = arm.rtt_ms[:, -1] - arm.rtt_ms[:, 0]
    return growth[np.isfinite(growth)]


def judge_fit(fit: listing.Fit) -> Judged:
    """Whether the load that was asked for explains the listing."""
    claim = Claim(
        id="load-as-asked",
        statement="The delays printed for 2 mb come from a load of rho = 1.25",
        source=published.SOURCE,
        kind=Kind.FREE_PARAMETERS,
        published=published.RHO,
        unit="1",
        rule=(
            "Load fitted to the nine increments of the printed delays from icmp_seq 3 on: "
            "reproduced when its 95 % profile interval contains what was asked for."
        ),
    )
    inside = fit.low <= published.RHO <= fit.high
    return Judged(
        claim=claim,
        backend="sim",
        measured=fit.rho,
        low=fit.low,
        high=fit.high,
        n_replications=1,
        verdict=Verdict.REPRODUCED if inside else Verdict.NOT_REPRODUCED,
        note=(
            f"goodness of fit: chi-square {fit.chi_square:.1f} with {fit.freedom} degrees of "
            f"freedom, p = {fit.p_value:.2g}; the fit is of a likelihood in closed form"
        ),
    )


def judge_constant_loss(arm: Arm, limit: str) -> Judged:
    """D/D/1 is exact: the fluid fills bucket and queue, then loses what is too much."""
    claim = Claim(
        id=f"constant-loss-{limit}",
        statement=(
            f"With constant gaps and sizes so many of the 20,000 packets are lost behind {limit}"
        ),
        source="Fluid approximation of D/D/1 (Bertsekas and Gallager, section 3.1)",
        kind=Kind.THEORY_EQUALS,
        theory=limits.constant_loss(limit),
        margin=LOSS_MARGIN,
        unit="1",
    )
    return judge_theory_equals(claim, student_interval(arm.loss))


def judge_agreement(
    kernel: Mapping[str, Arm], sim: Mapping[str, Arm], kind: str, quantity: str
) -> Judged:
    """The same replications on both backends; one difference a replication, over all limits.

    Args:
        kernel: Limit to runs on the kernel.
        sim: Limit to at least as many runs in the simulator.
        kind: Of the source.
        quantity: ``peak_ms`` or ``ping_peak_ms``.
    """
    what = {"peak_ms": "worst-case delay", "ping_peak_ms": "ping peak"}[quantity]
    claim = Claim(
        id=f"agreement-{kind}-{quantity.removesuffix('_ms').replace('_', '-')}",
        statement=f"The simulator and the Linux kernel agree on the {what} ({SOURCES[kind]})",
        source=SAME_NUMBERS,
        kind=Kind.HARDLY_MATTERS,
        margin=PACKET_MS,
        unit="ms",
    )
    sides = [
        np.mean([getattr(side[limit], quantity) for limit in published.LIMITS], axis=0)
        for side in (kernel, sim)
    ]
    n = min(side.size for side in sides)
    difference = difference_interval(sides[0][:n], sides[1][:n])
    note = "kernel less simulator, mean over the eight sizes, replication by replication"
    return judge_hardly_matters(claim, difference, backend="kernel", note=note)

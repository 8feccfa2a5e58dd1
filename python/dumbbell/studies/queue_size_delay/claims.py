"""The claims of the study, each with its rule, and how they are judged.

Margins are fixed here, before any run. Most equal the transmission time of a packet, 0.63 ms,
because a queue holds whole packets.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Family,
    Fitted,
    Grid,
    GridPoint,
    Judged,
    Levels,
    Origin,
    Pairing,
    Runs,
    Side,
    Sides,
    judge,
)
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Check,
    Equals,
    Equivalent,
    Explained,
    Joint,
    Law,
    Level,
    Ordering,
    Published,
    Supremum,
)
from dumbbell.stats import Estimate, IntervalKind
from dumbbell.studies.queue_size_delay import limits, listing, measured, published
from dumbbell.studies.queue_size_delay.arms import SOURCES, SourceKind
from dumbbell.studies.queue_size_delay.limits import PACKET_MS, largest_delay_ms
from dumbbell.studies.queue_size_delay.measures import LATE, DelaysOfRuns, Floats

LARGEST_FRAME_BYTES = 1514
NS_IN_MS = 1e-6
LATE_MARGIN = 0.02
"""Margin of the share of packets that find the queue nearly full."""
LOSS_MARGIN = 2 / (published.PACKETS_PER_SECOND * published.DURATION_S)
"""Two of the 20,000 packets sent."""
THEORY = "Level crossings of the unfinished work behind a token bucket (theory.ByteLimited)"
SAME_NUMBERS = "One description, two backends that draw the same random numbers"
TOGETHER = 1 - 0.05 / published.RUNS
"""Level of each of three intervals whose joint level is 95 %."""

WORST_CASE, LARGER_LONGER, FULL_IN_TEN = "worst case is m/mu", "larger, longer", "2 mb in ten s"
LISTING, LAW_OF_PINGS, LATE_SHARE = "the listing's load", "ten pings", "late packets"
"""Facts shared by several rows."""


def judge_peak(many: DelaysOfRuns, kind: SourceKind, limit: str, backend: str) -> Judged:
    """Judge the source's statement: a packet that finds the queue full waits m/mu, the maximum."""
    packet_ms = PACKET_MS
    if kind is SourceKind.DITG:
        # ITGSend's datagrams have headers and fragments; the largest frame decides whether one
        # fits.
        packet_ms = 8e3 * LARGEST_FRAME_BYTES / published.RATE_BPS
    is_large = limit == published.LARGE
    claim = Claim(
        id=f"peak-{kind}-{limit}",
        statement=(
            f"The worst-case delay in ten seconds behind {limit} is m/mu ({SOURCES[kind]}, "
            "rho = 1.25)"
        ),
        source=published.SOURCE,
        rule=Supremum(
            bound=largest_delay_ms(limits.ALL_BYTES[limit]),
            packet=packet_ms,
            unit="ms",
            origin=Origin.PUBLISHED,
            # A host on the kernel timestamps packets some hundred nanoseconds late.
            resolution=2 * NS_IN_MS if backend == "sim" else 0.01,
        ),
        fact=FULL_IN_TEN if is_large else WORST_CASE,
        family=None
        if is_large
        else Family(
            f"peak-{kind}",
            f"The worst-case delay in ten seconds is m/mu ({SOURCES[kind]}, rho = 1.25)",
            limit,
        ),
    )
    return judge(claim, Runs(many.peak_ms), backend=backend)


def judge_ping_law(many: DelaysOfRuns, limit: str) -> Judged:
    """Judge the mean of the largest of ten pings against its distribution."""
    claim = Claim(
        id=f"ping-peak-{limit}",
        statement=f"The greatest of ten pings behind {limit} is, in the mean, what theory says",
        source=THEORY,
        rule=Equals(value=limits.mean_ping_peak_ms(limit), margin=PACKET_MS, unit="ms"),
        fact=LAW_OF_PINGS,
        family=Family(
            LAW_OF_PINGS, "The greatest of ten pings is, in the mean, what theory says", limit
        ),
    )
    note = f"m/mu is {largest_delay_ms(limits.ALL_BYTES[limit]):.2f} ms; ten pings miss it"
    return judge(claim, Runs(many.ping_peak_ms), note=note)


def judge_order(by_limit: Mapping[str, DelaysOfRuns], kind: SourceKind, backend: str) -> Judged:
    """Judge the source's finding that a larger queue gives a longer delay."""
    claim = Claim(
        id=f"larger-longer-{kind}",
        statement=f"The larger of two queues has the longer ping peak ({SOURCES[kind]})",
        source=published.SOURCE,
        rule=Ordering(over="neighbours among the queue sizes", unit="ms"),
        fact=LARGER_LONGER,
    )
    peaks = [by_limit[limit].ping_peak_ms for limit in published.LIMITS if limit in by_limit]
    return judge(claim, Curves.of_steps(peaks), backend=backend)


def judge_as_bad_as_infinity(
    at_nominal: DelaysOfRuns, at_infinity: DelaysOfRuns, rho: float, limit: str
) -> Judged:
    """Judge the source's statement about the worst case."""
    claim = Claim(
        id="as-bad-as-infinity",
        statement=f"The worst case at rho = 1.25 is that of rho = infinity (behind {limit})",
        source=published.SOURCE,
        rule=Equivalent(margin=PACKET_MS, unit="ms"),
    )
    sides = Sides(at_infinity.peak_ms, at_nominal.peak_ms, Pairing.SHARED_STREAMS)
    note = f"rho = {rho:g} stands for infinity; exact peaks"
    return judge(claim, sides, note=note)


def judge_late(many: DelaysOfRuns, rho: float, packets_per_second: float, limit: str) -> Judged:
    """Judge the share of accepted packets that find the queue nearly full."""
    law = limits.law(limit, packets_per_second)
    what = f"of the packets taken is delayed for more than {LATE:g} m/mu (behind {limit})"
    claim = Claim(
        id=f"late-rho-{rho:g}",
        statement=f"At rho = {rho:g} this share {what}",
        source=THEORY,
        rule=Equals(value=law.delay_tail(LATE * law.T_max), margin=LATE_MARGIN, unit="1"),
        fact=LATE_SHARE,
        family=Family(LATE_SHARE, f"This share {what}", f"rho = {rho:g}"),
    )
    return judge(claim, Runs(many.late))


def judge_measured(many: DelaysOfRuns, limit: str) -> Judged:
    """Compare three runs on a real kernel, each with the prediction for one of our runs.

    The most extreme run is judged, at the level whose joint level for the three is 95 %.
    """
    runs = measured.PING_PEAKS_MS[limit]
    middle = float(np.nanmedian(many.ping_peak_ms))
    farthest = max(runs, key=lambda peak: abs(peak - middle))
    notes = [f"the runs printed {', '.join(f'{peak:g}' for peak in runs)} ms"]
    if limit in measured.STALLED_MS:
        stalled = measured.STALLED_MS[limit]
        notes.append(f"in the farthest, a packet took {stalled:g} ms: the machine stalled")
    claim = Claim(
        id=f"measured-{limit}",
        statement=f"Ping peaks of three runs on a real kernel behind {limit}; the farthest",
        source=measured.SOURCE.format(limit=limit),
        rule=_measured_rule(farthest, TOGETHER),
        family=Family("measured", "Ping peaks on a real kernel; the farthest of three", limit),
    )
    return judge(claim, Runs(many.ping_peak_ms), note="; ".join(notes))


def judge_measured_large(many: DelaysOfRuns, number: int) -> Judged:
    """Compare a run on a real kernel behind 2 mb with ours at the rate in its sender's log."""
    pps = measured.LARGE_SENT_PPS[number]
    claim = Claim(
        id=f"measured-{published.LARGE}-run{number + 1}",
        statement=(
            f"Ping peak of run {number + 1} on a real kernel behind {published.LARGE}, at the "
            f"{pps:.0f} packets/s that its sender logged"
        ),
        source=measured.SOURCE.format(limit=published.LARGE),
        rule=_measured_rule(measured.LARGE_PEAKS_MS[number], 0.95),
    )
    return judge(claim, Runs(many.ping_peak_ms))


def _measured_rule(printed: float, level: float) -> Published:
    return Published(
        printed=printed,
        rounding=measured.rounding_ms(printed),
        jitter=measured.HOST_JITTER_MS,
        law=Law.ANY,
        origin=Origin.ELSEWHERE,
        unit="ms",
        level=level,
    )


BASE_RTT, LISTING_TOGETHER, LOAD_FITTED = "base-rtt", "listing-together", "load-fitted"
SENDER = "each sender"
"""Name, in a point of the grid, of the kind of sender and its number."""


def growth_id(kind: SourceKind) -> str:
    """Return the id of the claim about the growth over ten pings."""
    return f"listing-growth-{kind}"


def judge_base_rtt() -> Judged:
    """Report that the ping before the traffic began gives the base RTT."""
    claim = Claim(
        id=BASE_RTT,
        statement="The round-trip time of the empty path",
        source=published.SOURCE,
        rule=Calibration(
            parameter="the empty path's round-trip time",
            unit="ms",
            used=f"the ping before the traffic began, icmp_seq {listing.FIRST - 1}",
        ),
    )
    return judge(claim, Fitted(listing.base_rtt_ms()))


def judge_listing(found: Mapping[str, DelaysOfRuns]) -> Judged:
    """Judge whether one sender gives all printed pings of the busy queue.

    Args:
        found: Runs by description of the sender.
    """
    levels = {
        name: Level(printed=printed, reading=reading)
        for name, (printed, reading) in listing.levels_ms().items()
    }
    claim = Claim(
        id=LISTING_TOGETHER,
        statement="The delays printed for 2 mb, as ten consecutive pings of one run",
        source=published.SOURCE,
        rule=Explained(levels=levels, grid=", ".join(found), unit="ms", joint=Joint.HOTELLING),
        fact=LISTING,
        amended=Amendment(
            "2026-11-23", "200 runs of each sender in place of 60, which had left p = 0.038"
        ),
    )
    points: list[GridPoint[Levels]] = [
        GridPoint(
            {SENDER: sender},
            {name: Runs(of) for name, of in listing.levels_of(many.rtt_ms).items()},
        )
        for sender, many in found.items()
    ]
    return judge(claim, Grid(points))


def judge_growth(many: DelaysOfRuns, kind: SourceKind, where: str) -> Judged:
    """Judge the growth of delay over ten pings behind 2 mb."""
    claim = Claim(
        id=growth_id(kind),
        statement=f"From the first to the last of ten pings behind 2 mb the delay grows, {where}",
        source=published.SOURCE,
        rule=Published(
            printed=listing.growth_ms(), rounding=listing.ROUNDING_MS, law=Law.ANY, unit="ms"
        ),
        fact=LISTING,
    )
    return judge(claim, Runs(many.growth_ms))


def judge_load_as_asked(fit: listing.LoadFit) -> Judged:
    """Judge whether the nominal load explains the listing."""
    claim = Claim(
        id="load-as-asked",
        statement="The delays printed for 2 mb come from a load of rho = 1.25",
        source=published.SOURCE,
        rule=Equals(value=published.RHO, margin=0.005, unit="1", origin=Origin.PUBLISHED),
        fact=LISTING,
        amended=Amendment(
            "2026-11-22", "until then the interval had to contain 1.25 itself, without a margin"
        ),
    )
    profile = Estimate(fit.rho, fit.low, fit.high, 0.95, 1, IntervalKind.PROFILE)
    return judge(claim, profile, note=f"fitted to {listing.increments_ms().size} increments")


def judge_fit(fit: listing.LoadFit) -> Judged:
    """Report the load that best explains the listing: a fit, not independent evidence."""
    claim = Claim(
        id=LOAD_FITTED,
        statement="The load that explains the delays printed for 2 mb best",
        source=published.SOURCE,
        rule=Calibration(
            parameter="the load rho",
            unit="1",
            used="the nine increments of the printed delays from icmp_seq 3 on",
            nominal=published.RHO,
        ),
    )
    fitted = Fitted(fit.rho, fit.low, fit.high, p_value=fit.p_value)
    note = f"chi-square {fit.chi_square:.1f} with {fit.freedom} degrees of freedom"
    return judge(claim, fitted, note=f"{note}, p = {fit.p_value:.2g}; likelihood in closed form")


def judge_constant(many: DelaysOfRuns, limit: str) -> list[Judged]:
    """Judge D/D/1, which is exact: the fluid fills bucket and queue, then the excess is lost."""
    because = "gaps and sizes are constant, and nothing is random"
    loss = Claim(
        id=f"constant-loss-{limit}",
        statement=(
            f"With constant gaps and sizes so many of the 20,000 packets are lost behind {limit}"
        ),
        source="Fluid approximation of D/D/1 (Bertsekas and Gallager, section 3.1)",
        rule=Check(
            value=limits.constant_loss(limit), because=because, unit="1", tolerance=LOSS_MARGIN
        ),
    )
    peak = Claim(
        id=f"peak-constant-{limit}",
        statement=f"With constant gaps and sizes a packet waits m/mu behind {limit}, to a packet",
        source=published.SOURCE,
        rule=Check(
            value=largest_delay_ms(limits.ALL_BYTES[limit]) - PACKET_MS,
            because=because,
            unit="ms",
            side=Side.AT_LEAST,
        ),
    )
    return [judge(peak, Runs(many.peak_ms)), judge(loss, Runs(many.loss))]


def judge_agreement(
    kernel: Mapping[str, DelaysOfRuns], sim: Mapping[str, DelaysOfRuns], kind: SourceKind
) -> list[Judged]:
    """Compare the same replications on both backends: the mean over sizes of each replication.

    Args:
        kernel: Runs on the kernel by limit.
        sim: At least as many runs in the simulator, by limit.
        kind: Kind of the source.
    """
    sizes = [limit for limit in published.LIMITS if limit in kernel]
    judged = []
    for name, what, pick in (
        ("peak", "worst-case delay", _peak_ms),
        ("ping-peak", "ping peak", _ping_peak_ms),
    ):
        claim = Claim(
            id=f"agreement-{kind}-{name}",
            statement=f"The simulator and the Linux kernel agree on the {what} ({SOURCES[kind]})",
            source=SAME_NUMBERS,
            rule=Agreement.of_delays_ms(0.0, PACKET_MS, is_tail=True),
        )
        ours, other = (
            np.mean([pick(side[limit]) for limit in sizes], axis=0) for side in (sim, kernel)
        )
        n = min(ours.size, other.size)
        sides = Sides(ours[:n], other[:n], Pairing.SHARED_STREAMS)
        note = f"simulator less kernel, mean over {len(sizes)} sizes"
        judged.append(judge(claim, sides, backend="kernel", note=note))
    return judged


def _peak_ms(of: DelaysOfRuns) -> Floats:
    return of.peak_ms


def _ping_peak_ms(of: DelaysOfRuns) -> Floats:
    return of.ping_peak_ms

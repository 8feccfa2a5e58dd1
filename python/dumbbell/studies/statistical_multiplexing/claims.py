"""The claims of the study, each with its rule and margin, fixed before any run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dumbbell import theory
from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Family,
    Fitted,
    Grid,
    GridPoint,
    Judged,
    Origin,
    Pairing,
    Ratio,
    Runs,
    Sides,
    judge,
)
from dumbbell.claims.evidence import Levels, Parameter
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Equals,
    Explained,
    Joint,
    Law,
    Level,
    Ordering,
    Published,
)
from dumbbell.stats import comparison_range, ecdf_at
from dumbbell.studies.statistical_multiplexing import external_measurements, published
from dumbbell.studies.statistical_multiplexing.fit import HOST_JITTER_MS, QuartileFit
from dumbbell.studies.statistical_multiplexing.measures import (
    AsPublished,
    DelayComparison,
    Floats,
    Ideal,
    one_run_ms,
    one_run_ratio,
)
from dumbbell.studies.statistical_multiplexing.senders import Sender

RELATIVE_MARGIN = 0.02
"""Margin relative to theory: twice the half-width aimed at by the replications."""
AGREEMENT = Agreement.of_delays_ms(relative=0.001)
"""Half a millisecond, or a thousandth if larger: with the same arrivals, sojourn times on both
backends agree to a few microseconds."""
COMPARED = (0.05, 0.95)
"""Levels of all pings between which the distribution functions are compared."""
POINTS = 40
"""Number of points, 2.3 % of the pings each; a band of many more costs more than the runs."""
LAWS = {"sim": Law.ANY, "kernel": Law.LOG_NORMAL}
"""Assumed distribution of a printed number: none with hundreds of runs; with few runs, its
logarithm is about normal."""

FITTED = "senders and base RTT were fitted to the six quartiles, which are no claims here"
"""Remark beside the verdicts with fitted senders."""

_THEORY = f"Queueing theory; {published.TEXTBOOK}"
_TWO_RUNS = Amendment(
    "2026-11-22",
    "the source measured its arms in two runs with arrivals of their own; the prediction was made "
    "of pairs that share their arrivals, which is too narrow",
)


def multiplexing(streams: int) -> theory.Multiplexing:
    """Return theory for `streams` streams of 110 packets/s and 500 kbit/s each."""
    per_stream_mu = published.STREAM_RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    lam, mu = published.PACKETS_PER_SECOND * streams, per_stream_mu * streams
    return theory.tdm(lam, mu, streams)


@dataclass(frozen=True, slots=True)
class IdealMeans:
    """Means compared with theory.

    Attributes:
        sm_ms: Mean time in the system of SM, milliseconds.
        tdm_ms: Mean time in the system of TDM, milliseconds.
        factor: TDM's mean time over SM's.
        number: Mean number in a queue of TDM over that in SM's queue.
    """

    sm_ms: Parameter
    tdm_ms: Parameter
    factor: Parameter
    number: Parameter

    @classmethod
    def of(cls, found: Ideal) -> IdealMeans:
        """Return the means of the replications, without control variates."""
        sojourn = {arm: found.values(arm, "sojourn_s") for arm in published.ARMS}
        number = {arm: found.values(arm, "queue_pkts") for arm in published.ARMS}
        return cls(
            Runs(1e3 * sojourn["SM"]),
            Runs(1e3 * sojourn["TDM"]),
            Ratio(sojourn["TDM"], sojourn["SM"]),
            Ratio(number["TDM"], number["SM"]),
        )


def ideal(streams: int, means: IdealMeans, backend: str, note: str = "") -> list[Judged]:
    """Judge mean delays, the factor m, and equal numbers in all queues.

    TDM's mean follows from SM's and the factor, and the numbers follow from the delays (Little's
    law), so the four rows contain two facts.

    Args:
        streams: Number of streams m.
        means: The measured means.
        backend: The backend.
        note: Remark beside each verdict.
    """
    law, m = multiplexing(streams), streams
    fast, gain = f"ideal-m{m}-one-queue", f"ideal-m{m}-gain"
    rows = (
        ("t-sm", fast, 1e3 * law.T_sm, "ms", means.sm_ms,
         "in one queue for all the mean time in the system is 1/(mu - lambda)"),
        ("t-tdm", gain, 1e3 * law.T_tdm, "ms", means.tdm_ms,
         "in queues of their own it is m/(mu - lambda)"),
        ("factor", gain, law.factor, "1", means.factor, "separate queues are slower by m"),
        ("equal-n", gain, 1.0, "1", means.number,
         "a queue holds equally many packets either way: ratio 1"),
    )  # fmt: skip
    return [
        judge(
            Claim(
                id=f"ideal-{name}-m{m}",
                statement=f"With m = {m} streams, {statement}",
                source=_THEORY,
                rule=Equals(value=value, margin=RELATIVE_MARGIN * value, unit=unit),
                fact=fact,
                family=Family(f"ideal-{name}", f"With m streams, {statement}", f"m = {m}"),
            ),
            evidence,
            backend=backend,
            note=note,
        )
        for name, fact, value, unit, evidence, statement in rows
    ]


def as_published(
    found: AsPublished, label: str, where: str, backend: str, *, fitted: bool
) -> Iterator[Judged]:
    """Judge the printed round-trip times, the ratio of means, and the order of the two CDFs.

    Quantiles of one run are correlated, so those of an arm are one fact.

    Args:
        found: Runs as published: initially empty, first 200 s, two senders pooled.
        label: Name of the senders, such as ``nominal``; the claims' ids begin with it.
        where: Completes a sentence, such as ``at the nominal load``.
        backend: The backend.
        fitted: Whether the senders were fitted to the quartiles, which then are not claims.
    """
    law = LAWS[backend]
    note = FITTED if fitted else ""
    # Results with either kind of sender are one fact about the printed value.
    fact = "fitted" if fitted else label
    for printed in published.RTT:
        if fitted and printed in published.QUARTILES:
            continue
        claim = Claim(
            id=f"{label}-{printed.arm.lower()}-{printed.name}",
            statement=f"The {printed.what} of the {printed.arm} round-trip times, {where}",
            source=published.SOURCE,
            rule=Published(
                printed=printed.ms,
                rounding=printed.rounding_ms,
                unit="ms",
                law=law,
                jitter=HOST_JITTER_MS,
            ),
            fact=f"{fact}-{printed.arm.lower()}-delays",
            family=Family(
                f"{label}-printed",
                f"Printed round-trip times, {where}",
                f"{printed.arm} {printed.what}",
            ),
        )
        yield judge(claim, Runs(one_run_ms(found, printed)), backend=backend, note=note)
    ratio = Claim(
        id=f"{label}-mean-ratio",
        statement=f"Mean delay of SM over that of TDM (printed as 0.546 %), {where}",
        source=published.SOURCE,
        rule=Published(
            printed=published.MEAN_RATIO,
            rounding=published.MEAN_RATIO_ROUNDING,
            unit="1",
            law=law,
        ),
        fact=f"{fact}-mean-ratio",
        amended=_TWO_RUNS,
    )
    yield judge(ratio, Runs(one_run_ratio(found)), backend=backend, note=note)
    order = Claim(
        id=f"{label}-sm-left-of-tdm",
        statement=f"SM's delay CDF lies left of TDM's everywhere above the base RTT, {where}",
        source=published.SOURCE,
        rule=Ordering(over="from the 5th to the 95th percentile of all pings", unit="1"),
        fact=f"{fact}-sm-left-of-tdm",
    )
    yield judge(order, left_by(found), backend=backend)


def left_by(found: AsPublished) -> Curves:
    """Return F_SM - F_TDM of each replication, over the compared range."""
    sm, tdm = ([run.rtt_ms for run in found.of(arm)] for arm in published.ARMS)
    at = comparison_range(sm, tdm, between=COMPARED, points=POINTS)
    return Curves([ecdf_at(a, at) - ecdf_at(b, at) for a, b in zip(sm, tdm, strict=True)])


def calibrated(sender: Sender, fit: QuartileFit, n_replications: int) -> Judged:
    """Report the senders' number that best explains the printed quartiles, fitted to them."""
    base, of_sender = fit.base_rtt_ms, fit.of_sender
    claim = Claim(
        id=sender.calibration,
        statement=sender.statement,
        source=published.SOURCE,
        rule=Calibration(
            parameter=f"the {sender.parameter}, with the base RTT,",
            unit=sender.unit,
            used="the six printed quartiles",
            nominal=sender.nominal,
        ),
    )
    evidence = Fitted(
        value=of_sender.value,
        low=of_sender.low,
        high=of_sender.high,
        n=n_replications,
        p_value=fit.p_value,
        is_at_edge=of_sender.at_edge,
    )
    note = (
        f"base RTT {base.value:.2f} ms ({base.low:.2f} to {base.high:.2f}); goodness of fit: "
        f"chi-square {fit.distance:.1f} with {fit.freedom} degrees of freedom, "
        f"p = {fit.p_value:.2g}"
    )
    return judge(claim, evidence, note=note)


SENDER = "each sender"
"""Name, in a point of the grid, of the kind of sender and its number."""
BASE_RTTS_MS = (1.5, 1.7, 1.9)
"""Base RTTs tried with every sender. The base RTT is small, because the smallest printed quartile
is 2.5 ms and a ping alone takes 0.8 ms."""


def together(found: Mapping[Sender, Mapping[float, Floats]]) -> Judged:
    """Judge whether one sender gives all six printed quartiles.

    Args:
        found: By sender and its number, the six quartiles of each run over a path without delay,
            shape (runs, 6).
    """
    levels = {
        f"{each.arm} {each.name}": Level(
            printed=each.ms, reading=each.rounding_ms, law=Law.LOG_NORMAL, jitter=HOST_JITTER_MS
        )
        for each in published.QUARTILES
    }
    tried = " or ".join(
        f"{sender.parameter} of {len(rows)} values from {min(rows):g} to {max(rows):g} "
        f"{sender.unit}"
        for sender, rows in found.items()
    )
    claim = Claim(
        id="quartiles-together",
        statement="The six printed quartiles of the round-trip times, as one run of each arm",
        source=published.SOURCE,
        rule=Explained(
            levels=levels,
            grid=f"{tried}; base RTT {', '.join(f'{each:g}' for each in BASE_RTTS_MS)} ms",
            unit="ms",
            joint=Joint.HOTELLING,
        ),
    )
    points: list[GridPoint[Levels]] = [
        GridPoint(
            {SENDER: sender.words(value), "base RTT (ms)": base_rtt_ms},
            {
                name: Runs(of_run)
                for name, of_run in zip(levels, (rows + base_rtt_ms).T, strict=True)
            },
        )
        for sender, by_value in found.items()
        for value, rows in by_value.items()
        for base_rtt_ms in BASE_RTTS_MS
    ]
    return judge(claim, Grid(points))


def measured_elsewhere(
    arm: str, shaper: external_measurements.Shaper, means_ms: Floats
) -> Iterator[Judged]:
    """Judge mean RTTs that a real kernel gave for the same traffic behind a token bucket.

    Args:
        arm: One of `published.ARMS`.
        shaper: The shaper with its measurements.
        means_ms: What each of our replications would have measured, shape (n,).
    """
    for number, measured in enumerate(shaper.mean_rtt_ms[arm], start=1):
        claim = Claim(
            id=f"kernel-{shaper.name.replace(' ', '-')}-{arm.lower()}-run{number}",
            statement=(
                f"Mean {arm} round-trip time of run {number} on a real kernel, "
                f"{shaper.name} of {shaper.burst_bytes} bytes"
            ),
            source="Measured on Linux 6.18 with D-ITG 2.8.1: " + shaper.lines,
            rule=Published(
                printed=measured,
                rounding=external_measurements.ROUNDING_MS,
                unit="ms",
                law=Law.ANY,
                origin=Origin.ELSEWHERE,
            ),
            family=Family(
                f"kernel-{shaper.name}",
                f"Mean round-trip time of a run on a real kernel, {shaper.name} of "
                f"{shaper.burst_bytes} bytes",
                f"{arm}, run {number}",
            ),
        )
        yield judge(claim, Runs(means_ms))


def agreement(of: DelayComparison) -> Judged:
    """Judge whether simulator and kernel agree on a mean delay, replication by replication."""
    claim = Claim(
        id=f"agreement-{of.name}",
        statement=f"The simulator and the Linux kernel agree on {of.what}",
        source="One description, two backends that draw the same random numbers",
        rule=AGREEMENT,
    )
    return judge(claim, Sides(of.kernel_ms, of.sim_ms, Pairing.SHARED_STREAMS), backend="kernel")


def giving_all(judged: Judged, tried: Mapping[Sender, Iterable[float]]) -> frozenset[Sender]:
    """Return the senders for which some point gives all six printed quartiles.

    Args:
        judged: Result of `together`.
        tried: The same senders, each with the values of its number.
    """
    named = {sender.words(value): sender for sender, values in tried.items() for value in values}
    return frozenset(named[str(at[SENDER])] for at in judged.decision.at)

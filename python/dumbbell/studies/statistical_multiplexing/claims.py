"""The claims of the study, each with its rule and margin, written before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dumbbell import theory
from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Family,
    Fitted,
    Judged,
    Origin,
    Pairing,
    Ratio,
    Runs,
    Sides,
    judge,
)
from dumbbell.claims.evidence import Parameter
from dumbbell.claims.rules import Agreement, Calibration, Equals, Law, Ordering, Published
from dumbbell.stats import comparison_range, ecdf_at
from dumbbell.studies.statistical_multiplexing import elsewhere, published
from dumbbell.studies.statistical_multiplexing.fit import HOST_JITTER_MS, Fit
from dumbbell.studies.statistical_multiplexing.measures import (
    AsPublished,
    Compared,
    Floats,
    Ideal,
    one_run_ms,
    one_run_ratio,
)

RELATIVE_MARGIN = 0.02
"""Of theory: twice the half-width the replications aim at."""
AGREEMENT = Agreement.of_delays_ms(relative=0.001)
"""Half a millisecond, or a thousandth where that is more: queues that are given the same arrivals
keep packets equally long to a few microseconds."""
COMPARED = (0.05, 0.95)
"""Levels of all pings between which the distribution functions are compared."""
POINTS = 40
"""So many: a step is 2.3 % of the pings, and a band of many more costs more than the runs."""
LAWS = {"sim": Law.ANY, "kernel": Law.LOG_NORMAL}
"""What is taken for granted of a printed number where there are hundreds of runs, and where there
are few: its logarithm is about normal."""

AT_FITTED_LOAD = "load and base RTT were fitted to the six quartiles, which are no claims here"
"""Stands beside the verdicts at the fitted load."""

_THEORY = f"Queueing theory; {published.TEXTBOOK}"
_TWO_RUNS = Amendment(
    "2026-11-22",
    "the source measured its arms in two runs with arrivals of their own; the prediction was made "
    "of pairs that share their arrivals, which is too narrow",
)


def multiplexing(streams: int) -> theory.Multiplexing:
    """Theory for so many streams of 110 packets/s and 500 kbit/s each."""
    per_stream_mu = published.STREAM_RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    lam, mu = published.PACKETS_PER_SECOND * streams, per_stream_mu * streams
    return theory.tdm(lam, mu, streams)


@dataclass(frozen=True, slots=True)
class IdealMeans:
    """What theory speaks of.

    Attributes:
        sm_ms: Mean time in the system of SM, milliseconds.
        tdm_ms: Of TDM.
        factor: TDM's over SM's.
        number: Mean number in a queue of TDM over that in SM's.
    """

    sm_ms: Parameter
    tdm_ms: Parameter
    factor: Parameter
    number: Parameter

    @classmethod
    def of(cls, found: Ideal) -> IdealMeans:
        """From the replications themselves."""
        sojourn = {arm: found.values(arm, "sojourn_s") for arm in published.ARMS}
        number = {arm: found.values(arm, "queue_pkts") for arm in published.ARMS}
        return cls(
            Runs(1e3 * sojourn["SM"]),
            Runs(1e3 * sojourn["TDM"]),
            Ratio(sojourn["TDM"], sojourn["SM"]),
            Ratio(number["TDM"], number["SM"]),
        )


def ideal(streams: int, means: IdealMeans, backend: str, note: str = "") -> list[Judged]:
    """Mean delays, the factor m, and equal numbers in every queue.

    TDM's mean follows from SM's and the factor, the numbers from the delays (Little's law), so
    there are two facts in the four rows.

    Args:
        streams: Number of streams m.
        means: What was measured.
        backend: Where.
        note: To stand beside each verdict.
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


def as_published(found: AsPublished, label: str, backend: str, *, fitted: bool) -> Iterator[Judged]:
    """The printed round-trip times, their means' ratio, and the order of the two CDFs.

    Quantiles of one run rise and fall together: those of an arm are one fact.

    Args:
        found: Runs as published: from empty, first 200 s, two senders pooled.
        label: Of the load, such as ``nominal``; the claims' ids begin with it.
        backend: Where.
        fitted: Whether the quartiles chose the load; they are no claims then.
    """
    law, where = LAWS[backend], f"at the {label} load"
    note = AT_FITTED_LOAD if fitted else ""
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
            fact=f"{label}-{printed.arm.lower()}-delays",
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
        amended=_TWO_RUNS,
    )
    yield judge(ratio, Runs(one_run_ratio(found)), backend=backend, note=note)
    order = Claim(
        id=f"{label}-sm-left-of-tdm",
        statement=f"SM's delay CDF lies left of TDM's everywhere above the base RTT, {where}",
        source=published.SOURCE,
        rule=Ordering(over="from the 5th to the 95th percentile of all pings", unit="1"),
    )
    yield judge(order, left_by(found), backend=backend)


def left_by(found: AsPublished) -> Curves:
    """F_SM - F_TDM of each replication, over the range compared."""
    sm, tdm = ([run.rtt_ms for run in found.of(arm)] for arm in published.ARMS)
    at = comparison_range(sm, tdm, between=COMPARED, points=POINTS)
    return Curves([ecdf_at(a, at) - ecdf_at(b, at) for a, b in zip(sm, tdm, strict=True)])


def load(fit: Fit, n_replications: int) -> Judged:
    """The load that explains the printed quartiles best; it was chosen by them."""
    base = fit.base_rtt_ms
    claim = Claim(
        id="load",
        statement="The load that explains the printed quartiles best; 110 packets/s were asked",
        source=published.SOURCE,
        rule=Calibration(
            parameter="the load, with the base RTT,",
            unit="packets/s",
            used="the six printed quartiles",
            nominal=published.PACKETS_PER_SECOND,
        ),
    )
    evidence = Fitted(
        value=fit.load_pps.value,
        low=fit.load_pps.low,
        high=fit.load_pps.high,
        n=n_replications,
        p_value=fit.p_value,
        is_at_edge=fit.load_pps.at_edge,
    )
    note = (
        f"base RTT {base.value:.2f} ms ({base.low:.2f} to {base.high:.2f}); goodness of fit: "
        f"chi-square {fit.distance:.1f} with {fit.freedom} degrees of freedom, "
        f"p = {fit.p_value:.2g}"
    )
    return judge(claim, evidence, note=note)


def measured_elsewhere(arm: str, shaper: elsewhere.Shaper, means_ms: Floats) -> Iterator[Judged]:
    """Mean round-trip times that a real kernel gave for the same traffic behind a token bucket.

    Args:
        arm: Of `published.ARMS`.
        shaper: With what it measured.
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
                rounding=elsewhere.ROUNDING_MS,
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


def agreement(of: Compared) -> Judged:
    """Do simulator and kernel agree on a mean delay, replication by replication?"""
    claim = Claim(
        id=f"agreement-{of.name}",
        statement=f"The simulator and the Linux kernel agree on {of.what}",
        source="One description, two backends that draw the same random numbers",
        rule=AGREEMENT,
    )
    return judge(claim, Sides(of.kernel_ms, of.sim_ms, Pairing.SHARED_STREAMS), backend="kernel")

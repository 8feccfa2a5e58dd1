"""The claims of the study, each with its rule, and how they are judged."""

from __future__ import annotations

import numpy as np

from dumbbell.claims.legacy import (
    Claim,
    Judged,
    Kind,
    Verdict,
    judge_hardly_matters,
    judge_supremum,
    judge_theory_equals,
)
from dumbbell.metrics.ccperf import ROWS
from dumbbell.stats import (
    difference_interval,
    prediction_quantiles,
    replications_for_prediction,
    student_interval,
)
from dumbbell.studies.traffic_policing import published
from dumbbell.studies.traffic_policing.bucket import STEADY_FROM_S
from dumbbell.studies.traffic_policing.campaigns import Arm

BUCKET = "Token bucket: what leaves in a time t is at most min(peak rate t + mtu, rate t + burst)"
TWO_BACKENDS = "One description, two backends"
PACKET_BYTES = 1514
ROUNDING_BYTES = 4.0
"""Instants are whole nanoseconds, and Linux's cost of a packet is cut off to them."""
STEADY_MARGIN = 0.01
"""Of the policing rate: eight packets over twelve seconds are less."""
AGREEMENT = {
    "mean_throughput_l4": (0.02, 0.0),
    "mean_qdisc_delay_l2": (0.10, 0.5),
    "mean_cwnd_l4": (0.10, 0.0),
    "total_retransmissions_l4": (0.30, 0.0),
}
"""Row to how far the backends may be apart: relative, and at least this (in its unit)."""


def judge_row(arm: Arm, name: str, reason: str = "") -> Judged:
    """A printed number against its band, over the declared ensemble.

    Args:
        arm: The source's experiment.
        name: Of the row.
        reason: Why it lies outside, where it does.
    """
    low, high = published.band(name)
    row = ROWS[name]
    origin = (
        "Band fixed beforehand"
        if published.is_fixed_beforehand(name)
        else "Band of 10 % around the printed number, a rule chosen after first runs"
    )
    claim = Claim(
        id=name.replace("_", "-"),
        statement=f"{name} of a NewReno flow through the policed bottleneck",
        source=published.SOURCE,
        kind=Kind.PUBLISHED_NUMBER,
        published=published.VALUES[name],
        unit=row.unit,
        rule=(
            f"{origin}: {low:.6g} to {high:.6g} {row.unit}. Over the ensemble "
            "(start within a packet time, base RTT ±1 %, burst ±1 packet): reproduced when the "
            "central 95 % of the runs lie in the band, not reproduced when they lie wholly "
            "outside, else inconclusive."
        ),
    )
    values = arm.values[name]
    found = prediction_quantiles(values[np.isfinite(values)])
    if low <= found.low and found.high <= high:
        verdict = Verdict.REPRODUCED
    elif found.high < low or found.low > high:
        verdict = Verdict.NOT_REPRODUCED
    else:
        verdict = Verdict.INCONCLUSIVE
    if arm.n < replications_for_prediction():
        verdict = Verdict.INCONCLUSIVE
        reason = f"{arm.n} runs have no central 95 %"
    inside = int(np.count_nonzero((values >= low) & (values <= high)))
    notes = [f"{inside} of {arm.n} runs in the band"]
    if verdict is not Verdict.REPRODUCED and reason:
        notes.append(reason)
    return Judged(
        claim=claim,
        backend="sim",
        measured=found.value,
        low=found.low,
        high=found.high,
        n_replications=arm.n,
        verdict=verdict,
        note="; ".join(notes),
    )


def judge_bucket(arm: Arm, label: str, backend: str) -> list[Judged]:
    """Both buckets: never passed, and used to the last packet."""
    claims = []
    for name, bound, values, what in (
        (
            "burst",
            arm.excess[0].burst_bytes,
            [each.rate_bytes for each in arm.excess],
            "beyond the policing rate, at most the burst leaves in any time",
        ),
        (
            "peak",
            arm.excess[0].peak_bound_bytes,
            [each.peak_bytes for each in arm.excess],
            "beyond the peak rate, at most the second bucket leaves in any time",
        ),
    ):
        claim = Claim(
            id=f"bucket-{name}-{label}",
            statement=f"The bucket's promise ({label}): {what}",
            source=BUCKET,
            kind=Kind.SUPREMUM,
            theory=bound,
            margin=PACKET_BYTES,
            unit="bytes",
            rule=(
                "Every window of every run, packet by packet: at most the bound, and within one "
                f"packet ({PACKET_BYTES} bytes) below it."
            ),
        )
        # Bursts differ by a packet over the ensemble: each run is held against its own.
        own = [
            each.burst_bytes if name == "burst" else each.peak_bound_bytes for each in arm.excess
        ]
        aligned = np.array(values) - np.array(own) + bound
        rounding = ROUNDING_BYTES if name == "burst" else ROUNDING_BYTES + _late(backend)
        claims.append(judge_supremum(claim, aligned, rounding=rounding, backend=backend))
    return claims


def _late(backend: str) -> float:
    """Bytes at 1 Gbit/s in the microsecond by which a host on the kernel notes instants late."""
    return 0.0 if backend == "sim" else 125.0


def judge_after_cliff(arm: Arm, label: str, rate_mbps: float, backend: str) -> Judged:
    """The cliff's foot: tokens gone, the bottleneck sends at the policing rate."""
    claim = Claim(
        id=f"after-the-cliff-{label}",
        statement=(
            "Once the tokens have run out the bottleneck sends at the policing rate "
            f"({label}, from {STEADY_FROM_S:g} s on)"
        ),
        source=published.SOURCE,
        kind=Kind.THEORY_EQUALS,
        theory=rate_mbps,
        margin=STEADY_MARGIN * rate_mbps,
        unit="Mbit/s",
    )
    return judge_theory_equals(claim, student_interval(arm.after_cliff_mbps), backend=backend)


def judge_agreement(kernel: Arm, sim: Arm, controller: str) -> list[Judged]:
    """The same members of the ensemble on both backends."""
    judged = []
    for name, (relative, least) in AGREEMENT.items():
        sides = [side.values[name][: min(kernel.n, sim.n)] for side in (kernel, sim)]
        reach = max(relative * float(sides[0].mean()), least)
        claim = Claim(
            id=f"agreement-{controller}-{name.replace('_', '-')}",
            statement=f"Simulator and Linux kernel agree on {name} ({controller})",
            source=TWO_BACKENDS,
            kind=Kind.HARDLY_MATTERS,
            margin=reach,
            unit=ROWS[name].unit,
        )
        difference = difference_interval(sides[1], sides[0])
        note = f"simulator less kernel, member by member; kernel's mean {sides[0].mean():.4g}"
        judged.append(judge_hardly_matters(claim, difference, backend="kernel", note=note))
    return judged


def reason_of(name: str, by_interval: dict[str, dict[str, float]]) -> str:
    """Why a row may lie outside its band.

    Args:
        name: Of the row.
        by_interval: Sampling interval to rows of the nominal run, for rows that depend on it.
    """
    if name == "cov_throughput_l4":
        shown = ", ".join(f"{values[name]:.2f} at {at}" for at, values in by_interval.items())
        return (
            f"no sampling interval gives it ({shown}; the source states none): by its rate on the "
            "wire, 3.92 Mbit/s, the source's bottleneck stands idle for about half a second more, "
            "presumably around its timeout"
        )
    return _REASONS.get(name, "")


_TWO_COURSES = "two courses: from a base RTT of about +0.5 % on, the sawtooth turns a packet higher"
_REASONS = {
    "cov_in_flight_l4": (
        "ours leaves out what is taken for lost, the source counts all that is not acknowledged"
    ),
    "mean_qdisc_length_l2": _TWO_COURSES,
    "mean_srtt_l4": _TWO_COURSES,
    "mean_cwnd_l4": (
        "the source's flow stays longer at the cliff's window: how ns-3 before 3.43 reduces it "
        "(its own PRR) is not followed"
    ),
    "total_retransmissions_l4": (
        "how many are lost at the cliff depends on where slow start stands when the tokens run out"
    ),
    "total_qdisc_drops_l2": (
        "how many are lost at the cliff depends on where slow start stands when the tokens run out"
    ),
    "mean_recovery_time_l4": (
        "the source does not say when a recovery begins and ends; ours counts from the first "
        "segment sent again to the acknowledgement of all sent before it"
    ),
    "mean_idt_ewma_l4": "the source does not give the weight of its moving average; ours is 1/8",
}

"""Texts of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dumbbell.claims import Judged, Verdict, facts_of, views_of
from dumbbell.claims.rules import CountedAs
from dumbbell.report import Advice, Answer
from dumbbell.spec import testbed_lines
from dumbbell.studies.queue_size_delay import arms, claims, limits, listing, measured, published
from dumbbell.studies.queue_size_delay.arms import SourceBehindQueue, SourceKind
from dumbbell.studies.queue_size_delay.measures import DelaysOfRuns, Floats

DONE = (
    f"A sender gives a router {published.RHO:g} times what its token bucket lets through, so that "
    "the queue fills and what does not fit is dropped. Behind eight sizes of the queue, and one "
    "that ten seconds cannot fill, every packet's delay is measured, and ten pings beside it as "
    "in the published experiment. Then the load is changed behind one size, and the traffic is "
    "made constant, for which the delay of every packet is known exactly."
)
REJECTED = 0.05
"""A fit is rejected if its chi-square would be exceeded with a lower probability."""
ACCEPTED_MS = 60.0
"""A delay acceptable for a conversation, used for the advice."""


def answer(judged: Sequence[Judged], by_limit: Mapping[str, DelaysOfRuns]) -> Answer:
    """State the maximum delay behind the largest published size, and whether the rule holds.

    Args:
        judged: Verdicts.
        by_limit: Runs of the published source by limit.
    """
    largest = max(published.LIMITS, key=lambda limit: published.LIMITS[limit])
    if largest not in by_limit:
        return Answer("How long a full buffer makes one wait these runs do not say.")
    peaks_ms = by_limit[largest].peak_ms
    size_bytes = published.LIMITS[largest]
    verdict = _worst_case(judged)
    return Answer(
        f"The largest buffer, when full, makes you wait {np.median(peaks_ms):.0f} ms.",
        measured=f"Behind {largest} ({size_bytes} bytes) at {published.RATE_BPS / 1e6:g} Mbit/s "
        f"the longest wait of a run was {_span(peaks_ms)} ms ({peaks_ms.size} runs). The size over "
        f"the rate is {limits.largest_delay_ms(size_bytes):.0f} ms: "
        f"{_WORST_CASE.get(verdict, 'whether that is the longest wait these runs do not decide')}.",
        so="a buffer's size over the line's rate is the longest wait, whatever the load."
        if verdict is Verdict.REPRODUCED
        else "",
    )


def _worst_case(judged: Sequence[Judged]) -> Verdict | None:
    """Return the verdict on the rule m/mu over all sizes; None if it was not judged."""
    facts = {fact.name: fact.verdict for fact in facts_of(views_of(judged))}
    return facts.get(claims.WORST_CASE)


_WORST_CASE: Mapping[Verdict | None, str] = {
    Verdict.REPRODUCED: "that is the longest wait at every size that was run",
    Verdict.DEPENDS_ON: "that is the longest wait, but not at every size that was run",
    Verdict.NOT_REPRODUCED: "that is not always the longest wait",
}
"""Wording of the verdict on the rule m/mu over all sizes."""


def _span(values: Floats) -> str:
    """Format the range from minimum to maximum."""
    ends = (f"{end:.0f}" for end in (values.min(), values.max()))
    return " to ".join(dict.fromkeys(ends))


def advice(by_limit: Mapping[str, DelaysOfRuns]) -> list[Advice]:
    """State the largest measured size that keeps the delay acceptable, and the next larger one."""
    worst_ms = {
        limit: float(np.max(by_limit[limit].peak_ms))
        for limit in sorted(published.LIMITS, key=lambda each: published.LIMITS[each])
        if limit in by_limit
    }
    kept = [limit for limit, ms in worst_ms.items() if ms <= ACCEPTED_MS]
    above = [limit for limit, ms in worst_ms.items() if ms > ACCEPTED_MS]
    if not (kept and above):
        return []
    limit, runs = kept[-1], by_limit[kept[-1]].n
    return [
        Advice(
            wish=f"No packet is to wait longer than {ACCEPTED_MS:g} ms, whatever is sent",
            setting=f"tbf rate {published.RATE_BPS / 1e6:g}mbit burst 10kb limit {limit}",
            is_typed=True,
            because=f"Behind {limit} no packet of {runs} runs waited longer than "
            f"{worst_ms[limit]:.1f} ms, behind {above[0]} one waited {worst_ms[above[0]]:.1f} ms. "
            "At another rate: the limit is the delay that one accepts, times the rate.",
            figure="peak-against-size",
        )
    ]


def summary(judged: Sequence[Judged], fit: listing.LoadFit) -> str:
    """Summarize the verdicts in a paragraph."""
    facts = {fact.name: fact for fact in facts_of(views_of(judged))}
    sentences = []
    worst = _worst_case(judged)
    if worst is Verdict.REPRODUCED:
        sentences.append(
            "A packet that finds the queue full waits m/mu, the queue's size over its rate, and "
            "nobody waits longer: true to within a packet at every size, and already at rho = 1.25."
        )
    elif worst in (Verdict.NOT_REPRODUCED, Verdict.DEPENDS_ON):
        sentences.append("That the worst case is m/mu does not hold at every size.")
    elif worst:
        sentences.append("Whether the worst case is m/mu at every size these runs do not decide.")
    larger = facts.get(claims.LARGER_LONGER)
    if larger and larger.verdict is Verdict.REPRODUCED:
        sentences.append("The larger the queue, the longer the delay.")
    elif larger and larger.verdict is Verdict.NOT_REPRODUCED:
        sentences.append("A larger queue does not always mean a longer delay.")
    elif larger:
        sentences.append(
            "Whether a larger queue always means a longer delay these runs do not decide."
        )
    elsewhere = [view for view in views_of(judged) if view.standing is CountedAs.ELSEWHERE]
    if elsewhere:
        right = sum(view.verdict is Verdict.REPRODUCED for view in elsewhere)
        sentences.append(
            f"Of {len(elsewhere)} ping peaks measured on a real kernel {right} lie where ours do."
        )
    agreement = [view for view in views_of(judged) if view.standing is CountedAs.BACKENDS]
    if agreement:
        right = sum(view.verdict is Verdict.REPRODUCED for view in agreement)
        sentences.append(
            "Given the same arrivals, the Linux kernel in virtual time and the simulator agree "
            + (
                "to within a packet."
                if right == len(agreement)
                else f"in {right} of {len(agreement)} comparisons."
            )
        )
    sentences.append(
        "The delays printed for 2 mb do not follow from rho = 1.25: ten seconds cannot fill such a "
        f"queue, and its delay would grow by 250 ms a second. {_of_listing(fit)}"
    )
    return " ".join(sentences)


def _of_listing(fit: listing.LoadFit) -> str:
    """State whether a Poisson sender of any load explains the growth of the printed delays."""
    load = f"{fit.rho:.3f} ({fit.low:.3f} to {fit.high:.3f})"
    p_value = f"p = {fit.p_value:.2g}, the share of such runs that would fit worse"
    if fit.p_value >= REJECTED:
        return f"A steady load of {load} gives their growth ({p_value})."
    return (
        f"No steady load gives their growth: the best, {load}, gives its mean but not how unevenly "
        f"they grew ({p_value})."
    )


def notes(
    sim: Mapping[SourceBehindQueue, DelaysOfRuns], kernel_runs: int, interrupted: bool
) -> list[str]:
    """Return interpretations of the source and limitations."""
    in_bits = ", ".join(_in_bits(limit, sim) for limit in published.IN_BITS)
    notes = [
        'The text has queue sizes from "5kbits to 200kbits", a command with `limit 2mb` ("2 '
        'megabytes"), and "m = queue size in megabits". Taken is what tc makes of the unit typed '
        "in the command: kb is 1024 bytes, mb 1,048,576 bytes, and m/mu is in bytes over bytes a "
        "second. With kbit instead (128 bytes each) the same runs give, pings' peak and m/mu: "
        f"{in_bits}. At 5kbit hardly a datagram fits.",
        "rho = 1.25 is that of 512-byte packets without headers. ITGSend's datagrams are 42 bytes "
        f"longer and its sleeps overshoot by some {measured.OVERSLEEP_US:g} microseconds (measured "
        "on another machine), so it sends about 1710 packets/s instead of 2000: a load of about "
        "1.16. For the worst case it makes no difference, for the listing it does.",
        "A limit in bytes is not M/M/1/K: it turns large packets away first. At rho = 1.25 it "
        "loses 10 % of the packets, not 20 %, since small ones still fit.",
        "Each ping starts up to a second after the sender, uniformly: two windows are not started "
        "in one instant. Base round-trip times (1 ms or less) are taken as zero.",
        "The bucket is full at the start: the first 10 kb pass at once.",
        "The figure of three runs has no numbers to be compared with; three of our runs stand over "
        "the band in which such runs lie.",
        "The listing runs from icmp_seq 2 to 12 although the command says `-c 10`; its growth from "
        f"3 to 12, {listing.growth_ms():.0f} ms, is what is compared, the first to the last of ten "
        "pings.",
    ]
    if kernel_runs:
        notes.append(
            f"On the kernel there are {kernel_runs} replications of each size and source. What "
            "needs many runs (predictions, laws, sweeps) is the simulator's, which is given the "
            "same arrivals. With the ideal source the kernel's packets are at least 42 bytes long. "
            "A queue that is limited in bytes forgets slowly: one packet that just fits on one "
            "backend and not on the other (microseconds decide) and the two go their own ways for "
            "a while."
        )
    if interrupted:
        notes.insert(0, "Interrupted: only the parts that had finished are here.")
    return notes


def _in_bits(limit: str, sim: Mapping[SourceBehindQueue, DelaysOfRuns]) -> str:
    largest = limits.largest_delay_ms(published.IN_BITS[limit])
    many = sim.get(SourceBehindQueue(SourceKind.DITG, limit))
    peak = f"{np.nanmedian(many.ping_peak_ms):.2f}" if many else "?"
    return f"{limit} {peak} and {largest:.2f} ms (a real kernel: {measured.IN_BITS_MS[limit]:g})"


def commands(seed: int) -> dict[str, list[tuple[str, str]]]:
    """Return the commands for the printed size and for one of the eight."""
    return {
        f"queue of {limit}": list(testbed_lines(arms.experiment(SourceKind.DITG, limit, seed)))
        for limit in (published.LARGE, "40kb")
    }

"""The page's conclusions about the ring, the target and tupdate."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.claims import Verdict, strongest
from dumbbell.studies.pie_rrul import arms, claims
from dumbbell.studies.pie_rrul.fit import LatencyFit
from dumbbell.studies.pie_rrul.measures import RunsBySetting


def of_ring(fit: LatencyFit) -> str:
    """State whether there is an excess latency that a ring would explain."""
    excess = fit.excess_ms
    if excess.low > 0:
        return (
            f"The printed latencies are {excess.value:.1f} ms above what follows from the "
            f"printed parameters: a driver's ring of {fit.ring_kb.value:.0f} kB behind PIE, which "
            "PIE cannot see, would add as much."
        )
    if excess.high < 0:
        return (
            f"The printed latencies are {-excess.value:.1f} ms below what follows from the printed "
            "parameters, which no ring behind PIE explains."
        )
    return (
        "The printed latencies are not shown to differ from what follows from the printed "
        f"parameters (by {excess.low:.1f} to {excess.high:.1f} ms)."
    )


def of_target(facts: Mapping[str, Verdict]) -> list[str]:
    """State the effect of PIE's target, for every combination of verdicts."""
    follows, equal = (facts.get(name) for name in (claims.FOLLOWS, claims.EQUAL_THROUGHPUT))
    if follows is None or equal is None:
        return []
    if follows is Verdict.REPRODUCED is equal:
        return ["Queue delay and latency follow the target, and a smaller one costs no throughput."]
    said = []
    if follows is not Verdict.REPRODUCED:
        said.append(f"That queue delay and latency follow the target {_unproven(follows)}.")
    if equal is not Verdict.REPRODUCED:
        said.append(f"That a smaller target costs no throughput {_unproven(equal)}.")
    return said


def _unproven(verdict: Verdict) -> str:
    """State of a claim that is not reproduced whether these runs contradict it."""
    is_against = verdict in (Verdict.NOT_REPRODUCED, Verdict.DEPENDS_ON)
    return "does not hold everywhere" if is_against else "could not be shown"


def of_tupdate(facts: Mapping[str, Verdict], bursts: RunsBySetting | None) -> list[str]:
    """State the effect of tupdate, alone and under bursts."""
    said = []
    both = [facts.get(name) for name in (claims.TUPDATE_DELAY, claims.TUPDATE_THROUGHPUT)]
    if both == [Verdict.REPRODUCED] * 2:
        said.append("Without other traffic tupdate hardly matters.")
    else:
        known = [verdict for verdict in both if verdict is not None]
        if len(known) == len(both):
            open_ = strongest([each for each in known if each is not Verdict.REPRODUCED])
            said.append(f"That tupdate hardly matters without other traffic {_unproven(open_)}.")
    if bursts:
        fast, slow = (bursts.mean(arms.BY_TUPDATE[end], "queue_delay_ms").value for end in (0, -1))
        said.append(
            f"Under bursts of UDP PIE's mean delay is {fast:.0f} ms with the fastest clock and "
            f"{slow:.0f} ms with the slowest."
        )
    return said

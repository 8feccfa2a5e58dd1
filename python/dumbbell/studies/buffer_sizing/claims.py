"""The thirteen observations as claims, each with its rule and margin, fixed before any run.

An observation about both workloads gives a claim for each workload. Directions are judged over the
grid of the parameters that the source does not give. The levels printed for one experiment are
judged together, because a single unknown grid point produced all of them. If testbed and paper
disagree, each is judged with the TCP of its platform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np

from dumbbell.claims import (
    Amendment,
    Claim,
    Curves,
    Decision,
    Family,
    Grid,
    GridPoint,
    Judged,
    Pairing,
    Ratio,
    Runs,
    Setting,
    Sides,
    judge,
)
from dumbbell.claims.rules import (
    Agreement,
    Direction,
    Equivalent,
    Ordering,
    Rule,
    Share,
    Spread,
)
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Case, Point, Stack, Workload
from dumbbell.studies.buffer_sizing.measures import (
    BufferComparison,
    Floats,
    Found,
)

E = TypeVar("E")

FULL = 0.05
"""Utilizations that differ by less count as equal: the source reads "full" off a figure."""
CLOSE = 0.10
"""Throughputs with a smaller relative difference count as close."""
STEPS = 0.5
"""Minimum share of variance between groups of flows for which the CDF shows steps."""
BOTH_STACKS: tuple[Stack, ...] = tuple(arms.STACKS)

_WHEN = "2026-11-22"
_PER_WORKLOAD = Amendment(_WHEN, "until then both workloads were judged as one number")
_RELATIVE = Amendment(
    _WHEN, "until then the range was not taken relative to the median, and grew with the mean"
)
_SKEWED = Amendment(
    _WHEN, "until then a ratio of means; slow transfers are skewed, so logarithms are compared"
)
_MARGINS = Amendment(
    _WHEN,
    "until then the margins were 5 points of utilization, 2 of drops, 10 ms of wait and 200 ms of "
    "completion, wider than they need be",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(Generic[E]):
    """An observation about one workload, for any value of the unpublished parameters.

    Attributes:
        id: Id of the claim, and of its fact.
        statement: The observation, preceded by the source's numbers of observations.
        source: The source.
        workload: The workload.
        rule: Rule applied at each point of the grid.
        evidence: Computes the rule's evidence from the replications of a case.
        measured: Description of the measurement.
        stacks: TCP stacks that it applies to.
        is_headline: Whether it is also judged at the light load alone, as in the quick preset.
        family: Statement for both workloads, if the observation is about both.
        amended: Date at which its rule was changed after a run.
    """

    id: str
    statement: str
    source: str = published.BOTH
    workload: Workload
    rule: Rule[E]
    evidence: Callable[[Found, Case], E]
    measured: str
    stacks: tuple[Stack, ...] = BOTH_STACKS
    is_headline: bool = False
    family: str = ""
    amended: Amendment | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The grid, or a part of it that is judged separately.

    Attributes:
        suffix: Suffix of a claim's id.
        where: Added to its statement.
        points: Its points.
        headlines_only: Whether only headlines are judged over it.
    """

    suffix: str
    where: str
    points: tuple[Point, ...]
    headlines_only: bool = False


LIGHT = Span("-light", ", at the light load", arms.LIGHT, headlines_only=True)
WHOLE = Span("", "", arms.GRID)


def _runs(measure: Callable[[BufferComparison], float]) -> Callable[[Found, Case], Runs]:
    return lambda found, case: Runs(found.values(case, measure))


def _curve(measure: Callable[[BufferComparison], Any]) -> Callable[[Found, Case], Curves]:
    def curves(found: Found, case: Case) -> Curves:
        return Curves(found.values(case, measure).reshape(found.n, -1))

    return curves


def _spreads(found: Found, case: Case) -> Ratio:
    """Return the throughput spread of large flows with B_s over that with B_l."""
    return Ratio(
        found.values(case, lambda of: of.small.large.spread),
        found.values(case, lambda of: of.large.large.spread),
    )


def _over_its_twin(found: Found, case: Case) -> Curves:
    """Return loss with B_s of the testbed's TCP minus that of ns-2's, for the same arrivals."""
    twin = replace(case, point=replace(case.point, stack="ns-2"))
    testbed, ns_2 = (found.values(one, lambda of: of.small.large.loss) for one in (case, twin))
    return Curves((testbed - ns_2).reshape(-1, 1))


def _later(of: BufferComparison) -> float:
    late = [buffer.small.late_completion_s for buffer in (of.small, of.large)]
    return float(np.log(late[0] / late[1]))


def _about_both(workload: Workload) -> Iterator[Observation[Any]]:
    """Return the source's conclusions about both workloads, for one workload."""
    number, what, flows = {
        "persistent": ("1", "persistent flows with mice", "persistent flows"),
        "closed-loop": ("6", "users in closed loops", "large flows of users in closed loops"),
    }[workload]
    yield Observation(
        id=f"observation-12-{workload}",
        statement=f"({number}, 12) Small buffers give most {flows} less throughput",
        workload=workload,
        rule=Share.most(of=f"{flows} that get more with B_l"),
        evidence=_runs(lambda of: of.large_better),
        measured="the quantile at which the CDFs of per-flow throughput cross",
        is_headline=True,
        family="(12) Small buffers give most large flows less throughput",
        amended=_PER_WORKLOAD,
    )
    yield Observation(
        id="observation-03" if workload == "persistent" else "observation-08",
        statement=(
            f"({'3' if workload == 'persistent' else '8'}, 13) With B_s the throughput of {flows} "
            "varies more"
        ),
        workload=workload,
        rule=Spread.more(of=f"the throughput of {flows}, B_s over B_l"),
        evidence=_spreads,
        measured="the ratio of the means, over the flows of a run",
        is_headline=True,
        family="(13) With B_s the throughput of large flows varies more",
        amended=_RELATIVE,
    )
    yield Observation(
        id=f"observation-10-utilization-{workload}",
        statement=f"(10) Small buffers keep the bottleneck as busy as large ones ({what})",
        workload=workload,
        rule=Equivalent(margin=FULL, unit="1"),
        evidence=_runs(lambda of: of.large.utilization - of.small.utilization),
        measured="utilization with B_l less that with B_s",
        is_headline=True,
        family="(10) Small buffers keep the bottleneck as busy as large ones",
        amended=_PER_WORKLOAD,
    )
    yield Observation(
        id=f"observation-10-delay-{workload}",
        statement=f"(10) Small buffers reduce queueing delay ({what})",
        workload=workload,
        rule=Ordering(over="of the mean wait at the bottleneck, B_l less B_s", unit="ms"),
        evidence=_curve(lambda of: of.large.mean_wait_ms - of.small.mean_wait_ms),
        measured="over all packets that left the bottleneck",
        is_headline=True,
        family="(10) Small buffers reduce queueing delay",
    )
    yield Observation(
        id=f"observation-10-loss-{workload}",
        statement=f"(10) Small buffers cost a higher loss rate ({what})",
        workload=workload,
        rule=Ordering(over="of the share of packets dropped, B_s less B_l", unit="1"),
        evidence=_curve(lambda of: of.small.drop_share - of.large.drop_share),
        measured="of the packets that came to the bottleneck",
        is_headline=True,
        family="(10) Small buffers cost a higher loss rate",
    )


def _middlebox(size: str, measure: Callable[[BufferComparison], float]) -> Observation[Any]:
    return Observation(
        id=f"middlebox-{size}",
        statement=f"Throughput seen at the middlebox is close to the actual one ({size} flows)",
        source=published.SOURCE,
        workload="closed-loop",
        rule=Equivalent(margin=CLOSE, unit="1"),
        evidence=_runs(lambda of: measure(of) - 1),
        measured="median of throughput behind the bottleneck over that from the connection's "
        "start to its completion, less one; users in closed loops, B_l",
    )


OBSERVATIONS: tuple[Observation[Any], ...] = (
    *(each for workload in arms.WORKLOADS for each in _about_both(workload)),
    Observation(
        id="observation-04",
        statement="(4) Persistent flows see smaller loss with the larger buffer",
        workload="persistent",
        rule=Ordering(over="of the quantiles of per-flow loss, 10th to 90th", unit="1"),
        evidence=_curve(lambda of: of.loss_gaps),
        measured="with B_s less with B_l, loss by the source's rule",
    ),
    Observation(
        id="observation-04-testbed",
        statement="(4) With B_s the testbed loses more than ns-2 does (persistent flows)",
        source=published.SOURCE,
        workload="persistent",
        rule=Ordering(over="of the median loss, testbed's TCP less ns-2's", unit="1"),
        evidence=_over_its_twin,
        measured="loss of the large flows with B_s, by the source's rule",
        stacks=("testbed",),
    ),
    Observation(
        id="observation-07-paper",
        statement="(7) Most small flows in closed loops get a higher throughput with B_s",
        source=published.PAPER,
        workload="closed-loop",
        rule=Share.most(of="small flows that get more with B_s"),
        evidence=_runs(lambda of: 1 - of.small_better),
        measured="the quantile at which the CDFs of per-flow throughput cross",
        stacks=("ns-2",),
    ),
    Observation(
        id="observation-11",
        statement="(11) The high loss harms some applications: the slowest transfers take longer",
        workload="closed-loop",
        rule=Ordering(over="of the logarithm of the time taken, B_s less B_l", unit="1"),
        evidence=_curve(_later),
        measured="95th percentile of the completion times of small transfers; the source names no "
        "application and no measure, this one is ours",
        amended=_SKEWED,
    ),
    Observation(
        id="steps-at-rtt-groups",
        statement="The CDF of the large flows' throughput with B_s has steps: one a group of RTT",
        source=published.SOURCE,
        workload="persistent",
        rule=Ordering(over="of the share of variance between RTT groups, less one half", unit="1"),
        evidence=_curve(lambda of: of.small.steps - STEPS),
        measured="of the log throughput of the large flows; that half shows as steps is ours",
    ),
    Observation(
        id="steps-more-with-small",
        statement="The steps show especially with B_s",
        source=published.SOURCE,
        workload="persistent",
        rule=Ordering(over="of the share of variance between RTT groups, B_s less B_l", unit="1"),
        evidence=_curve(lambda of: of.small.steps - of.large.steps),
        measured="of the log throughput of the large flows",
    ),
    _middlebox("large", lambda of: of.large.large.seen_over_whole),
    _middlebox("small", lambda of: of.large.small.seen_over_whole),
)


def judge_directions(found: Found) -> Iterator[Judged]:
    """Judge every observation over the grid, and headlines over its light part too.

    A part that was not run completely is not judged.
    """
    for of in OBSERVATIONS:
        for span in (WHOLE, LIGHT):
            is_run = all(Case(point, of.workload) in found.results for point in span.points)
            if is_run and (of.is_headline or not span.headlines_only):
                yield _judge_over(of, span, found)


def _judge_over(of: Observation[Any], span: Span, found: Found) -> Judged:
    points = [point for point in span.points if point.stack in of.stacks]
    claim = Claim(
        id=f"{of.id}{span.suffix}",
        statement=f"{of.statement}{span.where}",
        source=of.source,
        rule=Direction(at_each=of.rule, grid=grid_words(points)),
        fact=of.id,
        family=Family(
            f"{of.family}{span.where}",
            f"{of.family}{span.where}",
            arms.WORKLOADS[of.workload],
        )
        if of.family
        else None,
        amended=of.amended,
    )
    grid = Grid(
        [
            GridPoint(setting, of.evidence(found, Case(point, of.workload)))
            for point, setting in zip(points, settings(points), strict=True)
        ]
    )
    return judge(claim, grid, note=f"measured: {of.measured}")


def decide_at(of: Observation[Any], point: Point, found: Found) -> Decision | None:
    """Decide an observation at one point; None if it does not apply or was not run."""
    case = Case(point, of.workload)
    if point.stack not in of.stacks or case not in found.results:
        return None
    twin = replace(case, point=replace(point, stack="ns-2"))
    if of.evidence is _over_its_twin and twin not in found.results:
        return None
    evidence = of.evidence(found, case)
    return of.rule.decide(evidence) if evidence.is_complete else None


def settings(points: Sequence[Point]) -> list[Setting]:
    """Return the settings of each point, restricted to those that differ."""
    told = [point.parameters for point in points]
    varied = [name for name in told[0] if len({each[name] for each in told}) > 1]
    return [{name: each[name] for name in varied} for each in told]


def grid_words(points: Sequence[Point]) -> str:
    """Return the parameters that vary over these points, as a rule names them."""
    varied = ", ".join(settings(points)[0])
    return f"{varied}: {len(points)} points" if varied else "one point"


# --- two backends ------------------------------------------------------------------------------

PACKET_MS = 8e3 * arms.PACKET_BYTES / published.BOTTLENECK_BPS


@dataclass(frozen=True, slots=True)
class BackendAgreementOf:
    """A number on which two backends should agree.

    Attributes:
        what: Completes a sentence.
        rule: Rule with the allowed difference.
    """

    what: str
    rule: Agreement


AGREEMENT: Mapping[str, BackendAgreementOf] = MappingProxyType(
    {
        "utilization": BackendAgreementOf(
            "utilization", Agreement(relative=0.02, floor=0.005, unit="1")
        ),
        "drop_share": BackendAgreementOf(
            "share of packets dropped", Agreement(relative=0.10, floor=0.002, unit="1")
        ),
        "mean_wait_ms": BackendAgreementOf(
            "mean wait at the bottleneck", Agreement.of_delays_ms(0.10, PACKET_MS)
        ),
        "small_completion_ms": BackendAgreementOf(
            "median completion time of small transfers", Agreement.of_delays_ms(0.02, PACKET_MS)
        ),
    }
)
"""Rules by attribute of the reduced run."""


def judge_agreement(workload: Workload, packets: int, quantity: str, sides: Sides) -> Judged:
    """Judge whether simulator and kernel agree in one of the four experiments."""
    agreed = AGREEMENT[quantity]
    claim = Claim(
        id=f"agreement-{workload}-{packets}-{quantity.replace('_', '-')}",
        statement=(
            f"The simulator and the Linux kernel agree on the {agreed.what} "
            f"({arms.WORKLOADS[workload]}, {packets} packets)"
        ),
        source="One description, two backends that draw the same random numbers",
        rule=agreed.rule,
        fact=f"agreement-{workload}-{packets}",
        amended=_MARGINS,
    )
    return judge(claim, sides, backend="kernel")


def sides_of(sim: Floats, kernel: Floats) -> Sides:
    """Return the same replications on both backends."""
    n = min(sim.size, kernel.size)
    return Sides(sim[:n], kernel[:n], Pairing.SHARED_STREAMS)

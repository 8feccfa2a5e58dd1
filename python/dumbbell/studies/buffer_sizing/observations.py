"""The thirteen observations, each as one or more claims with its rule, written before any verdict.

"Around 80 %" is taken as within ten percentage points; "most" as at least half; "higher" and
"wider" as a ratio of at least 1. Where the testbed and the paper disagree, each number is judged
with the TCP that its own platform suggests; all else over the whole grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from dumbbell.claims.legacy import Kind
from dumbbell.studies.buffer_sizing import published
from dumbbell.studies.buffer_sizing.arms import Stack
from dumbbell.studies.buffer_sizing.measured import LEVELS

AROUND = 0.10
"""What "around" leaves, as a share of the flows."""
AROUND_LOSS = 0.01
"""Of "2 % to 4 %" around its middle."""
FULL = 0.05
"""Utilizations that differ by less count as the same."""
CLOSE = 0.10
"""Throughputs that differ by less, relatively, count as close."""
STEPS = 0.5
"""Of the variance, between groups of flows: steps show in the CDF."""

How = Literal["mean", "ratio", "prediction", "band"]
Side = Literal["equals", "at least", "at most"]
By = Literal["both", "paper", "testbed"]
BOTH: tuple[Stack, ...] = ("testbed", "ns-2")
_BY: Mapping[By, tuple[str, tuple[Stack, ...]]] = MappingProxyType(
    {
        "both": (published.BOTH, BOTH),
        "paper": (published.PAPER, ("ns-2",)),
        "testbed": (published.SOURCE, ("testbed",)),
    }
)
"""Who states a number: what is cited, and the readings of TCP that judge it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A claim about numbers of `dumbbell.studies.buffer_sizing.measured`.

    Attributes:
        id: Of the claim.
        statement: What is said.
        source: By whom.
        kind: Of the rule at each point of the grid.
        how: ``mean`` of the first quantity, ``ratio`` of the first over the second, ``prediction``
            of one run's first, or a ``band`` over all of them, claimed positive.
        quantities: Names of numbers.
        value: Stated, in ``unit``.
        side: As the judges have it.
        margin: Of ``equals``; None for a prediction.
        stacks: Readings of TCP it is judged with.
        unit: Of the numbers.
        metric: How it is measured, in words.
    """

    id: str
    statement: str
    source: str
    kind: Kind
    how: How
    quantities: Sequence[str]
    metric: str
    value: float | None = None
    side: Side = "equals"
    margin: float | None = None
    stacks: tuple[Stack, ...] = BOTH
    unit: str = "1"


_CROSSING = "the quantile at which the CDFs of per-flow throughput cross"
_NO_LOSS = "share of the flows of which the capture shows no retransmission"
_SPREAD = "5th to 95th percentile of per-flow throughput, B_s over B_l"


def _share(
    number: str,
    statement: str,
    quantity: str,
    value: float,
    *,
    by: By = "both",
    side: Side = "equals",
    metric: str = _CROSSING,
) -> Observation:
    source, stacks = _BY[by]
    margin = AROUND if side == "equals" else None
    return Observation(
        f"observation-{number}",
        statement,
        source,
        Kind.SHARE,
        "mean",
        [quantity],
        metric,
        value=value,
        side=side,
        margin=margin,
        stacks=stacks,
    )


def _apart(
    number: str,
    quantity: str,
    *,
    paper: tuple[str, float],
    testbed: tuple[str, float],
    metric: str = _CROSSING,
) -> Iterator[Observation]:
    """A share of which paper and testbed state different values."""
    stated: tuple[tuple[By, tuple[str, float]], ...] = (("paper", paper), ("testbed", testbed))
    for by, (statement, value) in stated:
        yield _share(f"{number}-{by}", statement, quantity, value, by=by, metric=metric)


def _ratio(number: str, statement: str, over: str, under: str, metric: str) -> Observation:
    return Observation(
        f"observation-{number}",
        statement,
        published.BOTH,
        Kind.RANGE,
        "ratio",
        [over, under],
        metric,
        value=1.0,
        side="at least",
    )


def _ordering(
    of: str,
    statement: str,
    quantities: Sequence[str],
    metric: str,
    *,
    by: By = "both",
    unit: str = "1",
) -> Observation:
    source, stacks = _BY[by]
    return Observation(
        of, statement, source, Kind.ORDERING, "band", quantities, metric, stacks=stacks, unit=unit
    )


def _hardly(
    of: str, statement: str, source: str, quantity: str, metric: str, *, margin: float
) -> Observation:
    return Observation(
        of, statement, source, Kind.HARDLY_MATTERS, "mean", [quantity], metric, margin=margin
    )


def _greatest(number: str, size: str, value: float, by: By) -> Observation:
    source, stacks = _BY[by]
    return Observation(
        f"observation-{number}",
        f"With B_s {size} flows in closed loops lose up to {value:.0%}",
        source,
        Kind.PUBLISHED_NUMBER,
        "prediction",
        [f"closed-loop small {size} greatest loss"],
        "greatest loss of any such flow, by the source's rule",
        value=value,
        stacks=stacks,
    )


OBSERVATIONS: tuple[Observation, ...] = (
    _share(
        "01",
        "Around 80 % of the persistent flows get a higher throughput with B_l",
        "persistent large better with large",
        0.80,
    ),
    *_apart(
        "02",
        "persistent small better with small",
        paper=("Around 50 % of the small flows do better with B_s", 0.50),
        testbed=("Only around 40 % of the small flows do better with B_s", 0.40),
    ),
    _ratio(
        "03",
        "The range of per-flow throughput is wider with B_s (persistent flows)",
        "persistent small large throughput range",
        "persistent large large throughput range",
        _SPREAD,
    ),
    _ordering(
        "observation-04",
        "Persistent flows see smaller loss with the larger buffer",
        [f"persistent large loss gap {level:g}" for level in LEVELS],
        "quantiles of per-flow loss with B_s less those with B_l, 10th to 90th percentile",
    ),
    Observation(
        id="observation-04-level",
        statement="Persistent flows see around 2 % to 4 % loss with B_l",
        source=published.BOTH,
        kind=Kind.RANGE,
        how="mean",
        quantities=["persistent large large loss"],
        metric="median loss of the large flows, by the source's rule",
        value=0.03,
        margin=AROUND_LOSS,
    ),
    _ordering(
        "observation-04-testbed",
        "With B_s the testbed loses more than ns-2 does (persistent flows)",
        ["persistent testbed loss over ns-2"],
        "median loss of the large flows with B_s, testbed's TCP less ns-2's",
        by="testbed",
    ),
    *_apart(
        "05",
        "persistent small small without loss",
        paper=("Around 40 % of the small flows have no loss with B_s", 0.40),
        testbed=("Only 25 % of the small flows have no loss with B_s", 0.25),
        metric=_NO_LOSS,
    ),
    _share(
        "05-large-buffer",
        "Around 75 % of the small flows have no loss with B_l",
        "persistent large small without loss",
        0.75,
        metric=_NO_LOSS,
    ),
    _share(
        "06",
        "75 % to 80 % of the large flows in closed loops get a higher throughput with B_l",
        "closed-loop large better with large",
        0.775,
    ),
    _share(
        "07-paper",
        "Most small flows in closed loops get a higher throughput with B_s",
        "closed-loop small better with small",
        0.50,
        by="paper",
        side="at least",
    ),
    _share(
        "07-testbed",
        "Around 75 % of the small flows in closed loops get a higher throughput with B_l",
        "closed-loop small better with large",
        0.75,
        by="testbed",
    ),
    _ratio(
        "08",
        "Throughput varies more with B_s (large flows in closed loops)",
        "closed-loop small large throughput range",
        "closed-loop large large throughput range",
        _SPREAD,
    ),
    _share(
        "09",
        "Around 15 % of the large flows in closed loops have no loss with B_l",
        "closed-loop large large without loss",
        0.15,
        metric=_NO_LOSS,
    ),
    _greatest("09-paper-large", "large", 0.15, "paper"),
    _greatest("09-testbed-large", "large", 0.25, "testbed"),
    _greatest("09-paper-small", "small", 0.25, "paper"),
    _greatest("09-testbed-small", "small", 0.90, "testbed"),
    _hardly(
        "observation-10-utilization",
        "Small buffers still keep the bottleneck fully used",
        published.BOTH,
        "utilization lost with small",
        "utilization with B_l less that with B_s, the worse of both workloads",
        margin=FULL,
    ),
    _ordering(
        "observation-10-delay",
        "Small buffers reduce queueing delay",
        [f"{workload} delay saved" for workload in ("persistent", "closed-loop")],
        "mean wait at the bottleneck with B_l less that with B_s, both workloads",
        unit="ms",
    ),
    _ordering(
        "observation-10-loss",
        "Small buffers cost a higher loss rate",
        [f"{workload} drops added" for workload in ("persistent", "closed-loop")],
        "share of packets dropped with B_s less that with B_l, both workloads",
    ),
    _ratio(
        "11",
        "The high loss harms some applications: the slowest transfers of users take longer",
        "closed-loop small small late completion",
        "closed-loop large small late completion",
        "95th percentile of the completion time of small transfers, B_s over B_l; the source names "
        "no application and no measure, this one is ours",
    ),
    _share(
        "12",
        "Small buffers give most large flows less throughput",
        "large better with large",
        0.50,
        side="at least",
        metric="the quantile at which the CDFs cross, the lesser of both workloads",
    ),
    _ratio(
        "13",
        "Small buffers make the throughput of TCP flows vary more",
        "small spread product",
        "large spread product",
        f"{_SPREAD}, large flows, both workloads multiplied",
    ),
)

FURTHER: tuple[Observation, ...] = (
    Observation(
        id="steps-at-rtt-groups",
        statement="The CDF of the large flows' throughput with B_s has steps: one a group of RTT",
        source=published.SOURCE,
        kind=Kind.SHARE,
        how="mean",
        quantities=["persistent small steps"],
        metric="share of the variance of log throughput that lies between groups of RTT",
        value=STEPS,
        side="at least",
    ),
    Observation(
        id="steps-more-with-small",
        statement="The steps show especially with B_s",
        source=published.SOURCE,
        kind=Kind.ORDERING,
        how="band",
        quantities=["persistent steps gained"],
        metric="that share with B_s less that with B_l",
    ),
    *(
        _hardly(
            f"middlebox-{size}",
            f"Throughput seen at the middlebox is close to the actual one ({size} flows)",
            published.SOURCE,
            f"closed-loop large {size} there beyond end to end",
            "median of throughput behind the bottleneck over that from the connection's start to "
            "its completion, less one; users in closed loops, B_l",
            margin=CLOSE,
        )
        for size in ("large", "small")
    ),
)

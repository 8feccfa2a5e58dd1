"""Candidates run on the lines that a twin may be, paired; and the one that is advised.

Every candidate runs on every drawn line with the same random numbers. Of the candidates whose call
waits, at the 95th percentile and in the mean over the lines, no more than 2 ms longer than the
best one's, the one with the greatest throughput is advised; nothing at all, where it is as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.backends import run_many
from dumbbell.metrics import goodput_bps, ping_loss_ratio, ping_rtt_quantiles_ms
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate, difference_interval, prediction_interval
from dumbbell.tables import Run
from dumbbell.twin.advice.candidates import Candidate, candidates
from dumbbell.twin.advice.known_line import KnownLine
from dumbbell.twin.advice.uses import PROBE, Use, flow_names
from dumbbell.twin.line import Line
from dumbbell.twin.result import Trust
from dumbbell.twin.scene import Way

LINES = 8
"""Drawn from what is not known of the twin; each is one run of every candidate."""
ROUND_TRIP_TOLERANCE_MS = 2.0
"""A call that waits so much longer is as good."""
RATE_TOLERANCE = 0.02
_DURATION_S, _WARM_UP_S = 20, 4
_MOST_BITS = 2e9
"""Of a run at the line's rates: faster lines run for less time."""
_LEAST_S = 8


@dataclass(frozen=True, slots=True)
class Trial:
    """What a candidate did on each drawn line.

    Attributes:
        candidate: The setting.
        rtt_p95_ms: 95th percentile of the round trips of what must not wait; a value a line.
        lost: Share of its requests without an answer.
        goodput_mbps: By direction that the use fills.
    """

    candidate: Candidate
    rtt_p95_ms: tuple[float, ...]
    lost: tuple[float, ...]
    goodput_mbps: Mapping[Way, tuple[float, ...]]

    @property
    def total_mbps(self) -> list[float]:
        """Goodput of all directions, a value a line."""
        return [math.fsum(each) for each in zip(*self.goodput_mbps.values(), strict=True)]

    @property
    def round_trip(self) -> Estimate:
        """Where it will be on the real line: a 95 % prediction interval, ms."""
        return prediction_interval(self.rtt_p95_ms)

    def goodput(self, way: Way) -> Estimate:
        """The same of the throughput, Mbit/s."""
        return prediction_interval(self.goodput_mbps[way])


@dataclass(frozen=True, slots=True)
class Advice:
    """What to set.

    Attributes:
        use: For what.
        trials: Of all candidates, in their order.
        best: The advised one.
        runner_up: The next by the same rule.
        slower_ms: Round trip of the runner-up less that of the best, paired, ms.
        less_mbps: Throughput of the same, Mbit/s.
    """

    use: Use
    trials: tuple[Trial, ...]
    best: Trial
    runner_up: Trial
    slower_ms: Estimate
    less_mbps: Estimate

    @property
    def nothing(self) -> Trial:
        """The line as it is."""
        return self.trials[0]


def why_no_advice(known: KnownLine, use: Use) -> str:
    """Why a twin carries no advice for a use; empty where it does."""
    if known.trust is Trust.FAILS:
        return "the twin predicts badly what it was not fitted to"
    missing = [way.value for way in use.ways if way not in known.ways]
    if missing:
        return f"the line was not measured {' and '.join(missing)}, which {use.word} fills"
    unexplained = [way.value for way in use.ways if way in known.unexplained]
    if unexplained:
        return f"no discipline that is tried explains the delays {' and '.join(unexplained)}"
    return ""


def advise(
    known: KnownLine,
    use: Use,
    *,
    seed: int = 1,
    jobs: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Advice:
    """Try every candidate, and choose.

    Args:
        known: The line; there must be no reason against advice (`why_no_advice`).
        use: What it is used for.
        seed: Of lines and runs.
        jobs: Threads; 0 for one a core.
        tell: Called with what is being done.
    """
    tried = list(candidates(known.line, use.ways))
    lines = known.drawn(LINES, seed)
    tell(f"trying {len(tried)} settings on {len(lines)} lines")
    names = flow_names(use.flows)
    places = [(which, number) for number in range(len(lines)) for which in range(len(tried))]
    work = (
        (use_experiment(tried[which].on(lines[number]), use, seed), number)
        for which, number in places
    )
    found: dict[tuple[int, int], tuple[float, float, dict[Way, float]]] = {}
    for place, run in run_many(work, jobs=jobs):
        found[places[place]] = _reduced(run, names)
    trials = []
    for which, candidate in enumerate(tried):
        runs = [found[which, number] for number in range(len(lines))]
        goodput = {way: tuple(run[2][way] for run in runs) for way in use.ways}
        p95, lost = tuple(run[0] for run in runs), tuple(run[1] for run in runs)
        trials.append(Trial(candidate, p95, lost, goodput))
    return chosen(use, trials)


def chosen(use: Use, trials: Sequence[Trial]) -> Advice:
    """The advised candidate and the runner-up.

    Args:
        use: For what.
        trials: Nothing at all first, and one more at least.
    """
    best = _best(trials)
    rest = [each for each in trials if each is not best]
    runner_up = _best(rest)
    return Advice(
        use,
        tuple(trials),
        best,
        runner_up,
        difference_interval(runner_up.rtt_p95_ms, best.rtt_p95_ms),
        difference_interval(runner_up.total_mbps, best.total_mbps),
    )


def _best(trials: Sequence[Trial]) -> Trial:
    """Of those that wait as little as the least, the one that carries most."""
    waits = {id(each): float(np.mean(each.rtt_p95_ms)) for each in trials}
    least = min(waits.values())
    short = [each for each in trials if waits[id(each)] <= least + ROUND_TRIP_TOLERANCE_MS]
    carried = {id(each): float(np.mean(each.total_mbps)) for each in short}
    most = max(carried.values())
    for each in short:
        if not each.candidate.qdisc and carried[id(each)] >= (1 - RATE_TOLERANCE) * most:
            return each
    return max(short, key=lambda each: carried[id(each)])


def use_experiment(line: Line, use: Use, seed: int) -> Experiment:
    """A use of a line, with whatever stands in its router."""
    bits = line.up.rate_bps + line.down.rate_bps
    length_s = max(_LEAST_S, min(_DURATION_S, round(_MOST_BITS / bits)))
    document: dict[str, Any] = {
        "name": "advice",
        "seed": seed,
        "duration": f"{_WARM_UP_S + length_s}s",
        "warm_up": f"{_WARM_UP_S}s",
        "links": line.links(),
        "flows": [dict(flow) for flow in use.flows],
        "probes": [dict(use.probe)],
    }
    return Experiment.model_validate(document)


def _reduced(run: Run, names: Mapping[str, Way]) -> tuple[float, float, dict[Way, float]]:
    goodput: dict[Way, float] = {}
    for name, way in names.items():
        goodput[way] = goodput.get(way, 0.0) + goodput_bps(run, name) / 1e6
    p95 = float(ping_rtt_quantiles_ms(run, 0.95, [PROBE]))
    return p95, ping_loss_ratio(run, [PROBE]), goodput

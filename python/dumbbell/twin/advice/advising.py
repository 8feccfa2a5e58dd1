"""Paired runs of the candidates on lines drawn from a twin's uncertainty, and the choice.

Every candidate runs on every drawn line with the same random numbers. The 95th percentile of the
call's round-trip time, averaged over the lines, is computed for each candidate. Of the candidates
within 2 ms of the minimum, the one with the highest throughput is advised; if changing nothing is
as good, that is advised.
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
"""Number of lines drawn from the twin's uncertainty; each is one run of every candidate."""
ROUND_TRIP_TOLERANCE_MS = 2.0
"""Round-trip times within this difference count as equal."""
RATE_TOLERANCE = 0.02
_DURATION_S, _WARM_UP_S = 20, 4
_MOST_BITS = 2e9
"""Maximum traffic of a run at the line's rates: faster lines run for a shorter time."""
_LEAST_S = 8


@dataclass(frozen=True, slots=True)
class Trial:
    """Results of a candidate on each drawn line.

    Attributes:
        candidate: The setting.
        rtt_p95_ms: 95th percentile of the round-trip time of the interactive probe; one value per
            line.
        lost: Share of the probe's unanswered requests.
        goodput_mbps: Goodput by direction filled by the use.
    """

    candidate: Candidate
    rtt_p95_ms: tuple[float, ...]
    lost: tuple[float, ...]
    goodput_mbps: Mapping[Way, tuple[float, ...]]

    @property
    def total_mbps(self) -> list[float]:
        """Return the goodput of all directions, one value per line."""
        return [math.fsum(each) for each in zip(*self.goodput_mbps.values(), strict=True)]

    @property
    def round_trip(self) -> Estimate:
        """Return the 95 % prediction interval for the real line, ms."""
        return prediction_interval(self.rtt_p95_ms)

    def goodput(self, way: Way) -> Estimate:
        """Return the 95 % prediction interval of the throughput, Mbit/s."""
        return prediction_interval(self.goodput_mbps[way])


@dataclass(frozen=True, slots=True)
class Advice:
    """The recommended setting.

    Attributes:
        use: The use of the line.
        trials: Trials of all candidates, in their order.
        best: The advised candidate.
        runner_up: The next by the same rule.
        slower_ms: Round-trip time of the runner-up minus that of the best, paired, ms.
        less_mbps: Throughput of the runner-up minus that of the best, paired, Mbit/s.
    """

    use: Use
    trials: tuple[Trial, ...]
    best: Trial
    runner_up: Trial
    slower_ms: Estimate
    less_mbps: Estimate

    @property
    def nothing(self) -> Trial:
        """Return the trial of the unchanged line."""
        return self.trials[0]


def why_no_advice(known: KnownLine, use: Use) -> str:
    """Return why a twin does not support advice for a use; empty if it does."""
    if known.trust is Trust.FAILS:
        return "the twin does not predict the held-out data"
    missing = [way.value for way in use.ways if way not in known.ways]
    if missing:
        return f"the line was not measured {' and '.join(missing)}, which {use.word} fills"
    unexplained = [way.value for way in use.ways if way in known.unexplained]
    if unexplained:
        return f"no discipline tried explains the delays {' and '.join(unexplained)}"
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
        use: The use of the line.
        seed: Seed of lines and runs.
        jobs: Threads; 0 for one per core.
        tell: Called with progress messages.
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
    """Return the advised candidate and the runner-up.

    Args:
        use: The use of the line.
        trials: Trials: the unchanged line first, and at least one other.
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
    """Return the trial with the highest throughput among those with nearly the minimum delay."""
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
    """Return the experiment of a use on a line, with the line's router setting."""
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

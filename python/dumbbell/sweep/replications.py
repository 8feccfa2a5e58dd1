"""Replications of one comparison until it is precise enough.

One replication is every arm run once with the same replication number, hence the same random
arrivals where flows have the same names (common random numbers). The number of replications is
decided at fixed counts and in replication order, so neither the number of threads nor which run
happens to end first changes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dumbbell.backends import (
    BatchProgress,
    Cancellation,
    Failure,
    run_many,
    threads_for,
)
from dumbbell.errors import DumbbellError
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate, StoppingRule, student_interval
from dumbbell.sweep.progress import Progress, ProgressCallback
from dumbbell.tables import Run

Floats = NDArray[np.float64]
Runs = Mapping[str, Run]
Measure = Callable[[Runs], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Replications:
    """What replications measured.

    Attributes:
        values: Quantity to one value a replication: replications 0 to ``n`` - 1, in order.
        n: How many.
        runs: The first ``keep`` replications' runs, arm to run.
        stopped_because: A sentence for the report.
        precise: Whether the precision asked for was reached; True when none was asked for.
        interrupted: Whether somebody stopped it early.
        failed: Replications that gave no result, with the reason; those from the first failed
            one on are left out of ``values``.
    """

    values: Mapping[str, Floats]
    n: int
    runs: Sequence[Runs]
    stopped_because: str
    precise: bool = True
    interrupted: bool = False
    failed: Sequence[Failure] = field(default=())

    def estimate(self, name: str, level: float = 0.95) -> Estimate:
        """Mean of a quantity with Student's interval over the replications."""
        return student_interval(self.values[name], level)


def replicate(
    arms: Mapping[str, Experiment],
    measure: Measure,
    *,
    at_least: int,
    at_most: int | None = None,
    batch: int | None = None,
    precision: float | None = None,
    precision_of: str | Sequence[str] | None = None,
    level: float = 0.95,
    jobs: int = 0,
    backend: str = "sim",
    seed: int | None = None,
    keep: int = 0,
    task: str = "replications",
    on_progress: ProgressCallback | None = None,
    cancel: Cancellation | None = None,
) -> Replications:
    """Run replications of all arms until a precision is reached, or as many as asked for.

    Args:
        arms: Name to experiment; flows of the same name see the same random numbers.
        measure: From one replication's runs to numbers; pure, and the same names each time. The
            runs are let go of afterwards, so memory does not grow with replications.
        at_least: Replications before the precision is looked at.
        at_most: Replications after which to stop anyhow; ``at_least`` when None.
        batch: Replications between looks; ``at_least`` when None.
        precision: Relative half-width of the interval of the mean to reach (0.01 is 1 %); None
            runs ``at_least``.
        precision_of: Quantity or quantities that must be so precise; all when None.
        level: Level of that interval.
        jobs: Threads; 0 for one a core.
        backend: Where.
        seed: Replaces the arms' own when given.
        keep: Keep the runs of so many replications.
        task: Name in the progress.
        on_progress: Called about ten times a second.
        cancel: Set it to stop within a second and keep the finished replications.

    Returns:
        Values of replications 0, 1, ... without gaps.

    Raises:
        SpecError: An arm is not allowed, would not fit in memory or would take days.
        StatsError: The counts or the precision make no rule.
    """
    rule = StoppingRule(
        at_least=at_least,
        at_most=at_least if at_most is None or precision is None else at_most,
        batch=at_least if batch is None else batch,
        relative_half_width=precision,
        level=level,
    )
    if seed is not None:
        arms = {name: arm.with_seed(seed) for name, arm in arms.items()}
    threads = threads_for(arms.values(), backend=backend, jobs=jobs)
    watched = [precision_of] if isinstance(precision_of, str) else precision_of
    campaign = _Campaign(
        arms, measure, rule, watched=watched, keep=keep, task=task, on_progress=on_progress
    )
    return campaign.run(backend, threads, cancel)


class _Campaign:
    """Replications under way."""

    def __init__(
        self,
        arms: Mapping[str, Experiment],
        measure: Measure,
        rule: StoppingRule,
        *,
        watched: Sequence[str] | None,
        keep: int,
        task: str,
        on_progress: ProgressCallback | None,
    ) -> None:
        self._arms = dict(arms)
        self._measure = measure
        self._rule = rule
        self._watched = watched
        self._keep = keep
        self._task = task
        self._on_progress = on_progress
        self._measured: dict[int, Mapping[str, float]] = {}
        self._kept: dict[int, Runs] = {}
        self._failed: list[Failure] = []
        self._reached = ""

    def run(self, backend: str, threads: int, cancel: Cancellation | None) -> Replications:
        begun = 0
        while (look := self._rule.next_look(begun)) is not None:
            if cancel is not None and cancel.is_set():
                return self._result("interrupted", interrupted=True)
            try:
                self._run_up_to(begun, look, backend, threads, cancel)
            except KeyboardInterrupt:
                return self._result("interrupted", interrupted=True)
            begun = look
            if self._failed:
                first = min(self._failed, key=lambda failure: failure.replication)
                return self._result(f"replication {first.replication} failed: {first.message}")
            if len(self._measured) < look:
                return self._result("interrupted", interrupted=True)
            point = self._rule.stopping_point(self._watched_values())
            if point is not None:
                return self._result(point.reason, precise=point.precise)
            self._reached = self._precision_reached()
        raise AssertionError("a stopping rule ends at its last look")

    def _run_up_to(
        self, begun: int, look: int, backend: str, threads: int, cancel: Cancellation | None
    ) -> None:
        names = list(self._arms)
        pending: dict[int, dict[str, Run]] = {}
        failures: list[Failure] = []

        def job_list() -> Iterator[tuple[Experiment, int]]:
            for replication in range(begun, look):
                for arm in self._arms.values():
                    yield arm, replication

        def tell(progress: BatchProgress) -> None:
            if self._on_progress is not None:
                done = begun + progress.done / len(names)
                self._on_progress(Progress(self._task, done, look, detail=self._reached))

        running = run_many(
            job_list(),
            backend=backend,
            jobs=threads,
            cancel=cancel,
            on_progress=tell,
            on_failure=failures.append,
        )
        for index, run in running:
            replication, arm = begun + index // len(names), names[index % len(names)]
            runs = pending.setdefault(replication, {})
            runs[arm] = run
            if len(runs) == len(names):
                del pending[replication]
                self._finish(replication, {name: runs[name] for name in names})
        self._failed += failures

    def _finish(self, replication: int, runs: Runs) -> None:
        values = dict(self._measure(runs))
        known = next(iter(self._measured.values()), values)
        if values.keys() != known.keys():
            raise DumbbellError(
                f"measure gave {', '.join(values)} for replication {replication}, and "
                f"{', '.join(known)} before: every replication has the same quantities"
            )
        self._measured[replication] = values
        if replication < self._keep:
            self._kept[replication] = runs

    def _prefix(self) -> int:
        """How many replications are there without a gap."""
        n = 0
        while n in self._measured:
            n += 1
        return n

    def _values(self) -> dict[str, Floats]:
        n = self._prefix()
        names = self._measured[0].keys() if n else ()
        return {name: np.array([self._measured[i][name] for i in range(n)]) for name in names}

    def _watched_values(self) -> dict[str, Floats]:
        values = self._values()
        if self._watched is None:
            return values
        unknown = [name for name in self._watched if name not in values]
        if unknown:
            raise DumbbellError(
                f"precision_of: {unknown[0]!r} is not measured; there are {', '.join(values)}"
            )
        return {name: values[name] for name in self._watched}

    def _precision_reached(self) -> str:
        """The worst relative half-width so far, in words."""
        asked = self._rule.relative_half_width
        widths = [
            student_interval(each, self._rule.level).relative_half_width
            for each in self._watched_values().values()
            if len(each) > 1 and np.isfinite(each).all()
        ]
        if asked is None or not widths:
            return ""
        return f"±{100 * max(widths):.2g} %, asked for ±{100 * asked:.2g} %"

    def _result(
        self, because: str, *, precise: bool = False, interrupted: bool = False
    ) -> Replications:
        n = self._prefix()
        if interrupted:
            because = f"interrupted after {n} replications"
        kept = [self._kept[i] for i in range(min(n, self._keep))]
        failed = tuple(sorted(self._failed, key=lambda failure: failure.replication))
        return Replications(self._values(), n, kept, because, precise, interrupted, failed)

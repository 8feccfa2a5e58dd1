"""Studies in one file: trials, each with its experiments, one number of a run and one claim.

If parts depend on each other, or a run is reduced to several numbers, write `Part` classes
(`dumbbell.studies.shape`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import (
    Claim,
    Curves,
    Grid,
    GridPoint,
    Judged,
    Pairing,
    Ratio,
    Runs,
    Sides,
    Verdict,
    judge,
)
from dumbbell.claims.glyphs import Origin, Side, Stated
from dumbbell.claims.rules import Agreement, Direction, Equals, Ordering, Rule
from dumbbell.replication import Replications
from dumbbell.report import (
    Figure,
    IntervalRow,
    Report,
    Topology,
    ValueRow,
    ValueTable,
    points_with_interval,
)
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.stats import Estimate, ratio_interval, student_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

BACKENDS = {"sim": "simulator", "kernel": "Linux kernel"}
FEWEST_TO_AGREE = 5
"""Runs of a backend by which `Agreement` decides."""
SIM_RUNS = 4
"""Runs in the simulator for each on the kernel, where shorter runs compare the backends: they cost
little, and the difference of the means is then almost as sharp as the kernel's mean."""
LEAST_MARGINS = {"1": 0.005, "ms": 0.5}
"""Margins of agreement by unit where the relative one is smaller."""
Found = Replications[str, float]
Points = Mapping[str, Runs | Ratio]
"""Numbers of all runs, by setting."""


def of_each_arm(found: Found) -> Points:
    """The numbers of each arm."""
    return {arm: Runs(found.values(arm)) for arm in found.arms}


def of_neighbours(found: Found) -> Points:
    """Ratios of the means of neighbouring arms, the later over the earlier."""
    both = zip(found.arms[::2], found.arms[1::2], strict=True)
    return {first: Ratio(found.values(second), found.values(first)) for first, second in both}


def estimate_of(evidence: Runs | Ratio) -> Estimate:
    """The mean, or the ratio of means, with its 95 % interval."""
    if isinstance(evidence, Ratio):
        return ratio_interval(evidence.above, evidence.below)
    return student_interval(evidence.values)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A number, a claim about it, and the experiments.

    Attributes:
        id: Id of the claim.
        label: Short name in figures and tables; by default the id.
        statement: The claim in one sentence.
        source: Its source.
        said: The claimed value.
        margin: Margin of equality; None if the claim is one-sided.
        side: The claimed side, without a margin.
        grid: The parameter that the source does not give and over which the claim must hold, in
            words; empty for a single point.
        varied: Short name of that parameter, such as ``flows``.
        rule: Rule instead of the derived one.
        fact: Claims of one fact are counted once.
        beside: Additional numbers to show, without a verdict.
        agreement: Margin of agreement of the backends in each claimed quantity, if both are
            requested; None for that of the study.
        arms: Experiments by their names for readers.
        number: Reduces a run to the number: a module-level function, or a partial of one.
        unit: Unit of the claimed value.
        points: Computes the claimed quantities from the numbers of all runs.
        runs: Replications of each arm.
        kernel_runs: The same on the kernel, at most ``runs``.
        words: Explanation, a sentence beside the verdict.
        is_for_kernel: Whether the kernel can run it.
        compared: Experiments by which the backends are compared, where those of `arms` are too long
            for the kernel; the kernel then runs only these, ``kernel_runs`` times, and the
            simulator `SIM_RUNS` times as often.
    """

    id: str
    label: str = ""
    statement: str
    source: str
    said: float
    margin: float | None = None
    side: Side = Side.AT_LEAST
    grid: str = ""
    varied: str = "setting"
    rule: Rule[Any] | None = None
    fact: str = ""
    beside: tuple[Stated, ...] = ()
    agreement: Agreement | None = None
    arms: Mapping[str, Experiment]
    number: Callable[[Run], float]
    unit: str = "1"
    points: Callable[[Found], Points] = of_each_arm
    runs: int
    kernel_runs: int = FEWEST_TO_AGREE
    words: str = ""
    is_for_kernel: bool = True
    compared: Mapping[str, Experiment] = field(default_factory=dict)

    @property
    def claim(self) -> Claim[Any]:
        """The claim with its rule; a rule of thumb is not a theorem, so a failure does not
        contradict theory."""
        rule = self.rule or self._made_rule()
        return Claim(
            id=self.id,
            statement=self.statement,
            source=self.source,
            rule=rule,
            fact=self.fact,
            beside=self.beside,
        )

    def _made_rule(self) -> Rule[Any]:
        said, unit = self.said, self.unit
        at_each: Rule[Any]
        if self.margin is not None:
            at_each = Equals(value=said, margin=self.margin, unit=unit, origin=Origin.PUBLISHED)
        else:
            how = "less" if self.side is Side.AT_LEAST else "taken from"
            at_each = Ordering(over=f"the number, {how} {said:g} {unit}", unit=unit)
        return Direction(at_each=at_each, grid=self.grid) if self.grid else at_each

    def evidence(self, found: Found) -> Any:
        """The evidence for the claim's rule."""
        points = self.points(found)
        if self.rule is None and self.margin is None:
            sign = 1.0 if self.side is Side.AT_LEAST else -1.0
            taken: Mapping[str, Any] = {
                name: Curves((sign * (_each_run(evidence) - self.said))[:, None])
                for name, evidence in points.items()
            }
        else:
            taken = points
        if self.grid:
            return Grid([GridPoint({self.varied: name}, each) for name, each in taken.items()])
        return next(iter(taken.values()))


def _each_run(evidence: Runs | Ratio) -> NDArray[np.float64]:
    """One number per replication; for paired arms the ratio of each pair."""
    return evidence.above / evidence.below if isinstance(evidence, Ratio) else evidence.values


class TrialPart(Part[Found]):
    """A trial on one backend."""

    def __init__(self, trial: Trial, backend: str) -> None:
        """Set the trial and the backend."""
        self.name = trial.id
        self.trial = trial
        self.backend = backend

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether its backend is requested and can run it."""
        return (self.backend == "sim" or self._on_kernel) and self.backend in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        """See `Part`."""
        if self.backend == "kernel" and self._on_kernel:
            yield from self.trial.arms.values()

    @property
    def _on_kernel(self) -> bool:
        return self.trial.is_for_kernel and not self.trial.compared

    def run(self, runner: Runner) -> Found:
        """See `Part`."""
        trial = self.trial
        return runner.replicate(
            trial.arms,
            trial.number,
            Amount[str](
                trial.runs if self.backend == "sim" else min(trial.kernel_runs, trial.runs)
            ),
            task=self.name,
            backend=self.backend,
            keep=1,
        )

    def judge(self, found: Found) -> Iterable[Judged]:
        """The claim."""
        trial = self.trial
        evidence = trial.evidence(found)
        yield judge(trial.claim, evidence, backend=self.backend, note=trial.words)

    def runs(self, found: Found) -> Mapping[str, Run]:
        """See `Part`."""
        return {f"{self.name}: {arm}": found.run(arm) for arm in found.arms}

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """What it runs."""
        return self.trial.arms

    @property
    def first_point(self) -> Estimate:
        """The first claimed quantity, with its 95 % interval."""
        return estimate_of(next(iter(self.trial.points(self.found).values())))


class ComparedPart(Part[Mapping[str, Found]]):
    """The experiments of a trial by which the backends are compared, on both of them."""

    def __init__(self, trial: Trial) -> None:
        """Set the trial."""
        self.name = f"{trial.id}, compared"
        self.trial = trial

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether the kernel is requested; the simulator's side is then run, too."""
        return bool(self.trial.compared) and "kernel" in options.backends

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """What it runs."""
        return self.trial.compared

    def on_kernel(self) -> Iterable[Experiment]:
        """See `Part`."""
        yield from self.experiments.values()

    def run(self, runner: Runner) -> Mapping[str, Found]:
        """See `Part`."""
        trial = self.trial
        runs = {"sim": SIM_RUNS * trial.kernel_runs, "kernel": trial.kernel_runs}
        return {
            where: runner.replicate(
                trial.compared,
                trial.number,
                Amount[str](runs[where]),
                task=self.name,
                backend=where,
                keep=1,
            )
            for where in BACKENDS
        }

    def judge(self, found: Mapping[str, Found]) -> Iterable[Judged]:
        """The agreement, an experiment each."""
        points = (of_each_arm(found[where]) for where in BACKENDS)
        yield from _agreements(self.trial, self.trial.agreement, *points)

    def runs(self, found: Mapping[str, Found]) -> Mapping[str, Run]:
        """See `Part`."""
        return {f"{self.name}: {arm}": found["kernel"].run(arm) for arm in self.trial.compared}


class ShortStudy(Reproduction):
    """A study that is a list of trials.

    Attributes:
        trials: In the order of the page.
        source: Citation of the source.
        source_url: Address of the source.
        done: Description of the experiments, a paragraph.
        notes: Parameters that the source does not give, with the chosen values; a paragraph each.
        labels: What the labels of the figure mean, in sentences for its caption.
        agrees_within: Relative margin of agreement of the backends for trials without their own;
            None for no comparison.
    """

    source: ClassVar[str]
    source_url: ClassVar[str] = ""
    done: ClassVar[str]
    notes: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[str] = ""
    agrees_within: ClassVar[float | None] = None

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet."""
        super().__init__(options)
        self.trials = self.tried()
        self.parts = [
            *(TrialPart(each, where) for each in self.trials for where in BACKENDS),
            *(ComparedPart(each) for each in self.trials),
        ]

    def run_all(self) -> None:
        """See `Reproduction`; also compares the backends for trials that both have run."""
        super().run_all()
        found = {(part.name, part.backend): part.found for part in self.finished_trials()}
        for trial in self.trials:
            both = [found[key] for where in BACKENDS if (key := (trial.id, where)) in found]
            if len(both) == len(BACKENDS):
                points = [trial.points(each) for each in both]
                self.judged += _agreements(trial, self.agreement_of(trial), *points)

    @abstractmethod
    def tried(self) -> Sequence[Trial]:
        """The trials for the options."""

    def agreement_of(self, trial: Trial) -> Agreement | None:
        """Margin of agreement of the backends in a trial."""
        if trial.agreement is not None or self.agrees_within is None:
            return trial.agreement
        floor = LEAST_MARGINS.get(trial.unit, LEAST_MARGINS["1"])
        return Agreement(relative=self.agrees_within, floor=floor, unit=trial.unit)

    def agreed(self) -> str:
        """How often the backends agree, in a sentence; empty if they were not compared."""
        all_ = [each for each in self.judged if isinstance(each.claim.rule, Agreement)]
        same = sum(each.verdict is Verdict.REPRODUCED for each in all_)
        return f"Simulator and kernel agree in {same} of {len(all_)} comparisons." if all_ else ""

    def verdicts(self, of: Container[str]) -> dict[str, Verdict]:
        """Verdicts of the claims of these ids."""
        return {each.claim.id: each.verdict for each in self.judged if each.claim.id in of}

    @property
    def runs_per_network(self) -> int:
        """Number of runs of each network: ``--replications``, or that of the first trial."""
        return self.options.replications or self.trials[0].runs

    def figure(self) -> Figure:
        """The figure of the finished trials: every number relative to its claimed value."""
        rows = []
        for part in self.finished_trials():
            points = [estimate_of(each) for each in part.trial.points(part.found).values()]
            over = [each.value / part.trial.said for each in points]
            style = self.style_of(part)
            name = part.trial.label or part.name
            rows.append(IntervalRow(name, over[0], min(over), max(over), None, 1.0, style))
        plot = points_with_interval(
            rows,
            x_title="Measured over said",
            interval_title="range over what was tried",
            theory_title="as it is said",
            log_x=True,
        )
        caption = (
            f"A dot is the first network tried; its bar reaches over all of them. {self.labels}"
        )
        return Figure("said", *plot, caption.strip(), title="What was measured over what is said")

    @abstractmethod
    def said(self) -> dict[str, Any]:
        """The report's ``summary``, ``answer``, ``measured`` and ``so``."""

    def finished_trials(self) -> list[TrialPart]:
        """The finished trials."""
        return [part for part in self.finished() if isinstance(part, TrialPart)]

    def style_of(self, part: TrialPart) -> str:
        """Name of a part's backend in a figure; empty if there is only one."""
        return BACKENDS[part.backend] if len(self.options.backends) > 1 else ""

    def table(self) -> ValueTable:
        """The claimed quantities, at every point."""
        finished = self.finished_trials()
        where = [key for key in BACKENDS if any(part.backend == key for part in finished)]
        found = {
            (part.name, name, part.backend): estimate_of(evidence)
            for part in finished
            for name, evidence in part.trial.points(part.found).items()
        }
        of = {trial.id: trial for trial in self.trials}
        rows = [
            ValueRow(
                f"{of[id_].label or id_}: {name}",
                of[id_].unit,
                [found.get((id_, name, key), "-") for key in where],
            )
            for id_, name in dict.fromkeys((id_, name) for id_, name, _ in found)
        ]
        caption = "Means over the runs and half of their 95 % intervals, after the warm-up."
        return ValueTable("What was measured", [BACKENDS[key] for key in where], rows, caption)

    def written(self) -> Report:
        """See `Reproduction`."""
        finished = [part for part in self.finished() if isinstance(part, TrialPart | ComparedPart)]
        shown = {part.trial.id: next(iter(part.experiments.values())) for part in finished}
        said = self.said()
        said["measured"] = f"{said.get('measured', '')} {self.agreed()}".strip()
        report = self.collected(
            source=self.source,
            source_url=self.source_url,
            done=self.done,
            notes=self.notes,
            topologies=[
                Topology.of(finished[0].trial.label or finished[0].name, next(iter(shown.values())))
            ],
            commands={name: list(testbed_lines(each)) for name, each in shown.items()},
            **said,
        )
        mine = [self.table()] if self.finished_trials() else []
        return replace(report, values=[*mine, *self.compared_tables(), *report.values])

    def compared_tables(self) -> Iterable[ValueTable]:
        """The numbers of both backends where shorter runs compare them."""
        parts = [part for part in self.finished() if isinstance(part, ComparedPart)]
        rows = [
            ValueRow(
                f"{part.trial.label or part.trial.id}: {arm}",
                part.trial.unit,
                [student_interval(part.found[where].values(arm)) for where in BACKENDS],
            )
            for part in parts
            for arm in part.trial.compared
        ]
        if rows:
            caption = "Means over the runs by which the backends are compared."
            yield ValueTable("Beside the kernel", list(BACKENDS.values()), rows, caption)

    def figures_of_parts_together(self) -> Iterable[Figure]:
        """The one figure."""
        if self.finished_trials():
            yield self.figure()


def _agreements(
    trial: Trial, rule: Agreement | None, sim: Points, kernel: Points
) -> Iterable[Judged]:
    if rule is None:
        return
    for place in sim:
        claim = Claim(
            id=f"{trial.id}-agreement",
            statement=f"{trial.statement} is the same on both backends ({place})",
            source="both run the same description",
            rule=rule,
        )
        ours, other = _each_run(sim[place]), _each_run(kernel[place])
        yield judge(claim, Sides(ours, other, Pairing.INDEPENDENT), backend="kernel")

"""Run what is tried, and test each against all printed numbers jointly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dumbbell.claims import Runs
from dumbbell.claims.rules import Law
from dumbbell.claims.rules.explained import together
from dumbbell.claims.rules.prediction import is_informative, predict
from dumbbell.compare.cells import Cell
from dumbbell.compare.checking.numbers import NoRunsError, Numbers
from dumbbell.compare.comparison import Comparison, compare
from dumbbell.compare.explaining.searching import NotRun, Pairs, Search, Trial
from dumbbell.compare.replicating import Arm
from dumbbell.errors import SpecError
from dumbbell.stats import Estimate, JointFit, holm, joint_fit

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class OneNumber:
    """A printed number beside the runs of a trial.

    Attributes:
        id: Id of the claim.
        printed: The printed number, in `unit`.
        unit: Unit of all values.
        predicted: Where one more run lies with 95 %, with what print leaves open.
    """

    id: str
    printed: float
    unit: str
    predicted: Estimate

    @property
    def is_missed(self) -> bool:
        """Whether the printed number lies outside."""
        return not self.predicted.contains(self.printed)


@dataclass(frozen=True, slots=True)
class Fit:
    """A trial, and how well its runs explain all printed numbers jointly.

    Attributes:
        trial: The trial.
        joint: Goodness of fit.
        adjusted: Its p-value after Holm's correction for all settings tried.
        numbers: Each printed number.
    """

    trial: Trial
    joint: JointFit
    numbers: tuple[OneNumber, ...]
    adjusted: float = 1.0

    @property
    def fits(self) -> bool:
        """Whether all printed numbers jointly are within the 95 % of one more run, and some test
        anything.
        """
        return self.joint.p_value >= 1.0 - LEVEL and self.is_informative

    @property
    def is_informative(self) -> bool:
        """Whether the runs scatter little enough to test a number (docs/rules.md)."""
        return any(is_informative(each.predicted) for each in self.numbers)

    @property
    def is_excluded(self) -> bool:
        """Whether it is excluded at 95 %, corrected for the number of settings tried."""
        return self.adjusted < 1.0 - LEVEL

    @property
    def missed(self) -> list[OneNumber]:
        """Printed numbers outside their own intervals."""
        return [each for each in self.numbers if each.is_missed]


@dataclass(frozen=True)
class Explanation:
    """The result of a search.

    Attributes:
        search: What was tried.
        fits: Every trial that has runs, the best fit first.
        not_run: What has no runs, or describes no experiment, with reasons.
        pairs_tried: Whether settings were tried two at a time.
        replications: Replications of each cell.
        interrupted: Whether it was stopped early.
    """

    search: Search
    fits: tuple[Fit, ...]
    not_run: tuple[NotRun, ...]
    pairs_tried: bool
    replications: int
    interrupted: bool = False

    @property
    def explaining(self) -> list[Fit]:
        """The smallest changes that fit: the file, or settings alone, or pairs."""
        fitting = [each for each in self.fits if each.fits]
        least = min((len(each.trial.choices) for each in fitting), default=0)
        return [each for each in fitting if len(each.trial.choices) == least]

    @property
    def excluded(self) -> list[Fit]:
        """Settings excluded at 95 %, corrected for all that were tried."""
        return [each for each in self.fits if each.is_excluded]


Executing = Mapping[str, Any]
"""Options of `compare`: executor, backends, callbacks."""


def explain(
    search: Search,
    *,
    pairs: Pairs = Pairs.AUTO,
    replications: int | None = None,
    **options: Any,
) -> Explanation:
    """Run the trials, and fit each.

    Args:
        search: Result of `search_of`.
        pairs: When settings are tried two at a time.
        replications: Of each cell; None for as many as the joint test needs.
        **options: Of `compare`: ``backends`` (one), ``executor``, ``jobs``, ``cancel`` and so on.

    Raises:
        SpecError: Too few replications.
        RunError: Every cell failed.
        Interrupted: It was stopped before there was anything.
    """
    n = search.replications if replications is None else replications
    if n < search.fewest:
        allowed = f"at least {search.fewest}, for a joint test of the numbers printed of one run"
        raise SpecError("--replications", n, allowed)
    run = partial(_run, search, replications=n, options=options)
    fits, not_run, stopped = run([search.base, *search.alone])
    wanted = pairs is Pairs.ALWAYS or (pairs is Pairs.AUTO and not any(e.fits for e in fits))
    tries_pairs = wanted and not stopped and search.n_pairs > 0
    if tries_pairs:
        trials, impossible = search.pairs()
        not_run += impossible
        if trials:
            more, failed, stopped = run(trials)
            fits, not_run = [*fits, *more], [*not_run, *failed]
    adjusted = holm([each.joint.p_value for each in fits])
    fits = [replace(each, adjusted=float(p)) for each, p in zip(fits, adjusted, strict=True)]
    ordered = sorted(fits, key=lambda each: (-each.joint.p_value, each.joint.statistic))
    return Explanation(search, tuple(ordered), tuple(not_run), tries_pairs, n, stopped)


def cells_of_trials(trials: Iterable[Trial]) -> list[Cell]:
    """The cells of some trials, each description once."""
    return [*_named(trials).values()]


def _named(trials: Iterable[Trial]) -> dict[str, Cell]:
    """By description; labels say the trial."""
    cells: dict[str, Cell] = {}
    for trial in trials:
        for cell in trial.claims.cells:
            label = ": ".join(filter(None, (trial.label, cell.label)))
            cells.setdefault(cell.experiment.resolved_json(), replace(cell, label=label))
    return cells


def _run(
    search: Search, trials: Sequence[Trial], *, replications: int, options: Executing
) -> tuple[list[Fit], list[NotRun], bool]:
    cells = _named(trials)
    found = compare([*cells.values()], replications=replications, **options)
    fits, failed = [], []
    for trial in trials:
        try:
            fits.append(_fit(search, trial, _seen_by(trial, cells, found)))
        except NoRunsError as error:
            failed.append(NotRun(trial.label, _why(trial, found, error)))
    return fits, failed, found.interrupted


def _seen_by(trial: Trial, cells: Mapping[str, Cell], found: Comparison) -> Numbers:
    """The runs under the labels that the trial's claims know."""
    backend = found.backends[0]
    results = {}
    for cell in trial.claims.cells:
        arm = Arm(cells[cell.experiment.resolved_json()].label, backend)
        if arm in found.results:
            results[Arm(cell.label, backend)] = found.results[arm]
    return Numbers(replace(found, results=results), backend)


def _why(trial: Trial, found: Comparison, error: NoRunsError) -> str:
    labels = {cell.label for cell in _named([trial]).values()}
    return next((str(each.error) for each in found.failed if each.label in labels), str(error))


def _fit(search: Search, trial: Trial, numbers: Numbers) -> Fit:
    runs: dict[str, Runs] = {}
    shown = []
    for plan in trial.printed:
        values = plan.evidence(numbers, numbers).values
        if not np.isfinite(values).all():
            raise NoRunsError(f"{plan.claim.id}: some runs have no such number")
        level = search.printed[plan.claim.id]
        if level.law is Law.LOG_NORMAL and not (values > 0).all():
            raise NoRunsError(f"{plan.claim.id}: not positive in every run, as its law wants")
        runs[plan.claim.id] = Runs(values)
        predicted = predict(values, level.law, LEVEL, rounding=level.reading, jitter=level.jitter)
        shown.append(OneNumber(plan.claim.id, level.printed, plan.claim.rule.unit, predicted))
    groups = [together({id: search.printed[id] for id in ids}, runs) for ids in search.groups]
    return Fit(trial, joint_fit(groups), tuple(shown))

"""Read a file's claims, run their cells, and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.backends import Cancellation
from dumbbell.claims import Judged, Runs, Verdict, judge, not_testable
from dumbbell.compare.cells import Cell, FailedCell, cells_of
from dumbbell.compare.checking.numbers import NoRunsError, Numbers
from dumbbell.compare.checking.placing import Cells
from dumbbell.compare.checking.planning import Plan, Planning, least_replications
from dumbbell.compare.comparison import REPLICATIONS, Comparison, compare
from dumbbell.compare.ensemble import ensemble_for
from dumbbell.compare.executing import Executor
from dumbbell.compare.sweeps import has_sweep, sweep_of_document
from dumbbell.compare.words import group_words
from dumbbell.errors import SpecError
from dumbbell.replication import ProgressCallback
from dumbbell.spec import Setting
from dumbbell.spec.claim_tables import CLAIM, Claims
from dumbbell.spec.toml_file import load
from dumbbell.stats import two_groups

CONTRADICTED = frozenset(
    {
        Verdict.NOT_REPRODUCED,
        Verdict.DEPENDS_ON,
        Verdict.NOT_EXPLAINED,
        Verdict.CHECK_FAILS,
    }
)
"""Verdicts against a claim."""
UNDECIDED = frozenset(
    {Verdict.INCONCLUSIVE, Verdict.UNINFORMATIVE, Verdict.NOT_TESTABLE, Verdict.PREVIEW}
)
"""Verdicts neither for nor against a claim."""


@dataclass(frozen=True)
class Asserted:
    """The claims of a file, before anything has run.

    Attributes:
        file: The file with the description and the claims.
        settings: Values that replace those of the file.
        plans: One plan per claim, with its rule.
        cells: The cells that the claims need.
        failed: Cells of the sweep that cannot be described.
        at_least: Replications of each cell, from the sweep or the default.
        precision: Precision asked for by the sweep instead of that number; None without one.
    """

    file: Path
    settings: tuple[Setting, ...]
    plans: tuple[Plan, ...]
    cells: tuple[Cell, ...]
    failed: tuple[FailedCell, ...] = ()
    at_least: int = REPLICATIONS
    precision: float | None = None

    @property
    def replications(self) -> int:
        """Replications of each cell: `at_least`, or more if a rule needs more."""
        return max(self.at_least, self._needed)

    @property
    def before_precision(self) -> int:
        """Replications of each cell before its precision is checked."""
        return max(REPLICATIONS, self._needed)

    @property
    def _needed(self) -> int:
        return max((least_replications(each.claim.rule) for each in self.plans), default=1)


@dataclass(frozen=True)
class Checked:
    """Claims and their verdicts.

    Attributes:
        asserted: The claims.
        comparison: The runs.
        judged: The verdicts in the order of the file, backend by backend.
    """

    asserted: Asserted
    comparison: Comparison
    judged: tuple[Judged, ...]

    @property
    def contradicted(self) -> list[Judged]:
        """Claims that the runs contradict."""
        return [each for each in self.judged if each.verdict in CONTRADICTED]

    @property
    def undecided(self) -> list[Judged]:
        """Claims that the runs leave undecided."""
        return [each for each in self.judged if each.verdict in UNDECIDED]


def asserted(
    file: Path,
    settings: Sequence[Setting] = (),
    *,
    replications: int | None = None,
    label: str = "",
) -> Asserted:
    """Read the claims of a file and fix their rules.

    Args:
        file: A description with ``[[claim]]`` tables, and perhaps a sweep.
        settings: Values that replace those of the file in every cell.
        replications: Number of replications planned. With a single one no ensemble is used.
        label: Label of the file's own cell, in place of the file's name without its ending. Not of
            a sweep's cells.

    Raises:
        SpecError: The file or a claim is not allowed, or there is no claim.
    """
    document, folder = load(file)
    if not document.get(CLAIM):
        allowed = "[[claim]] tables: what is claimed of the experiment (docs/claims-of-your-own.md)"
        raise SpecError(CLAIM, "nothing", allowed)
    tables = Claims.read({CLAIM: document[CLAIM]}).claim
    swept = None
    if has_sweep(document):
        swept = sweep_of_document(document, folder, str(file), settings)
        base, failed = [*swept.cells], [*swept.refused]
    else:
        base, failed = cells_of([(file, document, folder)], settings)
        base = [replace(each, label=label or each.label) for each in base]
    source = f"claimed in {file.name}"
    # The set of cells decides whether an ensemble replaces randomness, and that decides the rule
    # for a printed number.
    places = Cells(document, folder, base, failed, is_sweep=swept is not None)
    Planning(places, None, source).plans(tables)
    ensemble = None
    if replications != 1:
        ensemble = ensemble_for({each.label: each.experiment for each in places.used})
    plans = Planning(places, ensemble, source).plans(tables)
    cells = places.used or tuple(base[:1])
    at_least = (swept.replications if swept is not None else None) or REPLICATIONS
    precision = None if swept is None else swept.precision
    return Asserted(file, tuple(settings), tuple(plans), cells, tuple(failed), at_least, precision)


def check(
    claims: Asserted,
    *,
    backends: Sequence[str] = ("sim",),
    replications: int | None = None,
    precision: float | None = None,
    jobs: int = 0,
    memory_bytes: int | None = None,
    executor: Executor | None = None,
    keep: int = 0,
    on_progress: ProgressCallback | None = None,
    cancel: Cancellation | None = None,
) -> Checked:
    """Run the cells that the claims need, and judge the claims.

    Args:
        claims: Result of `asserted`.
        backends: Backends to run on; every claim is judged on each of them.
        replications: Replications of each cell; None for what the file says or the rules need.
        precision: As in `compare`, instead of a number; the rules still get as many as they need.
        jobs: Threads; 0 for one per core.
        memory_bytes: Memory that all runs may use together.
        executor: Performs the runs.
        keep: Number of replications whose runs are kept for figures.
        on_progress: Called about ten times a second.
        cancel: Set it to stop within a second.

    Raises:
        SpecError: As `compare`.
        RunError: Every cell failed.
        Interrupted: It was stopped before there was anything.
    """
    if replications is None and precision is None:
        precision = claims.precision
        replications = None if precision is not None else claims.replications
    found = compare(
        claims.cells,
        backends=backends,
        replications=replications,
        precision=precision,
        at_least=claims.before_precision,
        failed=claims.failed,
        jobs=jobs,
        memory_bytes=memory_bytes,
        executor=executor,
        keep=keep,
        on_progress=on_progress,
        cancel=cancel,
    )
    return Checked(claims, found, tuple(_judged(claims.plans, found)))


def _judged(plans: Sequence[Plan], found: Comparison) -> list[Judged]:
    first = Numbers(found, found.backends[0])
    judged = []
    for backend in found.backends:
        here = Numbers(found, backend)
        for plan in plans:
            if not plan.needs_runs and backend != first.backend:
                continue
            if plan.is_of_backends and backend == first.backend:
                if len(found.backends) == 1:
                    why = "one backend was run; --backend sim,kernel runs two"
                    judged.append(not_testable(plan.claim, why, backend=backend))
                continue
            judged.append(_one(plan, here, first))
    return judged


def _one(plan: Plan, here: Numbers, first: Numbers) -> Judged:
    try:
        evidence = plan.evidence(here, first)
    except NoRunsError as error:
        return not_testable(plan.claim, str(error), backend=here.backend)
    note = plan.note
    if isinstance(evidence, Runs) and evidence.is_complete:
        groups = two_groups(evidence.values)
        told = "" if groups is None else group_words(groups, plan.claim.rule.unit)
        note = "; ".join(filter(None, (note, told)))
    return judge(plan.claim, evidence, backend=here.backend, note=note)

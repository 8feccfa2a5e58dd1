"""A study under way: what every study does alike, so that its own files hold what is its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dumbbell.backends import BatchProgress, run_many, threads_for
from dumbbell.errors import RunError
from dumbbell.report import Figure, Report
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate, student_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.shape import LEAST_REPLICATIONS, ON_KERNEL, Part, Runner
from dumbbell.sweep import Interrupted, Progress, replicate_groups
from dumbbell.sweep.replications import Floats
from dumbbell.tables import Run


class Reproduction(ABC):
    """A study of several parts, on either backend. The class is the `Study`, an instance one run.

    Attributes:
        options: What was asked for.
        runner: Runs arms as the options say.
        parts: What is run, in order.
        judged: Claims judged so far.
        interrupted: Whether it was stopped early; it then reports on the parts that were finished.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet.

        Args:
            options: What is asked for.
        """
        self.options = options
        self.runner = Runner(options)
        self.parts: Sequence[Part[Any]] = ()
        # Old and new verdicts, until every study is converted.
        self.judged: list[Any] = []
        self.interrupted = False

    @classmethod
    def check(cls, options: StudyOptions) -> None:
        """Look whether all that it needs is there; nothing is run.

        Raises:
            SpecError: It cannot be run with these options.
            KernelMissingError: The kernel is asked for and has not been built.
            GuestMissingError: Nor has what runs inside it.
            RunError: A tool that runs inside it is not installed.
        """
        cls(options).check_backends()

    @classmethod
    def reproduce(cls, options: StudyOptions) -> Report:
        """Run everything and judge it.

        Raises:
            SpecError: It cannot be run with these options.
            KernelMissingError: The kernel is asked for and has not been built.
            RunError: Replications failed.
            Interrupted: It was stopped before there was anything to report.
        """
        return cls(options).report()

    @abstractmethod
    def written(self) -> Report:
        """The report on the parts that were finished."""

    def on_kernel(self) -> Iterable[Experiment]:
        """What the kernel would be asked to run; looked at before anything is run anywhere."""
        return (experiment for part in self.parts for experiment in part.on_kernel())

    def run_all(self) -> None:
        """Run the parts that the options ask for, and judge each as it is finished.

        Raises:
            Interrupted: It was stopped before all of them were finished.
        """
        for part in self.parts:
            if not part.is_wanted(self.options):
                continue
            if self.runner.interrupted or self.options.cancelled:
                raise Interrupted(f"{part.name}: not begun")
            self.judged += part.judge(part.finish(self.runner))
        self.interrupted = self.runner.interrupted

    @property
    def has_something_to_report(self) -> bool:
        """Whether any part was finished."""
        return bool(self.judged or self.finished())

    def report(self) -> Report:
        """Check, run, and report; see `reproduce`."""
        self.check_backends()  # now, not after minutes of simulation
        try:
            self.run_all()
        except Interrupted:
            if not self.has_something_to_report:
                raise
            self.interrupted = True
        return self.written()

    def check_backends(self) -> None:
        """Look whether the backends can run what they will be asked to; see `check`."""
        if "kernel" in self.options.backends:
            threads_for(
                self.on_kernel(),
                backend="kernel",
                jobs=self.options.jobs,
                memory_bytes=self.options.memory_bytes,
            )

    # --- the report ------------------------------------------------------------------------

    def finished(self) -> list[Part[Any]]:
        """The parts that were run to their end."""
        return [part for part in self.parts if part.is_finished]

    def judged_in_order(self) -> list[Any]:
        """The same claim's rows of several backends one after the other."""
        ids = list(dict.fromkeys(one.claim.id for one in self.judged))
        return sorted(self.judged, key=lambda one: ids.index(one.claim.id))

    def collected(self, *, meta: Mapping[str, Any] | None = None, **of_the_study: Any) -> Report:
        """The report, with what the finished parts have for it.

        Args:
            meta: What stands in ``meta.json`` besides versions and digests.
            **of_the_study: The other fields of a `Report`: its summary, its notes and so on.
        """
        parts = [(part, part.found) for part in self.finished()]
        runs = {
            f"{label} on the kernel" if run.origin == "kernel" else label: run
            for part, found in parts
            for label, run in part.runs(found).items()
        }
        return Report(
            study=self.id,
            title=self.title,
            judged=self.judged_in_order(),
            values=[each for part, found in parts for each in part.tables(found)],
            figures=[
                *(each for part, found in parts for each in part.figures(found)),
                *self.figures_of_parts_together(),
            ],
            loads=[each for part, found in parts for each in part.loads(found)],
            meta={**self.asked(), **_repeatable(runs), **(meta or {})},
            provenance=next((run.provenance for run in runs.values()), {}),
            **of_the_study,
        )

    def figures_of_parts_together(self) -> Iterable[Figure]:
        """Figures of several parts at once, of those that were finished; after the parts' own."""
        return ()

    def asked(self) -> dict[str, Any]:
        """What was asked for, as ``meta.json`` begins in every study."""
        return {
            "study": self.id,
            "preset": "quick" if self.options.quick else "full",
            "complete": not self.interrupted,
            "seed": self.options.seed,
            "backends": list(self.options.backends),
        }


def _repeatable(runs: Mapping[str, Run]) -> dict[str, Any]:
    """What is the same whenever these runs are repeated."""
    versions = {str(run.meta["backend"]): run.meta["versions"] for run in runs.values()}
    late = [run.meta["longest_lateness_ns"] for run in runs.values() if run.origin == "kernel"]
    return {
        "versions": next(iter(versions.values())) if len(versions) == 1 else versions,
        **({"longest_lateness_ns": max(late)} if late else {}),
        "digests_of_replication_0": {label: run.meta["digest"] for label, run in runs.items()},
    }


# --- what the studies used before there were parts; going away ----------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """Going away: what `replications` gave, by names glued together.

    Attributes:
        values: Quantity to one value a replication.
        n: How many.
        runs: The first ``keep`` replications' runs, arm to run.
        stopped_because: A sentence for the report.
        interrupted: Whether somebody stopped it early.
    """

    values: Mapping[str, Floats]
    n: int
    runs: Sequence[Mapping[str, Run]]
    stopped_because: str
    interrupted: bool

    def estimate(self, name: str, level: float = 0.95) -> Estimate:
        """Mean of a quantity with Student's interval over the replications."""
        return student_interval(self.values[name], level)


def replications(
    options: StudyOptions,
    arms: Mapping[str, Experiment],
    measure: Callable[[Mapping[str, Run]], Mapping[str, float]],
    *,
    at_least: int,
    task: str,
    backend: str = "sim",
    complete: bool = False,
    **more: Any,
) -> Measured:
    """Going away: use `dumbbell.studies.shape.Runner.replicate`.

    Raises:
        Interrupted: It was stopped too early.
        RunError: A replication failed.
    """
    done = replicate_groups(
        {"": arms},
        measure,
        at_least=at_least,
        jobs=options.jobs,
        memory_bytes=options.memory_bytes,
        backend=backend,
        task=_named(task, backend),
        on_progress=options.on_progress,
        cancel=options.cancel,
        **more,
    )
    if done.failed:
        raise RunError(f"{_named(task, backend)}: {done.stopped_because}")
    if done.interrupted and (complete or done.n < LEAST_REPLICATIONS):
        raise Interrupted(f"{_named(task, backend)}: {done.stopped_because}")
    names = done.first("") if done.n else ()
    kept = [dict(zip(arms, runs, strict=True)) for runs in done.kept[""]]
    values = {name: done.values("", lambda of, name=name: of[name]) for name in names}  # type: ignore[misc]
    return Measured(values, done.n, kept, done.stopped_because, done.interrupted)


def every_run(
    options: StudyOptions,
    jobs: Sequence[tuple[Experiment, int]],
    *,
    task: str,
    backend: str = "sim",
) -> Iterator[tuple[int, Run]]:
    """Going away: use `dumbbell.studies.shape.Runner.replicate`.

    Yields:
        Place in ``jobs`` and run, as they end.

    Raises:
        Interrupted: After the last that ended, when it was stopped before all had.
        RunError: A run failed.
    """

    def tell(progress: BatchProgress) -> None:
        if options.on_progress:
            total = float(len(jobs))
            options.on_progress(Progress(_named(task, backend), progress.done, total, "runs"))

    finished = 0
    for done in run_many(
        jobs,
        backend=backend,
        jobs=options.jobs,
        memory_bytes=options.memory_bytes,
        cancel=options.cancel,
        on_progress=tell,
    ):
        yield done
        finished += 1
    if finished < len(jobs):
        where = _named(task, backend)
        raise Interrupted(f"stopped after {finished} of {len(jobs)} runs ({where})")


def _named(task: str, backend: str) -> str:
    return f"{task}{ON_KERNEL if backend == 'kernel' else ''}"

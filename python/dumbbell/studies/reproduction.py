"""A study under way: what every study does alike, so that its own files hold what is its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from dumbbell.backends import BatchProgress, run_many, threads_for
from dumbbell.errors import RunError
from dumbbell.report import Report
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.sweep import Interrupted, Progress, Replications, replicate
from dumbbell.sweep.replications import Measure
from dumbbell.tables import Run

LEAST_REPLICATIONS = 2
"""Of which an interval can be made."""
ON_KERNEL = ", Linux kernel"
"""What the progress of a task says of runs on the kernel."""


class Reproduction(ABC):
    """A study of several parts, on either backend. The class is the `Study`, an instance one run.

    Attributes:
        options: What was asked for.
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
        # Old and new verdicts, until every study is converted.
        self.judged: list[Any] = []
        self.interrupted = False

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
    def on_kernel(self) -> Iterable[Experiment]:
        """What the kernel would be asked to run; looked at before anything is run anywhere."""

    @abstractmethod
    def run_all(self) -> None:
        """Run the parts that the options ask for, and judge each as it is finished."""

    @abstractmethod
    def written(self) -> Report:
        """The report on the parts that were finished."""

    @property
    def has_something_to_report(self) -> bool:
        """Whether any part was finished."""
        return bool(self.judged)

    def report(self) -> Report:
        """Check, run, and report; see `reproduce`."""
        if "kernel" in self.options.backends:
            # Now, not after minutes of simulation.
            threads_for(self.on_kernel(), backend="kernel", jobs=self.options.jobs)
        try:
            self.run_all()
        except Interrupted:
            if not self.has_something_to_report:
                raise
            self.interrupted = True
        return self.written()

    def asked(self) -> dict[str, Any]:
        """What was asked for, as ``meta.json`` begins in every study."""
        return {
            "study": self.id,
            "preset": "quick" if self.options.quick else "full",
            "complete": not self.interrupted,
            "seed": self.options.seed,
            "backends": list(self.options.backends),
        }


def replications(
    options: StudyOptions,
    arms: Mapping[str, Experiment],
    measure: Measure,
    *,
    at_least: int,
    task: str,
    backend: str = "sim",
    complete: bool = False,
    **more: Any,
) -> Replications:
    """Replicate as the options say, and refuse what nothing can be concluded from.

    Args:
        options: Threads, progress, cancellation.
        arms: As for `replicate`.
        measure: As for `replicate`.
        at_least: As for `replicate`.
        task: Name in the progress.
        backend: Where.
        complete: Whether all of them are needed; else two will do when it is stopped.
        **more: As for `replicate`.

    Raises:
        Interrupted: It was stopped too early.
        RunError: A replication failed.
    """
    done = replicate(
        arms,
        measure,
        at_least=at_least,
        jobs=options.jobs,
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
    return done


def every_run(
    options: StudyOptions,
    jobs: Sequence[tuple[Experiment, int]],
    *,
    task: str,
    backend: str = "sim",
) -> Iterator[tuple[int, Run]]:
    """Run each experiment with its replication number, all of them or none.

    Args:
        options: Threads, progress, cancellation.
        jobs: Experiments and replication numbers.
        task: Name in the progress.
        backend: Where.

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
        jobs, backend=backend, jobs=options.jobs, cancel=options.cancel, on_progress=tell
    ):
        yield done
        finished += 1
    if finished < len(jobs):
        where = _named(task, backend)
        raise Interrupted(f"stopped after {finished} of {len(jobs)} runs ({where})")


def _named(task: str, backend: str) -> str:
    return f"{task}{ON_KERNEL if backend == 'kernel' else ''}"

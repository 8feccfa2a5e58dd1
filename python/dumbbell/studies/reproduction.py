"""Base class of studies: a study during its run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from dumbbell.backends import threads_for
from dumbbell.claims import Judged, PrintedNumbers
from dumbbell.replication import Interrupted
from dumbbell.report import Figure, Report
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.shape import Part, Runner
from dumbbell.tables import Run


class Reproduction(ABC):
    """A study of several parts, on either backend. The class is the `Study`, an instance one run.

    Attributes:
        options: The options.
        runner: Runs arms by the options.
        parts: The parts, in order.
        judged: Claims judged so far.
        interrupted: Whether it was stopped early; it then reports on the finished parts.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    printed: ClassVar[PrintedNumbers | None] = None
    """Every number published in the source, and the claims about it."""

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet.

        Args:
            options: The options.
        """
        self.options = options
        self.runner = Runner(options)
        self.parts: Sequence[Part[Any]] = ()
        self.judged: list[Judged] = []
        self.interrupted = False

    @classmethod
    def check(cls, options: StudyOptions) -> None:
        """Check its requirements without running anything.

        Raises:
            SpecError: It cannot be run with these options.
            KernelMissingError: The kernel is requested and has not been built.
            GuestMissingError: The guest program has not been built.
            RunError: A tool of the guest is not installed.
        """
        cls(options).check_backends()

    @classmethod
    def reproduce(cls, options: StudyOptions) -> Report:
        """Run everything and judge it.

        Raises:
            SpecError: It cannot be run with these options.
            KernelMissingError: The kernel is requested and has not been built.
            RunError: Replications failed.
            Interrupted: It was stopped before there was a result.
        """
        return cls(options).report()

    @abstractmethod
    def written(self) -> Report:
        """The report on the finished parts."""

    def on_kernel(self) -> Iterable[Experiment]:
        """Experiments for the kernel, checked before anything is run."""
        return (experiment for part in self.parts for experiment in part.on_kernel())

    def run_all(self) -> None:
        """Run the requested parts, and judge each when it is finished.

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
        self.check_backends()  # fail now, not after minutes of simulation
        try:
            self.run_all()
        except Interrupted:
            if not self.has_something_to_report:
                raise
            self.interrupted = True
        return self.written()

    def check_backends(self) -> None:
        """Check whether the backends can run the experiments; see `check`."""
        if "kernel" in self.options.backends:
            threads_for(
                self.on_kernel(),
                backend="kernel",
                jobs=self.options.jobs,
                memory_bytes=self.options.memory_bytes,
            )

    # --- the report ------------------------------------------------------------------------

    def finished(self) -> list[Part[Any]]:
        """The finished parts."""
        return [part for part in self.parts if part.is_finished]

    def judged_in_order(self) -> list[Judged]:
        """Judged claims, with the rows of one claim on several backends together."""
        ids = list(dict.fromkeys(one.claim.id for one in self.judged))
        return sorted(self.judged, key=lambda one: ids.index(one.claim.id))

    def collected(self, *, meta: Mapping[str, Any] | None = None, **of_the_study: Any) -> Report:
        """The report with the contributions of the finished parts.

        Args:
            meta: Content of ``meta.json`` besides versions and digests.
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
            printed=self.printed.account(self.judged) if self.printed else None,
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
        """Figures over several finished parts, placed after those of the parts."""
        return ()

    def asked(self) -> dict[str, Any]:
        """The options, the first entries of ``meta.json`` in every study."""
        return {
            "study": self.id,
            "preset": "quick" if self.options.quick else "full",
            "complete": not self.interrupted,
            "seed": self.options.seed,
            "backends": list(self.options.backends),
        }


def _repeatable(runs: Mapping[str, Run]) -> dict[str, Any]:
    """The reproducible part of the runs' provenance."""
    versions = {str(run.meta["backend"]): run.meta["versions"] for run in runs.values()}
    late = [run.meta["longest_lateness_ns"] for run in runs.values() if run.origin == "kernel"]
    return {
        "versions": next(iter(versions.values())) if len(versions) == 1 else versions,
        **({"longest_lateness_ns": max(late)} if late else {}),
        "digests_of_replication_0": {label: run.meta["digest"] for label, run in runs.items()},
    }

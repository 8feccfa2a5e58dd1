"""The dossier of a controller: run and judge every section's experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.claims import Judged, Verdict
from dumbbell.compare import Cell, Measured
from dumbbell.compare.checking import Asserted, Checked, asserted, check
from dumbbell.compare.checking.asserted import CONTRADICTED
from dumbbell.compare.executing import Executor
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Floats
from dumbbell.judge import sections
from dumbbell.judge.experiment_text import experiment_text
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, Trial
from dumbbell.judge.suite import Suite
from dumbbell.replication import Interrupted
from dumbbell.replication.progress import ProgressCallback
from dumbbell.spec import Experiment, Setting, settings_applied

SIM, KERNEL = "sim", "kernel"
DECIDED = frozenset({Verdict.REPRODUCED, *CONTRADICTED})


@dataclass(frozen=True)
class WrittenSection:
    """A section's experiment as a file, with its rules fixed, before anything has run.

    Attributes:
        section: The section.
        trial: Its experiment.
        file: The experiment's file.
        claims: Its claims, as read by `asserted`.
        labels: Label of the cell of each expectation's ``where``, in order.
    """

    section: Section
    trial: Trial
    file: Path
    claims: Asserted
    labels: tuple[str, ...]

    def label_of(self, where: Mapping[str, Any]) -> str:
        """Label of the cell with these settings.

        Raises:
            KeyError: No claim is about it.
        """
        changed = self._described(where).resolved_json()
        for cell in self.claims.cells:
            if cell.experiment.resolved_json() == changed:
                return cell.label
        raise KeyError(str(dict(where)))

    def _described(self, where: Mapping[str, Any]) -> Experiment:
        settings = [Setting(path, value) for path, value in where.items()]
        document = {"name": self.section.id, **self.trial.document}
        changed = settings_applied(document, settings)
        return Experiment.read(changed, {"folder": self.file.parent})


@dataclass(frozen=True)
class SectionResult:
    """A section with its results.

    Attributes:
        written: The section and its experiment.
        checked: Runs and verdicts.
    """

    written: WrittenSection
    checked: Checked

    @property
    def section(self) -> Section:
        """The section."""
        return self.written.section

    @property
    def judged(self) -> tuple[Judged, ...]:
        """Its judged claims."""
        return self.checked.judged

    @property
    def fails(self) -> list[Judged]:
        """Expectations that do not hold."""
        return self.checked.contradicted

    @property
    def open(self) -> list[Judged]:
        """Undecided expectations."""
        return self.checked.undecided

    @property
    def holds(self) -> list[Judged]:
        """Expectations that hold."""
        return [each for each in self.judged if each.verdict is Verdict.REPRODUCED]

    @property
    def split(self) -> list[str]:
        """Claims that two backends decide differently."""
        verdicts: dict[str, set[Verdict]] = {}
        for each in self.judged:
            if each.verdict in DECIDED:
                verdicts.setdefault(each.claim.id, set()).add(each.verdict)
        return [name for name, each in verdicts.items() if len(each) > 1]

    def measured(self, expectation: Expectation, backend: str) -> Measured:
        """The number of an expectation, with its interval."""
        label = self.label(expectation)
        return self.checked.comparison.measured(expectation.quantity, label, backend)

    def values(self, quantity: str, where: Mapping[str, Any], backend: str) -> Floats:
        """One number per replication, in the cell with these settings."""
        label = self.written.label_of(where)
        found = self.checked.comparison.replicates(label, backend)
        return np.asarray(found.values(Quantity.parse(quantity)))

    def label(self, expectation: Expectation) -> str:
        """Label of the expectation's cell."""
        place = list(self.written.trial.expectations).index(expectation)
        return self.written.labels[place]


@dataclass(frozen=True, slots=True)
class Compared:
    """An expectation in the simulator and on the kernel.

    Attributes:
        section: Its section.
        expectation: The expectation.
        judged: The claim, judged in the simulator and on the kernel.
        measured: Its number there, in the base unit of its quantity.
    """

    section: Section
    expectation: Expectation
    judged: tuple[Judged, Judged]
    measured: tuple[Measured, Measured]

    @property
    def differs(self) -> bool:
        """Whether both decide, and decide differently."""
        verdicts = {each.verdict for each in self.judged}
        return len(verdicts) > 1 and verdicts <= DECIDED


@dataclass(frozen=True, slots=True)
class KernelCheck:
    """What the Linux kernel says of the cells that decide a dossier.

    Attributes:
        found: The cells that were run, a section each.
        compared: Their expectations; those that differ first.
        not_run: Title of each section without a run on the kernel, with the reason.
        interrupted: Whether it was interrupted.
    """

    found: tuple[SectionResult, ...] = ()
    compared: tuple[Compared, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def differing(self) -> list[Compared]:
        """Expectations that both decide, and decide differently."""
        return [each for each in self.compared if each.differs]


@dataclass(frozen=True)
class Dossier:
    """Results on a controller.

    Attributes:
        request: The request.
        backends: Backends of the runs.
        found: Results of the sections, in order.
        interrupted: Whether it was interrupted; missing sections were not run.
        on_kernel: The deciding cells on the kernel; None if they were not asked for.
    """

    request: JudgeRequest
    backends: tuple[str, ...]
    found: tuple[SectionResult, ...]
    interrupted: bool = False
    on_kernel: KernelCheck | None = None

    @property
    def suite(self) -> Suite:
        """The suite of the sections."""
        return self.found[0].section.suite

    @property
    def judged(self) -> list[Judged]:
        """All judged claims, section by section."""
        return [each for found in self.found for each in found.judged]


def write_experiments(
    request: JudgeRequest, folder: Path, which: Sequence[Section] | None = None
) -> list[WrittenSection]:
    """Write each section's file into a folder, and read its claims back.

    Args:
        request: The request.
        folder: Target folder, which already contains any user-supplied controllers.
        which: Sections to write; all when None.

    Raises:
        SpecError: The controller is not known, or may not be used.
    """
    written = []
    for section in sections.SECTIONS if which is None else which:
        trial = section.trial(request)
        if trial is None:
            continue
        file = folder / f"{section.id}.toml"
        file.write_text(experiment_text(section, trial, request), encoding="utf-8")
        bare = WrittenSection(section, trial, file, asserted(file), ())
        labels = tuple(bare.label_of(each.where) for each in trial.expectations)
        written.append(WrittenSection(section, trial, file, bare.claims, labels))
    return written


def judge_controller(
    request: JudgeRequest,
    written: Sequence[WrittenSection],
    *,
    backends: Sequence[str] = ("sim",),
    executor_of: Callable[[Sequence[Cell]], Executor],
    on_progress: ProgressCallback | None = None,
    **running: Any,
) -> Dossier:
    """Run the sections one after the other.

    Args:
        request: The request.
        written: Result of `write_experiments`.
        backends: Backends to run on.
        executor_of: Returns the executor for some cells.
        on_progress: Called with the progress of each section, under the controller's name and the
            section's heading.
        running: Further arguments of `check`: ``cancel``.

    Raises:
        DumbbellError: As `check`.
    """
    found: list[SectionResult] = []
    for each in written:
        try:
            checked = check(
                each.claims,
                backends=backends,
                replications=request.depth.replications,
                executor=executor_of(each.claims.cells),
                on_progress=on_progress and _named(on_progress, request, each.section, backends),
                **running,
            )
        except Interrupted:
            return Dossier(request, tuple(backends), tuple(found), interrupted=True)
        if checked.comparison.interrupted:
            return Dossier(request, tuple(backends), tuple(found), interrupted=True)
        found.append(SectionResult(each, checked))
    return Dossier(request, tuple(backends), tuple(found))


def _named(
    show: ProgressCallback, request: JudgeRequest, section: Section, backends: Sequence[str]
) -> ProgressCallback:
    """The callback, with progress under the names of the controller and the section."""
    where = ", on the kernel" if tuple(backends) == (KERNEL,) else ""
    task = f"{request.name}, {section.heading}{where}"
    return lambda progress: show(replace(progress, task=task))

"""The dossier of a controller: every section's experiment, run and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from dumbbell.judge.asked import JudgeRequest
from dumbbell.judge.experiment_text import experiment_text
from dumbbell.judge.section import Expectation, Section, Trial
from dumbbell.judge.suite import Suite
from dumbbell.spec import Experiment, Setting, settings_applied

DECIDED = frozenset({Verdict.REPRODUCED, *CONTRADICTED})


@dataclass(frozen=True)
class WrittenSection:
    """A section's experiment as a file, with its rules fixed, before anything has run.

    Attributes:
        section: Whose.
        trial: Its experiment.
        file: The description.
        claims: As `asserted` reads them.
        labels: Label of the cell of each expectation's ``where``, in its order.
    """

    section: Section
    trial: Trial
    file: Path
    claims: Asserted
    labels: tuple[str, ...]

    def label_of(self, where: Mapping[str, Any]) -> str:
        """Label of the cell with these values.

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
    """A section with what was found.

    Attributes:
        written: The experiment.
        checked: Its runs and verdicts.
    """

    written: WrittenSection
    checked: Checked

    @property
    def section(self) -> Section:
        """Which one."""
        return self.written.section

    @property
    def judged(self) -> tuple[Judged, ...]:
        """Its claims with verdicts."""
        return self.checked.judged

    @property
    def fails(self) -> list[Judged]:
        """What was asked and does not hold."""
        return self.checked.contradicted

    @property
    def open(self) -> list[Judged]:
        """What is not decided."""
        return self.checked.undecided

    @property
    def holds(self) -> list[Judged]:
        """What was asked and holds."""
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
        """The number an expectation is about, with its interval."""
        label = self.label(expectation)
        return self.checked.comparison.measured(expectation.quantity, label, backend)

    def values(self, quantity: str, where: Mapping[str, Any], backend: str) -> Floats:
        """A number of each replication of the cell with these values."""
        label = self.written.label_of(where)
        found = self.checked.comparison.replicates(label, backend)
        return np.asarray(found.values(Quantity.parse(quantity)))

    def label(self, expectation: Expectation) -> str:
        """Label of its cell."""
        place = list(self.written.trial.expectations).index(expectation)
        return self.written.labels[place]


@dataclass(frozen=True)
class Dossier:
    """What was found of a controller.

    Attributes:
        asked: About what.
        backends: Where it was run.
        found: Section after section.
        interrupted: Whether somebody stopped it early; sections that are missing were not run.
    """

    asked: JudgeRequest
    backends: tuple[str, ...]
    found: tuple[SectionResult, ...]
    interrupted: bool = False

    @property
    def suite(self) -> Suite:
        """Whose sections these are."""
        return self.found[0].section.suite

    @property
    def judged(self) -> list[Judged]:
        """All claims with verdicts, section after section."""
        return [each for found in self.found for each in found.judged]


def write_experiments(
    asked: JudgeRequest, folder: Path, which: Sequence[Section] | None = None
) -> list[WrittenSection]:
    """Write each section's file into a folder, and read its claims back.

    Args:
        asked: About what.
        folder: Where to; a controller of one's own lies there already.
        which: Sections; all when None.

    Raises:
        SpecError: The controller is not known, or may not be used.
    """
    written = []
    for section in sections.SECTIONS if which is None else which:
        trial = section.trial(asked)
        if trial is None:
            continue
        file = folder / f"{section.id}.toml"
        file.write_text(experiment_text(section, trial, asked), encoding="utf-8")
        bare = WrittenSection(section, trial, file, asserted(file), ())
        labels = tuple(bare.label_of(each.where) for each in trial.expectations)
        written.append(WrittenSection(section, trial, file, bare.claims, labels))
    return written


def judge_controller(
    asked: JudgeRequest,
    written: Sequence[WrittenSection],
    *,
    backends: Sequence[str] = ("sim",),
    executor_of: Callable[[Sequence[Cell]], Executor],
    **running: Any,
) -> Dossier:
    """Run the sections one after the other.

    Args:
        asked: About what.
        written: Of `write_experiments`.
        backends: Where.
        executor_of: Who does the runs of some cells.
        running: What else `check` takes: ``on_progress``, ``cancel``.

    Raises:
        DumbbellError: As `check`.
    """
    found: list[SectionResult] = []
    for each in written:
        checked = check(
            each.claims,
            backends=backends,
            replications=asked.depth.replications,
            executor=executor_of(each.claims.cells),
            **running,
        )
        found.append(SectionResult(each, checked))
        if checked.comparison.interrupted:
            return Dossier(asked, tuple(backends), tuple(found[:-1]), interrupted=True)
    return Dossier(asked, tuple(backends), tuple(found))

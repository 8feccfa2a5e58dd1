"""Plan the cells of ``dumbbell run`` from its options; nothing has been run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.cli.common.folder_names import Overrides
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Setting, separate_settings_applied
from dumbbell.spec.experiment import context
from dumbbell.spec.questions import parted
from dumbbell.spec.toml_file import load

if TYPE_CHECKING:
    from dumbbell.cli.run.options import RunOptions
    from dumbbell.compare import Cell, FailedCell
    from dumbbell.compare.axes import Grid
    from dumbbell.compare.sweep_plans import Plan

USUAL_SEED: int = Experiment.model_fields["seed"].default
MOST_BESIDE = 6
"""Most values of a path that are compared side by side; more are shown like a sweep, one row each.
"""


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read once, since it may be a pipe.

    Attributes:
        file: Its name.
        table: Its parsed content.
        folder: Folder that relative paths start from.
    """

    file: Path
    table: Mapping[str, Any]
    folder: Path

    @classmethod
    def read(cls, file: Path) -> Document:
        """Read a file.

        Raises:
            SpecError: It cannot be read, or is not TOML.
        """
        table, folder = load(file)
        return cls(file, table, folder)

    def experiment(
        self, settings: Sequence[Setting], *, allow_programs: bool = False
    ) -> Experiment:
        """The experiment with some values replaced.

        Raises:
            SpecError: It describes no experiment, or a setting's path does not exist.
        """
        described, _ = parted(self.table)
        return Experiment.read(
            separate_settings_applied(described, settings), context(self.folder, allow_programs)
        )


@dataclass(frozen=True, slots=True)
class PlannedCells:
    """Cells, and the number of their replications.

    Attributes:
        cells: Cells that can be run.
        refused: Cells that are not allowed.
        replications: Replications of each cell; None if not given.
        precision: Precision instead of a number; None if not given.
        grid: Layout of a sweep's cells; None for other comparisons.
        figures: Figures of a sweep.
        at_least: Replications before the precision is first checked; None for the default.
        first: Number of the first replication.
        besides: Settings and options in addition to the first file.
    """

    cells: Sequence[Cell]
    refused: Sequence[FailedCell]
    replications: int | None
    precision: float | None
    grid: Grid | None = None
    figures: Sequence[Plan] = ()
    at_least: int | None = None
    first: int = 0
    besides: Overrides | None = None


def single(asked: RunOptions, settings: Sequence[Setting], document: Document) -> PlannedCells:
    """The plan for the single run of a file; its own requests for replications are ignored.

    Raises:
        SpecError: It describes no experiment.
    """
    from dumbbell.compare import Cell

    experiment = document.experiment(settings, allow_programs=asked.allow_programs)
    cell = Cell(experiment.name, experiment, tuple(settings), str(asked.files[0]))
    return PlannedCells([cell], [], 1, None, first=asked.replication or 0)


def is_comparison(
    asked: RunOptions, settings: Sequence[Setting], documents: Sequence[Document]
) -> bool:
    """Whether more than one run is needed."""
    sweeps = any("sweep" in each.table for each in documents) and asked.replication is None
    counted = asked.replications is not None or asked.precision is not None
    several = _several(settings) or len(asked.files) > 1 or len(asked.backends) > 1
    return several or counted or sweeps


def planned_of(
    asked: RunOptions, settings: Sequence[Setting], documents: Sequence[Document]
) -> PlannedCells:
    """The cells for files and settings.

    Raises:
        SpecError: No cell is allowed, or options conflict.
    """
    replications, precision = asked.replications, asked.precision
    besides = overrides_of(asked, settings, documents, compares=True)
    if not _is_swept(settings, documents):
        from dumbbell.compare import cells_of

        files = [(each.file, each.table, each.folder) for each in documents]
        cells, refused = cells_of(files, settings, allow_programs=asked.allow_programs)
        return PlannedCells(cells, refused, replications, precision, besides=besides)
    if len(documents) > 1:
        allowed = "one file where there is a [sweep]"
        raise SpecError("FILE", ", ".join(str(each.file) for each in documents), allowed)
    from dumbbell.compare.sweeps import sweep_of_document

    (document,) = documents
    found = sweep_of_document(
        *(document.table, document.folder, str(document.file), settings),
        allow_programs=asked.allow_programs,
    )
    if replications is None and precision is None:
        replications, precision = found.replications, found.precision
    return PlannedCells(
        found.cells,
        found.refused,
        replications,
        precision,
        found.grid,
        found.figures,
        besides=besides,
    )


def overrides_of(
    asked: RunOptions,
    settings: Sequence[Setting],
    documents: Sequence[Document],
    *,
    compares: bool,
) -> Overrides:
    """What distinguishes this run from other runs of the same file.

    Args:
        asked: The options.
        settings: Settings of ``--set``, ``--seed`` and ``--kernel``.
        documents: The parsed files.
        compares: Whether it is a comparison.
    """
    from dumbbell.cli.common.options import DEFAULT_BACKENDS

    options: dict[str, Sequence[Any]] = {}
    if asked.backends != DEFAULT_BACKENDS:
        options["backend"] = asked.backends
    if not compares and asked.replication:
        options["replication"] = [asked.replication]
    if asked.replications is not None:
        from dumbbell.compare.comparison import REPLICATIONS

        # A [sweep] may have given another number.
        if asked.replications != REPLICATIONS or any("sweep" in each.table for each in documents):
            options["replications"] = [asked.replications]
    if asked.precision is not None:
        options["precision"] = [asked.precision]
    seeds = [each.table.get("seed", USUAL_SEED) for each in documents]
    told = [
        each for each in settings if each.path != "seed" or any(each.value != own for own in seeds)
    ]
    return Overrides(told, [each.file for each in documents[1:]], options)


def _is_swept(settings: Sequence[Setting], documents: Sequence[Document]) -> bool:
    if any("sweep" in each.table for each in documents):
        return True
    values = Counter(each.path for each in settings)
    cells = 1
    for count in values.values():
        cells *= count
    return len(documents) == 1 and cells > MOST_BESIDE


def _several(settings: Sequence[Setting]) -> bool:
    return max(Counter(each.path for each in settings).values(), default=1) > 1

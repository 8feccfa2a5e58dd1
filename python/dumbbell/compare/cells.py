"""The cells of a comparison: experiments that differ in their file or in some settings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import DumbbellError, SpecError
from dumbbell.printable import printable
from dumbbell.spec import Experiment, Setting, separate_settings_applied
from dumbbell.spec.experiment import context
from dumbbell.spec.questions import parted
from dumbbell.spec.toml_file import load

Document = tuple[Path, Mapping[str, Any], Path]
"""A file, its parsed content, and the folder that its relative paths start from."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One of the experiments compared.

    Attributes:
        label: Short text that distinguishes it from the other cells.
        experiment: The experiment.
        settings: Values that replace those of the file.
        source: The file; empty for an experiment made in Python.
        place: Its indices in a sweep's grid, one per parameter.
    """

    label: str
    experiment: Experiment
    settings: tuple[Setting, ...] = ()
    source: str = ""
    place: tuple[int, ...] = ()

    @property
    def command(self) -> str:
        """The command that runs this cell alone."""
        return _command(self.source or "FILE.toml", self.settings)


@dataclass(frozen=True, slots=True)
class FailedCell:
    """A cell that could not be described or run.

    Attributes:
        label: As in `Cell`.
        settings: Values that replace those of the file.
        source: The file.
        error: Why it failed.
        replication: The replication that failed; None where none was started.
        backend: Backend on which it failed; empty if it could not be described.
        place: As in `Cell`.
    """

    label: str
    settings: tuple[Setting, ...]
    source: str
    error: DumbbellError
    replication: int | None = None
    backend: str = ""
    place: tuple[int, ...] = ()

    @property
    def command(self) -> str:
        """The command that reproduces the failure."""
        again = _command(self.source or "FILE.toml", self.settings)
        if self.backend:
            again += f" --backend {self.backend}"
        if self.replication is not None:
            again += f" --replication {self.replication}"
        return again


def _command(file: str, settings: Sequence[Setting]) -> str:
    import shlex

    parts = [part for each in settings for part in ("--set", str(each))]
    return shlex.join(["dumbbell", "run", file, *parts])


def cells_of(
    files: Sequence[Path | Document],
    settings: Sequence[Setting],
    *,
    allow_programs: bool = False,
) -> tuple[list[Cell], list[FailedCell]]:
    """The cells of some files, crossed with the settings that are given several values.

    Args:
        files: Experiments in TOML: paths, or documents that were read before.
        settings: A path given once applies to every cell. A path given several times makes one cell
            for each value; several such paths are crossed, the last one fastest.
        allow_programs: See `Experiment.from_toml`.

    Returns:
        The cells that can be run, and those that are not allowed.

    Raises:
        SpecError: A file cannot be read, two cells are the same, or none is allowed.
    """
    values: dict[str, list[Setting]] = {}
    for setting in settings:
        values.setdefault(setting.path, []).append(setting)
    varied = [path for path, each in values.items() if len(each) > 1]
    documents = [(each, *load(each)) if isinstance(each, Path) else each for each in files]
    names = _names_of_files([file for file, _, _ in documents])
    cells: list[Cell] = []
    failed: list[FailedCell] = []
    labels: Counter[str] = Counter()
    for (file, document, folder), chosen in _crossed(documents, values):
        told = [each.shown_value for each in chosen if each.path in varied]
        own_name = [names[file]] if len(files) > 1 or not told else []
        label = ": ".join([*own_name, ", ".join(told)] if told else own_name)
        labels[label] += 1
        if labels[label] > 1:
            raise SpecError("--set", label, "values and files that differ from each other")
        try:
            described = separate_settings_applied(parted(document)[0], chosen)
            experiment = Experiment.read(described, context(folder, allow_programs))
        except SpecError as error:
            failed.append(FailedCell(label, chosen, str(file), error))
        else:
            cells.append(Cell(label, experiment, chosen, str(file)))
    if not cells:
        raise failed[0].error
    return cells, failed


def _crossed(
    documents: Sequence[Document], values: dict[str, list[Setting]]
) -> Iterator[tuple[Document, tuple[Setting, ...]]]:
    for document in documents:
        for chosen in itertools.product(*values.values()):
            yield document, chosen


def _names_of_files(files: Sequence[Path]) -> dict[Path, str]:
    """A name for each file: its stem, or its path where stems are equal."""
    stems = Counter(file.stem for file in files)
    return {file: printable(file.stem if stems[file.stem] == 1 else str(file)) for file in files}

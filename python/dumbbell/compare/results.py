"""Query a store: list, filter and pivot results, or load them as a frame."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.compare.executing.kept import summary_from
from dumbbell.compare.judging import Measured, measured
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.store import CellName, ListedRun, Store, is_value, run_id_of

if TYPE_CHECKING:
    import polars as pl

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of results.

    Attributes:
        experiment: Name of the experiment; empty for all.
        where: Required values of settings, as text, by path.
        backend: Backend; empty for any.
    """

    experiment: str = ""
    where: tuple[tuple[str, str], ...] = ()
    backend: str = ""

    def has(self, each: ListedRun) -> bool:
        """Whether a run is selected."""
        by_path = each.cell.by_path
        return (
            self.experiment in ("", each.cell.experiment)
            and self.backend in ("", each.backend)
            and all(by_path.get(path) == value for path, value in self.where)
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that differ only in their replication.

    Attributes:
        cell: The cell.
        backend: The backend.
        version: Version of dumbbell, with the beginning of the code's hash.
        replications: Number of replications.
        first_unix_s: When the first one finished.
        last_unix_s: When the last one finished.
    """

    cell: CellName
    backend: str
    version: str
    replications: int
    first_unix_s: int
    last_unix_s: int


@dataclass(frozen=True, slots=True)
class PivotRow:
    """A quantity for one combination of values.

    Attributes:
        values: Values of the requested settings; empty where the file's own value is used.
        backend: The backend.
        is_ensemble: Whether the runs are members of an ensemble.
        measured: The mean with its interval, or the range of an ensemble.
    """

    values: tuple[str, ...]
    backend: str
    is_ensemble: bool
    measured: Measured


def moment(unix_s: int) -> datetime.datetime | None:
    """The time in UTC; None if it is not a valid date (wrong clock)."""
    try:
        return datetime.datetime.fromtimestamp(unix_s, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def version_words(version: str) -> str:
    """``0.4.0 (1a2b3c4)``."""
    try:
        said = json.loads(version)
        return f"{said['dumbbell']} ({str(said['code_sha256'])[:7]})"
    except (ValueError, KeyError, TypeError):
        return version[:40]


def selected(store: Store, selection: Selection) -> list[ListedRun]:
    """The selected runs.

    Raises:
        SpecError: No run is selected, although the store has others.
        StoreError: The store cannot be read.
    """
    with store.reader() as reader:
        there = [*reader.listed()]
    found = [each for each in there if selection.has(each)]
    if there and not found:
        _refuse(there, selection)
    return found


def grouped(runs: Iterable[ListedRun]) -> list[Group]:
    """Group runs and count replications, in order."""
    groups: dict[tuple[CellName, str, str], list[ListedRun]] = {}
    for each in runs:
        groups.setdefault((each.cell, each.backend, each.version), []).append(each)
    return [
        Group(
            cell,
            backend,
            version_words(version),
            len(members),
            min(each.finished_unix_s for each in members),
            max(each.finished_unix_s for each in members),
        )
        for (cell, backend, version), members in groups.items()
    ]


def of_latest_version(runs: Sequence[ListedRun]) -> list[ListedRun]:
    """Runs of the latest version on each backend; other versions may have other numbers."""
    latest: dict[str, ListedRun] = {}
    for each in runs:
        before = latest.setdefault(each.backend, each)
        if each.finished_unix_s > before.finished_unix_s:
            latest[each.backend] = each
    return [each for each in runs if each.version == latest[each.backend].version]


def pivot(
    store: Store, runs: Sequence[ListedRun], quantity: Quantity, by: Sequence[str]
) -> list[PivotRow]:
    """A quantity for each combination of values of some settings.

    Args:
        store: The store with the numbers.
        runs: Runs of one experiment and version that differ only in these settings.
        quantity: The quantity.
        by: Paths of the settings.

    Raises:
        SpecError: Runs differ in another setting too, or none has the quantity or a setting.
    """
    _check_pivot(runs, by)
    values: dict[tuple[tuple[str, ...], str, bool], list[float]] = {}
    known: set[str] = set()
    with store.reader() as reader:
        for each in runs:
            numbers = reader.numbers(each.key)
            if numbers is None or is_value(numbers):
                continue
            summary = summary_from(numbers)
            if quantity not in summary.values:
                known.update(other.path for other in summary.quantities)
                continue
            where = tuple(each.cell.by_path.get(path, "") for path in by)
            place = where, each.backend, each.cell.is_ensemble
            values.setdefault(place, []).append(summary.values[quantity])
    if not values:
        allowed = "a flow, queue or probe of these runs by its name"
        raise SpecError("quantity", quantity.path, allowed, nearest(quantity.path, sorted(known)))
    return [
        PivotRow(
            where,
            backend,
            is_ensemble,
            measured(
                np.array(found),
                quantity.measure.scale,
                possible=quantity.measure.possible,
                is_ensemble=is_ensemble,
            ),
        )
        for (where, backend, is_ensemble), found in sorted(values.items(), key=_by_size)
    ]


def frame(store: Store, runs: Sequence[ListedRun]) -> pl.DataFrame:
    """One row per run: experiment, cell, settings by path, numbers by path.

    Runs of studies have no summaries and are left out. Null where a run has no such setting or
    number, or no date; NaN where a number is not defined.
    """
    import polars as pl

    shapes: dict[int, tuple[Summary, list[ListedRun], list[np.ndarray]]] = {}
    with store.reader() as reader:
        for each in runs:
            numbers = reader.numbers(each.key)
            if numbers is not None and not is_value(numbers):
                summary = summary_from(numbers)
                shape = shapes.setdefault(id(summary.quantities), (summary, [], []))
                shape[1].append(each)
                shape[2].append(summary.numbers)
    paths = list(dict.fromkeys(path for each in runs for path in each.cell.by_path))
    frames = []
    for summary, members, rows in shapes.values():
        matrix = np.stack(rows)
        names = [each.path for each in summary.quantities]
        frames.append(
            pl.DataFrame(
                _described(members, paths)
                | {name: matrix[:, place] for place, name in enumerate(names)}
            )
        )
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


def _described(runs: Sequence[ListedRun], paths: Sequence[str]) -> dict[str, pl.Series]:
    import polars as pl

    finished = [moment(each.finished_unix_s) for each in runs]
    return {
        "run_id": pl.Series([run_id_of(each.key) for each in runs]),
        "experiment": pl.Series([each.cell.experiment for each in runs]),
        "backend": pl.Series([each.backend for each in runs]),
        "replication": pl.Series([each.replication for each in runs], dtype=pl.UInt64),
        "is_ensemble": pl.Series([each.cell.is_ensemble for each in runs]),
        "version": pl.Series([version_words(each.version) for each in runs]),
        "finished": pl.Series(finished, dtype=pl.Datetime("us", "UTC")),
        **{
            path: pl.Series([each.cell.by_path.get(path) for each in runs], dtype=pl.String)
            for path in paths
        },
    }


def _by_size(
    item: tuple[tuple[tuple[str, ...], str, bool], object],
) -> tuple[list[tuple[str, float]], str, bool]:
    """Sort key: numbers by value, unit by unit."""
    (values, backend, is_ensemble), _ = item
    sizes = []
    for value in values:
        number = _NUMBER.match(value)
        sizes.append((value[number.end() :], float(number[0])) if number else (value, 0.0))
    return sizes, backend, is_ensemble


def _check_pivot(runs: Sequence[ListedRun], by: Sequence[str]) -> None:
    names = sorted({each.cell.experiment for each in runs})
    if len(names) > 1:
        raise SpecError("--name", ", ".join(names), "one experiment: --name NAME")
    settings = _settings(runs)
    for path in by:
        if path not in settings:
            allowed = one_of(sorted(settings)) if settings else "a setting; these runs have none"
            raise SpecError("--by", path, allowed, nearest(path, sorted(settings)))
    varied = [path for path, values in settings.items() if len(values) > 1 and path not in by]
    if varied:
        allowed = f"also --by '{varied[0]}', or one value of it: --where '{varied[0]}=VALUE'"
        reason = f"the runs differ in {', '.join(varied)} too"
        raise SpecError("--by", ", ".join(by), allowed, reason=reason)


def _settings(runs: Sequence[ListedRun]) -> Mapping[str, set[str | None]]:
    """Values of each setting, by path; None where the file's own value is used."""
    cells = {each.cell for each in runs}
    paths = sorted({path for cell in cells for path in cell.by_path})
    return {path: {cell.by_path.get(path) for cell in cells} for path in paths}


def _refuse(there: Sequence[ListedRun], selection: Selection) -> None:
    names = sorted({each.cell.experiment for each in there})
    if selection.experiment and selection.experiment not in names:
        near = nearest(selection.experiment, names)
        raise SpecError("--name", selection.experiment, one_of(names), near)
    settings = _settings(there)
    for path, value in selection.where:
        if path not in settings:
            allowed = one_of(sorted(settings)) if settings else "a setting; no run has one"
            raise SpecError("--where", path, allowed, nearest(path, sorted(settings)))
        values = sorted(each for each in settings[path] if each is not None)
        if value not in values:
            raise SpecError(f"--where {path}", value, one_of(values), nearest(value, values))
    backends = sorted({each.backend for each in there})
    if selection.backend and selection.backend not in backends:
        raise SpecError("--backend", selection.backend, one_of(backends))
    raise SpecError("--where", dict(selection.where), "values that runs have together")

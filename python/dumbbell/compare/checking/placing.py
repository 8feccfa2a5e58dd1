"""Find or make the cells that claims are about, by the values of their settings.

Two ways of writing the same value (``links[1].qdisc`` and ``links[a->b].qdisc``, ``10mbit`` and
``10000kbit``) refer to the same cell: resolved descriptions are compared, not their text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.compare.cells import Cell, FailedCell
from dumbbell.errors import SpecError
from dumbbell.spec import (
    Experiment,
    Setting,
    other_settings,
    separate_settings_applied,
    settings_applied,
)
from dumbbell.spec.questions import parted
from dumbbell.spec.refusal import joined, nearest

MOST_POINTS = 10_000


class Cells:
    """The cells of a file.

    If there are several (a sweep), a claim's settings select one of them. If there is one, they
    make a variant of it, so that a file with claims needs no sweep.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        folder: Path,
        base: Sequence[Cell],
        failed: Sequence[FailedCell] = (),
        *,
        is_sweep: bool = False,
    ) -> None:
        """Take the cells of a file from `cells_of` or `sweep_of_document`.

        Args:
            document: The parsed file.
            folder: Folder that relative paths start from.
            base: The file's cells.
            failed: Cells that cannot be described.
            is_sweep: Whether the file has a sweep.
        """
        self._folder = folder
        self._document = parted(document)[0]
        self._base = list(base)
        self._failed = list(failed)
        self._is_sweep = is_sweep or len(base) + len(failed) > 1
        self._used: dict[str, Cell] = {}

    @property
    def used(self) -> tuple[Cell, ...]:
        """Cells that claims are about, in the order of the requests."""
        return tuple(self._used.values())

    def at(self, where: Mapping[str, Any], path: str) -> Cell:
        """The cell with these values.

        Args:
            where: Value of each setting, by path.
            path: Path of the table in the file, for errors.

        Raises:
            SpecError: A path or value is not allowed, or not exactly one cell has these values.
        """
        found = [cell for cell in self._base if self._has(cell, where, path)]
        if len(found) == 1:
            (cell,) = found
        elif self._is_sweep:
            raise self._none_or_several(found, where, path)
        else:
            cell = self._made(where, path)
        return self._used.setdefault(cell.experiment.resolved_json(), cell)

    def described(self, cell: Cell, where: Mapping[str, Any], path: str) -> Experiment:
        """A cell's experiment with some values replaced.

        Raises:
            SpecError: One of them is not allowed.
        """
        try:
            document = settings_applied(self._document, cell.settings)
            document = separate_settings_applied(document, _settings(where))
            return Experiment.read(document, {"folder": self._folder})
        except SpecError as error:
            raise _in_claim(error, path) from None

    def otherwise(self, where: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
        """Settings with some values replaced, whose paths may be spelled differently."""
        kept = other_settings(self._document, _settings(where), other)
        return {**{each.path: each.value for each in kept}, **other}

    def _has(self, cell: Cell, where: Mapping[str, Any], path: str) -> bool:
        changed = self.described(cell, where, path)
        return changed.resolved_json() == cell.experiment.resolved_json()

    def _made(self, where: Mapping[str, Any], path: str) -> Cell:
        (base,) = self._base
        settings = _settings(where)
        experiment = self.described(base, where, path)
        # So that the command printed for it runs this one cell.
        kept = other_settings(self._document, base.settings, where)
        try:
            separate_settings_applied(self._document, (*kept, *settings))
        except SpecError as error:
            raise _in_claim(error, path) from None
        label = ", ".join(each.shown_value for each in settings)
        if any(each.label == label for each in self._used.values()):
            label = ", ".join(map(str, settings))
        made = Cell(label, experiment, (*kept, *settings), base.source)
        return self._used.get(experiment.resolved_json(), made)

    def _none_or_several(
        self, found: Sequence[Cell], where: Mapping[str, Any], path: str
    ) -> SpecError:
        value = str(dict(where)) if where else "nothing"
        varied = _varied(self._base)
        if found:
            told = {each: values for each, values in _varied(found).items() if len(values) > 1}
            allowed = f"values that leave one cell of {len(found)}, also of {_listed(told)}"
            return SpecError(path, value, allowed)
        given = [str(each) for each in where.values()]
        words = [each for values in varied.values() for each in values]
        close = next((word for each in given if (word := nearest(each, words))), None)
        return SpecError(path, value, f"values of a cell of the sweep: {_listed(varied)}", close)


def _settings(where: Mapping[str, Any]) -> tuple[Setting, ...]:
    return tuple(Setting(path, value) for path, value in where.items())


def _in_claim(error: SpecError, path: str) -> SpecError:
    where = f"{path}: {error.path}" if error.path else path
    return SpecError(where, error.value, error.allowed, error.hint, error.reason)


def points_of(where: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The points of a grid: lists of values are crossed, the last one fastest; one point without
    lists.
    """
    choices = [value if isinstance(value, list) else [value] for value in where.values()]
    return [dict(zip(where, chosen, strict=True)) for chosen in itertools.product(*choices)]


def varied_in(where: Mapping[str, Any]) -> list[str]:
    """Paths with several values."""
    return [path for path, value in where.items() if isinstance(value, list) and len(value) > 1]


def first_difference(ours: Any, other: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """First difference between two resolved descriptions; None if they are equal."""
    if isinstance(ours, Mapping) and isinstance(other, Mapping):
        keys: Iterator[Any] = iter(dict.fromkeys([*ours, *other]))
        steps = ((joined(path, str(key)), ours.get(key), other.get(key)) for key in keys)
    elif isinstance(ours, list) and isinstance(other, list) and len(ours) == len(other):
        pairs = enumerate(zip(ours, other, strict=True))
        steps = ((joined(path, f"[{place}]"), a, b) for place, (a, b) in pairs)
    else:
        return None if ours == other else (path, ours, other)
    for step, a, b in steps:
        found = first_difference(a, b, step)
        if found is not None:
            return found
    return None


def _varied(cells: Sequence[Cell]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for cell in cells:
        for setting in cell.settings:
            values = found.setdefault(setting.path, [])
            if setting.shown_value not in values:
                values.append(setting.shown_value)
    return found


def _listed(varied: Mapping[str, Sequence[str]]) -> str:
    told = [f"{path} ({', '.join(values[:8])})" for path, values in varied.items()]
    return "; ".join(told[:8]) or "what differs"

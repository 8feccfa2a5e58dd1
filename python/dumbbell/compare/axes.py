"""The parameters (axes) of a sweep, their values, and the place of each cell in the grid."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.compare.quantity import Quantity
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of, shown

if TYPE_CHECKING:
    from dumbbell.compare.sweep_spelling import Spelling

BACKEND = "backend"
"""Name of the axis that distinguishes backends in figures."""

_LAST_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_IN_BRACKETS = re.compile(r"\[([^\]]+)\]")

Coordinate = float | str
"""A number in the axis's unit, or a word."""


@dataclass(frozen=True)
class Axis:
    """A parameter and its values.

    Attributes:
        path: The parameter's path, as in a setting.
        values: The values that are set, in order.
        coordinates: Position of each value on the axis; as many as `values`.
        name: Name in tables and figures.
        unit: Unit of the coordinates; empty for words and plain numbers.
        is_log: Whether a logarithmic axis suits the values.
    """

    path: str
    values: tuple[Any, ...]
    coordinates: tuple[Coordinate, ...]
    name: str
    unit: str = ""
    is_log: bool = False

    @classmethod
    def of(
        cls, path: str, given: Sequence[Any], *, text: str = "", name: str = "", unit: str = ""
    ) -> Axis:
        """An axis from values as a file gives them.

        Args:
            path: The parameter's path.
            given: Values; times, rates and sizes as text with their units.
            text: Template of the value that is set, with ``{}`` for the given value; empty for the
                value itself.
            name: Name of the axis; empty for the last key of the path.
            unit: Unit of plain numbers.
        """
        values = tuple(text.replace("{}", shown(each)) if text else each for each in given)
        coordinates, found_unit = _coordinates(given)
        return cls(
            path,
            values,
            coordinates,
            name or _name_of(path),
            found_unit or (unit if _are_numbers(coordinates) else ""),
            _are_far_apart(coordinates),
        )

    @property
    def is_numeric(self) -> bool:
        """Whether its coordinates are numbers."""
        return _are_numbers(self.coordinates)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A short label for each value, without the unit."""
        return tuple(
            f"{each:.6g}" if isinstance(each, float) else each for each in self.coordinates
        )

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def label(self, place: int) -> str:
        """A value with its unit, as in ``100 packets``."""
        return f"{self.labels[place]} {self.unit}".rstrip()


@dataclass(frozen=True)
class Grid:
    """The layout of a sweep's cells.

    Attributes:
        axes: The parameters; a cell's `place` has one index per axis, into its values.
        dimensions: Indices of the axes that vary together, by dimension; dimensions are crossed,
            the last one fastest.
        along: Index of the axis along which cells are compared with its first value.
        quantities: Quantities shown in tables, in order; empty for the default.
        spelling: Resolves other spellings of parameters and values, where the file is known.
    """

    axes: tuple[Axis, ...]
    dimensions: tuple[tuple[int, ...], ...]
    along: int = 0
    quantities: tuple[Quantity, ...] = ()
    spelling: Spelling | None = field(default=None, repr=False, compare=False)
    _names: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Both names of each axis."""
        names = {each.name: number for number, each in enumerate(self.axes)}
        names.update({each.path: number for number, each in enumerate(self.axes)})
        object.__setattr__(self, "_names", names)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return math.prod(len(self.axes[dimension[0]].values) for dimension in self.dimensions)

    def places(self) -> Iterator[tuple[int, ...]]:
        """The place of each cell, in order."""
        sizes = [len(self.axes[dimension[0]].values) for dimension in self.dimensions]
        for number in range(self.n_cells):
            place, rest = [0] * len(self.axes), number
            for dimension, size in zip(self.dimensions[::-1], sizes[::-1], strict=True):
                rest, index = divmod(rest, size)
                for axis in dimension:
                    place[axis] = index
            yield tuple(place)

    def base_of(self, place: Sequence[int]) -> tuple[int, ...]:
        """The place that a cell is compared with; its own if it is itself a base."""
        together = next((each for each in self.dimensions if self.along in each), ())
        return tuple(0 if axis in together else index for axis, index in enumerate(place))

    def coordinates(self, place: Sequence[int]) -> dict[str, Coordinate]:
        """Coordinate of each parameter, by path."""
        return {
            axis.path: axis.coordinates[index] for axis, index in zip(self.axes, place, strict=True)
        }

    def label(self, place: Sequence[int]) -> str:
        """The cell's values in a short label."""
        return ", ".join(axis.label(index) for axis, index in zip(self.axes, place, strict=True))

    def number(
        self, name: str, where: str, spelled: Callable[[str], str] = lambda path: path
    ) -> int:
        """Index of the axis that a name or path refers to.

        Args:
            name: Name or path as typed.
            where: Place to report in an error.
            spelled: Converts another spelling of a path to the axes' own.

        Raises:
            SpecError: There is no such axis.
        """
        for each in (name, spelled(name)):
            if each in self._names:
                return self._names[each]
        known = [each.name for each in self.axes] + [each.path for each in self.axes]
        allowed = f"a parameter of the sweep: {one_of(list(dict.fromkeys(known)))}"
        raise SpecError(where, name, allowed, nearest(name, known))


def with_unique_names(axes: Sequence[Axis]) -> list[Axis]:
    """The same axes with unique names: duplicates are extended by their place in the path."""
    from dataclasses import replace

    names = [each.name for each in axes]
    return [
        replace(each, name=_long_name_of(each.path)) if names.count(each.name) > 1 else each
        for each in axes
    ]


def _name_of(path: str) -> str:
    keys = _LAST_KEY.findall(_IN_BRACKETS.sub("", path))
    return keys[-1].replace("_", " ") if keys else path


def _long_name_of(path: str) -> str:
    """``isp->router: forward qdisc``."""
    where = ", ".join(_IN_BRACKETS.findall(path))
    keys = " ".join(_LAST_KEY.findall(_IN_BRACKETS.sub("", path))[1:] or [path])
    return f"{where}: {keys.replace('_', ' ')}" if where else path


def _are_numbers(coordinates: Sequence[Coordinate]) -> bool:
    return all(isinstance(each, float) for each in coordinates)


def _are_far_apart(coordinates: Sequence[Coordinate]) -> bool:
    """Whether there are at least three positive values over a factor of ten, unequally spaced."""
    numbers = [each for each in coordinates if isinstance(each, float)]
    if len(numbers) < max(3, len(coordinates)) or min(numbers) <= 0:
        return False
    low, *_, high = ordered = sorted(numbers)
    middle = ordered[len(ordered) // 2]
    return high >= 10 * low and middle - low < (high - low) / 2.2


_NUMBERS: Sequence[tuple[re.Pattern[str], Callable[[str], float], Sequence[tuple[str, float]]]] = (
    (
        re.compile(r"(ns|us|usecs?|ms|msecs?|s|secs?)$"),
        units.parse_time_ns,
        (("s", 1e9), ("ms", 1e6), ("µs", 1e3)),
    ),
    (
        re.compile(r"pps$"),
        units.parse_packet_rate_pps,
        (("packets/s", 1.0),),
    ),
    (
        re.compile(r"(bit|bps)$", re.IGNORECASE),
        units.parse_rate_bps,
        (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)),
    ),
    (
        re.compile(r"(b|k|m|g)$", re.IGNORECASE),
        units.parse_size_bytes,
        (("bytes", 1.0),),
    ),
)
"""For each kind of value: pattern of its unit, parser, and units from largest to smallest."""


def _coordinates(given: Sequence[Any]) -> tuple[tuple[Coordinate, ...], str]:
    """Numbers if all values are numbers or quantities of one kind; otherwise words."""
    if all(isinstance(each, int | float) and not isinstance(each, bool) for each in given):
        return tuple(float(each) for each in given), ""
    if all(isinstance(each, str) for each in given):
        for ends, read, in_units in _NUMBERS:
            if all(ends.search(each.strip()) and each.strip()[0].isdigit() for each in given):
                try:
                    numbers = [float(read(each)) for each in given]
                except ValueError:
                    continue
                least = min((abs(each) for each in numbers if each), default=0.0)
                fitting = [each for each in in_units if each[1] <= least]
                unit, size = fitting[0] if fitting else in_units[-1]
                return tuple(each / size for each in numbers), unit
    return tuple(shown(each) for each in given), ""

"""The parameters of a sweep, their values, and where in it a cell stands."""

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
"""What a figure calls the axis that every sweep on several backends has."""

_LAST_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_IN_BRACKETS = re.compile(r"\[([^\]]+)\]")

Coordinate = float | str
"""A number in the unit of its axis, or a word."""


@dataclass(frozen=True)
class Axis:
    """A parameter and its values.

    Attributes:
        path: As a setting names it.
        values: What is set, in order.
        coordinates: As many: where on the axis each value stands.
        name: What tables and figures call it.
        unit: Of the coordinates; empty for words and plain numbers.
        is_log: Whether an axis with equal ratios shows it better.
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
            path: Of the parameter.
            given: Values; times, rates and sizes as text with their units.
            text: What is set, with ``{}`` for the value; empty for the value itself.
            name: What to call it; empty for the last key of the path.
            unit: Of plain numbers.
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
        """Each value in a few words, without the unit."""
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
    """How the cells of a sweep lie.

    Attributes:
        axes: The parameters; a cell's `place` has one number for each, into its values.
        dimensions: Numbers of the axes whose values go together, dimension after dimension;
            dimensions are crossed, the last one fastest.
        along: Number of the axis along which cells are compared with its first value.
        quantities: What tables show, in order; empty where nobody said.
        spelling: Of parameters and values, where the file is known.
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
        """How many cells there are."""
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
        """The place that a cell is compared with; its own where it has nothing to be compared."""
        together = next((each for each in self.dimensions if self.along in each), ())
        return tuple(0 if axis in together else index for axis, index in enumerate(place))

    def coordinates(self, place: Sequence[int]) -> dict[str, Coordinate]:
        """Path to coordinate."""
        return {
            axis.path: axis.coordinates[index] for axis, index in zip(self.axes, place, strict=True)
        }

    def label(self, place: Sequence[int]) -> str:
        """Its values in a few words."""
        return ", ".join(axis.label(index) for axis, index in zip(self.axes, place, strict=True))

    def number(
        self, name: str, where: str, spelled: Callable[[str], str] = lambda path: path
    ) -> int:
        """Which axis a name or path means.

        Args:
            name: What somebody wrote.
            where: For the error.
            spelled: Gives a path as the axes have it, of one that leads to the same place.

        Raises:
            SpecError: There is none.
        """
        for each in (name, spelled(name)):
            if each in self._names:
                return self._names[each]
        known = [each.name for each in self.axes] + [each.path for each in self.axes]
        allowed = f"a parameter of the sweep: {one_of(list(dict.fromkeys(known)))}"
        raise SpecError(where, name, allowed, nearest(name, known))


def told_apart(axes: Sequence[Axis]) -> list[Axis]:
    """The same with names that differ: of equal ones each gets its place in the path."""
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
    """At least three values above 0 that reach over a factor of ten, and not at equal distances."""
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
"""What the end of a text looks like, what reads it, and units from the largest to the smallest."""


def _coordinates(given: Sequence[Any]) -> tuple[tuple[Coordinate, ...], str]:
    """Numbers where all values are numbers, or quantities of one kind; else words."""
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

"""Which parameter and value of a sweep somebody means, however they spell it.

As in claims and with ``--set``, what a path leads to and what a value sets are compared, not texts:
``links[1].rate`` and ``links[a->b].rate``, ``10mbit`` and ``10000kbit``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dumbbell.compare.axes import Axis
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Setting, spelling_of


@dataclass(frozen=True)
class Spelling:
    """Paths and values as the sweep itself has them.

    Attributes:
        described: The description, as the file gives it.
        paths: Of all parameters.
        read: Gives the experiment of a cell with these settings.
    """

    described: Mapping[str, Any]
    paths: Iterable[str]
    read: Callable[[Sequence[Setting]], Experiment]

    def path(self, parameter: str) -> str:
        """The path that leads where ``parameter`` leads; what leads nowhere, as it is."""
        return spelling_of(self.described, parameter, self.paths)

    def numbers(self, axis: Axis, value: Any, chosen: Sequence[Setting]) -> list[int]:
        """Which values of an axis set what ``value`` sets.

        Args:
            axis: Of the parameter.
            value: As somebody wrote it.
            chosen: What a cell sets, in which the values are put.
        """

        def resolved(each: Any) -> str | None:
            """What the cell is with the value; None where that is not allowed."""
            others = [
                replace(setting, value=each) if setting.path == axis.path else setting
                for setting in chosen
            ]
            try:
                return self.read(others).resolved_json()
            except SpecError:
                return None

        wanted = resolved(value)
        if wanted is None:
            return []
        return [number for number, each in enumerate(axis.values) if resolved(each) == wanted]

"""Resolve other spellings of a sweep's parameters and values.

As in claims and with ``--set``, paths and values are compared by their effect, not by their text:
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
    """Maps paths and values to the sweep's own.

    Attributes:
        described: The description, as the file gives it.
        paths: Paths of all parameters.
        read: Makes the experiment of a cell from its settings.
    """

    described: Mapping[str, Any]
    paths: Iterable[str]
    read: Callable[[Sequence[Setting]], Experiment]

    def path(self, parameter: str) -> str:
        """The sweep's path for the same parameter; an unknown path is returned unchanged."""
        return spelling_of(self.described, parameter, self.paths)

    def numbers(self, axis: Axis, value: Any, chosen: Sequence[Setting]) -> list[int]:
        """Indices of the axis values that have the same effect as ``value``.

        Args:
            axis: The parameter's axis.
            value: The value as typed.
            chosen: A cell's settings, in which the values are tried.
        """

        def resolved(each: Any) -> str | None:
            """The resolved cell with the value; None if it is not allowed."""
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

"""The rows of CCPerf's tables by name: definition, unit, and which value is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from dumbbell.metrics.registry import METRICS, metric

Of = Literal["flow", "link", "network"]
Better = Literal["greater", "less", ""]
Layer = Literal["application", "transport", "network", "queue", "wire"]
_Function = TypeVar("_Function", bound=Callable[..., float])

SECTIONS: Mapping[Of, str] = {
    "flow": "Flows over TCP",
    "link": "Links under TCP",
    "network": "Networks under TCP",
}
"""Headings on the page of metrics."""

_LAYERS: Mapping[str, Layer] = {
    "l7": "application",
    "l4": "transport",
    "l3": "network",
    "l2": "queue",
    "l1": "wire",
}
"""Suffixes of CCPerf's names."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        name: Name of the row and of the function that computes it.
        unit: Unit of the value.
        of: The columns of the table: flows, links, or the network.
        layer: Layer at which it is measured.
        better: Which value is best; empty if that depends.
        is_published: Whether CCPerf's tables have it.
        bounds: Least and greatest possible value.
        function: Computes the value from a run (and a flow or a queue).
    """

    name: str
    unit: str
    of: Of
    layer: Layer
    better: Better
    is_published: bool
    bounds: tuple[float, float]
    function: Callable[..., float]

    @property
    def definition(self) -> str:
        """The docstring."""
        return METRICS[self.name].definition


ROWS: dict[str, Row] = {}
"""Every row, in the order of the tables."""


NOT_NEGATIVE = (0.0, math.inf)
FRACTION = (0.0, 1.0)
ANY_NUMBER = (-math.inf, math.inf)
"""Bounds of rows: least and greatest possible value."""


def row(
    unit: str,
    of: Of,
    better: Better = "",
    *,
    is_published: bool = False,
    bounds: tuple[float, float] = NOT_NEGATIVE,
) -> Callable[[_Function], _Function]:
    """Register a function as a row, and as a metric.

    Args:
        unit: Unit of the returned value.
        of: Table of the row.
        better: Which value is best.
        is_published: Whether CCPerf's tables have it.
        bounds: Least and greatest possible value.
    """

    def register(function: _Function) -> _Function:
        name = function.__name__
        layer = _LAYERS[name.rpartition("_")[2]]
        ROWS[name] = Row(name, unit, of, layer, better, is_published, bounds, function)
        return metric(unit, SECTIONS[of])(function)

    return register

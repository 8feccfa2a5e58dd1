"""Reduce runs to numbers, and compare settings by them.

A run is reduced to a `Summary` by `summary_of`: it defines which numbers describe a run, each a
`Quantity` with a path (``flow[bulk].goodput_bps``). `compare` runs replications of `Cell`s
(experiments that differ in a file or in settings) and returns a `Comparison`: plain data; printing
and drawing are done elsewhere.

Names are imported on first use, so that a single run does not load the statistics.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.compare.axes import Axis, Grid
    from dumbbell.compare.cells import Cell, FailedCell, cells_of
    from dumbbell.compare.comparison import Comparison, compare
    from dumbbell.compare.ensemble import Ensemble, ensemble_for
    from dumbbell.compare.judging import (
        BackendAgreement,
        Basis,
        Difference,
        Measured,
        Outcome,
    )
    from dumbbell.compare.measures import MEASURES, Measure, MeasureSubject, Scale, measures_of
    from dumbbell.compare.quantity import Quantity
    from dumbbell.compare.replicating import Arm, Replicates
    from dumbbell.compare.rows import shown_rows
    from dumbbell.compare.summary import Summary, equal_flows, summary_of
    from dumbbell.compare.sweeps import Sweep, sweep_of
    from dumbbell.compare.words import sentences

_MODULE_OF = {
    "Arm": "replicating",
    "Axis": "axes",
    "BackendAgreement": "judging",
    "Basis": "judging",
    "Cell": "cells",
    "Comparison": "comparison",
    "Difference": "judging",
    "Ensemble": "ensemble",
    "FailedCell": "cells",
    "Grid": "axes",
    "MEASURES": "measures",
    "Measure": "measures",
    "Measured": "judging",
    "MeasureSubject": "measures",
    "Outcome": "judging",
    "Quantity": "quantity",
    "Replicates": "replicating",
    "Scale": "measures",
    "Summary": "summary",
    "Sweep": "sweeps",
    "cells_of": "cells",
    "compare": "comparison",
    "ensemble_for": "ensemble",
    "equal_flows": "summary",
    "measures_of": "measures",
    "sentences": "words",
    "shown_rows": "rows",
    "summary_of": "summary",
    "sweep_of": "sweeps",
}

__all__ = [
    "MEASURES",
    "Arm",
    "Axis",
    "BackendAgreement",
    "Basis",
    "Cell",
    "Comparison",
    "Difference",
    "Ensemble",
    "FailedCell",
    "Grid",
    "Measure",
    "MeasureSubject",
    "Measured",
    "Outcome",
    "Quantity",
    "Replicates",
    "Scale",
    "Summary",
    "Sweep",
    "cells_of",
    "compare",
    "ensemble_for",
    "equal_flows",
    "measures_of",
    "sentences",
    "shown_rows",
    "summary_of",
    "sweep_of",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name in _MODULE_OF:
        return getattr(import_module(f"dumbbell.compare.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

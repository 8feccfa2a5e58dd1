"""Runs reduced to numbers, and settings compared by them.

A run is reduced to a `Summary` by `summary_of`: one definition of which numbers are said of a run,
each a `Quantity` with a path (``flow[bulk].goodput_bps``).
"""

from dumbbell.compare.measures import MEASURES, Measure, Of, Scale, measures_of
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary, equal_flows, summary_of

__all__ = [
    "MEASURES",
    "Measure",
    "Of",
    "Quantity",
    "Scale",
    "Summary",
    "equal_flows",
    "measures_of",
    "summary_of",
]

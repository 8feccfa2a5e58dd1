"""Which unpublished setting, or which two together, give all numbers that a source prints?

`search_of` reads what is printed and what is unknown, `explain` runs the trials and fits each to
all printed numbers jointly, `words` says what follows.
"""

from dumbbell.compare.explaining.fitting import (
    Explanation,
    Fit,
    OneNumber,
    cells_of_trials,
    explain,
)
from dumbbell.compare.explaining.searching import Pairs, Search, Trial, search_of

__all__ = [
    "Explanation",
    "Fit",
    "OneNumber",
    "Pairs",
    "Search",
    "Trial",
    "cells_of_trials",
    "explain",
    "search_of",
]

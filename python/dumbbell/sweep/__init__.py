"""Orchestration of runs: replications until precise enough, and grids of parameters."""

from dumbbell.sweep.grids import GridPoint, grid, replicate_grid
from dumbbell.sweep.interrupted import Interrupted
from dumbbell.sweep.progress import Progress, ProgressCallback
from dumbbell.sweep.replications import Replications, replicate

__all__ = [
    "GridPoint",
    "Interrupted",
    "Progress",
    "ProgressCallback",
    "Replications",
    "grid",
    "replicate",
    "replicate_grid",
]

"""Orchestration of runs: replications of several arms until they are precise enough."""

from dumbbell.sweep.campaign import ReplicateOptions, replicate, replicate_groups
from dumbbell.sweep.interrupted import Interrupted
from dumbbell.sweep.progress import Progress, ProgressCallback
from dumbbell.sweep.replications import Quantity, Replications

__all__ = [
    "Interrupted",
    "Progress",
    "ProgressCallback",
    "Quantity",
    "ReplicateOptions",
    "Replications",
    "replicate",
    "replicate_groups",
]

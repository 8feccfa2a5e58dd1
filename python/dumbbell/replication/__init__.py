"""Orchestration of runs: replications of several arms until they are precise enough."""

from dumbbell.replication.campaign import ReplicateOptions, replicate, replicate_groups
from dumbbell.replication.interrupted import Interrupted
from dumbbell.replication.progress import Progress, ProgressCallback
from dumbbell.replication.replications import Quantity, Replications

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

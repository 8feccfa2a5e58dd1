"""Orchestration of runs: replications of several arms until they are precise enough.

Importing only the progress types does not load the statistics.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.replication.campaign import ReplicateOptions, replicate, replicate_groups
    from dumbbell.replication.interrupted import Interrupted
    from dumbbell.replication.progress import Progress, ProgressCallback
    from dumbbell.replication.replications import Quantity, Replications

_MODULES = {
    "Interrupted": "interrupted",
    "Progress": "progress",
    "ProgressCallback": "progress",
    "Quantity": "replications",
    "ReplicateOptions": "campaign",
    "Replications": "replications",
    "replicate": "campaign",
    "replicate_groups": "campaign",
}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

"""Backends: one description runs on any of them and gives the same tables.

`simulate` runs one replication, `run_many` many side by side. A backend is a file with an object
of the shape of `Backend` and a line in the registry.
"""

from dumbbell._engine import Cancel
from dumbbell.backends.base import Backend, Batch, BatchProgress, Cost, Job, Outcome
from dumbbell.backends.batch import (
    Cancellation,
    Failure,
    Resolvable,
    run_many,
    simulate,
    threads_for,
)
from dumbbell.backends.host import host_provenance, native_module_sha256, package_version
from dumbbell.backends.memory import MemoryLimit
from dumbbell.backends.registry import backend_names, get_backend
from dumbbell.errors import FailureKind

__all__ = [
    "Backend",
    "Batch",
    "BatchProgress",
    "Cancel",
    "Cancellation",
    "Cost",
    "Failure",
    "FailureKind",
    "Job",
    "MemoryLimit",
    "Outcome",
    "Resolvable",
    "backend_names",
    "get_backend",
    "host_provenance",
    "native_module_sha256",
    "package_version",
    "run_many",
    "simulate",
    "threads_for",
]

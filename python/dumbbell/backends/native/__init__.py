"""Congestion controllers in C, compiled once (`building`), and in Python (`python_class`), run in
processes that may die (`isolated`)."""

from dumbbell.backends.native.building import (
    HEADER,
    BuildError,
    BuiltController,
    ParameterFacts,
    built,
    built_class,
    kept,
)
from dumbbell.backends.native.checking import check_controllers, controller_versions, objects_of
from dumbbell.backends.native.linux_source import KernelSource, SourceError, kernel_source

__all__ = [
    "HEADER",
    "BuildError",
    "BuiltController",
    "KernelSource",
    "ParameterFacts",
    "SourceError",
    "built",
    "built_class",
    "check_controllers",
    "controller_versions",
    "kept",
    "kernel_source",
    "objects_of",
]

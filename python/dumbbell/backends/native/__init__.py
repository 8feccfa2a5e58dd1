"""User-supplied congestion controllers in C (`building`) and Python (`python_class`), run in
separate processes (`isolated`).

Names are loaded when first used: few runs have a controller of one's own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.backends.native.building import (
        HEADER,
        BuildError,
        BuiltController,
        ParameterFacts,
        built,
        built_class,
        kept,
    )
    from dumbbell.backends.native.checking import (
        check_controllers,
        controller_versions,
        objects_of,
    )
    from dumbbell.backends.native.linux_source import KernelSource, SourceError, kernel_source

_MODULE_OF = {
    "HEADER": "building",
    "BuildError": "building",
    "BuiltController": "building",
    "KernelSource": "linux_source",
    "ParameterFacts": "building",
    "SourceError": "linux_source",
    "built": "building",
    "built_class": "building",
    "check_controllers": "checking",
    "controller_versions": "checking",
    "kept": "building",
    "kernel_source": "linux_source",
    "objects_of": "checking",
}

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


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dumbbell.backends.native.{_MODULE_OF[name]}"), name)

"""The module of the kernel that reads and writes for flows over TCP (`recipe/traffic`).

Process 1 makes the connections and hands them to the module, so that a packet costs no turn between
the kernel and the process. Flows over UDP, probes and programs stay with the process.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dumbbell.backends.kernel.cache import KernelInfo, require_kernel
from dumbbell.backends.kernel.modules import compiled_module
from dumbbell.backends.kernel.recipe import FOLDER
from dumbbell.backends.native import BuildError
from dumbbell.errors import SpecError
from dumbbell.folders import cache_folder
from dumbbell.spec import Resolved

MODULE: Final = "module"
"""Of the key ``guest``."""

_NAME: Final = "dumbbell_traffic"
_SOURCES: Final = FOLDER / "traffic"


def flows_in_kernel(resolved: Mapping[str, Any]) -> list[str]:
    """Names of the flows for which the module reads and writes; none where it is not asked for."""
    asked = Resolved(resolved)
    if asked.guest != MODULE:
        return []
    return [flow.name for flow in asked.flows if flow.transport == "tcp"]


def traffic_module(resolved: Mapping[str, Any]) -> Path | None:
    """The module for the kernel of a description; None where it is not asked for.

    Raises:
        SpecError: There is nothing for it to do, or it does not compile for that kernel.
        KernelMissingError: The kernel has not been built, or nothing to compile modules with was
            kept.
        OSError: The cache folder cannot be written.
    """
    asked = Resolved(resolved)
    if asked.guest != MODULE:
        return None
    if not flows_in_kernel(resolved):
        raise SpecError("guest", MODULE, "process where no flow goes over TCP")
    try:
        return _built(require_kernel(asked.timer_hz, asked.kernel))
    except BuildError as error:
        allowed = f"process on the kernel {asked.kernel}"
        raise SpecError("guest", MODULE, allowed, reason=str(error)) from None


def traffic_versions(spec: Mapping[str, Any]) -> dict[str, str]:
    """What a result depends on; empty where the module is not asked for."""
    asked = Resolved(spec)
    if asked.guest != MODULE:
        return {}
    return {"traffic_module_sha256": _made_of(require_kernel(asked.timer_hz, asked.kernel))}


# What was found is found again for each run of a sweep.
@functools.lru_cache(maxsize=16)
def _built(kernel: KernelInfo) -> Path:
    place = cache_folder() / "traffic-modules" / f"{_made_of(kernel)}.ko"
    return compiled_module(kernel, _NAME, place, _lay_out)


def _lay_out(folder: Path) -> None:
    shutil.copytree(_SOURCES, folder)
    (folder / "Kbuild").write_text(f"obj-m := {_NAME}.o\n", encoding="utf-8")


def _made_of(kernel: KernelInfo) -> str:
    sources = [file.read_text(encoding="utf-8") for file in sorted(_SOURCES.glob("*.[ch]"))]
    made_of = [kernel.key, kernel.sha256, kernel.compiler, sources]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()

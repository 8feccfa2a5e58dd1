"""The kernel module that reads and writes for flows and probes (`recipe/traffic`).

Process 1 opens the sockets and passes them to the module, so that packets cost no switch between
kernel and process. Programs, those of probes of kind ``irtt`` among them, stay processes.
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
"""Value of the key ``guest``."""

_NAME: Final = "dumbbell_traffic"
_SOURCES: Final = FOLDER / "traffic"
_KBUILD: Final = """\
obj-m := {name}.o
{name}-y := {objects}
ifneq ($(shell grep -s 'unsigned long fs;' $(srctree)/arch/x86/um/asm/processor_64.h),)
ccflags-y += -DSWITCH_SETS_FS
endif
"""


def played_in_kernel(resolved: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of the flows and probes for which the module reads and writes, for ``meta.json``.

    Returns:
        ``flows_in_kernel`` and ``probes_in_kernel``; empty if the module is not used.
    """
    asked = Resolved(resolved)
    if asked.guest != MODULE:
        return {}
    return {
        "flows_in_kernel": [flow.name for flow in asked.flows],
        "probes_in_kernel": [probe.name for probe in asked.probes if probe.kind != "irtt"],
    }


def traffic_module(resolved: Mapping[str, Any]) -> Path | None:
    """The module for a description's kernel; None if it is not used.

    Raises:
        SpecError: It has nothing to do, or it does not compile for that kernel.
        KernelMissingError: The kernel has not been built, or without keeping the tree for compiling
            modules.
        OSError: The cache folder cannot be written.
    """
    asked = Resolved(resolved)
    if asked.guest != MODULE:
        return None
    if not any(played_in_kernel(resolved).values()):
        raise SpecError("guest", MODULE, "process where only programs send")
    try:
        return traffic_module_of(require_kernel(asked.timer_hz, asked.kernel))
    except BuildError as error:
        allowed = f"process on the kernel {asked.kernel}"
        raise SpecError("guest", MODULE, allowed, reason=str(error)) from None


def traffic_module_of(kernel: KernelInfo) -> Path:
    """The module for a kernel, compiled if it is not in the cache: then a run needs no compiler.

    Raises:
        BuildError: It does not compile for that kernel, which some users' trees do not allow.
        KernelMissingError: The kernel was built without keeping the tree for compiling modules.
        OSError: The cache folder cannot be written.
    """
    return _built(kernel)


def traffic_versions(spec: Mapping[str, Any]) -> dict[str, str]:
    """Versions that the result depends on; empty if the module is not used."""
    asked = Resolved(spec)
    if asked.guest != MODULE:
        return {}
    return {"traffic_module_sha256": _made_of(require_kernel(asked.timer_hz, asked.kernel))}


# The result is cached, because each run of a sweep asks again.
@functools.lru_cache(maxsize=16)
def _built(kernel: KernelInfo) -> Path:
    place = cache_folder() / "traffic-modules" / f"{_made_of(kernel)}.ko"
    return compiled_module(kernel, _NAME, place, _lay_out)


def _lay_out(folder: Path) -> None:
    shutil.copytree(_SOURCES, folder)
    objects = " ".join(f"{file.stem}.o" for file in sorted(folder.glob("*.c")))
    (folder / "Kbuild").write_text(_KBUILD.format(name=_NAME, objects=objects), encoding="utf-8")


def _made_of(kernel: KernelInfo) -> str:
    sources = [file.read_text(encoding="utf-8") for file in sorted(_SOURCES.glob("*.[ch]"))]
    made_of = [kernel.key, kernel.sha256, kernel.compiler, _KBUILD, sources]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()

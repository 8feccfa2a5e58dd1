"""The kernel module that reads and writes for flows and probes (`recipe/traffic`).

Process 1 passes it sockets, and schedules of datagrams and transfers, so that packets and short
connections cost no switch between kernel and process. Programs, those of probes of kind ``irtt``
among them, stay processes. It is the default where its packets are those of the process.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dumbbell.backends.kernel.cache import KernelInfo, KernelMissingError, require_kernel
from dumbbell.backends.kernel.modules import compiled_module
from dumbbell.backends.kernel.recipe import FOLDER, version_numbers
from dumbbell.backends.native import BuildError
from dumbbell.errors import SpecError
from dumbbell.folders import cache_folder
from dumbbell.spec import Resolved
from dumbbell.spec.programs import programs_of
from dumbbell.spec.resolved import GuestKind

_EXACT_SINCE: Final = (6, 1)
"""From this version of Linux on the module gives the packets of the process. Before, the kernel's
random numbers also depend on addresses of packets (PRANDOM_ADD_NOISE, include/linux/prandom.h of
5.15), and so on what else has been allocated."""
_NAME: Final = "dumbbell_traffic"
_SOURCES: Final = FOLDER / "traffic"
_KBUILD: Final = """\
obj-m := {name}.o
{name}-y := {objects}
ifneq ($(shell grep -s 'unsigned long fs;' $(srctree)/arch/x86/um/asm/processor_64.h),)
ccflags-y += -DSWITCH_SETS_FS
endif
"""


@dataclass(frozen=True, slots=True)
class Player:
    """What reads and writes for flows and probes in a guest.

    Attributes:
        module: The kernel module; None if process 1 does.
        is_required: Whether the description asks for the module, so that a run without it fails.
        reason: Why process 1 does although the description does not ask for it; otherwise empty.
    """

    module: Path | None
    is_required: bool = False
    reason: str = ""


PROCESS: Final = Player(None)
"""Process 1, as asked for."""


def player_of(resolved: Mapping[str, Any]) -> Player:
    """What reads and writes for a description's flows and probes.

    The module, unless the description asks for the process. Without the key ``guest`` it is also
    the process where the module would not give the same packets (beside programs, and before Linux
    6.1), and where there is no module for the kernel.

    Raises:
        SpecError: The description asks for the module, which has nothing to do or does not compile.
        KernelMissingError: The kernel has not been built; or the description asks for the module
            and no tree was kept for compiling it.
        OSError: The description asks for the module and the cache folder cannot be written.
    """
    asked = Resolved(resolved)
    if asked.guest is GuestKind.PROCESS:
        return PROCESS
    if asked.guest is None:
        return _usual(asked)
    if not any(_played(asked).values()):
        raise SpecError("guest", GuestKind.MODULE, "process where only programs send")
    try:
        module = traffic_module_of(require_kernel(asked.timer_hz, asked.kernel))
    except BuildError as error:
        allowed = f"process on the kernel {asked.kernel}"
        raise SpecError("guest", GuestKind.MODULE, allowed, reason=str(error)) from None
    return Player(module, is_required=True)


def _usual(asked: Resolved) -> Player:
    if programs_of(asked.mapping):
        return Player(None, reason="programs run beside it")
    if any(probe.kind == "irtt" for probe in asked.probes):
        return Player(None, reason="irtt runs beside it, which is a program")
    if not any(_played(asked).values()):
        return Player(None, reason="there are no flows and no probes")
    kernel = require_kernel(asked.timer_hz, asked.kernel)
    if version_numbers(kernel.version) < _EXACT_SINCE:
        reason = f"on Linux {kernel.version} the kernel would draw other random numbers"
        return Player(None, reason=reason)
    return _usual_on(kernel)


# Cached: each run of a sweep asks again, and would compile again what does not compile.
@functools.lru_cache(maxsize=16)
def _usual_on(kernel: KernelInfo) -> Player:
    try:
        return Player(traffic_module_of(kernel))
    except (BuildError, KernelMissingError, OSError) as error:
        return Player(None, reason=f"there is no module for this kernel: {error}")


def description_of_player(
    resolved: Mapping[str, Any], player: Player, refused: str | None
) -> dict[str, Any]:
    """What read and wrote in a run, for ``meta.json``.

    Args:
        resolved: The description.
        player: What was to read and write.
        refused: Why the guest's kernel did not load the module; None if it did, or had none.

    Returns:
        ``guest``; with the module ``flows_in_kernel`` and ``probes_in_kernel``, their names; with
        a process that was not asked for ``guest_reason``.
    """
    if player.module is not None and refused is None:
        return {"guest": GuestKind.MODULE.value, **_played(Resolved(resolved))}
    reason = player.reason if refused is None else f"its kernel did not load the module: {refused}"
    guest = {"guest": GuestKind.PROCESS.value}
    return {**guest, "guest_reason": reason} if reason else guest


def _played(asked: Resolved) -> dict[str, list[str]]:
    return {
        "flows_in_kernel": [flow.name for flow in asked.flows],
        "probes_in_kernel": [probe.name for probe in asked.probes if probe.kind != "irtt"],
    }


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
    if player_of(spec).module is None:
        return {}
    asked = Resolved(spec)
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

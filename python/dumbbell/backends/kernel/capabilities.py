"""What a kernel has that others have not: DualPI2, accurate ECN, Prague.

The kernel is asked (``dumbbell-guest what-is-there``), since names and versions do not tell: trees
of the L4S team have all three at versions of which Linux has none. The answer is kept beside the
kernel.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from dumbbell import _engine
from dumbbell.backends.kernel.cache import KernelInfo, find_kernel
from dumbbell.backends.kernel.folders import RunFolder
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.launch import launch
from dumbbell.errors import RunError
from dumbbell.folders import replaced_file
from dumbbell.spec import Resolved
from dumbbell.spec.tcp import LINUX_CONTROLLERS

_ANSWER = "capabilities.json"
_WORD = "what-is-there"
_WALL_LIMIT_S = 120.0
_MEMORY_MB = 128


class Dualpi2Options(StrEnum):
    """Which options a kernel's ``dualpi2`` has."""

    LINUX = "linux"
    """Those of Linux from 6.17 on."""
    BEFORE_LINUX = "before_linux"
    """Those of the L4S team's kernels before: without ``memlimit`` and ``min_qlen_step``."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a kernel has.

    Attributes:
        controllers: Congestion controllers besides those that every kernel here has.
        accurate_ecn: Whether TCP has accurate ECN (RFC 9768).
        dualpi2: Options of its ``dualpi2``; None if it has none.
    """

    controllers: frozenset[str] = field(default_factory=frozenset)
    accurate_ecn: bool = False
    dualpi2: Dualpi2Options | None = None


USUAL = Capabilities()
"""Of Linux 6.1 and 6.12."""


def capabilities_for(resolved: Mapping[str, Any]) -> Capabilities:
    """What the kernel of a description has; asked only if the description needs more than usual.

    Args:
        resolved: The description.

    Returns:
        `USUAL` if nothing more is needed, or if the kernel has not been built.

    Raises:
        GuestMissingError: The guest has not been built.
        RunError: The kernel did not answer.
    """
    if not _needs_more(resolved):
        return USUAL
    asked = Resolved(resolved)
    kernel = find_kernel(asked.timer_hz, asked.kernel)
    return USUAL if kernel is None else capabilities_of(kernel)


def capabilities_of(kernel: KernelInfo) -> Capabilities:
    """What a kernel in the cache has: asked once by each version of the guest.

    Raises:
        GuestMissingError: The guest has not been built.
        RunError: The kernel did not answer.
    """
    kept = kernel.path.with_name(_ANSWER)
    known = _read(kept)
    if known is not None and known.get("asked_by") == _engine.__version__:
        return _from_answer(known)
    answer = {**_ask(kernel), "asked_by": _engine.__version__}
    with replaced_file(kept) as new:
        new.write_text(json.dumps(answer), encoding="utf-8")
    return _from_answer(answer)


def _needs_more(resolved: Mapping[str, Any]) -> bool:
    tcp = [flow["tcp"] for flow in resolved["flows"] if flow["tcp"]]
    return (
        any(each["ecn"] == "accurate" for each in tcp)
        or any(each["congestion_control"] not in LINUX_CONTROLLERS for each in tcp)
        or any(kind == "dualpi2" for kind in _kinds(resolved["links"]))
    )


def _kinds(value: Any) -> Iterator[str]:
    """Every ``kind`` in a value of JSON."""
    if isinstance(value, dict):
        if isinstance(kind := value.get("kind"), str):
            yield kind
        for each in value.values():
            yield from _kinds(each)
    elif isinstance(value, list):
        for each in value:
            yield from _kinds(each)


def _ask(kernel: KernelInfo) -> dict[str, Any]:
    with RunFolder() as folder:
        path = Path(folder)
        output = path / "answer.json"
        ended = launch(
            kernel.path,
            guest_program(),
            run_dir=path,
            seed=1,
            wall_limit_s=_WALL_LIMIT_S,
            memory_mb=_MEMORY_MB,
            args=[_WORD, str(output)],
        )
        answer = _read(output)
    if not ended.ok or answer is None:
        raise RunError(f"the kernel {kernel.name} did not say what it has: {ended.why()}")
    return answer


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _from_answer(answer: Mapping[str, Any]) -> Capabilities:
    dualpi2 = answer["dualpi2"]
    return Capabilities(
        frozenset(answer["controllers"]) - frozenset(LINUX_CONTROLLERS),
        bool(answer["accurate_ecn"]),
        None if dualpi2 is None else Dualpi2Options(dualpi2),
    )

"""Judge many scripts on the kernel: several per guest, each in a fresh network namespace.

A script that hangs in virtual time is ended inside the guest (`guest/src/packet_scripts.rs`). A
script that hangs or crashes the guest is detected here: no output for some wall time, or a guest
that ends with scripts left. That script fails; the remaining ones run in another guest.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.backends.guard import usable_threads
from dumbbell.backends.kernel.cache import KernelInfo, require_kernel
from dumbbell.backends.kernel.confinement import SYSTEM
from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.launch import launch
from dumbbell.backends.kernel.packetdrill.build import PacketdrillInfo, require_packetdrill
from dumbbell.backends.kernel.packetdrill.reports import Report, ended, report_of, unsupported
from dumbbell.backends.kernel.recipe import VERSIONS

SCRIPTS_A_GUEST = 50
SEED = 1
"""Seed of the kernel's random numbers."""
VIRTUAL_LIMIT_S = 300
"""Virtual time after which a script is ended, s."""
WALL_LIMIT_S = 300.0
"""Wall time without output after which a guest is killed, s; generous, for a busy machine."""

_MEMORY_MB = 1024
"""With less than 0.77 GB the kernel reduces the maximum size of socket buffers (`tcp_init`)."""
_OUTPUT = "ended.jsonl"
_DEFINITIONS = {
    "TFO_COOKIE": "3021b9d889017eeb",
    "CODE": "host_unreachable",
    "CMSG_LEVEL_IP": "SOL_IP",
    "CMSG_TYPE_RECVERR": "IP_RECVERR",
}
"""Definitions that Google's scripts expect from their runner for IPv4."""
_SHELL = re.compile(r"`([^`]*)`")
_OWN = "dumbbell "
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions under which scripts are judged.

    Attributes:
        gso_max_segs: Largest number of segments that TCP passes to the device at once; the kernel's
            default when None.
        offloads: Whether the device takes packets of several segments.
        timer_hz: The kernel's timer frequency.
        kernel: The kernel's name.
    """

    gso_max_segs: int | None = None
    offloads: bool = True
    timer_hz: int = 1000
    kernel: str = VERSIONS[0]

    def __str__(self) -> str:
        """One line, for reports."""
        return f"{self.kernel}, {self.of_its_device}"

    @property
    def of_its_device(self) -> str:
        """The conditions without the kernel's name."""
        segments = "the kernel's own" if self.gso_max_segs is None else str(self.gso_max_segs)
        offloads = "on" if self.offloads else "off"
        return f"HZ={self.timer_hz}, offloads {offloads}, gso_max_segs {segments}"


@dataclass(frozen=True, slots=True)
class _Judge:
    kernel: KernelInfo
    packetdrill: PacketdrillInfo
    conditions: Conditions
    wall_limit_s: float
    seed: int


def judge_scripts(
    scripts: Sequence[Path],
    conditions: Conditions | None = None,
    *,
    threads: int = 1,
    wall_limit_s: float = WALL_LIMIT_S,
    told: Callable[[Path], None] | None = None,
    seed: int = SEED,
) -> dict[Path, Report]:
    """Run scripts by packetdrill inside the virtual-time kernel.

    Args:
        scripts: Their files. They see their own folder, and `common` beside and above it.
        conditions: Offloads and timer; the defaults of `Conditions` when None.
        threads: Parallel guests; 0 for one per core.
        wall_limit_s: A guest without output for this long is killed, and its current script fails.
        told: Called with each script when its guest has ended.
        seed: Seed of the kernel's random numbers.

    Returns:
        Verdicts by script, in the same order, in the form of
        `dumbbell._engine.check_packet_script`. A ``difference`` may also be of kind ``ending``.

    Raises:
        KernelMissingError: No such kernel has been built.
        PacketdrillMissingError: packetdrill has not been built.
        GuestMissingError: The guest has not been built.
    """
    conditions = conditions or Conditions()
    judge = _Judge(
        require_kernel(conditions.timer_hz, conditions.kernel),
        require_packetdrill(),
        conditions,
        wall_limit_s,
        seed,
    )
    guest_program()
    remove_left_folders()
    reports: dict[Path, Report] = {}
    runnable = []
    for script in dict.fromkeys(scripts):
        if own := _own_line(script):
            reports[script] = unsupported(f"dumbbell {own}")
        else:
            runnable.append(script)
    groups = list(_groups(runnable, usable_threads(threads)))
    with ThreadPoolExecutor(max_workers=usable_threads(threads)) as pool:
        for group in pool.map(lambda group: _judged(judge, group), groups):
            reports |= group
            if told is not None:
                for script in group:
                    told(script)
    return {script: reports[script] for script in scripts}


def _own_line(script: Path) -> str | None:
    """The first shell line that uses a command of dumbbell, which the kernel does not know."""
    text = _COMMENT.sub("", script.read_text(encoding="utf-8", errors="replace"))
    lines = (line.strip() for block in _SHELL.findall(text) for line in block.splitlines())
    return next((line.removeprefix(_OWN) for line in lines if line.startswith(_OWN)), None)


def _groups(scripts: list[Path], threads: int) -> Iterator[list[Path]]:
    size = min(SCRIPTS_A_GUEST, -(-len(scripts) // threads) or 1)
    for first in range(0, len(scripts), size):
        yield scripts[first : first + size]


def _judged(judge: _Judge, scripts: list[Path]) -> dict[Path, Report]:
    """Judge all scripts, in as many guests as needed."""
    reports: dict[Path, Report] = {}
    left = list(scripts)
    while left:
        found, why = _one_guest(judge, left)
        reports |= found
        left = [script for script in left if script not in found]
        if left:
            reports[left[0]] = ended(why)
            left = left[1:]
    return reports


def _one_guest(judge: _Judge, scripts: list[Path]) -> tuple[dict[Path, Report], str]:
    """Results of the scripts that ended, and how the guest ended."""
    with RunFolder() as folder:
        # Besides the kernel's own files.
        results = folder / "results"
        results.mkdir()
        output = results / _OUTPUT
        output.touch()
        job = folder / "job.json"
        job.write_text(json.dumps(_job(judge, scripts, output)), encoding="utf-8")
        news = _GuestOutputWatch(output, judge.wall_limit_s)
        result = launch(
            judge.kernel.path,
            guest_program(),
            run_dir=folder,
            seed=judge.seed,
            wall_limit_s=judge.wall_limit_s * (len(scripts) + 1),
            memory_mb=_MEMORY_MB,
            args=["packet-scripts", str(job)],
            readable=[*SYSTEM, judge.packetdrill.path.parent, *_seen(scripts)],
            cancelled=news.are_missing,
        )
        why = f"nothing new for {judge.wall_limit_s:.0f} s" if result.cancelled else result.why()
        found = {}
        for line in output.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            found[scripts[told["index"]]] = _report(told, results)
    return found, why


def _job(judge: _Judge, scripts: list[Path], output: Path) -> dict[str, Any]:
    return {
        "packetdrill": str(judge.packetdrill.path),
        # The guest hides /tmp, which may also contain the cache with packetdrill.
        "folders": [str(place) for place in
                    (*_seen(scripts), output.parent, judge.packetdrill.path.parent)
                    if place.is_dir()],
        "output": str(output),
        "arguments": [
            "--send_omit_free",
            *(f"-D{name}={value}" for name, value in _DEFINITIONS.items()),
        ],
        "gso_max_segs": judge.conditions.gso_max_segs,
        "offloads": judge.conditions.offloads,
        "limit_s": VIRTUAL_LIMIT_S,
        "scripts": [
            {"index": index, "path": str(script.resolve())} for index, script in enumerate(scripts)
        ],
    }  # fmt: skip


def _seen(scripts: list[Path]) -> list[Path]:
    """Folders that scripts may read: their own, and those that suites share."""
    places = []
    for script in scripts:
        folder = script.resolve().parent
        places += [folder, folder.parent / "common", folder.parent.parent / "common"]
    return list(dict.fromkeys(places))


def _report(told: dict[str, Any], results: Path) -> Report:
    if told["timed_out"]:
        return ended(f"did not end within {VIRTUAL_LIMIT_S} s of its own time")
    if told["signal"] is not None:
        return ended(f"packetdrill was ended by signal {told['signal']}: {told['said'].strip()}")
    record = told["record"]
    text = (results / record).read_text(encoding="utf-8", errors="replace") if record else None
    return report_of(told["said"], status=told["status"], record=text)


class _GuestOutputWatch:
    """Whether the guest's output has not grown for too long."""

    def __init__(self, output: Path, limit_s: float) -> None:
        self._output = output
        self._limit_s = limit_s
        self._bytes = 0
        self._since = time.monotonic()

    def are_missing(self) -> bool:
        length = self._output.stat().st_size
        if length != self._bytes:
            self._bytes, self._since = length, time.monotonic()
        return time.monotonic() - self._since > self._limit_s

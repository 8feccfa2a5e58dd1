"""Random packet scripts, written by the simulator's sender and judged by the kernel.

Each script records what the simulator's TCP did against a receiver that loses, delays and repeats
packets (`packetdrill/src/fuzz`). If the kernel behaves differently, the script is shortened as far
as the difference remains, and saved.
"""

from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dumbbell._engine import (
    fuzz_packet_script,
    packet_scripts_of_each_phase,
    shorter_packet_scripts,
)
from dumbbell.backends.kernel.packetdrill.judge import (
    SCRIPTS_A_GUEST,
    SEED,
    Conditions,
    judge_scripts,
)
from dumbbell.backends.kernel.packetdrill.reports import Report

CONDITIONS = Conditions(gso_max_segs=1)
KERNELS_OWN_SEGMENTS = 65535
"""Default limit of segments per sk_buff."""
"""The simulator hands its network segments."""

PHASE_TRIES = 4
"""Number of attempts with all seven first phases of BBR, one of which the kernel draws at random.

A script that is right with its phase fails all attempts in one case of 75.
"""

_MOST_ROUNDS = 25
_SEGMENT = re.compile(r"> (?:\[\w+\] )?(?P<flags>[FSRPEW.]+) (?P<bytes>\d+:\d+)")


class DifferenceKind(enum.StrEnum):
    """Kinds of differences between simulator and kernel."""

    AGREES = "agrees"
    NEAR_TIMER = "an acknowledgement within 50 microseconds of a timer"
    FIN = "when a FIN is sent"
    PUSH = "a PSH"
    CWR = "a CWR"
    TIME = "when a packet is sent"
    PACKET = "which packet is sent"
    FIELDS = "a field of tcp_info"
    ENDING = "the script did not end"


@dataclass(frozen=True, slots=True)
class FuzzedScript:
    """A script and its verdict.

    Attributes:
        number: Number of the case for its seed.
        case: The receiver's behaviour, as text for `shorter_packet_scripts`.
        script: The text.
        near_timer_line: First line at which an acknowledgement arrives within 50 microseconds of a
            timer, where the order of the two is unspecified; None without one.
        report: The kernel's verdict.
    """

    number: int
    case: str
    script: str
    near_timer_line: int | None
    report: Report

    @property
    def kind(self) -> DifferenceKind:
        """Kind of difference."""
        return kind_of(self.report, self.near_timer_line)

    @property
    def controller(self) -> str:
        """Its congestion controller."""
        controller: str = json.loads(self.case)["controller"]
        return controller


def kind_of(report: Report, near_timer_line: int | None) -> DifferenceKind:
    """Kind of difference, from the kernel's verdict on a script."""
    if report["verdict"] == "passed":
        return DifferenceKind.AGREES
    difference = report.get("difference", {"kind": "ending"})
    if difference["kind"] not in ("packet", "assertion", "call"):
        return DifferenceKind.ENDING
    if near_timer_line is not None and report["line"] >= near_timer_line:
        return DifferenceKind.NEAR_TIMER
    return _kind_of_difference(difference)


def _kind_of_difference(difference: Report) -> DifferenceKind:
    if difference["kind"] == "assertion":
        return DifferenceKind.FIELDS
    reason = difference.get("reason", "")
    sides = [_SEGMENT.search(difference.get(side) or "") for side in ("expected", "found")]
    segments = [segment for segment in sides if segment]
    if any("F" in segment["flags"] for segment in segments):
        return DifferenceKind.FIN
    if len({segment["bytes"] for segment in segments}) > 1:
        return DifferenceKind.PACKET
    for field, kind in (
        ("tcp_psh", DifferenceKind.PUSH),
        ("tcp_cwr", DifferenceKind.CWR),
        ("timing error", DifferenceKind.TIME),
    ):
        if field in reason:
            return kind
    return DifferenceKind.PACKET


def fuzz(
    count: int,
    seed: int,
    *,
    first: int = 0,
    controller: str | None = None,
    threads: int = 1,
    conditions: Conditions = CONDITIONS,
) -> Iterator[FuzzedScript]:
    """Write random scripts and have the kernel judge them.

    Args:
        count: Number of scripts.
        seed: Seed; together with its number it determines a script.
        first: Number of the first script.
        controller: Congestion controller of all scripts; None to draw one for each.
        threads: Parallel guests; 0 for one per core.
        conditions: Conditions of the kernel's device.

    Yields:
        The scripts, ordered by number.

    Raises:
        KernelMissingError: No such kernel has been built.
        PacketdrillMissingError: packetdrill has not been built.
    """
    at_once = SCRIPTS_A_GUEST * max(1, threads)
    for start in range(first, first + count, at_once):
        numbers = range(start, min(start + at_once, first + count))
        segments = conditions.gso_max_segs or KERNELS_OWN_SEGMENTS
        written = [
            (number, json.loads(fuzz_packet_script(seed, number, segments, controller)))
            for number in numbers
        ]
        yield from _found(written, conditions, threads)


def shrunk(
    found: FuzzedScript,
    *,
    threads: int = 1,
    conditions: Conditions = CONDITIONS,
    told: Callable[[FuzzedScript], None] | None = None,
) -> FuzzedScript:
    """The shortest script found with the same kind of difference.

    Args:
        found: A script with a difference.
        threads: Parallel guests.
        conditions: Conditions of the kernel's device.
        told: Called with each shorter script.
    """
    for _ in range(_MOST_ROUNDS):
        shorter = json.loads(shorter_packet_scripts(found.case))
        judged = _found([(found.number, each) for each in shorter], conditions, threads)
        same = (each for each in judged if each.kind is found.kind)
        nearest = min(same, key=lambda each: len(each.script), default=None)
        if nearest is None or len(nearest.script) >= len(found.script):
            break
        found = nearest
        if told is not None:
            told(found)
    return replace(found, script=_until(found))


def _until(found: FuzzedScript) -> str:
    """The script up to the line with the difference."""
    lines = found.script.splitlines(keepends=True)
    return "".join(lines[: found.report["line"]]) if found.report["line"] else found.script


def _found(
    written: Sequence[tuple[int, Any]], conditions: Conditions, threads: int
) -> list[FuzzedScript]:
    """The kernel's verdicts on numbered scripts.

    The kernel draws BBR's first phase at random. If the simulator's phase differs, the others are
    tried a few times; agreement with one phase is enough.
    """
    reports = _judged([each["script"] for _, each in written], conditions, threads)
    found = [
        FuzzedScript(number, each["case"], each["script"], each["near_timer_line"], report)
        for (number, each), report in zip(written, reports, strict=True)
    ]
    for seed in range(SEED + 1, SEED + 1 + PHASE_TRIES):
        tried = [
            (index, each)
            for index, known in enumerate(found)
            if known.kind is not DifferenceKind.AGREES
            for each in _of_each_phase(known)
        ]
        if not tried:
            break
        texts = [each["script"] for _, each in tried]
        reports = _judged(texts, conditions, threads, seed)
        for (index, each), report in zip(tried, reports, strict=True):
            other = FuzzedScript(
                found[index].number, each["case"], each["script"], each["near_timer_line"], report
            )
            if _distance(other) > _distance(found[index]):
                found[index] = other
    return found


def _of_each_phase(found: FuzzedScript) -> list[Any]:
    """The script with each possible first phase of BBR, if a phase was drawn before the
    difference.
    """
    if found.controller != "bbr":
        return []
    scripts = json.loads(packet_scripts_of_each_phase(found.case))
    before = {tuple(each["script"].splitlines()[: found.report["line"]]) for each in scripts}
    return scripts if len(before) > 1 else []


def _distance(found: FuzzedScript) -> float:
    """Number of lines on which both agree."""
    return math.inf if found.kind is DifferenceKind.AGREES else found.report["line"]


def _judged(
    texts: Sequence[str], conditions: Conditions, threads: int, seed: int = SEED
) -> list[Report]:
    with TemporaryDirectory(prefix="dumbbell-fuzz-") as folder:
        paths = []
        for number, text in enumerate(texts):
            path = Path(folder) / f"{number}.pkt"
            path.write_text(text, encoding="utf-8")
            paths.append(path)
        reports = judge_scripts(paths, conditions, threads=threads, seed=seed)
        return [reports[path] for path in paths]

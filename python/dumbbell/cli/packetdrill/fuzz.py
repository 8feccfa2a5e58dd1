"""``dumbbell packetdrill --fuzz N``: random scripts, and how many give the same result on both."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dumbbell.cli.packetdrill.report import print_verdict, side_of
from dumbbell.cli.terminal.output import say
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED

if TYPE_CHECKING:
    from dumbbell.backends.kernel.packetdrill import FuzzedScript


def fuzz_by_kernel(
    count: int,
    seed: int,
    keep: Path | None,
    *,
    controller: str | None,
    gso_max_segs: int,
    jobs: int,
    shrink: int,
    as_json: bool,
) -> None:
    """Write scripts, have the kernel judge them, and print how many agree.

    Args:
        count: Number of scripts.
        seed: Seed of the scripts.
        keep: Folder for the scripts with differences.
        controller: Congestion controller of all scripts; None to draw one for each.
        gso_max_segs: Largest number of segments per sk_buff, on both.
        jobs: Parallel kernels.
        shrink: Number of scripts to shorten for each kind of difference and controller.
        as_json: Print JSON only.
    """
    from dumbbell.backends.kernel.packetdrill import Conditions, DifferenceKind, fuzz, shrunk

    # The device receives frames; which ones belonged to one burst follows from their times.
    conditions = Conditions(gso_max_segs=gso_max_segs, offloads=gso_max_segs == 1)
    found: list[FuzzedScript] = []
    of_each: Counter[tuple[str, str]] = Counter()
    for each in fuzz(count, seed, controller=controller, threads=jobs, conditions=conditions):
        found.append(each)
        kind = each.kind
        if kind is DifferenceKind.AGREES:
            continue
        shown = each
        of_each[kind, each.controller] += 1
        if of_each[kind, each.controller] <= shrink:
            shown = shrunk(each, threads=jobs, conditions=conditions)
        place = None if keep is None else _kept(shown, seed, keep)
        if not as_json:
            print_verdict(f"seed {seed}, number {each.number} ({each.controller}, {kind})",
                          shown.report)  # fmt: skip
            if place is not None:
                say(f"    {'kept:':<9} {place}")
    if as_json:
        say(json.dumps(_json(found, seed), indent=2))
    else:
        for line in sum_lines([(each.kind, each.controller) for each in found]):
            say(line)
    if any(each.kind is not DifferenceKind.AGREES for each in found):
        raise typer.Exit(EXIT_CONTRADICTED_OR_FAILED)


def fuzz_by_simulator(
    count: int, seed: int, *, controller: str | None, gso_max_segs: int, as_json: bool
) -> None:
    """Write scripts and run them in the simulator itself: all must pass.

    Args:
        count: Number of scripts.
        seed: Seed of the scripts.
        controller: Congestion controller of all scripts; None to draw one for each.
        gso_max_segs: Largest number of segments per packet.
        as_json: Print JSON only.
    """
    from dumbbell._engine import check_packet_script, fuzz_packet_script

    began = time.monotonic()
    failed: dict[int, Any] = {}
    for number in range(count):
        script = json.loads(fuzz_packet_script(seed, number, gso_max_segs, controller))["script"]
        verdict = json.loads(check_packet_script(script, "linux-6.1"))
        if verdict["verdict"] != "passed":
            failed[number] = verdict
            if not as_json:
                print_verdict(f"seed {seed}, number {number}", verdict)
    took_s = max(time.monotonic() - began, 1e-9)
    if as_json:
        reports = [{"number": number, "report": each} for number, each in failed.items()]
        numbers = {"seed": seed, "passed": count - len(failed), "of": count}
        say(json.dumps({**numbers, "failed": reports}, indent=2))
    else:
        say(f"{count - len(failed)} of {count} scripts passed, {count / took_s:.0f} a second")
    if failed:
        raise typer.Exit(EXIT_CONTRADICTED_OR_FAILED)


def sum_lines(kinds: Sequence[tuple[str, str]]) -> list[str]:
    """Number of scripts that agree, then each kind of difference by controller, largest first."""
    from dumbbell.backends.kernel.packetdrill import DifferenceKind

    agree = sum(kind == DifferenceKind.AGREES for kind, _ in kinds)
    lines = [f"{len(kinds)} scripts: on {agree} ({agree / max(len(kinds), 1):.1%}) both agree"]
    remainders = Counter(kind for kind, _ in kinds if kind != DifferenceKind.AGREES)
    for kind, number in remainders.most_common():
        by = Counter(controller for each, controller in kinds if each == kind)
        told = ", ".join(f"{controller} {by[controller]}" for controller in sorted(by))
        lines.append(f"    {number:4d} {kind} ({told})")
    return lines


def _kept(found: FuzzedScript, seed: int, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"seed-{seed}-number-{found.number}.pkt"
    difference = found.report.get("difference", {"expected": None, "found": None})
    head = [
        f"// Seed {seed}, number {found.number}: {found.kind}.",
        f"// The simulator: {side_of(difference, 'expected')}",
        f"// Linux 6.1:     {side_of(difference, 'found')}",
    ]
    place.write_text("\n".join(head) + "\n" + found.script, encoding="utf-8")
    return place


def _json(found: Sequence[FuzzedScript], seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "scripts": [
            {
                "number": each.number,
                "kind": str(each.kind),
                "controller": each.controller,
                "report": each.report,
            }
            for each in found
        ],
    }

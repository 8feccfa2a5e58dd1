"""``make bench``, memory: the four runs of buffer-sizing with ten replications, in one process.

Persistent flows and closed loops, 18 and 500 packets, 150 s each, on two threads, without
captures and without the figure of all buffers, as the study runs one point of its grid: every
transfer is a row of a table, and the runs of the first replication are kept for the report. The
peak is that of a process of its own, with the interpreter and all that the study imports, which a
row of its own states; another is the study's quick preset with its report, whose pictures are drawn
by a JavaScript engine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from run import RESULTS, machine

GOAL_BYTES = 300e6
REPLICATIONS = 10
DURATION_S = 150.0
THREADS = 2
WHOLE = "whole"
STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Peak:
    """The most memory that a process had.

    Attributes:
        name: What it ran.
        replications: Of each of the four runs.
        resident_bytes: The peak.
        is_judged: Whether the goal is about it.
    """

    name: str
    replications: int
    resident_bytes: int
    is_judged: bool = True

    @property
    def verdict(self) -> str:
        """What it says about the goal."""
        if not self.is_judged:
            return ""
        return "met" if self.resident_bytes < GOAL_BYTES else "missed"

    def __str__(self) -> str:
        """The row."""
        goal = f", goal below {GOAL_BYTES / 1e6:.0f} MB: {self.verdict}" if self.is_judged else ""
        runs = f", 4 x {self.replications} runs" if self.replications else ""
        return f"peak memory, {self.name}{runs}: {self.resident_bytes / 1e6:.0f} MB{goal}"


def own_peak_bytes() -> int:
    """Peak of this process since its program was loaded (proc(5): ``VmHWM``).

    ``getrusage`` would count what the parent had before the program was loaded.
    """
    lines = STATUS.read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


def four_runs(load: str, replications: int, duration_s: float) -> None:
    """The study's runs at one point of its grid; without replications only its imports."""
    from dumbbell.studies import StudyOptions
    from dumbbell.studies.buffer_sizing import FourExperiments, arms
    from dumbbell.studies.shape import Amount, Runner

    if replications:
        point = arms.Point(load=load)  # type: ignore[arg-type]
        amount = Amount(replications, length_s=duration_s, over=arms.cases([point]))
        FourExperiments(amount).run(Runner(StudyOptions(jobs=THREADS)))


def whole_study(duration_s: float) -> None:
    """The quick preset and its report; nothing of it when no time is given."""
    from dumbbell.report import write_report
    from dumbbell.studies import StudyOptions, get_study

    if duration_s:
        report = get_study("buffer-sizing").reproduce(StudyOptions(jobs=THREADS, quick=True))
        with tempfile.TemporaryDirectory() as folder:
            write_report(report, folder)


def measure(load: str, replications: int, duration_s: float) -> int:
    """Peak bytes of a process of its own that runs the four at a load, or the `WHOLE` study."""
    words = ["--alone", load, "--replications", str(replications), "--duration", str(duration_s)]
    done = subprocess.run(
        [sys.executable, __file__, *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"bench/memory.py {' '.join(words)} failed:\n{done.stderr}")
    return int(done.stdout)


def rows(replications: int, duration_s: float) -> list[Peak]:
    """Imports alone, the nominal point, and the one with the most flows."""
    found = [Peak("imports of the study alone", 0, measure("medium", 0, 0), is_judged=False)]
    for load, words in (("medium", "252 flows or 468 users"), ("heavy", "774 flows or 936 users")):
        print(f"running: {words} ...", flush=True)
        peak = measure(load, replications, duration_s)
        found.append(Peak(f"buffer-sizing, {words}", replications, peak))
    peak = measure(WHOLE, 0, duration_s)
    return [*found, Peak("buffer-sizing's quick preset and its report", 0, peak, is_judged=False)]


def main(words: Sequence[str] | None = None) -> int:
    """Measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="of the durations")
    parser.add_argument("--check", action="store_true", help="status 1 when the goal is missed")
    parser.add_argument("--replications", type=int, default=REPLICATIONS, help="of each run")
    parser.add_argument("--duration", type=float, default=DURATION_S, help="of a run, s")
    parser.add_argument("--alone", metavar="LOAD", help="run in this process, print its peak")
    given = parser.parse_known_args(words)[0]
    if given.alone:
        if given.alone == WHOLE:
            whole_study(given.duration)
        else:
            four_runs(given.alone, given.replications, given.duration)
        print(own_peak_bytes())
        return 0
    if not STATUS.exists():
        print("skipped: memory: no /proc")
        return 0
    found = rows(given.replications, given.duration * given.scale)
    for peak in found:
        print(peak)
    RESULTS.mkdir(exist_ok=True)
    content = {
        "machine": machine(),
        "goal_bytes": GOAL_BYTES,
        "rows": [{**asdict(peak), "verdict": peak.verdict} for peak in found],
    }
    path = RESULTS / "memory.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 1 if given.check and any(peak.verdict == "missed" for peak in found) else 0


if __name__ == "__main__":
    sys.exit(main())

"""``make bench PGO=1``: programs built with the profile that ``make wheel PGO=1`` uses.

What ``make wheel PGO=1`` does, for the programs of the bench: built once to count what is done how
often, run through every arm of the quick presets, and built again by the counts. Nothing that is
benched is among those runs. The floors (the Lindley loop, the dumbbell by value) know a run of
their own, or we would be compared with what was built worse.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import entrants

sys.path.insert(0, str(entrants.BENCH.parent / "scripts"))
import preset_digests

INSTRUMENTED = entrants.BENCH / "rust" / "target" / "instrumented"
FLOORS: tuple[tuple[str, ...], ...] = (
    ("by_value", "10", "100", "200000"),
    ("by_value", "100", "1000", "200000"),
    ("mm1", "pairs", "200000", "1", "1"),
)


def merger() -> Path:
    """The compiler's program that adds up counts; ends the program where it is missing."""
    if shutil.which("rustc") is None:
        sys.exit("make bench needs rustc")
    command = ["rustc", "--print", "target-libdir"]
    libraries = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    program = Path(libraries).parent / "bin" / "llvm-profdata"
    if not program.exists():
        sys.exit("PGO=1 needs the compiler's llvm-tools: rustup component add llvm-tools")
    return program


def presets() -> Iterator[str]:
    """Resolved descriptions of every arm of the quick presets."""
    for runner in preset_digests.runners():
        for experiment in runner.experiments.values():
            yield experiment.resolved_json()


def run(words: Sequence[str | Path], given: str = "") -> None:
    """Runs a program; ends this one with its last words where it fails."""
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed:\n{done.stderr}")


def make(profile: Path) -> None:
    """Makes the profile."""
    merge = merger()
    counts = profile.parent / "counts"
    shutil.rmtree(counts, ignore_errors=True)
    print("building what counts ...", flush=True)
    entrants.build_own(f"-Cprofile-generate={counts}", INSTRUMENTED)
    programs = INSTRUMENTED / "release"
    print("running the quick presets ...", flush=True)
    for resolved in presets():
        run((programs / "experiment", "0", "0"), resolved)
    for name, *words in FLOORS:
        run((programs / name, *words))
    part = profile.with_suffix(".part")
    run((merge, "merge", "-o", part, counts))
    part.replace(profile)
    shutil.rmtree(counts)


def main() -> int:
    """Makes the profile that the variable names."""
    name = os.environ.get(entrants.PROFILE_VARIABLE)
    if not name:
        sys.exit(f"{entrants.PROFILE_VARIABLE} names the profile: make bench PGO=1 sets it")
    profile = Path(name).resolve()
    profile.parent.mkdir(parents=True, exist_ok=True)
    make(profile)
    return 0


if __name__ == "__main__":
    sys.exit(main())

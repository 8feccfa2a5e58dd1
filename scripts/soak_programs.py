"""Runs ``dumbbell`` as a program that is killed, interrupted or short of resources; for
``soak.py``.
"""

from __future__ import annotations

import enum
import json
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from random_checks import as_toml
from random_descriptions import description
from soak_patience import Patience

from dumbbell import errors
from dumbbell.tables import read_parquet

LONGEST_S = 20.0
"""Limit on an idle machine, like all limits here."""
STUDY_S = 300.0
_OBEYED_S = 5.0
"""Ctrl-C takes effect within a second; on a loaded machine later, in a hang much later."""
_LOOK_S = 1.0
_ADDRESSES_BYTES = 2_000_000 * 1024
_SMALL_DISK_BYTES = 64 * 1024
_STATUSES = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
_STUDIES = ("queue-size-delay", "statistical-multiplexing", "traffic-policing")
_PROGRAM = "from dumbbell.cli import main; import sys; sys.argv[0] = 'dumbbell'; main()"
_TOLD = _PROGRAM.replace("main()", "print(flush=True); main()")
"""Prints a line when its handler is installed: before that, Ctrl-C gives a Python traceback."""
_SIGNS = ("Traceback", "panicked", "RUST_BACKTRACE")
_NOTES = "what the user wrote\n"


class Disturbance(enum.Enum):
    """A disturbance of a program."""

    NONE = "run"
    KILL = "run, killed"
    INTERRUPT = "run, Ctrl-C"
    FULL_DISK = "run, full disk"
    LITTLE_MEMORY = "run, ulimit -v"
    STUDY = "study"


def disturbed(number: int, kind: Disturbance, folder: Path) -> dict[str, Any]:
    """Run the program on the description of that number; return its result with its faults."""
    draw = random.Random(f"disturbed {number}")
    began = time.monotonic()
    if kind is Disturbance.STUDY:
        found = _study(draw, folder)
    else:
        (folder / "case.toml").write_text(as_toml(description(number)), encoding="utf-8")
        found = {
            Disturbance.NONE: _undisturbed,
            Disturbance.KILL: _killed,
            Disturbance.INTERRUPT: _interrupted,
            Disturbance.FULL_DISK: _on_a_full_disk,
            Disturbance.LITTLE_MEMORY: _with_little_memory,
        }[kind](draw, folder)
    took_s = time.monotonic() - began
    return {"number": number, "kind": kind.value, "seconds": took_s, "faults": found}


def _start(
    folder: Path,
    *words: str,
    before: tuple[str, ...] = (),
    program: str = _PROGRAM,
    **more: Any,
) -> Any:
    return subprocess.Popen(
        [*before, sys.executable, "-c", program, *words],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def _ended(process: Any, statuses: set[int], longest_s: float = LONGEST_S) -> list[str]:
    """Wait for the exit, and check it."""
    patience = Patience(process.pid, longest_s)
    said = None
    while said is None:
        try:
            _, said = process.communicate(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            if patience.is_lost():
                process.kill()
                process.communicate()
                return [f"no end within {longest_s:.0f} s"]
    found = [f"says {sign}: {said[-2000:]}" for sign in _SIGNS if sign in said]
    if process.returncode not in statuses:
        found.append(f"status {process.returncode}: {said[-500:]}")
    return found


def _undisturbed(_: random.Random, folder: Path) -> list[str]:
    run = _start(folder, "run", "case.toml", "--out", "tables")
    return _ended(run, {0}) + _whole(folder / "tables")


def _killed(draw: random.Random, folder: Path) -> list[str]:
    """Kill at any moment: the result must be the old or the new one, and user files must remain."""
    found = _ended(_start(folder, "run", "case.toml", "--out", "tables"), {0})
    if found:
        return found
    (folder / "tables/notes.md").write_text(_NOTES, encoding="utf-8")
    process = _start(folder, "run", "case.toml", "--out", "tables", "--replication", "1")
    time.sleep(draw.uniform(0, 1.5))
    process.kill()
    process.communicate()
    found = _whole(folder / "tables") + _notes(folder / "tables")
    found += _ended(_start(folder, "run", "case.toml", "--out", "tables"), {0})
    found += _whole(folder / "tables") + _notes(folder / "tables")
    left = sorted(each.name for each in folder.iterdir() if ".partial" in each.name)
    return [*found, f"a killed run left {left}"] if left else found


def _whole(folder: Path) -> list[str]:
    """Check that a result can be read, with every table."""
    try:
        run = read_parquet(folder)
    except Exception as error:
        return [f"no whole result: {type(error).__name__}: {error}"]
    return [] if {"flows", "queues"} <= run.tables.keys() else ["a result without its tables"]


def _notes(folder: Path) -> list[str]:
    notes = folder / "notes.md"
    kept = notes.exists() and notes.read_text(encoding="utf-8") == _NOTES
    return [] if kept else ["the user's notes.md is gone or changed"]


def _interrupted(draw: random.Random, folder: Path) -> list[str]:
    number = draw.choice([signal.SIGINT, signal.SIGTERM])
    process = _start(folder, "run", "case.toml", "--out", "tables", program=_TOLD)
    process.stdout.readline()
    time.sleep(draw.uniform(0.005, 1.6))
    process.send_signal(number)
    return _ended(process, {0, errors.EXIT_STOPPED}, _OBEYED_S)


def _on_a_full_disk(_: random.Random, folder: Path) -> list[str]:
    """Run in a separate mount namespace, if one can be created."""
    (folder / "small").mkdir()
    mount = f'mount -t tmpfs -o size={_SMALL_DISK_BYTES} none small && exec "$@"'
    before = ("unshare", "-rm", "sh", "-c", mount, "sh")
    if subprocess.run([*before, "true"], cwd=folder, check=False, capture_output=True).returncode:
        return ["not tried: no mount namespace can be made here"]
    run = _start(folder, "run", "case.toml", "--out", "small/tables", before=before)
    return _ended(run, _STATUSES)


def _with_little_memory(_: random.Random, folder: Path) -> list[str]:
    limit = (_ADDRESSES_BYTES, _ADDRESSES_BYTES)
    run = _start(
        folder,
        "run",
        "case.toml",
        "--out",
        "tables",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    return _ended(run, _STATUSES)


def _study(draw: random.Random, folder: Path) -> list[str]:
    """Run with few replications, and interrupt half of the runs."""
    study = draw.choice(_STUDIES)
    words = ["--seed", str(draw.randrange(1000)), "--out", "page"]
    if study != "traffic-policing":
        words += ["--replications", str(draw.randrange(2, 4))]
    process = _start(folder, "reproduce", study, *words)
    if draw.random() < 0.5:
        time.sleep(draw.uniform(1, 10))
        process.send_signal(signal.SIGINT)
        return _ended(process, _STATUSES, LONGEST_S)
    found = _ended(process, {errors.EXIT_DONE, errors.EXIT_CONTRADICTED_OR_FAILED}, STUDY_S)
    claims = folder / "page/claims.json"
    if not found and not json.loads(claims.read_text(encoding="utf-8"))["claims"]:
        found.append("a study without claims")
    return found

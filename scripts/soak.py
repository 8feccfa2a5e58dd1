"""Runs thousands of random descriptions, and programs with injected faults.

``python scripts/soak.py --state FILE`` works through 20,000 cases, about two hours on two cores.
Ctrl-C stops it, and the same command goes on where it stopped. Most cases are descriptions that are
run and checked as in ``tests/random_runs``; one of twenty is ``dumbbell run`` that is killed, gets
Ctrl-C, a full disk or little memory, or goes undisturbed; one of five hundred is a study with few
replications. ``--report`` prints what came of it so far, as ``docs/soak.md`` has it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/random_runs"))
sys.path.insert(0, str(ROOT / "scripts"))

from random_checks import faults, kept  # noqa: E402
from random_descriptions import description  # noqa: E402
from soak_patience import Patience, hangs  # noqa: E402
from soak_programs import Disturbance, disturbed  # noqa: E402

CASES = 20_000
FIRST_NUMBER = 10_000_000
"""First case number: different from the tests' random descriptions."""
BLOCK = 20
"""Number of cases per process, to limit the effect of a crash; the last is a program."""
STUDY_EVERY = 500
LONGEST_S = 20.0
"""A description without output for longer than this hangs, if it had CPU time."""
_LOOK_S = 1.0

State = dict[str, Any]


def main() -> int:
    """Continue from the state. Exit status 1 if a case has failed, now or earlier."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--state", type=Path, required=True, help="where it stands; made if new")
    parser.add_argument("--cases", type=int, default=CASES, help="how many in all")
    parser.add_argument("--report", action="store_true", help="print the figures and run nothing")
    parser.add_argument("--block", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.block is not None:
        with contextlib.suppress(KeyboardInterrupt):  # the parent process reports it
            check_block(given.block, failing_folder(given.state))
        return 0
    state = read(given.state)
    if not given.report:
        try:
            go_on(state, given.state, given.cases)
        except KeyboardInterrupt:
            print(f"stopped after {state['done']} cases; the same command goes on")
    print(report(state), end="")
    return 1 if state["faults"] else 0


def go_on(state: State, file: Path, cases: int) -> None:
    """Run blocks until `cases` cases are done; the state is written after each."""
    while state["done"] < cases:
        first = state["done"]
        began = time.monotonic()
        for result in block_results(first, file):
            count(state, result)
        number = first + BLOCK - 1
        with tempfile.TemporaryDirectory() as folder:
            kinds = [each for each in Disturbance if each is not Disturbance.STUDY]
            kind = kinds[number // BLOCK % len(kinds)]
            if number % STUDY_EVERY == STUDY_EVERY - 1:
                kind = Disturbance.STUDY
            count(state, disturbed(FIRST_NUMBER + number, kind, Path(folder)))
        state["done"] = first + BLOCK
        state["seconds"] += time.monotonic() - began
        write(file, state)
        print(f"\r{state['done']} of {cases}, {len(state['faults'])} faults", end="", flush=True)
    print()


def block_results(first: int, file: Path) -> Iterator[State]:
    """Yield the result of each description of a block as soon as it is available.

    If a process dies or hangs, its current case fails, and a new process continues with the next.
    """
    at, end = first, first + BLOCK - 1
    while at < end:
        command = [sys.executable, __file__, "--state", str(file), "--block", str(at)]
        # Unbuffered, so that no line is buffered here while we wait for the next.
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdout is not None
            said = selectors.DefaultSelector()
            said.register(process.stdout, selectors.EVENT_READ)
            # Starting the interpreter also takes time.
            patience = Patience(process.pid, 2 * LONGEST_S)
            while not patience.is_lost():
                if not said.select(_LOOK_S):
                    continue
                line = process.stdout.readline()
                if not line:
                    break
                yield json.loads(line)
                at += 1
                patience.heard()
            else:
                process.kill()
        if at < end:
            number = FIRST_NUMBER + at
            yield a_result(number, "description", 0.0, [f"ended with {process.returncode}"])
            at += 1


def check_block(first: int, folder: Path) -> None:
    """Check descriptions up to the block's end, in a separate process; print one line each."""
    for case in range(first, first // BLOCK * BLOCK + BLOCK - 1):
        number = FIRST_NUMBER + case
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        drawn = description(number)
        found = faults(drawn)
        took_s, worked_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
        if hangs(took_s, worked_s, LONGEST_S):
            found.append(f"took {took_s:.0f} s, of them {worked_s:.0f} s of CPU time")
        print(json.dumps(a_result(number, "description", took_s, found)), flush=True)
        if found:
            kept(drawn, folder)


def a_result(number: int, kind: str, took_s: float, found: list[str]) -> State:
    """Return the result of one case."""
    return {"number": number, "kind": kind, "seconds": took_s, "faults": found}


# --- where it stands ------------------------------------------------------------------------


def failing_folder(state_file: Path) -> Path:
    """Return the folder of failing descriptions, beside the state."""
    return state_file.with_name(f"{state_file.name}.failing")


def read(file: Path) -> State:
    """Return the state of an earlier call, or a new state."""
    if file.exists():
        state: State = json.loads(file.read_text(encoding="utf-8"))
        return state
    return {"done": 0, "seconds": 0.0, "kinds": {}, "faults": []}


def write(file: Path, state: State) -> None:
    """Write to a temporary file and rename, so that a killed soak leaves a complete state."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
    beside.replace(file)


def count(state: State, result: State) -> None:
    """Add a case to the totals."""
    kind = state["kinds"].setdefault(result["kind"], {"cases": 0, "longest_s": 0.0})
    kind["cases"] += 1
    kind["longest_s"] = max(kind["longest_s"], result["seconds"])
    for fault in result["faults"][:3]:
        entry = {"number": result["number"], "kind": result["kind"], "fault": fault}
        state["faults"].append(entry)


def report(state: State) -> str:
    """Return the totals as a table, and every fault."""
    failed: dict[str, set[int]] = {}
    for fault in state["faults"]:
        failed.setdefault(fault["kind"], set()).add(fault["number"])
    lines = ["| case | cases | failed | longest |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {kind} | {each['cases']} | {len(failed.get(kind, ()))} | {each['longest_s']:.1f} s |"
        for kind, each in state["kinds"].items()
    ]
    lines += ["", f"{state['done']} cases in {state['seconds'] / 60:.0f} minutes."]
    lines += [f"- {each['kind']} {each['number']}: {each['fault']}" for each in state["faults"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

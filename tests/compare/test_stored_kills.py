"""After a kill at any moment the rest is run, with equal numbers and few repeated runs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from storing_samples import Noting, line_cells
from test_stored_executor import numbers

from dumbbell.compare import compare
from dumbbell.compare.executing import Stored, cell_names
from dumbbell.store import Store

pytestmark = [pytest.mark.programs, pytest.mark.slow]

HERE = Path(__file__).parent
REPLICATIONS = 60
PROGRAM = f"""
import os, sys
sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent)!r}]
from pathlib import Path
from storing_samples import Noting, line_cells
from dumbbell.compare import compare
from dumbbell.compare.executing import Stored, cell_names
from dumbbell.store import Store
from dumbbell.store.content import Content
from dumbbell.store.writing import Writer
folder = Path(sys.argv[1])
commit = Writer._commit

def noted(writer, taken):
    commit(writer, taken)
    count = sum(isinstance(what, Content) for what, _ in taken)
    note = os.open(folder / "notes", os.O_WRONLY | os.O_APPEND)
    os.write(note, f"committed 0 {{count}}\\n".encode())
    os.close(note)

Writer._commit = noted
# All is done within the usual half a second, and no kill would come between two commits.
Store.writer.__defaults__ = (0.02,)
cells = line_cells(folder, "pfifo", "pie")
executor = Stored(
    Noting(folder / "notes"),
    Store(folder / "store"),
    cells=cell_names(cells),
    keep_tables=sys.argv[2] == "tables",
)
print("begun", flush=True)
compare(cells, replications={REPLICATIONS}, executor=executor)
print("done", flush=True)
"""


def begin(folder: Path, kind: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), kind], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def kill_and_resume(folder: Path, kills: int, kind: str) -> None:
    """Kill until `kills` were killed in the middle of the work; each goes on from the last."""
    draw = random.Random(14)
    whole = numbers(compare(line_cells(folder, "pfifo", "pie"), replications=REPLICATIONS))
    noting, killed = Noting(folder / "notes"), 0
    longest_s = 1.0
    while killed < kills or stored_names(folder) >= set(whole):
        if killed % 5 == 0 or stored_names(folder) >= set(whole):
            # A store of its own, so that there is always something left to do.
            for file in [*(folder / "store").glob("*.sqlite*")]:
                file.unlink()
        noting.clear()
        before = stored_names(folder)
        began = time.monotonic()
        process = begin(folder, kind)
        try:
            process.wait(timeout=draw.uniform(0.0, longest_s))
            # It was done before its kill: sooner, then.
            longest_s = max(0.1, 0.9 * (time.monotonic() - began))
            (folder / "store" / "runs.sqlite").unlink()
            continue
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        killed += 1
        assert not before & {name for _, name in noting.notes("asked")}  # done again
        there = stored_names(folder)
        assert before <= there
        # One thread puts them into the store, in the order in which they ended.
        committed = sum(int(count) for _, count in noting.notes("committed"))
        early = [name for _, name in noting.notes("ended")][:committed]
        assert len(early) == committed
        assert set(early) <= there
    noting.clear()
    missing = set(whole) - stored_names(folder)
    cells = line_cells(folder, "pfifo", "pie")
    store = Store(folder / "store")
    executor = Stored(noting, store, cells=cell_names(cells), keep_tables=kind == "tables")
    found = compare(cells, replications=REPLICATIONS, executor=executor)
    assert {name for _, name in noting.notes("asked")} == missing
    assert numbers(found) == whole
    assert stored_names(folder) == set(whole)
    if kind == "tables":
        every_run_has_its_tables(store)


def stored_names(folder: Path) -> set[str]:
    with Store(folder / "store").reader() as reader:
        return {f"{each.cell.settings[0][1]} {each.replication}" for each in reader.listed()}


def every_run_has_its_tables(store: Store) -> None:
    with store.reader() as reader:
        for each in reader.listed():
            kept = reader.kept_tables(each.key)
            assert kept is not None
            assert len(reader.tables(each.key, kept)["flows"]["flow"]) == 2


@pytest.mark.parametrize("kind", ["numbers", "tables"])
def test_killed_a_few_times(tmp_path: Path, kind: str) -> None:
    kill_and_resume(tmp_path, 4 if kind == "numbers" else 1, kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["numbers", "tables"])
def test_killed_fifty_times(tmp_path: Path, kind: str) -> None:
    kill_and_resume(tmp_path, 50, kind)

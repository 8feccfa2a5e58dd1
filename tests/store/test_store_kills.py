"""A process that writes is killed: all that it had committed is there, and others can go on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from store_samples import content, key_of, values_of

from dumbbell.store import Shard, Store

pytestmark = pytest.mark.programs

HERE = Path(__file__).parent
PROGRAM = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from store_samples import content
from dumbbell.store import Shard, Store
shard = Shard(1, 2) if sys.argv[2] == "shard" else None
with Store(sys.argv[1], shard).writer(commit_after_s=0.0) as writer:
    for number in range(1_000_000):
        writer.add(content(number))
        print(number, flush=True)
"""


@pytest.mark.parametrize("kind", ["own", "shard"])
def test_what_was_committed_survives(tmp_path: Path, kind: str) -> None:
    last = -1
    for kill_after in (1, 20, 77):
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), kind], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(kill_after):
                said = process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        last = max(last, int(said))
        with Store(tmp_path).reader() as reader:
            for number in range(last + 1):
                found = reader.numbers(key_of(number))
                assert found is not None
                assert found.values.tobytes() == values_of(number).tobytes()
        # The next one writes beside what was left.
        with Store(tmp_path, Shard(1, 2) if kind == "shard" else None).writer() as writer:
            writer.add(content(-kill_after % 2**64))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"runs.sqlite" if kind == "own" else "shard-1-of-2.sqlite"}


def test_of_two_that_make_a_store_one_wins(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "store"), "own"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        process.kill()
        process.communicate()
    with Store(tmp_path / "store").reader() as reader:
        assert key_of(0) in reader

"""Killed at any moment: the result is complete, no own file is lost, and leftovers are removed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from folder_samples import lay_own_files, result_of, texts, write

from dumbbell.folders import replace_file, result
from waiting import PATIENCE_S

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
_WRITES = ("os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "open")
"""Audit events of whatever changes a folder, and of more."""


def die_at(event: int) -> None:
    """Let this process end, as by SIGKILL, when the given number of things were done to files."""
    left = event

    def on_event(name: str, _: tuple[object, ...]) -> None:
        nonlocal left
        if name in _WRITES or name.startswith("ctypes.call"):
            left -= 1
            if left < 0:
                os._exit(9)

    sys.addaudithook(on_event)


def in_a_child_that_dies_at(event: int, out: Path, text: str) -> bool:
    """Whether the child was killed before it was done."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            die_at(event)
            write(out, text)
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9)
    return status == 9


@pytest.mark.parametrize("exchanges", [True, False])
def test_killed_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    if not exchanges:
        monkeypatch.setattr(result, "exchange", lambda one, other: False)
    out = tmp_path / "out"
    write(out, "0")
    lay_own_files(out)
    event, was_killed, seen = 0, True, set()
    while was_killed:
        old, new = str(event), str(event + 1)
        was_killed = in_a_child_that_dies_at(event, out, new)
        # Without an exchange there is a moment without a folder, which the next run ends.
        if exchanges or out.exists():
            found = result_of(out)
            assert found in (old, new)
            seen.add(found == new)
        write(out, new)
        assert result_of(out) == new
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        event += 1
    assert seen == {True, False}
    assert event > 50  # steps


def test_an_edit_survives_every_kill(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "0")
    event, was_killed = 0, True
    while was_killed:
        edit = f"edited {event}"
        (out / "b").write_text(edit)
        was_killed = in_a_child_that_dies_at(event, out, "new")
        assert edit in texts(out).values()
        write(out, "next")
        assert edit in texts(out).values()
        assert texts(out)["b"] == "next"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        for path in out.glob("b.kept*"):
            path.unlink()
        event += 1


def test_a_first_result_killed_at_every_step(tmp_path: Path) -> None:
    event, was_killed = 0, True
    while was_killed:
        out = tmp_path / str(event) / "out"
        was_killed = in_a_child_that_dies_at(event, out, "new")
        assert not out.exists() or (out / "meta.json").read_text() == "new"
        write(out, "next")
        assert (out / "meta.json").read_text() == "next"
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        event += 1


def test_a_file_killed_at_every_step(tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    replace_file(file, "0")
    event, status = 0, 9
    while status == 9:
        child = os.fork()
        if child == 0:
            die_at(event)
            replace_file(file, "new")
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert file.read_text() in (str(event), "new")
        event += 1
        replace_file(file, str(event))
        assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert event > 5


def test_what_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "old")
    program = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from folder_samples import LAB, RUN
from pathlib import Path
from dumbbell.folders import ResultFolder
with ResultFolder(Path({str(out)!r}), RUN, LAB).replaced() as folder:
    (folder / "meta.json").write_text("theirs")
    print("writing", flush=True)
    input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        write(out, "mine")
        assert len(list(tmp_path.iterdir())) == 2
        other.communicate("\n")
        assert other.returncode == 0
    assert (out / "meta.json").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


LAB_TOML = """
name = "lab"
duration = "5s"
seed = {seed}
[[links]]
a = "a"
b = "b"
forward = {{ rate = "1mbit" }}
[[flows]]
name = "stream"
from = "a"
to = "b"
source = {{ kind = "poisson", rate = "50pps", size = "500B" }}
"""


def kill_the_command_line(folder: Path, kills: int) -> None:
    """`dumbbell run --out` is killed again and again, at moments drawn over its whole life."""
    draw = random.Random(20)
    out, file = folder / "out", folder / "lab.toml"
    command = [sys.executable, "-m", "dumbbell.cli", "run", str(file), "--out", str(out)]

    def begin(seed: int) -> subprocess.Popen[bytes]:
        file.write_text(LAB_TOML.format(seed=seed))
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
        )

    def seed_shown() -> int:
        from dumbbell.tables import read_parquet

        assert {name: (out / name).read_text() for name in own} == own
        run = read_parquet(out)
        assert run.spec is not None
        assert run.meta["digest"] == digests.setdefault(run.spec["seed"], run.meta["digest"])
        assert run.column("flows", "flow").tolist() == [0]
        return int(run.spec["seed"])

    own = {"notes.md": "mine", "plots/p.png": "drawn"}
    digests: dict[int, str] = {}
    began = time.monotonic()
    assert begin(0).wait(timeout=PATIENCE_S) == 0
    whole_s = time.monotonic() - began
    (out / "plots").mkdir()
    for name, text in own.items():
        (out / name).write_text(text)
    shown = 0
    for seed in range(1, kills + 1):
        process = begin(seed)
        # The end of its life, in which it writes, is looked at as often as all before it.
        time.sleep(whole_s * (draw.random() if seed % 2 else draw.uniform(0.7, 1.1)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert seed_shown() in (shown, seed)
        shown = seed_shown()
    assert begin(kills + 1).wait(timeout=PATIENCE_S) == 0
    assert seed_shown() == kills + 1
    assert sorted(path.name for path in folder.iterdir()) == ["lab.toml", "out"]


def test_a_run_killed_a_few_times(tmp_path: Path) -> None:
    kill_the_command_line(tmp_path, 3)


@pytest.mark.long
def test_a_run_killed_fifty_times(tmp_path: Path) -> None:
    kill_the_command_line(tmp_path, 50)

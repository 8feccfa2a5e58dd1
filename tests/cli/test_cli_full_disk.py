"""A full disk is reported with its own exit status, and earlier results are kept."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.errors import EXIT_NO_ROOM

Dumbbell = Callable[..., tuple[int, str, str]]

LAB = """
duration = "{seconds}s"
[[links]]
a = "a"
b = "b"
forward = {{ rate = "10mbit", capture = {capture} }}
[[flows]]
name = "stream"
from = "a"
to = "b"
source = {{ kind = "poisson", rate = "1000pps", size = "500B" }}
"""
COMMAND = [sys.executable, "-m", "dumbbell.cli"]

IN_A_SMALL_DISK = """
set -e
mkdir disk
mount -t tmpfs -o size=200k tmpfs disk
"$@" run lab.toml --out disk/out >first
cp disk/out/meta.json .
echo mine >disk/out/notes.md
try() { status=0; "$@" >out 2>err || status=$?; echo "$status $(cat err)"; ls -A disk; }
echo '---'; try env TMPDIR=disk "$@" run capture.toml
dd if=/dev/zero of=disk/rest bs=1k 2>dd || true
echo '---'; try "$@" run lab.toml --seed 2 --out disk/out
echo '---'; try "$@" flent rrul -l 1 -d 1 -D disk
echo '---'; try "$@" analyze capture.pcapng --view 'a->b after' --write disk/view.pcap
echo '---'; cmp meta.json disk/out/meta.json; cat disk/out/notes.md
"""


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-r", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "lab.toml").write_text(LAB.format(seconds=2, capture="false"))
    (tmp_path / "capture.toml").write_text(LAB.format(seconds=20, capture="true"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs a mount namespace")
def test_whatever_is_written_to_a_full_disk(lab: Path, dumbbell: Dumbbell) -> None:
    assert dumbbell("run", "capture.toml", "--out", "captured")[0] == 0
    (lab / "captured" / "capture.pcapng").rename(lab / "capture.pcapng")
    done = subprocess.run(
        ["unshare", "-r", "-m", "sh", "-c", IN_A_SMALL_DISK, "sh", *COMMAND],
        cwd=lab, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    capture, run, flent, view, after = done.stdout.split("---\n")[1:]
    for said, name in (
        (run, "disk/out"),
        (flent, "disk/rrul-2000-01-01T000000.000000.flent.gz"),
        (view, "disk/view.pcap"),
        (capture, ""),
    ):
        assert said.startswith(f"{EXIT_NO_ROOM} ")
        assert f"{name}: No space left on device\n" in said
        assert "Traceback" not in said
        rest = "" if said is capture else "rest\n"
        assert said.endswith(f"No space left on device\nout\n{rest}")  # and nothing else
    assert "disk/dumbbell-capture-" in capture
    assert after == "mine\n"


def test_a_limit_on_the_size_of_files_is_named_as_well(lab: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [*COMMAND, "run", "lab.toml", "--out", "out"],
        cwd=lab, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == EXIT_NO_ROOM
    assert done.stderr.splitlines()[-1] == "error: out: File too large"
    assert sorted(path.name for path in lab.iterdir()) == ["capture.toml", "lab.toml"]


@pytest.mark.parametrize("arguments", [["schema"], ["studies"], ["--help"]])
def test_a_full_standard_output(tmp_path: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == EXIT_NO_ROOM
    assert done.stderr == "error: standard output: No space left on device\n"

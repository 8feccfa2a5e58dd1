"""Behaviour on Windows and macOS, tested without them by as_on_windows.py and mypy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AS_ON_WINDOWS = Path(__file__).with_name("as_on_windows.py")
EXPERIMENT = """
duration = "2s"
links = [{ a = "a", b = "b", forward = { rate = "1mbit" }, capture = true }]
[[flows]]
name = "stream"
from = "a"
to = "b"
source = { kind = "cbr", rate = "100pps", size = "500B" }
"""


def as_on_windows(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(AS_ON_WINDOWS), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_module_can_be_imported() -> None:
    done = as_on_windows("import")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_its_folder_its_capture_and_its_page(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(EXPERIMENT, encoding="utf-8")
    run = ("run", "lab.toml", "--out", "result", "--json")
    first = as_on_windows(*run, folder=tmp_path)
    assert first.returncode == 0, first.stderr
    (tmp_path / "result/notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "result/more").mkdir()
    again = as_on_windows(*run, folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert (tmp_path / "result/notes.txt").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "result/more").is_dir()
    # Nothing is left beside it, though no open file can be removed.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lab.toml", "result"]
    capture = next((tmp_path / "result").rglob("*.pcapng"))
    analyzed = as_on_windows("analyze", str(capture), folder=tmp_path)
    assert analyzed.returncode == 0, analyzed.stderr
    assert "stream" in analyzed.stdout or "UDP" in analyzed.stdout.upper()


def test_an_output_that_has_not_every_letter() -> None:
    """As a file has it that a Windows of Western Europe writes, or one that knows ASCII only."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "dumbbell.cli", "studies"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\xb5" in done.stdout


@pytest.mark.parametrize("command", ["info", "build", "test"])
def test_the_kernel_says_where_it_runs(command: str) -> None:
    done = as_on_windows("kernel", command)
    said = done.stdout + done.stderr
    assert done.returncode == (1 if command == "test" else 2), said
    assert "Linux x86_64" in said
    assert "Windows AMD64" in said
    assert "Traceback" not in said


def test_a_run_on_the_kernel_says_so_too(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(EXPERIMENT.replace(", capture = true", ""), encoding="utf-8")
    done = as_on_windows("run", "lab.toml", "--backend", "kernel", folder=tmp_path)
    assert done.returncode == 2
    assert "use the simulator here" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_no_name_is_used_that_the_system_has_not(platform: str, tmp_path: Path) -> None:
    """By the types of Python's own library, which know what each system has.

    Left out is what is reached on Linux only: the kernel in virtual time.
    """
    command = ["-m", "mypy", "--platform", platform, "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert re.search(r"(Success|Found \d+ errors?)", done.stdout), done.stdout + done.stderr
    elsewhere = [
        line
        for line in done.stdout.splitlines()
        if ": error: " in line and not line.startswith("python/dumbbell/backends/kernel/")
    ]
    assert elsewhere == []

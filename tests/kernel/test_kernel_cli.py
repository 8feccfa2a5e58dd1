from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell.backends.kernel import KernelInfo

pytestmark = pytest.mark.programs


def dumbbell(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dumbbell.cli", "kernel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_a_kernel_one_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for command in ("info", "test"):
        done = dumbbell(command, "--hz", "250")
        assert done.returncode == 2
        assert done.stderr == (
            "error: the virtual-time kernel (HZ=250) has not been built: "
            "run `dumbbell kernel build --hz 250` once\n"
        )
    assert list(tmp_path.iterdir()) == []


def test_a_frequency_that_is_none() -> None:
    done = dumbbell("info", "--hz", "50")
    assert done.returncode == 2
    assert "1000, 250, 100" in done.stderr


@pytest.mark.kernel
def test_info_says_when_the_guest_is_missing(
    kernel: KernelInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_GUEST", str(tmp_path / "none"))
    done = dumbbell("info")
    assert done.returncode == 2
    assert str(kernel.path) in done.stdout
    assert "guest     has not been built" in done.stdout
    said = f"error: {tmp_path}/none (DUMBBELL_GUEST) is not a program\n"
    assert done.stderr == said
    done = dumbbell("info", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["guest"] is None


@pytest.mark.kernel
def test_info_and_test(kernel: KernelInfo) -> None:
    done = dumbbell("info", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["path"] == str(kernel.path)
    assert found["sha256"] == kernel.sha256
    assert Path(found["guest"]).name == "dumbbell-guest"
    assert found["confinement"]["means"] in ("landlock", "mount-namespace", "nothing")
    said = dumbbell("info").stdout
    assert str(kernel.path) in said
    assert "confined  by " in said

    done = dumbbell("test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout
    assert "20.000 ms" in done.stdout
    assert all(each["ok"] for each in json.loads(dumbbell("test", "--json").stdout))

"""Programs read the clock without a call, and what they see is what calls would say."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends.kernel import EPOCH_NS, KernelInfo, launch
from dumbbell.backends.kernel.confinement import SYSTEM

pytestmark = [pytest.mark.kernel, pytest.mark.programs]

SOURCE = Path(__file__).with_name("clock.c")
READING_NS = 256
"""What one costs: TIMER_MULTIPLIER, arch/um/include/linux/time-internal.h."""

Clock = Callable[..., list[list[str]]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        if os.environ.get("CI"):
            pytest.fail("missing: a C compiler")
        pytest.skip("a C compiler is not installed")
    built = tmp_path_factory.mktemp("clock") / "clock"
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Werror", "-pthread", "-o", built, SOURCE], check=True
    )
    return built


@pytest.fixture
def clock(
    program: Path,
    kernel: KernelInfo,
    script: Callable[[str, str], Path],
    tmp_path: Path,
) -> Clock:
    """What the program prints in a guest, words of lines."""

    def run(how: str, *what: str) -> list[list[str]]:
        folder = tmp_path / f"run {how}"
        folder.mkdir()
        lines = [f"{program} {how} {each} || exit 3" for each in what]
        path = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
        init = script("init", path + "\n".join(lines) + "\n")
        result = launch(
            kernel.path,
            init,
            run_dir=folder,
            seed=1,
            wall_limit_s=120.0,
            readable=[*SYSTEM, program],
        )
        assert result.ok, result.why()
        lines = result.console.read_text(encoding="utf-8").splitlines()
        # Not what the kernel says at the end.
        return [line.split() for line in lines if line and not line.startswith("[")]

    return run


def test_readings_are_those_of_calls(clock: Clock) -> None:
    """Of all kinds, over 9 ticks, twice; and another program's, which sleeps, between them."""
    what = ("readings", "waiting", "readings")
    by_library, by_call = clock("library", *what), clock("by-call", *what)
    assert by_library == by_call
    readings = [words for words in by_library if words[0] == "readings"]
    others = [int(words[1]) for words in by_library if words[0] == "other"]
    (waited,) = [words for words in by_library if words[0] == "waited"]
    # Three of five kinds move the clock.
    assert len(readings) == 2
    for words in readings:
        assert 36_000 * READING_NS <= int(words[1]) < 37_000 * READING_NS
    assert len(others) == 5
    assert all(2e6 < after - before < 3e6 for before, after in itertools.pairwise(others))
    assert waited[3:] == ["6", "alarms"]
    assert 0 < int(waited[2].rstrip(",")) - EPOCH_NS < 10**9


def test_a_reading_is_no_call(clock: Clock) -> None:
    (by_library,) = clock("library", "calls")
    (by_call,) = clock("by-call", "calls")
    # What the child begins and ends with, and where a tick is due.
    assert int(by_library[1]) <= 6
    assert 1000 <= int(by_call[1]) <= 1006


def test_the_kernel_believes_no_time_that_cannot_be(clock: Clock) -> None:
    ((_, longest_ns, another),) = clock("library", "lies")
    # A call's own reading, and what a tick between two calls takes.
    assert READING_NS <= int(longest_ns) <= 10 * READING_NS
    assert another == "0"


def test_floating_point_registers_are_each_ones_own(clock: Clock) -> None:
    assert clock("library", "registers") == [["registers", "0", "0", "0"]]

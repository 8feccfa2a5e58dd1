from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.backends import Cost, guard, memory
from dumbbell.errors import SpecError

DAY_S = 86_400.0


def test_the_machine_says_how_much_memory_is_free() -> None:
    available = memory.available_memory_bytes()
    assert available is not None
    assert 1 << 20 < available < 1 << 50


def test_the_container_limit_governs_when_it_is_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000 kB\nMemAvailable:   1000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.available_memory_bytes() == 1_024_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("700\n")
    assert memory.available_memory_bytes() == 1_024_000
    (tmp_path / "memory.max").write_text("1000\n")
    assert memory.available_memory_bytes() == 300
    (tmp_path / "memory.current").write_text("1700\n")
    assert memory.available_memory_bytes() == 0
    meminfo.unlink()
    (tmp_path / "memory.max").unlink()
    assert memory.available_memory_bytes() is None


@pytest.mark.parametrize(
    ("wall_s", "available", "expected"),
    [(1.0, None, 8), (1.0, 10_000, 8), (1.0, 799, 3), (1.0, 100, 1), (DAY_S, None, 8)],
)
def test_threads_that_fit(wall_s: float, available: int | None, expected: int) -> None:
    assert guard.threads_that_fit(Cost(1, 100, wall_s), 8, "1s", available) == expected


@pytest.mark.parametrize(
    ("cost", "available", "words"),
    [
        (Cost(10**12, 1, DAY_S + 1), None, "24 hours"),
        (Cost(10**15, 1, 10 * 365.25 * DAY_S), None, "10 years"),
        (Cost(1, 5 * 10**9, 1.0), 10**9, "5 GB"),
    ],
)
def test_what_is_refused_says_why(cost: Cost, available: int | None, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        guard.threads_that_fit(cost, 1, "600s", available)
    assert (caught.value.path, caught.value.value) == ("duration", "600s")
    assert words in caught.value.allowed


def test_jobs_zero_is_one_a_core() -> None:
    assert guard.usable_threads(0) >= 1
    assert guard.usable_threads(3) == 3
    assert guard.usable_threads(10**20) == guard.MOST_A_CORE * guard.usable_threads(0)
    with pytest.raises(SpecError):
        guard.usable_threads(-1)

"""The multiplexing study with the kernel that is there, or is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.backends.kernel.cache import KernelMissingError
from dumbbell.claims import Verdict
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.shape import Amount, Presets
from dumbbell.studies.statistical_multiplexing import parts

STUDY = "statistical-multiplexing"
TINY = replace(
    parts.PRESETS.quick,
    ideal_on_kernel=Amount(5, over=(2,)),
    controls=Amount(40),
    on_kernel=Amount(5),
    own_programs=Amount(2),
)


def test_without_a_kernel_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    begun = []
    options = StudyOptions(backends=("sim", "kernel"), on_progress=begun.append)
    with pytest.raises(KernelMissingError, match="dumbbell kernel build"):
        get_study(STUDY).reproduce(options)
    assert not begun


@pytest.mark.kernel
def test_the_real_kernel_agrees_with_the_simulator(
    real_kernel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PRESETS", Presets(TINY, parts.PRESETS.full))
    monkeypatch.setattr(parts, "PACKETS_ON_KERNEL", 1e4)
    report = get_study(STUDY).reproduce(StudyOptions(backends=("kernel",), quick=True, seed=5))
    agreed = {one.claim.id: one.verdict for one in report.judged if "agreement" in one.claim.id}
    assert agreed == dict.fromkeys(agreed, Verdict.REPRODUCED)
    assert len(agreed) == 4
    assert 0 < report.meta["longest_lateness_ns"] < 1_000_000

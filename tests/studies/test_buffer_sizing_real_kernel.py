"""The study of buffer sizing with the kernel that is there, or is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.backends.kernel.cache import KernelMissingError
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.buffer_sizing import beside, published
from dumbbell.sweep import Progress


def test_without_a_kernel_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    begun: list[Progress] = []
    options = StudyOptions(backends=("sim", "kernel"), quick=True, on_progress=begun.append)
    with pytest.raises(KernelMissingError, match="dumbbell kernel build"):
        get_study("buffer-sizing").reproduce(options)
    assert not begun


@pytest.mark.kernel
def test_the_four_on_the_kernel_have_the_studys_mice_and_users(
    real_kernel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "DURATION_S", 5.0)
    options = StudyOptions(backends=("kernel",), quick=True, seed=5)
    both = beside.run_both(options, 2)
    simulated = simulate(beside.experiment("persistent", published.SMALL_PACKETS, seed=5))
    mice = simulated.column("transfers", "bytes")
    mice = mice[mice >= 0]
    assert len(mice) > 100
    # A greedy flow is no transfer on the kernel.
    assert np.array_equal(both.first.column("transfers", "bytes"), mice)
    for name in ("persistent small", "persistent large", "closed-loop small", "closed-loop large"):
        sim, kernel = (both.values[name, backend] for backend in ("sim", "kernel"))
        for quantity, (_, margin, _) in beside.QUANTITIES.items():
            # Five seconds are slow starts, mostly: the loss of a packet more weighs more than in
            # the study's twenty, whose margins these are.
            distance = abs(sim[quantity].mean() - kernel[quantity].mean())
            assert distance < margin, (name, quantity)

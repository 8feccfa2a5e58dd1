"""The study of buffer sizing with the kernel that is there, or is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.backends.kernel.cache import KernelMissingError
from dumbbell.replication import Progress
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.buffer_sizing.kernel_vs_sim import BesideTheKernel
from dumbbell.studies.shape import Amount, Runner

DISTANCES = {
    "utilization": 0.05,
    "drop_share": 0.02,
    "mean_wait_ms": 10.0,
    "small_completion_ms": 200.0,
}
"""Between the means of two runs of five seconds."""


def test_without_a_kernel_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    begun: list[Progress] = []
    options = StudyOptions(backends=("sim", "kernel"), quick=True, on_progress=begun.append)
    with pytest.raises(KernelMissingError, match="dumbbell kernel build"):
        get_study("buffer-sizing").reproduce(options)
    assert not begun


@pytest.mark.kernel
def test_the_four_on_the_kernel_have_the_studys_mice_and_users(real_kernel: None) -> None:
    part = BesideTheKernel(5, Amount(2, length_s=5.0))
    found = part.run(Runner(StudyOptions(backends=("kernel",), seed=5)))
    first, experiment = next(iter(part.experiments.items()))
    mice = simulate(experiment).column("transfers", "bytes")
    mice = mice[mice >= 0]
    assert len(mice) > 100
    # A greedy flow is no transfer on the kernel.
    assert np.array_equal(found.kernel.run(first).column("transfers", "bytes"), mice)
    # Five seconds are slow starts, mostly: the loss of a packet more weighs more than in the
    # study's twenty, so the distances are wider than its margins.
    for setup in part.experiments:
        for quantity, distance in DISTANCES.items():
            sim, kernel = (side.values(setup, quantity) for side in (found.sim, found.kernel))
            assert abs(sim.mean() - kernel.mean()) < distance, (setup, quantity)

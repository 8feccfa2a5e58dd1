"""The study of queue size and delay with the kernel that is there, or is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.backends.kernel.cache import KernelMissingError
from dumbbell.claims import Verdict
from dumbbell.replication import Progress
from dumbbell.studies import StudyOptions, get_study, queue_size_delay
from dumbbell.studies.queue_size_delay import PRESETS, published
from dumbbell.studies.shape import Amount, Presets

STUDY = "queue-size-delay"


def test_without_a_kernel_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    begun: list[Progress] = []
    options = StudyOptions(backends=("kernel",), on_progress=begun.append)
    with pytest.raises(KernelMissingError, match="dumbbell kernel build"):
        get_study(STUDY).reproduce(options)
    assert not begun


@pytest.mark.kernel
def test_the_real_kernel_agrees_with_the_simulator(
    real_kernel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Agreement of maxima takes ten runs a side.
    few = replace(
        PRESETS.quick,
        kernel=Amount(10, over=("10kb", published.LARGE)),
        own_programs=Amount(2, over=("10kb",)),
    )
    monkeypatch.setattr(queue_size_delay, "PRESETS", Presets(quick=few, full=PRESETS.full))
    options = StudyOptions(backends=("kernel",), quick=True, seed=5)
    done = get_study(STUDY).reproduce(options)
    for one in done.judged:
        if one.claim.id.startswith(("peak-ideal-10kb", "peak-ditg", "agreement-ditg-peak")):
            assert one.verdict is Verdict.REPRODUCED, one

"""What a study needs is asked before it begins: with the real backend, none of it built."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.backends.kernel import KernelMissingError
from dumbbell.studies import get_study
from dumbbell.studies.base import StudyOptions, StudyWithRequirements


@pytest.mark.parametrize(("name", "hz"), [("pie-rrul", 250), ("traffic-policing", 1000)])
def test_a_study_is_asked_whether_it_lacks_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, hz: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    study = get_study(name)
    assert isinstance(study, StudyWithRequirements)
    study.check(StudyOptions(quick=True))
    with pytest.raises(KernelMissingError, match=f"HZ={hz}"):
        study.check(StudyOptions(backends=("sim", "kernel"), quick=True))

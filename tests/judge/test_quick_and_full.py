"""Quick dossiers never contradict full ones, whose outcomes are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from full_outcomes import KEPT, contradictions, outcomes_of

from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.sections import SECTIONS

FULL = json.loads(KEPT.read_text(encoding="utf-8"))


def test_only_two_decisions_can_contradict_each_other() -> None:
    full = {"a": "holds", "b": "does_not_hold", "c": "not_decided", "d": "holds"}
    assert contradictions({"a": "holds", "b": "not_decided", "c": "holds"}, full) == []
    assert contradictions({"a": "does_not_hold", "d": "holds"}, full) == [
        "a: quick does_not_hold, full holds"
    ]
    with pytest.raises(KeyError):
        contradictions({"e": "holds"}, full)


@pytest.mark.parametrize("controller", FULL)
def test_what_is_kept_are_claims_of_today(controller: str) -> None:
    """Else the full dossier must run again: the module `full_outcomes` says how."""
    request = JudgeRequest(controller, depth=Depth.FULL)
    trials = {each.id: each.trial(request) for each in SECTIONS}
    today = {
        f"{section}-{each.id}"
        for section, trial in trials.items()
        if trial is not None
        for each in trial.expectations
    }
    assert set(FULL[controller]) == today


@pytest.mark.long
@pytest.mark.parametrize("controller", FULL)
def test_quick_never_contradicts_full(controller: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dumbbell.cli", "judge", controller, "--json", "--no-store"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    quick, full = outcomes_of(json.loads(done.stdout)), FULL[controller]
    both = {claim: outcome for claim, outcome in quick.items() if claim in full}
    decided = [c for c in both if "not_decided" not in (both[c], full[c])]
    assert len(decided) > 60
    assert contradictions(both, full) == []

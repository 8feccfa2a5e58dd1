"""The runs behind the studies' printed numbers have unchanged digests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import digests
import preset_digests

from dumbbell.studies import STUDIES


def test_every_study_is_among_what_is_kept() -> None:
    kept = preset_digests.kept()["digests"]
    assert all(any(name.startswith(f"{study} / ") for name in kept) for study in STUDIES)


def test_they_are_of_the_version_whose_digests_are_kept() -> None:
    *_, last = digests.kept()
    assert preset_digests.kept()["version"] == last


@pytest.mark.long
def test_every_arm_of_the_quick_presets_gives_what_it_gave() -> None:
    assert (
        preset_digests.differing(preset_digests.kept()["digests"], preset_digests.measured()) == []
    )


def test_what_is_new_gone_or_other_is_named() -> None:
    before = {"same": "1", "other": "1", "gone": "1"}
    assert preset_digests.differing(before, {"same": "1", "other": "2", "new": "1"}) == [
        "other",
        "gone",
        "new",
    ]


def test_digests_of_a_version_are_not_overwritten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.json"
    monkeypatch.setattr(preset_digests, "KEPT", file)
    for version, digest, status in (("1.0", "a", 0), ("1.0", "b", 1), ("1.1", "b", 0)):
        monkeypatch.setattr(digests, "today", lambda version=version: version)
        monkeypatch.setattr(preset_digests, "measured", lambda digest=digest: {"run": digest})
        assert preset_digests.main(["--write"]) == status
    assert "raise the version" in capsys.readouterr().err
    assert json.loads(file.read_text()) == {"version": "1.1", "digests": {"run": "b"}}
    assert preset_digests.main([]) == 0
    monkeypatch.setattr(preset_digests, "measured", lambda: {"run": "c"})
    assert preset_digests.main([]) == 1
    assert "run: c, version 1.1 had b" in capsys.readouterr().err

"""How our programs are built by a profile."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import entrants
import preset_digests
import profiled

from dumbbell.spec import Experiment
from dumbbell.studies import StudyOptions

EXAMPLE = entrants.BENCH.parent / "examples" / "home-line.toml"


class Started:
    """Stands for `subprocess.run`: keeps what was started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stdout: str = "") -> None:
        self.commands: list[list[str]] = []
        self.environments: list[dict[str, str]] = []
        self._stdout = stdout
        monkeypatch.setattr(subprocess, "run", self)

    def __call__(
        self, command: list[str], env: dict[str, str] | None = None, **_: Any
    ) -> subprocess.CompletedProcess[str]:
        self.commands.append([str(word) for word in command])
        self.environments.append(env or {})
        return subprocess.CompletedProcess(command, 0, self._stdout, "")


@pytest.fixture(autouse=True)
def no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (entrants.PROFILE_VARIABLE, "CARGO_ENCODED_RUSTFLAGS"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_profile_the_compiler_gets_no_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(monkeypatch)
    entrants.build_own()
    (environment,) = started.environments
    assert "CARGO_ENCODED_RUSTFLAGS" not in environment
    assert environment["CARGO_TARGET_DIR"] == str(entrants.BENCH / "rust" / "target")


def test_a_profile_that_is_named_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(entrants.PROFILE_VARIABLE, str(tmp_path / "counts.profdata"))
    started = Started(monkeypatch)
    entrants.build_own()
    used = started.environments[0]["CARGO_ENCODED_RUSTFLAGS"]
    assert used == f"-Cprofile-use={tmp_path}/counts.profdata"


def test_a_profile_is_made_of_the_presets_and_of_the_floors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profile = tmp_path / "profile.profdata"
    monkeypatch.setenv(entrants.PROFILE_VARIABLE, str(profile))
    monkeypatch.setattr(profiled, "merger", lambda: Path("llvm-profdata"))
    monkeypatch.setattr(profiled, "presets", lambda: iter(["{}", "{}"]))
    profile.with_suffix(".part").write_text("merged", encoding="utf-8")
    (tmp_path / "counts").mkdir()
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    started = Started(monkeypatch)
    assert profiled.main() == 0
    names = [Path(command[0]).name for command in started.commands]
    assert names == ["cargo", "experiment", "experiment", "by_value", "by_value", "mm1",
                     "llvm-profdata"]  # fmt: skip
    built = started.environments[0]
    assert built["CARGO_ENCODED_RUSTFLAGS"] == f"-Cprofile-generate={tmp_path}/counts"
    assert Path(started.commands[1][0]).is_relative_to(built["CARGO_TARGET_DIR"])
    assert profile.read_text(encoding="utf-8") == "merged"


def test_what_a_missing_program_takes_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "rustc")
    Started(monkeypatch, stdout=f"{tmp_path}/lib\n")
    with pytest.raises(SystemExit, match="rustup component add llvm-tools"):
        profiled.merger()


def test_every_arm_of_the_presets_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = {name: Experiment.from_toml(EXAMPLE).with_seed(seed) for seed, name in enumerate("ab")}
    once = preset_digests.Once(StudyOptions(quick=True), "study")
    once.experiments.update(arms)
    monkeypatch.setattr(preset_digests, "runners", lambda: iter([once]))
    assert list(profiled.presets()) == [arm.resolved_json() for arm in arms.values()]

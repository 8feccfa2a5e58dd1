"""The how-to of a congestion controller, built and tested in a copy of the crates."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from docs_pages import ROOT, apply_blocks
from test_docs_howto_rust import WORKSPACE, cargo

PAGE = ROOT / "docs" / "howto" / "add-a-controller.md"
ENGINE = ("-p", "dumbbell-engine")


@pytest.mark.long
def test_add_a_controller(tmp_path: Path) -> None:
    for name in WORKSPACE:
        shutil.copy(ROOT / name, tmp_path)
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    for crate in workspace["members"]:
        shutil.copytree(ROOT / crate, tmp_path / crate, ignore=shutil.ignore_patterns("target"))
    apply_blocks(PAGE, tmp_path)
    cargo(tmp_path, "fmt", "--check", *ENGINE)
    cargo(tmp_path, "clippy", "--locked", *ENGINE, "--lib", "--", "-D", "warnings")
    cargo(tmp_path, "test", "--locked", *ENGINE, "--lib", "cca::scalable")
    cargo(tmp_path, "test", "--locked", *ENGINE, "--test", "controller_fuzz")

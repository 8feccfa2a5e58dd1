"""The how-to of a congestion controller, built and tested in a copy of the crates."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import ROOT, apply_blocks
from test_docs_howto_rust import cargo, copy_of_the_repository

PAGE = ROOT / "docs" / "howto" / "add-a-controller.md"
TCP = ("-p", "dumbbell-tcp")


@pytest.mark.long
def test_add_a_controller(tmp_path: Path) -> None:
    copy_of_the_repository(PAGE, tmp_path)
    apply_blocks(PAGE, tmp_path)
    cargo(tmp_path, "fmt", "--check", *TCP)
    cargo(tmp_path, "clippy", "--locked", *TCP, "--lib", "--", "-D", "warnings")
    cargo(tmp_path, "test", "--locked", *TCP, "--lib", "cca::veno")
    cargo(tmp_path, "test", "--locked", *TCP, "--test", "controller_fuzz")

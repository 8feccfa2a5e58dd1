"""The worked examples of the pages on comparing and on sweeps are what the commands print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks

PAGE = ROOT / "docs" / "compare.md"
SWEEPS = ROOT / "docs" / "sweeps.md"


@pytest.mark.slow
@pytest.mark.programs
def test_the_table_is_what_the_line_prints() -> None:
    """When this fails: type the line of the page and put what it prints below it."""
    line = next(block.text for block in blocks(PAGE) if block.language == "sh").strip()
    shown = next(block.text for block in blocks(PAGE) if block.language == "text")
    assert len(line) < 120
    printed = what_is_printed(line)
    assert printed == shown.strip("\n")
    assert len(printed.splitlines()) < 24


@pytest.mark.slow
@pytest.mark.programs
def test_the_table_of_the_sweep_is_what_the_line_prints() -> None:
    """When this fails: type the line of the page and put what it prints below it."""
    lines = [block.text.strip() for block in blocks(SWEEPS) if block.language == "sh"]
    (shown,) = [
        block.text
        for block in blocks(SWEEPS)
        if block.language == "text" and block.text.startswith("buffer-sweep:")
    ]
    assert what_is_printed(lines[1]) == shown.strip("\n")


def what_is_printed(line: str) -> str:
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return "\n".join(each.rstrip() for each in done.stdout.splitlines()).strip("\n")

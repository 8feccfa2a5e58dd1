"""The worked example of the page on comparing is what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks

PAGE = ROOT / "docs" / "compare.md"


@pytest.mark.programs
def test_the_table_is_what_the_line_prints() -> None:
    """When this fails: type the line of the page and put what it prints below it."""
    line = next(block.text for block in blocks(PAGE) if block.language == "sh").strip()
    shown = next(block.text for block in blocks(PAGE) if block.language == "text")
    assert len(line) < 120
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    printed = "\n".join(each.rstrip() for each in done.stdout.splitlines()).strip("\n")
    assert printed == shown.strip("\n")
    assert len(printed.splitlines()) < 24

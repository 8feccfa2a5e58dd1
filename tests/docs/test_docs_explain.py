"""The example of the page on unpublished settings is what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks


@pytest.mark.slow
@pytest.mark.programs
def test_the_example_is_what_the_page_prints() -> None:
    """When this fails: put what the command prints in docs/explain.md."""
    page = ROOT / "docs" / "explain.md"
    (line,) = [each.text for each in blocks(page) if each.language == "sh"]
    unknown, printed = [each.text for each in blocks(page) if each.language == "text"]
    program = str(Path(sys.executable).parent / "dumbbell")
    done = subprocess.run(
        [program, *line.split()[1:], "--no-page", "--no-store"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [each.rstrip() for each in done.stdout.splitlines()]
    shown = printed.splitlines()
    assert lines[: len(shown)] == shown
    assert done.returncode == 0
    example = (ROOT / "examples" / "unknown-settings.toml").read_text()
    assert unknown.strip() in example

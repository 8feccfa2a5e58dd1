"""The first example of the page on claims is what the command prints, and its folder runs again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks

PAGE = ROOT / "docs" / "claims-of-your-own.md"


def text_of(language: str) -> list[str]:
    return [block.text for block in blocks(PAGE) if block.language == language]


@pytest.mark.slow
@pytest.mark.programs
def test_the_example_is_what_the_line_prints(tmp_path: Path) -> None:
    """When this fails: type the line in a folder with the page's file, and put what it prints."""
    (tmp_path / "line.toml").write_text(text_of("toml")[0])
    first, _, again = (each.strip() for each in text_of("sh"))
    code, printed = typed(first, tmp_path)
    assert printed == text_of("text")[0].strip("\n")
    assert code == 1
    code, printed = typed(again, tmp_path)
    assert (
        "numbers: the same in all 20 runs, by their digests\nverdicts: the same, all 3" in printed
    )
    assert code == 0


def typed(line: str, folder: Path) -> tuple[int, str]:
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment.pop("DUMBBELL_PAGE", None)
    done = subprocess.run(
        line.split(), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, "\n".join(each.rstrip() for each in done.stdout.splitlines()).strip(
        "\n"
    )

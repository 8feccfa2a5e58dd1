"""The page on controllers in C, followed: its command lines, and what it says of the example."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from docs_pages import ROOT

from dumbbell.backends.native.building import FLAGS
from dumbbell.backends.native.isolated import STILL_S
from own_controllers import EXAMPLES, run_command_lines

PAGE = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt: gcc)")
def test_its_command_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_command_lines(PAGE, tmp_path, monkeypatch)


def test_what_it_says_of_the_example_and_the_compiler() -> None:
    header = (ROOT / "python/dumbbell/backends/native/dumbbell_cc.h").read_text(encoding="utf-8")
    lines = (EXAMPLES / "my_cc.c").read_text(encoding="utf-8").splitlines()
    assert f"in {len(lines)} lines" in PAGE
    assert f"`{' '.join(FLAGS)}`" in PAGE
    assert f"{STILL_S:.0f} s of CPU time" in PAGE
    events = re.findall(r"^\| (`[a-z_`, ()]+) +\|", PAGE, re.MULTILINE)
    named = {name for each in events for name in re.findall("`([a-z_]+)`", each)}
    in_header = set(re.findall(r"(?:dumbbell_cc_on \*|\(\*)([a-z_]+)\)?[;(]", header))
    assert named | {"limits_itself", "below"} == in_header | {"send_buffer_windows"}

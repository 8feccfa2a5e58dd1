"""The page on controllers in C, followed: its command lines, and what it says of the example."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from docs_pages import ROOT
from typer.testing import CliRunner

from dumbbell.backends.native.building import FLAGS
from dumbbell.backends.native.isolated import STILL_S
from dumbbell.cli.app import app

PAGE = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "controllers"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt: gcc)")
def test_its_command_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "controllers")
    lines = re.findall(r"^    (dumbbell .*)$", PAGE, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        words = [*shlex.split(line)[1:], "--no-page", "--no-store", "--set", "duration=8s"]
        if words.count("--set") > 1:
            words += ["--replications", "1"]
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output


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

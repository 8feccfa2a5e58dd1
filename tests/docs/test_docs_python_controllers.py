"""The page on controllers in Python, followed: its command lines, what it says of the example."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from docs_pages import ROOT

from dumbbell.controllers import Controller
from own_controllers import EXAMPLES, run_command_lines

PAGE = (ROOT / "docs" / "python-controllers.md").read_text(encoding="utf-8")
HEADER = ROOT / "python/dumbbell/backends/native/dumbbell_cc.h"
STUBS = ROOT / "python/dumbbell/_controller_views.pyi"


@pytest.mark.slow
def test_its_command_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_command_lines(PAGE, tmp_path, monkeypatch)


def test_what_it_says_of_the_example() -> None:
    lines = (EXAMPLES / "mine.py").read_text(encoding="utf-8").splitlines()
    assert f"in {len(lines)} lines" in PAGE


def test_events_and_their_numbers_are_those_of_the_interface_in_c() -> None:
    header = HEADER.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:dumbbell_cc_on \*|\(\*)([a-z_]+)\)?[;(]", header))
    # What version 2 added is for files of Linux, which see the sender's own fields.
    events = named - {"below", "configure", "on_state", "on_ack_begins", "on_acked"}
    ours = {name for name, _ in inspect.getmembers(Controller, inspect.isfunction)} - {"__init__"}
    assert ours == events
    assert events <= set(re.findall("`([a-z_]+)`", PAGE))
    stubs = STUBS.read_text(encoding="utf-8")
    for struct, name in (
        ("window", "Window"),
        ("rate_sample", "RateSample"),
        ("rtt_sample", "RttSample"),
        ("ack", "Ack"),
        ("snapshot", "Snapshot"),
    ):
        (body,) = re.findall(rf"struct dumbbell_cc_{struct} {{\n(.*?)\n}};", header, re.DOTALL)
        fields = set(re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)))
        (stub,) = re.findall(rf"^class {name}:\n(.*?)(?=^\S)", stubs, re.DOTALL | re.MULTILINE)
        stub = re.sub(r'""".*?"""', "", stub, flags=re.DOTALL)
        attributes = set(re.findall(r"^    (?:def )?(\w+)(?=\(self\) ->|:)", stub, re.MULTILINE))
        assert fields <= attributes, name
        assert attributes - fields <= {"is_in_slow_start"}, name

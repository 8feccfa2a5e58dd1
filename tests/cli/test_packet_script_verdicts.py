"""The kernel's recorded verdicts fit our packet scripts and the documentation."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from dumbbell._engine import congestion_controllers

ROOT = Path(__file__).parents[2]


def _tool():  # type: ignore[no-untyped-def]
    place = ROOT / "scripts" / "packet_script_verdicts.py"
    found = importlib.util.spec_from_file_location("packet_script_verdicts", place)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


TOOL = _tool()
AGAIN = "have them judged again: .venv/bin/python scripts/packet_script_verdicts.py --write"


def test_every_script_has_been_judged_as_it_is() -> None:
    stored = {name: each["sha256"] for name, each in TOOL.kept()["scripts"].items()}
    scripts = {TOOL.name_of(path): TOOL.digest(path) for path in TOOL.own_scripts()}
    assert stored == scripts, AGAIN
    assert TOOL.kept()["judge_sha256"] == TOOL.judge_digest(), AGAIN


def test_what_differs_is_true_of_the_kernel() -> None:
    for name, each in TOOL.kept()["scripts"].items():
        if name.startswith("known-to-differ/"):
            assert each["verdict"]["verdict"] == "passed", name


def test_the_simulator_passes_what_the_kernel_passes() -> None:
    scripts = {TOOL.name_of(path): path for path in TOOL.own_scripts()}
    for name, each in TOOL.kept()["scripts"].items():
        if name.startswith("known-to-differ/") or each["verdict"]["verdict"] != "passed":
            continue
        assert TOOL.by_simulator(scripts[name].read_text(encoding="utf-8")) == "passed", name


def test_the_page_is_what_is_kept() -> None:
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.table(), (
        "print it again: .venv/bin/python scripts/packet_script_verdicts.py --table"
    )


def test_each_script_names_its_rule_and_the_source_of_it() -> None:
    for path in TOOL.own_scripts():
        rule, source = TOOL.rule_of(path.read_text(encoding="utf-8"))
        assert rule and re.match(r"RFC \d+|Linux", source), path


WITH_ONE_SCRIPT = {"scalable", "vegas", "illinois", "westwood", "htcp", "highspeed", "dctcp"}
"""Flows of these are held beside the kernel's on their pages; a script holds the window of each."""


def test_each_controller_has_scripts() -> None:
    """A window held by hand follows no rule of its own; the kernel lacks the other three."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(TOOL.SCRIPTS.glob("*.pkt"))]
    for controller in set(congestion_controllers()) - {"manual", "ledbat++", "prague", "bbr3"}:
        named = re.compile(rf'congestion_control={controller}\b|TCP_CONGESTION, "{controller}"')
        least = 1 if controller in WITH_ONE_SCRIPT else 3
        assert sum(bool(named.search(text)) for text in texts) >= least, controller

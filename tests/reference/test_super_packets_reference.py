"""The kept comparison of the switches of devices: what the page says, and the bounds."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = {
    "dropped_at_start_pkts": 0.15,
    "dropped_pkts": 0.15,
    "sojourn_mean_ms": 0.1,
    "goodput_mbps": 0.02,
}
"""Relative to the kernel's; of drops, two packets in any case."""
APART = {
    ("CUBIC, 10 Mbit/s, 17 packets", "`tso` everywhere"),
    ("CUBIC, 10 Mbit/s, 34 packets", "`gro` at the router"),
}
"""Outside of the bounds, as the page says, with why."""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "scripts/super_packets.py"
    spec = importlib.util.spec_from_file_location("super_packets", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_what_is_kept(tool: ModuleType) -> None:
    kept = json.loads(tool.KEPT.read_text(encoding="utf-8"))
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.with_table(page, kept) == page
    for backend in tool.BACKENDS:
        assert set(kept[backend]) == {network.name for network in tool.NETWORKS}


def test_the_simulator_is_as_near_the_kernel_as_the_page_says(tool: ModuleType) -> None:
    kept = json.loads(tool.KEPT.read_text(encoding="utf-8"))
    apart = set()
    for network in tool.NETWORKS:
        for switch in tool.SWITCHES:
            simulated, kernel = (kept[side][network.name][switch] for side in ("sim", "kernel"))
            for measure, bound in BOUNDS.items():
                least = 2 if measure.startswith("dropped") else 0
                expected = pytest.approx(kernel[measure], rel=bound, abs=least)
                if simulated[measure] != expected:
                    apart.add((network.name, switch))
    assert apart == APART


def test_the_simulator_still_says_what_is_kept(tool: ModuleType) -> None:
    kept = json.loads(tool.KEPT.read_text(encoding="utf-8"))["sim"]
    network = tool.NETWORKS[0]
    for switch in tool.SWITCHES:
        assert tool.measured(network, switch, "sim") == kept[network.name][switch]


def test_the_picture_shows_both_backends(tool: ModuleType) -> None:
    drawn = tool.PICTURE.read_text(encoding="utf-8")
    for words in ("Linux 6.1", "simulator", "bursts", "tso everywhere"):
        assert drawn.count(words) >= 1, words
    came, left = tool.arrivals_ms("bursts", "sim")
    assert all(f"M{tool.LEFT + tool.scale_ms() * at:.1f} " in drawn for at in came + left)

"""The kept comparison of bursts over the reference grid: what the page says, and the bounds."""

from __future__ import annotations

import importlib.util
import json
import statistics
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = {
    "goodput_mbps": 0.02,
    "sojourn_mean_ms": 0.05,
    "dropped_pkts": 0.05,
    "dropped_at_start_pkts": 0.1,
    "retransmitted_pkts": 0.05,
    "largest_cwnd_pkts": 0.03,
}
"""Of the median network, relative to the kernel's."""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("burst_grid", ROOT / "scripts/burst_grid.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_what_is_kept(tool: ModuleType) -> None:
    kept = json.loads(tool.KEPT.read_text(encoding="utf-8"))
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.with_table(page, kept) == page
    names = {cell.name for cell in tool.grid_cells()}
    for side in kept["networks"].values():
        assert all(set(networks) == names for networks in side.values())


@pytest.mark.parametrize("segments", ["1", "65535"])
def test_the_median_network_is_within_the_bounds(tool: ModuleType, segments: str) -> None:
    networks = json.loads(tool.KEPT.read_text(encoding="utf-8"))["networks"]
    for measure, bound in BOUNDS.items():
        found = tool.differences(networks["sim"][segments], networks["kernel"][segments], measure)
        assert statistics.median(found) <= bound, measure


def test_the_simulator_still_says_what_is_kept(tool: ModuleType) -> None:
    """Of a network of each controller, both ways."""
    kept = json.loads(tool.KEPT.read_text(encoding="utf-8"))["networks"]["sim"]
    chosen = [
        next(cell for cell in tool.grid_cells() if cell.controller == name and cell.rate_mbps == 10)
        for name in ("reno", "cubic", "bbr")
    ]
    for segments in tool.SEGMENTS:
        found = tool.measured(chosen, "sim", segments)
        assert found == {cell.name: kept[str(segments)][cell.name] for cell in chosen}

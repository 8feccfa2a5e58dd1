"""The kept comparison with Linux 6.1 over the reference grid: the page, and what it says."""

from __future__ import annotations

import importlib.util
import json
import math
import statistics
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dumbbell.compare import Cell, compare
from dumbbell.compare.quantity import Quantity

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "grid_agreement", ROOT / "scripts/grid_agreement.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept(tool: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tool.KEPT.read_text(encoding="utf-8"))
    return found


def test_the_page_has_what_is_kept(tool: ModuleType, kept: dict[str, Any]) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.with_table(page, kept) == page
    names = [cell.name for cell in tool.grid_cells()]
    assert list(kept["networks"]) == names
    assert all(tool.GOODPUT in rows for rows in kept["networks"].values())


def test_the_outcome_is_that_of_interval_and_margin(kept: dict[str, Any]) -> None:
    for name, rows in kept["networks"].items():
        for words, row in rows.items():
            low, high = row["difference"]
            if row["margin"] is None or low is None:
                continue
            inside = -row["margin"] <= low and high <= row["margin"]
            assert (row["outcome"] == "the same") == inside, (name, words)


def test_the_simulator_still_says_what_is_kept(tool: ModuleType, kept: dict[str, Any]) -> None:
    """Of a network of each controller."""
    for controller in ("reno", "cubic", "bbr"):
        cell = next(
            each
            for each in tool.grid_cells()
            if (each.controller, each.rate_mbps) == (controller, 10) and each.flows > 1
        )
        found = compare(
            [Cell(cell.name, cell.experiment())], replications=kept["replications"], jobs=1
        )
        values = {
            words: found.replicates(cell.name).values(Quantity.parse(path))
            for path, words in tool.QUANTITIES.items()
            if "flow-1" not in path
        }
        for words, row in kept["networks"][cell.name].items():
            mean = statistics.fmean(values[words])
            assert math.isclose(mean, row["sim"], rel_tol=1e-4), (cell.name, words)

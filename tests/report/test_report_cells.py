"""Cells of tables: what is printed of a number, and that the number itself is kept."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from dumbbell.report import Cell, Report, ValueRow, ValueTable, write_report
from dumbbell.report.cells import CellLike
from dumbbell.stats import Estimate

ESTIMATE = Estimate(12.3456, 11.9, 12.8, 0.95, 10, "mean")


@pytest.mark.parametrize(
    ("given", "text", "kept"),
    [
        (ESTIMATE, "12.35 [11.90, 12.80]", {"value": 12.3456, "low": 11.9, "high": 12.8}),
        (12.3456, "12.35", {"value": 12.3456}),
        (7, "7", {"value": 7.0}),
        (None, "–", {}),
        (math.nan, "–", {"value": None}),
        ("no queue", "no queue", {"words": "no queue"}),
        (Cell.of(1.5, "✓"), "1.5 ✓", {"value": 1.5, "words": "✓"}),
        (Cell.of(ESTIMATE, "✗"), "12.35 [11.90, 12.80] ✗",
         {"value": 12.3456, "low": 11.9, "high": 12.8, "words": "✗"}),
        (Cell(123456.0, digits=7), "123456", {"value": 123456.0}),
    ],
)  # fmt: skip
def test_a_cell_is_printed_and_its_number_kept(
    given: CellLike, text: str, kept: dict[str, float]
) -> None:
    cell = Cell.of(given)
    assert (cell.text, cell.fields) == (text, kept)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (ESTIMATE, "12.3456"),
        (7, "7.0"),
        (math.nan, ""),
        ("no queue", ""),
        (Cell(words="2 to 10", order=(2, 10)), "2 10"),
        (Cell(3.0, words="third", order=(1, 3)), "1 3"),
    ],
)
def test_a_cell_is_ordered_by_its_number_or_by_those_it_is_given(given: CellLike, key: str) -> None:
    assert Cell.of(given).sort_key == key


def test_the_folder_has_the_numbers_of_the_tables(tmp_path: Path) -> None:
    rows = [ValueRow("delay", "ms", [ESTIMATE, None], frozenset({0}))]
    table = ValueTable("Delays", ["one", "two"], rows)
    report = Report(study="cells", title="Cells", summary="One table", values=[table])
    page = write_report(report, tmp_path / "cells").read_text(encoding="utf-8")
    assert '<strong>12.35 <span class="interval">[11.90, 12.80]</span></strong>' in page
    assert json.loads((tmp_path / "cells" / "values.json").read_text()) == [
        {
            "title": "Delays",
            "columns": ["one", "two"],
            "rows": [
                {
                    "name": "delay",
                    "unit": "ms",
                    "cells": [{"value": 12.3456, "low": 11.9, "high": 12.8}, {}],
                }
            ],
        }
    ]

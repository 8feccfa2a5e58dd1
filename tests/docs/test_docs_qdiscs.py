"""The page of queue disciplines says what the parser does."""

from __future__ import annotations

import json

import pytest
from docs_pages import ROOT

from dumbbell import _engine
from dumbbell.spec.qdisc_docs import qdiscs_markdown

PAGE = ROOT / "docs" / "qdiscs.md"
DISCIPLINES = json.loads(_engine.disciplines())


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == qdiscs_markdown(), (
        "python -m dumbbell.spec.qdisc_docs > docs/qdiscs.md"
    )


@pytest.mark.parametrize("discipline", DISCIPLINES, ids=lambda each: each["name"])
def test_every_word_is_on_the_page(discipline: dict) -> None:
    section = qdiscs_markdown().split(f"## `{discipline['name']}`\n")[1].split("\n## ")[0]
    for parameter in discipline["parameters"]:
        for word in (parameter["name"], *parameter["aliases"]):
            assert f"`{word}`" in section
        for said in ("unit", "range", "effect", "default_source"):
            assert parameter[said] in section
        assert f'"{parameter["key"]}":{parameter["default"]}' in section
    for word in discipline["not_implemented"]:
        assert f"`{word}`" in section
        with pytest.raises(_engine.QdiscError, match="not implemented"):
            _engine.parse_qdisc(f"{discipline['name']} {word} 1")


def test_cells_do_not_break_the_table() -> None:
    rows = [line for line in qdiscs_markdown().splitlines() if line.startswith("|")]
    assert rows
    assert {row.count("|") for row in rows} == {6}


def test_a_number_without_unit_is_taken_as_tc_takes_it() -> None:
    """As the page's head says."""
    assert json.loads(_engine.parse_qdisc("netem delay 5 rate 1000000")) == {
        "kind": "netem",
        "limit_packets": 1000,
        "delay_ns": 5_000,
        "rate_bps": 1_000_000,
    }

"""The page of queue disciplines says what the parser does."""

from __future__ import annotations

import json

import pytest
from docs_pages import ROOT

from dumbbell import _engine
from dumbbell.spec.qdisc_docs import qdiscs_markdown

PAGE = ROOT / "docs" / "qdiscs.md"
DISCIPLINES = json.loads(_engine.disciplines())


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == qdiscs_markdown(), (
        "python -m dumbbell.spec.qdisc_docs > docs/qdiscs.md"
    )


@pytest.mark.parametrize("discipline", DISCIPLINES, ids=lambda each: each["name"])
def test_every_word_is_on_the_page(discipline: dict) -> None:
    section = qdiscs_markdown().split(f"## `{discipline['name']}`\n")[1].split("\n## ")[0]
    for parameter in discipline["parameters"]:
        name, argument = parameter["name"], parameter["argument"]
        # A further argument is named by what stands before it.
        typed = f"{name} {argument}" if " " in name else name
        for word in (typed, *parameter["aliases"]):
            assert f"`{word}`" in section
        for said in ("unit", "range", "effect", "default_source"):
            assert parameter[said] in section
        stated = parameter["default_source"].startswith(("required", "in place of"))
        table, _, _ = parameter["key"].rpartition(".")
        if table:
            # Of a table that the resolved form lacks by default.
            assert parameter["default"] is None
            assert f'"{table}":' not in section
        elif not stated:
            assert f'"{parameter["key"]}":{compact(parameter["default"])}' in section
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
    netem = json.loads(_engine.parse_qdisc("netem delay 10 rate 1000000"))
    assert (netem["delay_ns"], netem["rate_bps"]) == (9_984, 1_000_000)
    codel = json.loads(_engine.parse_qdisc("codel limit 0100 target 2.01ms"))
    assert (codel["limit_packets"], codel["target_ns"]) == (64, 2_009_000)


@pytest.mark.parametrize(
    "text",
    ["netem rate 10%", "codel target -1s", "codel limit 0", "fq_codel quantum 7"],
)
def test_what_the_page_says_is_refused_has_a_reason(text: str) -> None:
    with pytest.raises(_engine.QdiscError) as caught:
        _engine.parse_qdisc(text)
    assert caught.value.reason

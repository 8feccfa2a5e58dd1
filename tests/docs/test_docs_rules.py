"""docs/rules.md is what `python -m dumbbell.claims` prints."""

from __future__ import annotations

import re

import pytest
from docs_pages import ROOT

from dumbbell.claims.page_of_rules import DRAWS, rules_markdown
from dumbbell.claims.rules import RuleName
from dumbbell.claims.synthetic import TRIALS, allowed

PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def without_shares(page: str) -> str:
    """The page but for the numbers that thousands of draws give."""
    rows = re.sub(r"(\| \d+(\.\d)? % )+\|$", "| shares |", page, flags=re.MULTILINE)
    return re.sub(r"\([\d,]+ draws each\)", "(draws)", rows)


def test_the_page_is_what_the_code_prints_but_for_the_shares() -> None:
    assert without_shares(PAGE) == without_shares(rules_markdown(draws=1)), (
        "print it again: python -m dumbbell.claims > docs/rules.md"
    )


def test_the_page_shows_few_wrong_verdicts() -> None:
    tables = re.findall(r"\(([\d,]+) draws each\):\n\n.*?\n\|[- |]+\n((?:\|.*\n)+)", PAGE)
    assert len(tables) == len(TRIALS)
    for draws, rows in tables:
        for row in rows.splitlines():
            wrong = re.findall(r"(\d+\.\d) %", row)
            assert len(wrong) == 5, row
            most = 100 * allowed(int(draws.replace(",", "")))
            assert all(float(share) <= most for share in wrong), row


def test_every_rule_has_its_part() -> None:
    for name in RuleName:
        assert f"## {name.value[0].upper()}{name.value[1:]}\n" in PAGE


@pytest.mark.long
def test_the_page_is_what_the_code_prints() -> None:
    assert rules_markdown(DRAWS) == PAGE

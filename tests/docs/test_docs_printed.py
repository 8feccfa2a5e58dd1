"""The tables of printed numbers in the documentation are those of full runs."""

from __future__ import annotations

import pytest
from docs_pages import ROOT
from docs_printed_table import kept, table

from dumbbell.studies import STUDIES
from dumbbell.studies.reproduction import Reproduction

LISTED = [
    name
    for name, study in STUDIES.items()
    if isinstance(study, type) and issubclass(study, Reproduction) and study.printed
]


@pytest.mark.parametrize("study", LISTED)
def test_the_table_of_printed_numbers(study: str) -> None:
    page = (ROOT / "docs" / f"{study}.md").read_text(encoding="utf-8")
    # `python tests/docs/docs_printed_table.py STUDY` writes it.
    assert kept(page) == table(study)

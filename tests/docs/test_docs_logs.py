"""The page of logs has the table that the code prints."""

from __future__ import annotations

from docs_pages import ROOT

from dumbbell.formats.logs.reading import table_of_kinds


def test_the_table_of_kinds() -> None:
    # `python -m dumbbell.formats.logs.reading` prints it.
    assert f"\n\n{table_of_kinds()}\n\n" in (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")

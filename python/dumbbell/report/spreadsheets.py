"""CSV that is safe to open in a spreadsheet: text cells are not evaluated."""

from __future__ import annotations

import polars as pl

_BEGINS_A_FORMULA = r"^[=+\-@\t\r]"
"""Characters listed by OWASP under "CSV Injection". A spreadsheet evaluates such a cell, even if
quoted, and its formula can send other cells' data to a third party."""
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before each text that a spreadsheet would evaluate.

    Columns of numbers are unchanged, and so are numbers written as text.
    """
    columns = [_quoted(column) for column in frame.get_columns()]
    names = _quoted(pl.Series(frame.columns, dtype=pl.String))
    return pl.DataFrame(dict(zip(names.to_list(), columns, strict=True)))


def _quoted(column: pl.Series) -> pl.Series:
    if not isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum):
        return column
    text = column.cast(pl.String)
    is_formula = text.str.contains(_BEGINS_A_FORMULA) & ~text.str.contains(_NUMBER)
    return text.zip_with(~is_formula, "'" + text)

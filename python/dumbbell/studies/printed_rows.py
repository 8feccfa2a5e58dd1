"""Numbers that a source prints, as a table beside the module of the study."""

from __future__ import annotations

import csv
from importlib.resources import files


def printed_rows(name: str) -> list[dict[str, str]]:
    """Rows of ``NAME.csv`` in this folder, by the names of its columns.

    Args:
        name: Name of the file, without its ending.
    """
    text = (files("dumbbell.studies") / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

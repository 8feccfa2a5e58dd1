"""The table of numbers on a study's page, from the study's claims.json.

dumbbell reproduce statistical-multiplexing --full --seed 1
python tests/docs/docs_study_table.py results/statistical-multiplexing/claims.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- numbers -->\n", "<!-- end of numbers -->"


def table(claims: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| claim | published | theory | elsewhere | measured | interval | unit | n | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for claim in claims:
        cells = [
            f"`{claim['id']}`",
            _number(claim["published"]),
            _number(claim["theory"]),
            _number(claim["measured_elsewhere"]),
            _number(claim["measured"]),
            _interval(claim["low"], claim["high"]),
            "" if claim["unit"] == "1" else claim["unit"],
            str(claim["n_replications"]),
            claim["verdict"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _interval(low: float | None, high: float | None) -> str:
    # Levels that are judged together have an interval each, and the row none.
    return "" if low is high is None else f"{_number(low)} to {_number(high)}"


def kept(page: str) -> str:
    """What stands on the page."""
    return page.split(BEGIN)[1].split(END, maxsplit=1)[0]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    text = f"{value:#.4g}"
    return text.rstrip("0").rstrip(".") if float(text) == round(value, 9) else text.rstrip(".")


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["claims"]), end="")

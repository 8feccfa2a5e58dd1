"""Outcomes of full dossiers, kept in ``full_outcomes.json`` to compare quick ones with.

Each argument is a file with what ``dumbbell judge NAME --full --json`` printed (some minutes of CPU
time per controller):

    python tests/judge/full_outcomes.py NAME.json ... > tests/judge/full_outcomes.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_suffix(".json")
OUTCOMES = ("holds", "does_not_hold", "not_decided")

Outcomes = Mapping[str, str]
"""Outcome by the id of a claim."""


def outcomes_of(told: Mapping[str, Any]) -> Outcomes:
    """The outcomes in a document of ``dumbbell judge --json``."""
    return {
        claim: outcome
        for section in told["sections"]
        for outcome in OUTCOMES
        for claim in section[outcome]
    }


def contradictions(quick: Outcomes, full: Outcomes) -> list[str]:
    """Claims that both decide, and decide differently.

    Raises:
        KeyError: Quick has a claim that full lacks.
    """
    return [
        f"{claim}: quick {outcome}, full {full[claim]}"
        for claim, outcome in quick.items()
        if outcome != full[claim] and "not_decided" not in (outcome, full[claim])
    ]


if __name__ == "__main__":
    documents = [json.loads(Path(each).read_text(encoding="utf-8")) for each in sys.argv[1:]]
    print(json.dumps({each["controller"]: outcomes_of(each) for each in documents}, indent=1))

"""Compares the verdicts of quick and full runs, from their results folders.

``compare_verdicts.py --store FOLDER`` prints the results of ``dumbbell reproduce all --full --seed
1`` in FOLDER as a small JSON document, stored in ``tests/studies/full_verdicts.json``.
``compare_verdicts.py KEPT FOLDER`` lists where a quick run in FOLDER decided differently from KEPT.
A fact (dependent rows) counts once. Exit status 1 if more facts differ than the error rate of a
verdict, 5 %, plus three binomial standard errors allows.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

ERROR_RATE = 0.05
DECIDED = ("reproduced", "not reproduced", "not explained anywhere", "depends on", "explained at")
"""Prefixes of decisive verdicts; other verdicts leave the question open."""

Verdicts = dict[str, dict[str, dict[str, str]]]
"""Study, then ``backend/id`` of a row, then its ``verdict`` and ``fact``."""


def verdicts_in(folder: Path) -> Verdicts:
    """Return the verdicts of every study in a folder of results."""
    found: Verdicts = {}
    for file in sorted(folder.glob("*/claims.json")):
        claims: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["claims"]
        found[file.parent.name] = {
            f"{claim['backend']}/{claim['id']}": {
                "verdict": claim["verdict"],
                "fact": claim["fact"] or claim["id"],
            }
            for claim in claims
        }
    return found


def is_decided(verdict: str) -> bool:
    """Return whether a verdict is decisive."""
    return verdict.startswith(DECIDED)


def most_wrong(decided: int) -> int:
    """Return the number of these that may differ."""
    spread = math.sqrt(decided * ERROR_RATE * (1 - ERROR_RATE))
    return math.floor(decided * ERROR_RATE + 3 * spread)


def differing(full: Verdicts, quick: Verdicts) -> tuple[int, dict[tuple[str, str], list[str]]]:
    """Return the number of facts decided by both, and by fact the rows decided differently.

    Raises:
        ValueError: Quick has a row that full lacks, so it is not a subset.
    """
    facts: set[tuple[str, str]] = set()
    wrong: dict[tuple[str, str], list[str]] = {}
    for study, rows in quick.items():
        for row, ours in rows.items():
            theirs = full.get(study, {}).get(row)
            if theirs is None:
                raise ValueError(f"{study}: quick has {row}, which full has not")
            if not (is_decided(ours["verdict"]) and is_decided(theirs["verdict"])):
                continue
            fact = (study, theirs["fact"])
            facts.add(fact)
            if ours["verdict"] != theirs["verdict"]:
                said = f"{row}: quick {ours['verdict']}, full {theirs['verdict']}"
                wrong.setdefault(fact, []).append(said)
    return len(facts), wrong


def main(arguments: list[str]) -> int:
    """Run the command line."""
    if len(arguments) == 2 and arguments[0] == "--store":
        print(json.dumps(verdicts_in(Path(arguments[1])), indent=1, ensure_ascii=False))
        return 0
    if len(arguments) != 2:
        print("usage: compare_verdicts.py KEPT FOLDER", file=sys.stderr)
        return 2
    full = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    decided, wrong = differing(full, verdicts_in(Path(arguments[1])))
    for (study, fact), rows in wrong.items():
        print(f"{study}, {fact}: " + "; ".join(rows))
    allowed = most_wrong(decided)
    print(f"{decided} facts are decided by both; {len(wrong)} otherwise, at most {allowed} may be")
    return 1 if len(wrong) > allowed or not decided else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

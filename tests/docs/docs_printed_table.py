"""The table of printed numbers on a study's page of the documentation, from kept verdicts.

Writes it into the pages of the studies named, between two comments that are there:

python tests/docs/docs_printed_table.py statistical-multiplexing
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from dumbbell.claims import PrintedNumber, State, Verdict, state_of
from dumbbell.studies import get_study
from dumbbell.studies.reproduction import Reproduction

KEPT = Path(__file__).parents[1] / "studies" / "full_verdicts.json"
BEGIN, END = "<!-- printed numbers -->\n", "<!-- end of printed numbers -->"


def verdicts_of(study: str) -> dict[str, str]:
    """Claim to its verdict as printed, in the simulator at full length."""
    rows: Mapping[str, Mapping[str, str]] = json.loads(KEPT.read_text(encoding="utf-8"))[study]
    return {
        row.removeprefix("sim/"): of["verdict"]
        for row, of in rows.items()
        if row.startswith("sim/")
    }


def verdict_of(text: str) -> Verdict:
    """From the word as printed, which may name parameters or a point."""
    named = (Verdict.EXPLAINED_AT, Verdict.DEPENDS_ON)
    return next((each for each in named if text.startswith(each.value)), None) or Verdict(text)


def state_in(number: PrintedNumber, verdicts: Mapping[str, str]) -> State:
    """Of a number, by kept verdicts."""
    return state_of(
        verdict_of(verdicts[each.claim]) for each in number.spoken if each.claim in verdicts
    )


def reason_in(number: PrintedNumber, verdicts: Mapping[str, str]) -> str:
    """In which arm it comes out, and where; of one not explained, in which arms it does not."""
    state = state_in(number, verdicts)
    alike = [
        each
        for each in number.spoken
        if each.claim in verdicts and state_of([verdict_of(verdicts[each.claim])]) is state
    ]
    if state is State.NOT_EXPLAINED:
        return "not " + ", nor ".join(dict.fromkeys(each.arm.name for each in alike))
    if not alike:
        return ""
    point = verdicts[alike[0].claim].partition(f"{Verdict.EXPLAINED_AT.value} ")[2]
    return f"{alike[0].arm.name}: {point}" if point else alike[0].arm.name


def table(study: str) -> str:
    """Numbers of one group, one state and one reason stand in one row."""
    made = get_study(study)
    assert isinstance(made, type) and issubclass(made, Reproduction) and made.printed
    verdicts = verdicts_of(study)
    rows: dict[tuple[str, str, str], list[str]] = {}
    for number in made.printed.numbers:
        unit = "" if number.unit == "1" else f" {number.unit}"
        key = (number.group, state_in(number, verdicts).value, reason_in(number, verdicts))
        rows.setdefault(key, []).append(f"{number.name} {number.printed}{unit}")
    lines = ["| | state | printed | where |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {group} | {state} | {'; '.join(numbers)} | {reason} |"
        for (group, state, reason), numbers in rows.items()
    ]
    return "\n".join([*lines, ""])


def kept(page: str) -> str:
    """What stands on a page."""
    return page.split(BEGIN)[1].split(END, maxsplit=1)[0]


def main() -> None:
    """Put the table of each study named on its page."""
    for study in sys.argv[1:]:
        file = Path(__file__).parents[2] / "docs" / f"{study}.md"
        page = file.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        after = rest.split(END, maxsplit=1)[1]
        made = f"{before}{BEGIN}{table(study)}{END}{after}"
        file.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()

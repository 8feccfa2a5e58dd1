"""Every number that a source prints has exactly one state, by the verdicts of full runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from dumbbell.claims import PrintedNumbers, State, Verdict, state_of
from dumbbell.studies import STUDIES
from dumbbell.studies.pie_rrul import published as pie
from dumbbell.studies.pie_rrul.printed_numbers import key_of
from dumbbell.studies.queue_size_delay import published as size
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.statistical_multiplexing import published as multiplexing
from dumbbell.studies.traffic_policing import published as policing

FULL = json.loads((Path(__file__).parent / "full_verdicts.json").read_text(encoding="utf-8"))


def printed_of(study: str) -> PrintedNumbers | None:
    made = STUDIES[study]
    assert isinstance(made, type) and issubclass(made, Reproduction)
    return made.printed


LISTED = [study for study in STUDIES if printed_of(study)]
KEYS: dict[str, Callable[[], Iterable[str]]] = {
    "statistical-multiplexing": lambda: [
        *(f"{each.arm.lower()}-{each.name}" for each in multiplexing.RTT),
        "mean-ratio",
    ],
    "queue-size-delay": lambda: [f"icmp-seq-{number}" for number in size.LISTING_MS],
    "traffic-policing": lambda: policing.VALUES,
    "pie-rrul": lambda: [
        key_of(row, quantity) for row, numbers in pie.TABLES.items() for quantity in numbers
    ],
}
"""Study to the numbers of its ``published``."""


def verdict_of(text: str) -> Verdict:
    named = (Verdict.EXPLAINED_AT, Verdict.DEPENDS_ON)
    return next((each for each in named if text.startswith(each.value)), None) or Verdict(text)


def full_verdicts(study: str) -> dict[str, Verdict]:
    return {
        row.removeprefix("sim/"): verdict_of(of["verdict"])
        for row, of in FULL[study].items()
        if row.startswith("sim/")
    }


@pytest.mark.parametrize("study", KEYS)
def test_all_that_is_printed_is_listed(study: str) -> None:
    printed = printed_of(study)
    assert printed is not None
    assert sorted(each.key for each in printed.numbers) == sorted(KEYS[study]())


@pytest.mark.parametrize("study", LISTED)
def test_at_full_length_each_has_a_state(study: str) -> None:
    printed, verdicts = printed_of(study), full_verdicts(study)
    assert printed is not None
    for number in printed.numbers:
        unknown = [each.claim for each in number.spoken if each.claim not in verdicts]
        assert not unknown, f"{number.key}: no such claims in a full run: {unknown}"
        state = state_of(verdicts[each.claim] for each in number.spoken)
        assert state is not State.NOT_JUDGED, number.key


def test_every_study_lists_what_its_source_prints() -> None:
    assert list(STUDIES) == LISTED
    # Those of buffer sizing are held to its source in a test of its own.
    assert set(LISTED) - set(KEYS) == {"buffer-sizing"}

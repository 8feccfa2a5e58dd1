"""Facts are counted instead of rows, and the number of misses expected by chance is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dumbbell.claims import Claim, Origin, Runs, Verdict, counts_of, facts_of, judge, view_of
from dumbbell.claims.rules import Check, CountedAs, Equals, Published, Rule
from dumbbell.claims.view import ClaimView

RUNS = Runs(np.linspace(19.0, 21.0, 40))


def row(name: str, printed: float, fact: str = "", **more: Any) -> ClaimView:
    return of(name, Published(printed=printed, rounding=0.0, unit="ms", **more), fact)


def of(name: str, rule: Rule[Any], fact: str = "", backend: str = "sim") -> ClaimView:
    claim = Claim(id=name, statement="s", source="t", rule=rule, fact=fact)
    return view_of(judge(claim, RUNS, backend=backend))


def test_rows_that_follow_from_one_another_are_one_fact() -> None:
    rows = [row("drops", 20.0, "loss"), row("retransmissions", 20.5, "loss"), row("rate", 20.0)]
    (count,) = counts_of(rows)
    assert (count.facts, count.rows) == (2, 3)
    assert count.verdicts == {Verdict.REPRODUCED: 2}


@pytest.mark.parametrize(
    ("printed", "expected"),
    [((20.0, 90.0), Verdict.NOT_REPRODUCED), ((20.0, 20.5), Verdict.REPRODUCED)],
)
def test_one_row_that_disagrees_settles_a_fact(
    printed: tuple[float, float], expected: Verdict
) -> None:
    (fact,) = facts_of([row("a", printed[0], "f"), row("b", printed[1], "f")])
    assert fact.verdict is expected


def test_a_row_that_says_nothing_takes_nothing_from_one_that_does() -> None:
    undecided = of("b", Published(printed=20.0, rounding=0.0, unit="ms", level=0.999), "f")
    wide = of("c", Equals(value=20.0, margin=0.15, unit="ms", origin=Origin.PUBLISHED), "f")
    assert wide.verdict is Verdict.INCONCLUSIVE
    (fact,) = facts_of([row("a", 20.0, "f"), wide, undecided])
    assert fact.verdict is Verdict.REPRODUCED


def test_72_numbers_at_95_percent_miss_3_to_4_by_chance() -> None:
    (count,) = counts_of([row(f"n{k}", 20.0) for k in range(72)])
    assert count.chance_words == "72 numbers at 95 %: chance alone would miss 3 to 4"
    (one,) = counts_of([row("n", 20.0)])
    assert one.chance_words == "1 number at 95 %: chance alone would miss 0 to 1"
    (theory,) = counts_of([of("t", Equals(value=20.0, margin=1.0, unit="ms"))])
    assert theory.chance_words == ""


def test_what_was_measured_elsewhere_never_counts_as_published() -> None:
    counts = counts_of([row("a", 20.0), row("b", 20.0, origin=Origin.ELSEWHERE)])
    assert [(count.standing, count.facts) for count in counts] == [
        (CountedAs.SOURCE, 1),
        (CountedAs.ELSEWHERE, 1),
    ]


def test_what_is_only_shown_counts_nowhere() -> None:
    assert counts_of([of("c", Check(value=20.0, because="so", unit="ms", tolerance=5.0))]) == []


def test_a_fact_on_two_backends_was_tested_twice() -> None:
    rule = Published(printed=20.0, rounding=0.0, unit="ms")
    (count,) = counts_of([of("a", rule), of("a", rule, backend="kernel")])
    assert count.facts == 2

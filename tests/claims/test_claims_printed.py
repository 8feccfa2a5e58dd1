"""The state of a printed number depends only on the verdicts of a run."""

from __future__ import annotations

from itertools import combinations

import pytest

from dumbbell.claims import (
    Arm,
    Claim,
    Cost,
    Fitted,
    Grid,
    GridPoint,
    Judged,
    NumberClaim,
    PrintedNumber,
    PrintedNumbers,
    Runs,
    State,
    Verdict,
    judge,
    not_testable,
    state_of,
)
from dumbbell.claims.rules import Calibration, Explained, Level, Published

PLAIN = Arm(name="as printed", cost=Cost.AS_PRINTED, why="Nothing.")
OTHER = Arm(name="otherwise", cost=Cost.ONE_NUMBER, why="Something.")
AROUND_TEN = [9.8, 10.2, 9.9, 10.1, 10.0, 10.3, 9.7, 10.1, 9.9, 10.0]


def shifted(by: float) -> Runs:
    return Runs([each + by for each in AROUND_TEN])


def published(name: str, printed: float, *, backend: str = "sim", shift: float = 0.0) -> Judged:
    claim = Claim(
        id=name, statement="s", source="s", rule=Published(printed=printed, rounding=0.05, unit="1")
    )
    return judge(claim, shifted(shift), backend=backend)


def levels(printed: float) -> Judged:
    """Of two levels at two points, 10 and 20."""
    rule = Explained(
        levels={name: Level(printed=printed, reading=0.05) for name in ("a", "b")},
        grid="two points",
        unit="1",
    )
    points = [
        GridPoint(
            {"shift": shift}, dict.fromkeys("ab", Runs([each + shift for each in AROUND_TEN]))
        )
        for shift in (0.0, 10.0)
    ]
    return judge(Claim(id="levels", statement="s", source="s", rule=rule), Grid(points))


def number(*spoken: NumberClaim, key: str = "n") -> PrintedNumber:
    return PrintedNumber(key=key, group="g", name=key, printed="10", unit="1", spoken=spoken)


def chosen() -> Judged:
    rule = Calibration(parameter="p", unit="1", used="n")
    return judge(Claim(id="fit", statement="s", source="s", rule=rule), Fitted(3.0, 2.0, 4.0))


def test_every_verdict_has_a_state_and_order_does_not_matter() -> None:
    alone = {verdict: state_of([verdict]) for verdict in Verdict}
    open_ones = {each for each, state in alone.items() if state is State.NOT_JUDGED}
    assert open_ones == {Verdict.INCONCLUSIVE, Verdict.PREVIEW, Verdict.CHECK_FAILS}
    assert state_of([]) is State.NOT_JUDGED
    for a, b in combinations(Verdict, 2):
        assert state_of([a, b]) is state_of([b, a])
        assert state_of([a, b]) in (alone[a], alone[b])


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ((Verdict.NOT_REPRODUCED, Verdict.REPRODUCED), State.REPRODUCED),
        ((Verdict.NOT_REPRODUCED, Verdict.EXPLAINED_AT, Verdict.CALIBRATION), State.EXPLAINED),
        ((Verdict.NOT_REPRODUCED, Verdict.CALIBRATION), State.CALIBRATION),
        ((Verdict.CALIBRATION, Verdict.NOT_EXPLAINED), State.NOT_EXPLAINED),
        ((Verdict.UNINFORMATIVE, Verdict.NOT_REPRODUCED), State.NOT_EXPLAINED),
        ((Verdict.UNINFORMATIVE, Verdict.PREVIEW), State.UNINFORMATIVE),
    ],
)
def test_what_goes_before_what(given: tuple[Verdict, ...], state: State) -> None:
    assert state_of(given) is state


def test_a_number_is_explained_only_by_a_claim_judged_in_that_run() -> None:
    numbers = PrintedNumbers(
        [number(NumberClaim("as-is", PLAIN), NumberClaim("levels", OTHER, "a"))]
    )
    as_is = published("as-is", 20.0)
    (row,) = numbers.account([as_is]).rows
    assert (row.state, row.spoken) == (State.NOT_EXPLAINED, NumberClaim("as-is", PLAIN))
    (row,) = numbers.account([as_is, levels(20.0)]).rows
    assert row.state is State.EXPLAINED and row.judged is not None
    assert row.judged.decision.at == ({"shift": 10.0},)
    assert row.found is not None and row.found.value == pytest.approx(20.0)
    (row,) = numbers.account([]).rows
    assert (row.state, row.judged, row.found) == (State.NOT_JUDGED, None, None)


def test_the_nearest_is_the_arm_that_misses_least() -> None:
    far, near = NumberClaim("far", PLAIN), NumberClaim("near", OTHER)
    judged = [published("far", 20.0), published("near", 20.0, shift=8.0)]
    for spoken in ((far, near), (near, far)):
        (row,) = PrintedNumbers([number(*spoken)]).account(judged).rows
        assert (row.state, row.spoken) == (State.NOT_EXPLAINED, near)


def test_the_simulator_goes_before_the_kernel() -> None:
    judged = [published("one", 20.0, backend="kernel"), published("one", 10.0)]
    (row,) = PrintedNumbers([number(NumberClaim("one", PLAIN))]).account(judged).rows
    assert row.state is State.REPRODUCED
    (row,) = PrintedNumbers([number(NumberClaim("one", PLAIN))]).account(judged[:1]).rows
    assert row.state is State.NOT_EXPLAINED


def test_arms_are_counted_the_cheapest_first() -> None:
    numbers = PrintedNumbers(
        [
            number(NumberClaim("fit", OTHER), NumberClaim("one", PLAIN), key="a"),
            number(NumberClaim("two", OTHER), NumberClaim("one", PLAIN), key="b"),
            number(NumberClaim("not run", OTHER), key="c"),
        ]
    )
    accounts = numbers.account([published("one", 20.0), published("two", 10.0), chosen()])
    counted = [(each.arm, each.asked, each.came_out, each.used) for each in accounts.tried]
    assert counted == [(PLAIN, 2, 0, 0), (OTHER, 2, 1, 1)]
    assert accounts.counts == {State.REPRODUCED: 1, State.CALIBRATION: 1, State.NOT_JUDGED: 1}
    assert [row.number.key for row in accounts.groups["g"]] == ["a", "b", "c"]


def test_what_cannot_be_tested_is_apart() -> None:
    claim = Claim(
        id="one", statement="s", source="s", rule=Published(printed=10.0, rounding=0.1, unit="1")
    )
    judged = [not_testable(claim, "nobody knows")]
    (row,) = PrintedNumbers([number(NumberClaim("one", PLAIN))]).account(judged).rows
    assert row.state is State.NOT_TESTABLE and row.state.is_apart


def test_a_number_is_listed_once() -> None:
    with pytest.raises(ValueError, match="printed twice: n"):
        PrintedNumbers([number(), number()])

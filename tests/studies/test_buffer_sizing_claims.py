"""The claims of the study of buffer sizing, on replications made up for the purpose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from dumbbell.claims import Judged, Pairing, Verdict, counts_of, view_of, views_of
from dumbbell.claims.rules import CountedAs, Direction, Explained
from dumbbell.replication import Replications
from dumbbell.studies.buffer_sizing import arms, claims, printed_levels, published, text
from dumbbell.studies.buffer_sizing.arms import Case, Point
from dumbbell.studies.buffer_sizing.measures import (
    BufferComparison,
    BufferRun,
    FlowsOfSize,
    Found,
    closed_loop_levels,
    persistent_levels,
)

N = 10
NOISE = np.linspace(-0.01, 0.01, N)
"""What replications differ by, relatively."""

_LARGE = FlowsOfSize(100, 200.0, 3.0, 0.02, 0.15, 0.15, 0.02, 1.02, 9.0)
_SMALL = FlowsOfSize(4000, 90.0, 2.0, 0.0, 0.25, 0.75, 0.0, 0.97, 1.5)
_RAN = BufferRun(0.98, 0.02, 20.0, 5, 0.9, _LARGE, _SMALL, over_law=1.05)
USUAL = BufferComparison(
    small=replace(
        _RAN,
        utilization=0.97,
        drop_share=0.05,
        mean_wait_ms=2.0,
        steps=0.95,
        large=replace(_LARGE, spread=4.0, loss=0.06),
        small=replace(_SMALL, spread=3.0, without_loss=0.4, late_completion_s=2.0),
    ),
    large=replace(_RAN, large=replace(_LARGE, loss=0.03)),
    large_better=0.8,
    small_better=0.45,
    loss_gaps=np.full(5, 0.03),
    flows={},
    runs={},
)
"""As the source would have it."""


def changed(of: BufferComparison, noise: float, **fields: float) -> BufferComparison:
    """With what a test sets and a noise on what is measured."""
    large_better = fields.get("large_better", of.large_better) * (1 + noise)
    small_better = fields.get("small_better", of.small_better) * (1 + noise)
    used = fields.get("utilization", of.small.utilization) * (1 + noise / 10)
    small = replace(
        of.small,
        utilization=used,
        drop_share=of.small.drop_share * (1 + noise),
        mean_wait_ms=of.small.mean_wait_ms * (1 + noise),
        steps=of.small.steps * (1 + noise / 10),
        large=replace(
            of.small.large,
            loss=fields.get("loss", of.small.large.loss) * (1 + noise),
            spread=fields.get("spread", of.small.large.spread) * (1 + noise),
            greatest_loss=of.small.large.greatest_loss * (1 + noise),
        ),
        small=replace(
            of.small.small,
            without_loss=of.small.small.without_loss * (1 + noise),
            late_completion_s=of.small.small.late_completion_s * (1 + noise),
            greatest_loss=of.small.small.greatest_loss * (1 + noise),
        ),
    )
    return replace(
        of,
        small=small,
        large_better=large_better,
        small_better=small_better,
        loss_gaps=of.loss_gaps * (1 + noise),
    )


def found(
    fields: Callable[[Case], dict[str, float]] = lambda case: {},
    *,
    points: Iterable[Point] = arms.GRID,
    n: int = N,
) -> Found:
    """Replications at all points, with what is set there."""
    return Replications(
        {
            case: tuple(changed(USUAL, noise, **fields(case)) for noise in NOISE[:n])
            for case in arms.cases(points)
        },
        n,
        "",
    )


def directions(of: Found) -> dict[str, Judged]:
    return {one.claim.id: one for one in claims.judge_directions(of)}


def levels(of: Found) -> dict[str, Judged]:
    return {one.claim.id: one for one in printed_levels.judge_levels(of)}


def test_all_thirteen_observations_are_claims_with_a_rule() -> None:
    everything = [*claims.judge_directions(found()), *printed_levels.judge_levels(found())]
    said = [one.claim.statement for one in everything]
    numbers = {
        int(number)
        for statement in said
        for told in re.findall(r"\((\d+(?:, \d+)*)\)", statement)
        for number in told.split(", ")
    }
    assert numbers == set(range(1, 14))
    ids = [one.claim.id for one in everything]
    assert len(ids) == len(set(ids))
    kinds = {type(one.claim.rule) for one in everything}
    assert kinds == {Direction, Explained}
    # The same experiment's printed numbers are one fact, as is a headline with its light part.
    (count,) = counts_of(views_of(everything))
    assert count.standing is CountedAs.SOURCE
    assert count.facts == len(claims.OBSERVATIONS) + 4


def test_what_holds_everywhere_is_reproduced() -> None:
    judged = directions(found(lambda case: {"loss": 0.06 + 0.02 * (case.point.stack == "testbed")}))
    assert {one.verdict for one in judged.values()} == {Verdict.REPRODUCED}
    for of in claims.OBSERVATIONS:
        assert (f"{of.id}-light" in judged) == of.is_headline


def test_what_turns_on_the_grid_depends_on_what_decides() -> None:
    def starved(case: Case) -> dict[str, float]:
        return {"large_better": 0.3} if case.point.load == "heavy" else {}

    judged = directions(found(starved))
    turned = judged["observation-12-persistent"]
    assert view_of(turned).verdict_text == "depends on load"
    # At the light load it holds, which is a row of the same fact.
    light = judged["observation-12-persistent-light"]
    assert light.verdict is Verdict.REPRODUCED
    assert light.claim.fact == turned.claim.fact == "observation-12-persistent"


def test_what_holds_nowhere_is_not_reproduced() -> None:
    judged = directions(found(lambda case: {"utilization": 0.80}))
    for workload in arms.WORKLOADS:
        name = f"observation-10-utilization-{workload}"
        assert judged[name].verdict is judged[f"{name}-light"].verdict is Verdict.NOT_REPRODUCED
        assert judged[name].found.value == pytest.approx(0.18, abs=0.01)


def test_one_workload_says_nothing_of_the_other() -> None:
    judged = directions(
        found(lambda case: {"spread": 1.0} if case.workload == "closed-loop" else {})
    )
    assert judged["observation-03"].verdict is Verdict.REPRODUCED
    assert judged["observation-08"].verdict is Verdict.NOT_REPRODUCED


def test_a_grid_that_was_not_run_completely_is_not_judged() -> None:
    judged = directions(found(points=arms.LIGHT))
    assert judged and all(name.endswith("-light") for name in judged)
    assert not directions(found(points=[Point(), Point("ns-2")]))
    assert not levels(found(points=arms.LIGHT))
    assert not levels(found(points=arms.GRID[:-2]))


def test_an_interval_of_a_share_stays_one() -> None:
    judged = directions(found(lambda case: {"large_better": 0.999}))
    assert judged["observation-12-persistent"].found.high == 1.0


def test_only_the_reading_that_a_claim_is_about_judges_it() -> None:
    def paper(case: Case) -> dict[str, float]:
        return {"small_better": 0.2 if case.point.stack == "ns-2" else 0.9}

    judged = directions(found(paper))
    assert judged["observation-07-paper"].verdict is Verdict.REPRODUCED
    (of,) = (each for each in claims.OBSERVATIONS if each.id == "observation-07-paper")
    assert claims.decide_at(of, Point("testbed"), found(paper)) is None


def test_twins_are_compared_replication_by_replication() -> None:
    """Both see the same arrivals: what those vary by is no part of the difference."""

    def loss(case: Case) -> dict[str, float]:
        return {"loss": 0.0606 if case.point.stack == "testbed" else 0.06}

    judged = directions(found(loss))["observation-04-testbed"]
    assert judged.verdict is Verdict.REPRODUCED
    assert judged.found.value == pytest.approx(0.0006)
    assert view_of(judged).n_replications == N
    (of,) = (each for each in claims.OBSERVATIONS if each.id == "observation-04-testbed")
    alone = found(loss, points=[Point()])
    assert claims.decide_at(of, Point(), alone) is None
    assert claims.decide_at(of, Point(), found(loss)) is not None


def test_slow_transfers_are_compared_by_their_logarithms() -> None:
    judged = directions(found())["observation-11"]
    assert judged.found.value == pytest.approx(np.log(2.0 / 1.5), rel=1e-3)


def test_printed_levels_are_explained_by_one_point_together() -> None:
    """Each level comes out somewhere; what counts is where all do."""

    def turning(case: Case) -> dict[str, float]:
        # As printed at the light load; elsewhere either of two is right, never both.
        by_load = {"light": (0.8, 0.45), "medium": (0.8, 0.7), "heavy": (0.5, 0.45)}
        large, small = by_load[case.point.load]
        return {"large_better": large, "small_better": small}

    judged = levels(found(turning))
    paper = judged["levels-persistent-paper"]
    assert paper.verdict is Verdict.EXPLAINED_AT
    assert [setting["load"] for setting in paper.decision.at] == ["light"]
    assert "TCP" not in paper.decision.at[0]
    testbed = judged["levels-persistent-testbed"]
    assert testbed.verdict is Verdict.NOT_EXPLAINED
    assert testbed.decision.nearest is not None
    assert {each.level for each in testbed.decision.missed} == {
        "(2) small flows better with B_s",
        "(5) small flows without loss, B_s",
    }


def test_levels_of_few_replications_decide_nothing() -> None:
    assert {one.verdict for one in levels(found(n=9)).values()} == {Verdict.INCONCLUSIVE}


def test_levels_are_measured_as_they_are_printed() -> None:
    assert persistent_levels(USUAL) == published.PersistentLevels(0.8, 0.55, 0.03, 0.4, 0.75)
    assert closed_loop_levels(USUAL) == published.ClosedLoopLevels(0.8, 0.45, 0.15, 0.15, 0.25)


def test_a_statement_of_levels_prints_them_all() -> None:
    said = levels(found())["levels-closed-loop-testbed"].claim.statement
    assert "(7) small flows better with B_l 75 %" in said
    assert "(9) greatest loss of a small flow, B_s 90 %" in said
    paper = levels(found())["levels-closed-loop-paper"].claim.statement
    assert "(7)" not in paper and "(9) greatest loss of a small flow, B_s 25 %" in paper


def test_a_margin_that_was_changed_says_so() -> None:
    judged = {**directions(found()), **levels(found())}
    amended = {name for name, one in judged.items() if one.claim.amended}
    assert {"observation-03", "observation-11", "levels-persistent-paper"} <= amended
    assert "observation-04" not in amended


def test_the_summary_says_what_a_student_asks_first() -> None:
    everything = [*claims.judge_directions(found()), *printed_levels.judge_levels(found())]
    said = text.summary(everything, None)
    assert said.startswith("With 18 packets 80 % of the persistent flows get less than with 500 ")
    assert f"Of {len(claims.OBSERVATIONS) + 4} facts that the source states" in said


def test_backends_that_differ_by_a_tenth_do_not_agree() -> None:
    kernel = 0.6 * (1 + NOISE)
    for factor, verdict in ((1.0, Verdict.REPRODUCED), (1.1, Verdict.NOT_REPRODUCED)):
        sides = claims.sides_of(factor * kernel, kernel[:5])
        assert sides.n == 5 and sides.pairing is Pairing.SHARED_STREAMS
        judged = claims.judge_agreement("persistent", 18, "utilization", sides)
        assert judged.verdict is verdict
    assert judged.claim.fact == "agreement-persistent-18"

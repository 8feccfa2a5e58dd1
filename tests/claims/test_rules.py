"""Edge cases of each rule, and properties common to all rules."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from rule_samples import MAYBE, NO, YES, claim, runs, verdict
from scipy.stats import ttest_ind

from dumbbell.claims import (
    FAMILYWISE_ERROR,
    Amendment,
    Curves,
    Ensemble,
    Fitted,
    Grid,
    GridPoint,
    Judged,
    Origin,
    Pairing,
    Ratio,
    Runs,
    Side,
    Sides,
    Stated,
    Verdict,
    contradicted,
    contradicting,
    judge,
    not_testable,
    view_of,
)
from dumbbell.claims.page_of_rules import EXAMPLES
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Check,
    CountedAs,
    Direction,
    Equals,
    Equivalent,
    Explained,
    Law,
    Level,
    Ordering,
    Preview,
    Published,
    PublishedInEnsemble,
    RuleName,
    Share,
    Shortfall,
    Spread,
    Supremum,
)
from dumbbell.stats import Estimate, IntervalKind, batch_means, prediction_interval

EQUALS = Equals(value=10.0, margin=1.0, unit="ms")
PUBLISHED = Published(printed=20.0, rounding=0.0, unit="ms")


def test_a_verdict_made_or_changed_by_hand_is_refused() -> None:
    judged = judge(claim(EQUALS), runs(10, 0.1, 5))
    with pytest.raises(TypeError, match="judge"):
        Judged(judged.claim, "sim", judged.decision)
    with pytest.raises(TypeError, match="judge"):
        dataclasses.replace(judged, note="better")
    with pytest.raises(dataclasses.FrozenInstanceError):
        judged.note = "better"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("mean", "expected"), [(10.0, YES), (10.8, YES), (10.95, MAYBE), (11.05, MAYBE), (11.2, NO)]
)
def test_equality_is_equivalence(mean: float, expected: Verdict) -> None:
    assert verdict(EQUALS, runs(mean, 0.1, 5)) is expected  # the half-width is 0.124


def test_a_mean_is_never_held_against_a_prediction() -> None:
    values = np.linspace(9.9, 10.1, 20)
    with pytest.raises(ValueError, match="prediction"):
        judge(claim(EQUALS), prediction_interval(values))
    found = judge(claim(EQUALS), Runs(values)).found
    assert found.kind is IntervalKind.MEAN
    assert judge(claim(PUBLISHED), Runs(values)).found.kind is IntervalKind.PREDICTION


def test_a_finished_interval_is_brought_to_the_rules_level() -> None:
    narrow = Estimate(10.0, 9.9, 10.1, 0.5, 20, IntervalKind.MEAN)
    found = judge(claim(EQUALS), narrow).found
    assert found.level == 0.95
    assert found.high == pytest.approx(10 + 0.1 * 2.093024 / 0.687621, rel=1e-5)


def test_batches_of_one_run_are_one_run() -> None:
    batches = batch_means(np.random.default_rng(1).normal(10, 0.1, 3200))
    judged = judge(claim(EQUALS), batches)
    assert (judged.verdict, judged.found.n) == (YES, 1)


@pytest.mark.parametrize(
    ("printed", "n", "expected"),
    [
        (0.49, 5, MAYBE),  # however near: five runs are never enough for a number
        (21.9, 5, NO),
        (21.9, 3, NO),
        (21.9, 2, MAYBE),
        # The 99.9 % interval of five runs: 0.49 +- 8.61 sqrt(1.2) 0.1.
        (0.49 + 0.94, 5, MAYBE),
        (0.49 + 0.95, 5, NO),
    ],
)
def test_few_runs_may_speak_against_a_printed_number_and_never_for_it(
    printed: float, n: int, expected: Verdict
) -> None:
    rule = Published(printed=printed, rounding=0.0, unit="Mbit/s")
    judged = judge(claim(rule), runs(0.49, 0.1, n))
    assert judged.verdict is expected
    if expected is NO:
        assert f"{n} runs are enough against it" in judged.note
        assert "for it this rule needs 10" in judged.note
        assert judged.found.level == 0.999
    else:
        assert judged.note == f"{n} replications, where this rule needs 10"


def test_few_runs_without_spread_or_law_speak_neither_way() -> None:
    """All alike they may be of a count that is mostly zero; by order 39 runs are needed."""
    rule = Published(printed=3.0, rounding=0.0, unit="packets")
    assert verdict(rule, Runs([0.0, 0.0, 0.0, 0.0])) is MAYBE
    by_order = dataclasses.replace(rule, law=Law.ANY)
    assert verdict(by_order, runs(1000.0, 1.0, 38)) is MAYBE
    assert verdict(by_order, runs(1000.0, 1.0, 39)) is NO


@pytest.mark.parametrize(
    ("printed", "rounding", "expected"),
    [(20.0, 0.0, YES), (22.3, 0.0, YES), (22.5, 0.0, NO), (22.5, 0.5, YES), (17.0, 0.5, NO)],
)
def test_a_published_number_against_one_run(
    printed: float, rounding: float, expected: Verdict
) -> None:
    rule = Published(printed=printed, rounding=rounding, unit="ms")
    assert verdict(rule, runs(20.0, 1.0, 10)) is expected  # one run: 20 ± 2.37


def test_inside_an_interval_too_wide_to_test_is_uninformative_and_outside_is_not() -> None:
    wide = runs(20.0, 6.0, 10)
    assert verdict(PUBLISHED, wide) is Verdict.UNINFORMATIVE
    assert verdict(Published(printed=400.0, rounding=0.0, unit="ms"), wide) is NO


@pytest.mark.parametrize(("law", "least"), [(Law.NORMAL, 10), (Law.LOG_NORMAL, 10), (Law.ANY, 39)])
def test_a_prediction_needs_its_runs(law: Law, least: int) -> None:
    rule = Published(printed=20.0, rounding=0.0, unit="ms", law=law)
    assert verdict(rule, runs(20.0, 1.0, least)) is YES
    few = judge(claim(rule), runs(20.0, 1.0, least - 1))
    assert few.verdict is MAYBE
    assert str(least) in few.note


def test_a_host_adds_its_jitter() -> None:
    rule = Published(printed=23.0, rounding=0.0, unit="ms", jitter=1.0)
    assert verdict(rule, runs(20.0, 1.0, 10)) is YES
    assert verdict(dataclasses.replace(rule, jitter=0.0), runs(20.0, 1.0, 10)) is NO


def test_print_is_held_against_the_ensemble_and_not_the_ensemble_near_print() -> None:
    """All members lie within 10 % of print, and print outside of all members."""
    rule = PublishedInEnsemble(printed=100.0, rounding=0.5, declared=("start",), unit="packets")
    assert verdict(rule, Ensemble(np.linspace(102.0, 108.0, 40))) is NO
    assert verdict(rule, Ensemble(np.linspace(98.0, 108.0, 40))) is YES


def test_a_printed_number_tells_an_open_choice() -> None:
    rule = PublishedInEnsemble(printed=12.0, rounding=0.0, declared=("SACK",), unit="packets")
    settings = [{"SACK": s, "window": w} for s in ("on", "off") for w in (2.0, 10.0)] * 10
    values = [12.0 + 0.1 * (k % 7 - 3) if s["SACK"] == "on" else 15.0 + 0.1 * (k % 7)
              for k, s in enumerate(settings)]  # fmt: skip
    judged = judge(claim(rule), Ensemble(values, settings))
    sack, window = judged.decision.identified
    assert (sack.agree, sack.disagree, sack.constrains_parameter) == (("on",), ("off",), True)
    assert (window.agree, window.constrains_parameter) == ((2.0, 10.0), False)
    assert "SACK = on" in view_of(judged).note


def test_agreement_takes_the_larger_margin() -> None:
    rule = Agreement(relative=0.1, floor=0.5, unit="ms")
    pair = (np.array([10.9, 10.8, 10.9, 10.8, 10.9]), np.full(5, 10.0))
    assert verdict(rule, Sides(*pair, Pairing.SHARED_STREAMS)) is YES  # 10 % of 10 is 1
    low = (pair[0] - 9.0, pair[1] - 9.0)
    assert verdict(rule, Sides(*low, Pairing.SHARED_STREAMS)) is NO  # 10 % of 1 is 0.1; 0.5 counts
    assert Agreement.of_delays_ms(0.02, packet_ms=12.0).floor == 12.0
    assert Agreement.of_delays_ms(0.02, packet_ms=0.1).floor == 0.5


def test_agreement_is_no_lying_within_the_others_spread() -> None:
    """Kernel 10, 11, 12 against 15.9: within its prediction interval, and no agreement at all."""
    kernel, sim = [10.0, 11.0, 12.0], [15.9, 15.9, 15.9]
    rule = Agreement(relative=0.05, floor=0.5, unit="ms")
    assert prediction_interval(kernel).contains(15.9)
    assert verdict(rule, Sides(sim, kernel, Pairing.INDEPENDENT)) is MAYBE
    more = Sides(sim * 4, kernel * 4, Pairing.INDEPENDENT)
    assert verdict(rule, more) is NO


def test_independent_sides_are_compared_by_welchs_interval() -> None:
    random = np.random.default_rng(3)
    ours, other = random.normal(10.0, 3.0, 6), random.normal(10.0, 0.5, 30)
    expected = ttest_ind(ours, other, equal_var=False).confidence_interval(0.95)
    rule = Agreement(relative=0.0, floor=1.0, unit="ms")
    found = judge(claim(rule), Sides(ours, other, Pairing.INDEPENDENT)).found
    assert (found.low, found.high, found.n) == (
        pytest.approx(expected.low), pytest.approx(expected.high), 6,
    )  # fmt: skip


@pytest.mark.parametrize(("is_tail", "least"), [(False, 5), (True, 10)])
def test_agreement_needs_its_runs(is_tail: bool, least: int) -> None:
    rule = Agreement(relative=0.0, floor=1.0, unit="ms", is_tail=is_tail)
    sides = [Sides(runs(10, 0.1, n).values, runs(10, 0.1, 12).values, Pairing.INDEPENDENT)
             for n in (least, least - 1)]  # fmt: skip
    assert [verdict(rule, each) for each in sides] == [YES, MAYBE]


def test_an_ordering_is_simultaneous() -> None:
    rule = Ordering(over="everywhere", unit="ms")
    steps = np.array([[-0.1], [0.0], [0.1]])
    assert verdict(rule, Curves(1.0 + steps + np.zeros(4))) is YES
    assert verdict(rule, Curves(np.array([1.0, 1.0, -1.0, 1.0]) + steps)) is NO
    assert verdict(rule, Curves(np.array([1.0, 1.0, 0.1, 1.0]) + steps)) is MAYBE
    assert verdict(rule, Curves(1.0 + steps[:2] + np.zeros(4))) is MAYBE  # two replications
    slack = dataclasses.replace(rule, slack=1.5)
    assert verdict(slack, Curves(np.array([1.0, 1.0, -1.0, 1.0]) + steps)) is YES


def test_curves_of_settings() -> None:
    columns = [[1.0, 2.0], [3.0, 5.0], [4.0, 7.0]]
    assert Curves.of_steps(columns).rows.tolist() == [[2.0, 1.0], [3.0, 2.0]]
    assert Curves.of_all_pairs(columns).rows.tolist() == [[2.0, 3.0, 1.0], [3.0, 5.0, 2.0]]


def test_the_margin_of_hardly_matters() -> None:
    assert Equivalent.of_delays().margin == 2.0
    assert Equivalent.of_rates(1000.0).margin == 3.0
    assert Equivalent.of_rates(50.0).margin == 1.5
    rule = Equivalent(margin=1.0, unit="ms")
    assert verdict(rule, runs(0.0, 0.1, 5)) is YES
    assert verdict(rule, runs(0.0, 5.0, 5)) is MAYBE  # not significant is not equal
    assert verdict(rule, runs(2.0, 0.1, 5)) is NO


def test_the_largest_of_several_differences_decides() -> None:
    rule = Equivalent(margin=1.0, unit="ms")
    steps = np.array([[-0.1], [-0.05], [0.0], [0.05], [0.1]])
    assert verdict(rule, Curves(np.array([0.1, -0.2, 0.3]) + steps)) is YES
    judged = judge(claim(rule), Curves(np.array([0.1, -4.0, 0.3]) + steps))
    assert judged.verdict is NO
    assert judged.found.value == pytest.approx(-4.0)
    assert judged.found.high is not None
    assert judged.found.high < -1.0


def test_one_sided_and_two_sided_shares() -> None:
    assert [verdict(Share.most("flows"), runs(x, 0.05, 5)) for x in (0.7, 0.52, 0.4)] == [
        YES, MAYBE, NO,
    ]  # fmt: skip
    around = Share(value=0.4, of="flows", margin=0.1)
    assert [verdict(around, runs(x, 0.01, 5)) for x in (0.42, 0.5, 0.7)] == [YES, MAYBE, NO]
    at_most = Share(value=0.1, of="flows", side=Side.AT_MOST)
    assert [verdict(at_most, runs(x, 0.01, 5)) for x in (0.05, 0.2)] == [YES, NO]
    assert judge(claim(around), runs(0.9, 0.2, 3)).found.high == 1.0
    with pytest.raises(ValueError, match="margin"):
        Share(value=0.4, of="flows")
    with pytest.raises(ValueError, match="no margin"):
        Share(value=0.4, of="flows", side=Side.AT_MOST, margin=0.1)


def test_a_ratio_is_of_means_and_never_a_mean_of_ratios() -> None:
    ratio = Ratio([1.0, 30.0, 2.0], [1.0, 10.0, 2.0])
    assert judge(claim(Spread.more("rates")), ratio).found.value == pytest.approx(33 / 13)


def test_a_supremum() -> None:
    rule = Supremum(bound=100.0, packet=1.0, unit="ms", resolution=0.001)
    assert verdict(rule, Runs([99.1] * 5)) is YES
    assert verdict(rule, Runs([99.1] * 4)) is MAYBE
    assert verdict(rule, Runs([98.9] * 5)) is NO
    assert verdict(rule, Runs([100.0005, *[99.5] * 5])) is YES
    assert verdict(rule, Runs([100.002, *[99.5] * 50])) is NO


def grid(*shares: float, names: tuple[str, str] = ("load", "RTT")) -> Grid[Runs]:
    settings = [{names[0]: load, names[1]: rtt} for load in (4.0, 8.0) for rtt in (20.0, 80.0)]
    return Grid([GridPoint(s, runs(x, 0.02, 5)) for s, x in zip(settings, shares, strict=True)])


@pytest.mark.parametrize(
    ("shares", "expected", "names"),
    [
        ((0.7, 0.7, 0.6, 0.6), YES, ()),
        ((0.3, 0.3, 0.4, 0.4), NO, ()),
        ((0.7, 0.7, 0.3, 0.3), Verdict.DEPENDS_ON, ("load",)),
        ((0.7, 0.3, 0.7, 0.3), Verdict.DEPENDS_ON, ("RTT",)),
        ((0.7, 0.3, 0.3, 0.3), Verdict.DEPENDS_ON, ("load", "RTT")),
        ((0.7, 0.51, 0.3, 0.3), Verdict.DEPENDS_ON, ("load",)),
        ((0.7, 0.7, 0.51, 0.7), MAYBE, ()),
        ((0.3, 0.3, 0.51, 0.3), MAYBE, ()),
    ],
)
def test_a_direction_over_a_grid(
    shares: tuple[float, ...], expected: Verdict, names: tuple[str, ...]
) -> None:
    judged = judge(claim(Direction(at_each=Share.most("flows"), grid="load, RTT")), grid(*shares))
    assert (judged.verdict, judged.decision.depends_on) == (expected, names)
    if names == ("load",) and shares[1] == 0.3:
        assert view_of(judged).verdict_text == "depends on load"


def test_it_says_where_a_direction_turns() -> None:
    rule = Direction(at_each=Share.most("flows"), grid="load, RTT")
    note = view_of(judge(claim(rule), grid(0.7, 0.7, 0.3, 0.3))).note
    assert note == "reproduced at load = 4; not reproduced at load = 8"


def test_many_points_do_not_make_one_fail_by_chance() -> None:
    """One point of twenty is out at 95 %, as one of twenty will be; none is at a shared level."""
    points = [GridPoint({"load": float(k)}, runs(0.7, 0.02, 5)) for k in range(19)]
    just_out = GridPoint({"load": 19.0}, runs(0.47, 0.02, 5))
    rule = Direction(at_each=Share.most("flows"), grid="load")
    assert verdict(Share.most("flows"), just_out.evidence) is NO
    assert verdict(rule, Grid([*points, just_out])) is MAYBE
    far_out = GridPoint({"load": 19.0}, runs(0.4, 0.02, 5))
    assert verdict(rule, Grid([*points, far_out])) is Verdict.DEPENDS_ON


def test_grids_name_the_same_parameters() -> None:
    with pytest.raises(ValueError, match="empty"):
        Grid([])
    with pytest.raises(ValueError, match="load"):
        Grid([GridPoint({"load": 1.0}, runs(1, 1, 3)), GridPoint({"RTT": 1.0}, runs(1, 1, 3))])


def test_a_preview_is_never_judged() -> None:
    shortfall = Shortfall(what="run length", ours=20.0, published=150.0, unit="s")
    preview = Preview(of=PUBLISHED, shortfalls=(shortfall,))
    for centre in (20.0, 90.0):
        judged = judge(claim(preview), runs(centre, 1.0, 10))
        assert judged.verdict is Verdict.PREVIEW
        assert judged.found.value == pytest.approx(centre)
        assert judged.p_value is None
        assert not view_of(judged).counts
        assert "run length 20 s, published 150 s" in judged.note
    over = Preview(of=Direction(at_each=Share.most("flows"), grid="g"), shortfalls=(shortfall,))
    assert verdict(over, grid(0.7, 0.7, 0.3, 0.3)) is Verdict.PREVIEW
    with pytest.raises(ValueError, match="preview"):
        Preview(of=PUBLISHED, shortfalls=())
    with pytest.raises(ValueError, match="preview"):
        Preview(of=PUBLISHED, shortfalls=(dataclasses.replace(shortfall, ours=150.0),))


def test_a_calibration_shows_its_parameter() -> None:
    rule = Calibration(parameter="load", unit="packets/s", used="six quartiles", nominal=110.0)
    judged = judge(claim(rule), Fitted(92.0, 90.0, 94.0, n=200, p_value=0.3, is_at_edge=True))
    assert judged.verdict is Verdict.CALIBRATION
    assert (judged.found.low, judged.found.high, judged.found.kind) == (
        90.0, 94.0, IntervalKind.PROFILE,
    )  # fmt: skip
    assert "search ended" in judged.note
    assert judged.claim.rule.standing is CountedAs.UNCOUNTED


@pytest.mark.parametrize(
    ("side", "values", "holds"),
    [
        (Side.EQUALS, [1.0, 1.05], True),
        (Side.EQUALS, [1.0, 1.2], False),
        (Side.AT_MOST, [-5.0, 1.1], True),
        (Side.AT_MOST, [-5.0, 1.2], False),
        (Side.AT_LEAST, [9.0, 0.9], True),
        (Side.AT_LEAST, [9.0, 0.8], False),
    ],
)
def test_a_check_is_of_every_run(side: Side, values: list[float], holds: bool) -> None:
    rule = Check(value=1.0, because="so", unit="1", side=side, tolerance=0.1000001)
    expected = Verdict.CHECK_HOLDS if holds else Verdict.CHECK_FAILS
    assert verdict(rule, Runs(values)) is expected


@pytest.mark.parametrize(
    "evidence",
    [
        Runs([1.0, math.nan, 2.0]),
        Ratio([1.0, 2.0], [1.0, math.inf]),
        Ratio([1.0, 2.0], [1.0, -1.0]),
        Sides([math.nan, 1.0], [1.0, 1.0], Pairing.INDEPENDENT),
        Estimate(math.nan, math.nan, math.nan, 0.95, 3, IntervalKind.MEAN),
    ],
)
def test_a_replication_without_a_number_leaves_nothing_to_test(evidence: Any) -> None:
    judged = judge(claim(EQUALS), evidence)
    assert (judged.verdict, judged.found.value) == (Verdict.NOT_TESTABLE, None)
    assert view_of(judged).glyphs == ()


def test_one_replication_is_inconclusive_and_says_so() -> None:
    judged = judge(claim(EQUALS), Runs([10.0]))
    assert (judged.verdict, judged.found.low) == (MAYBE, None)
    assert "one replication" in judged.note


def test_what_nothing_run_can_speak_to_stays_in_the_table() -> None:
    judged = not_testable(claim(EQUALS), "it is not printed")
    assert (judged.verdict, judged.note) == (Verdict.NOT_TESTABLE, "it is not printed")


def test_a_presumed_reason_stands_beside_a_disagreement_only() -> None:
    for mean, expected in ((10.0, "seed 1"), (13.0, "seed 1; headers count")):
        evidence = runs(mean, 0.1, 5)
        judged = judge(claim(EQUALS), evidence, note="seed 1", why_not="headers count")
        assert judged.note == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: Equals(value=1.0, margin=0.0, unit="ms"),
        lambda: Equals(value=math.nan, margin=1.0, unit="ms"),
        lambda: Equals(value=1.0, margin=1.0, unit="ms", level=1.0),
        lambda: Published(printed=1.0, rounding=-1.0, unit="ms"),
        lambda: Agreement(relative=-0.1, floor=1.0, unit="ms"),
        lambda: Agreement(relative=0.1, floor=0.0, unit="ms"),
        lambda: Ordering(over="x", unit="ms", slack=-1.0),
        lambda: Equivalent(margin=math.inf, unit="ms"),
        lambda: Supremum(bound=1.0, packet=0.0, unit="ms"),
        lambda: Share(value=1.5, of="flows", margin=0.1),
        lambda: Explained(levels={}, grid="g", unit="ms"),
        lambda: Level(printed=1.0, reading=0.1, law=Law.ANY),
        lambda: PublishedInEnsemble(printed=1.0, rounding=0.0, declared=(), unit="ms"),
        lambda: Runs([]),
        lambda: Ratio([1.0], [1.0, 2.0]),
        lambda: Sides([1.0], [1.0, 2.0], Pairing.SHARED_STREAMS),
        lambda: Curves([1.0, 2.0]),
        lambda: Ensemble([1.0, 2.0], [{"SACK": "on"}]),
    ],
)
def test_what_makes_no_rule_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        make()


def test_evidence_cannot_be_changed_after_it_was_given() -> None:
    values = np.ones(3)
    given = Runs(values)
    values[0] = 9.0
    assert given.values[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        given.values[0] = 9.0


def test_columns_are_true() -> None:
    """What was measured elsewhere is not published; what stands beside decides nothing."""
    elsewhere = dataclasses.replace(PUBLISHED, origin=Origin.ELSEWHERE)
    view = view_of(judge(claim(elsewhere), runs(20.0, 1.0, 10)))
    assert (view.published, view.elsewhere, view.standing) == (None, 20.0, CountedAs.ELSEWHERE)
    beside = claim(EQUALS, beside=(Stated(77.0, Origin.PUBLISHED),))
    view = view_of(judge(beside, runs(10.0, 0.1, 5)))
    assert (view.theory, view.published, view.verdict) == (10.0, 77.0, YES)
    assert view.standing is CountedAs.THEORY
    amended = claim(EQUALS, amended=Amendment("2026-03-14", "the margin was 2"))
    assert view_of(judge(amended, runs(10.0, 0.1, 5))).amended is not None


@pytest.mark.parametrize("name", list(RuleName), ids=lambda name: name.value)
def test_every_rule_has_words_a_unit_and_an_example_of_each_verdict(name: RuleName) -> None:
    shown = set()
    for example in EXAMPLES[name]:
        view = example.view
        assert view.words.endswith((".", ". "))
        assert view.unit
        assert view.rule == name.value
        assert view.interval_kind is None or isinstance(view.interval_kind, IntervalKind)
        shown.add(view.verdict)
    expected = {
        RuleName.PREVIEW: {Verdict.PREVIEW},
        RuleName.CALIBRATION: {Verdict.CALIBRATION},
        RuleName.CHECK: {Verdict.CHECK_HOLDS, Verdict.CHECK_FAILS},
        RuleName.PUBLISHED: {YES, NO, MAYBE, Verdict.UNINFORMATIVE},
        RuleName.ENSEMBLE: {YES, NO, MAYBE, Verdict.UNINFORMATIVE},
        RuleName.DIRECTION: {YES, NO, MAYBE, Verdict.DEPENDS_ON},
        RuleName.EXPLAINED: {
            Verdict.EXPLAINED_AT, Verdict.NOT_EXPLAINED, MAYBE, Verdict.UNINFORMATIVE,
        },
    }.get(name, {YES, NO, MAYBE})  # fmt: skip
    assert shown == expected


def test_equal_values_stand_at_equal_places() -> None:
    """125000 bytes against 125000 bytes: the dot on the mark, in the middle."""
    rule = Supremum(bound=125000.0, packet=1514.0, unit="bytes")
    (glyph,) = view_of(judge(claim(rule), Runs([125000.0] * 5))).glyphs
    assert glyph.measured is not None
    assert glyph.place(glyph.measured) == glyph.place(125000.0) == 0.0
    for margin in (0.1, 7.0):
        rules = Equals(value=10.0, margin=margin, unit="ms")
        (glyph,) = view_of(judge(claim(rules), runs(10.0, 0.01, 5))).glyphs
        assert glyph.shaded is not None
        assert [glyph.place(end) for end in glyph.shaded] == pytest.approx([-0.4, 0.4])
    (glyph,) = view_of(judge(claim(PUBLISHED), runs(60.0, 1.0, 10))).glyphs
    assert glyph.place(60.0) == 1.0
    assert glyph.is_beyond(60.0)
    assert not glyph.is_beyond(29.9)


def test_the_p_value_of_a_theory_starts_at_the_margin() -> None:
    """Off by less than the margin is no contradiction, however sure the measurement is of it."""
    sure = judge(claim(EQUALS), runs(10.9, 0.001, 40))
    assert (sure.verdict, sure.p_value) == (YES, 1.0)
    assert not contradicted([sure])
    beyond = judge(claim(EQUALS), runs(11.1, 0.001, 40))
    assert beyond.p_value is not None
    assert beyond.p_value < 1e-9


def test_only_theory_contradicts_and_only_beyond_a_familywise_error() -> None:
    off = runs(11.3, 0.2, 6)  # p = 0.0007 two-sided at the margin's edge, near enough
    one = judge(claim(EQUALS), off)
    assert one.p_value is not None
    assert 0.0005 < one.p_value < FAMILYWISE_ERROR * 20
    far = judge(claim(EQUALS), runs(20.0, 0.2, 6))
    assert [view.id for view in contradicting([far, *[one] * 5])] == ["c"]
    published = dataclasses.replace(EQUALS, origin=Origin.PUBLISHED)
    assert not contradicted([judge(claim(published), runs(20.0, 0.2, 6))])
    assert not contradicted([judge(claim(PUBLISHED), runs(90.0, 0.2, 10))])


def test_true_theories_are_hardly_ever_contradicted() -> None:
    """At the margin's very edge, the least favourable truth: expect 0.5 of 500 studies."""
    random = np.random.default_rng(11)

    def study(mean: float) -> list[Judged]:
        return [judge(claim(EQUALS), Runs(random.normal(mean, 3.0, 15))) for _ in range(5)]

    assert sum(contradicted(study(11.0)) for _ in range(500)) <= 5
    assert all(contradicted(study(30.0)) for _ in range(20))

"""Error rates of statements about differences, on synthetic data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dumbbell.compare import Basis, Difference, Outcome, Quantity
from dumbbell.compare.judging import agreement, judged, margin_of, measured, paired
from dumbbell.compare.measures import Scale
from dumbbell.compare.words import group_words
from dumbbell.stats import student_interval

RTT = Quantity.parse("probe[call].mean_rtt_ms")
TAIL = Quantity.parse("probe[call].rtt_p99_ms")
GOODPUT = Quantity.parse("flow[bulk].goodput_bps")
LOSS = Quantity.parse("flow[bulk].loss_ratio")
SIDES = ("pie", "pfifo", "sim")
ROWS = 16
TABLES = 400


def table(rng: np.random.Generator, quantity: Quantity, n: int, shift: float) -> list[Difference]:
    """Rows of which each has a shift; a share of the noise is common to both sides."""
    margin = margin_of(quantity, 20e6)
    rows = []
    for _ in range(ROWS):
        common, own, other = rng.normal(0.0, [[3.0], [1.0], [1.0]], size=(3, n))
        base = 100.0 + common + other
        rows.append(paired(quantity, SIDES, 100.0 + shift + common + own, base, margin))
    return judged(rows)


def share_of_tables(quantity: Quantity, n: int, shift: float, outcome: Outcome) -> float:
    rng = np.random.default_rng(7)
    tables = [table(rng, quantity, n, shift) for _ in range(TABLES)]
    return float(np.mean([any(row.outcome is outcome for row in each) for each in tables]))


LIMIT = 0.05 + 3 * math.sqrt(0.05 * 0.95 / TABLES)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("quantity", [RTT, LOSS, TAIL], ids=str)
def test_where_nothing_differs_a_whole_table_seldom_says_so(quantity: Quantity, n: int) -> None:
    assert share_of_tables(quantity, n, 0.0, Outcome.DIFFERS) <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 10])
def test_at_the_margin_a_whole_table_seldom_says_the_same(n: int) -> None:
    assert share_of_tables(RTT, n, 2.0, Outcome.SAME) <= LIMIT


def test_what_is_far_apart_is_said_and_what_is_close_too() -> None:
    rng = np.random.default_rng(8)
    assert {row.outcome for row in table(rng, RTT, 10, 20.0)} == {Outcome.DIFFERS}
    assert {row.outcome for row in table(rng, TAIL, 10, 20.0)} == {Outcome.DIFFERS}
    assert {row.outcome for row in table(rng, RTT, 40, 0.0)} == {Outcome.SAME}
    # Of losses nobody wrote down what matters.
    assert Outcome.SAME not in {row.outcome for row in table(rng, LOSS, 40, 0.0)}


def test_an_interval_is_of_one_number() -> None:
    rng = np.random.default_rng(9)
    covered = [
        (found := measured(rng.normal(5, 1, size=4), Scale.DELAY)).low <= 5 <= found.high
        for _ in range(2000)
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / 2000))


def test_no_interval_where_none_is_honest() -> None:
    bases = {
        Basis.SINGLE: [5.0],
        Basis.CONSTANT: [5.0, 5.0, 5.0],
        Basis.UNDEFINED: [5.0, math.nan],
    }
    for basis, values in bases.items():
        found = measured(np.array(values), Scale.DELAY)
        assert (found.basis, found.has_ends) == (basis, False)
    spread = measured(np.array([4.0, 5.0, 9.0]), Scale.DELAY, is_ensemble=True)
    assert (spread.value, spread.low, spread.high, spread.basis) == (6, 4, 9, Basis.SPREAD)
    skewed = measured(np.array([1.0, 100.0]), Scale.TAIL)
    assert (skewed.value, skewed.basis) == (pytest.approx(10), Basis.GEOMETRIC)
    # A tail that is nothing at times has no logarithm.
    assert measured(np.array([0.0, 100.0]), Scale.TAIL).basis is Basis.MEAN


def test_margins_are_those_written_down() -> None:
    assert margin_of(RTT, math.inf) == 2
    assert margin_of(Quantity.parse("queue[a->b].mean_sojourn_s"), math.inf) == 2e-3
    assert margin_of(GOODPUT, 20e6) == pytest.approx(0.6e6)
    assert margin_of(GOODPUT, 1e9) == 3e6
    assert margin_of(GOODPUT, math.inf) == 3e6
    assert margin_of(Quantity.parse("queue[a->b].utilization"), math.inf) == 0.03
    assert margin_of(LOSS, 20e6) is margin_of(TAIL, 20e6) is None


def test_a_tail_is_compared_by_how_many_times() -> None:
    base = np.array([10.0, 20.0, 40.0])
    found = paired(TAIL, SIDES, 3 * base * [0.9, 1.0, 1 / 0.9], base, None)
    assert found.measured.value == pytest.approx(3)
    assert found.measured.basis is Basis.GEOMETRIC


def test_equal_in_every_run_is_a_fact() -> None:
    ones = np.ones(3)
    (found,) = judged([paired(LOSS, SIDES, ones, ones, None)])
    assert (found.outcome, found.measured.basis) == (Outcome.SAME, Basis.CONSTANT)


def test_an_ensemble_says_what_holds_for_all_its_members() -> None:
    def outcome(differences: list[float]) -> Outcome:
        ours = 100 + np.array(differences)
        row = paired(RTT, SIDES, ours, np.full(ours.shape, 100.0), 2.0, is_ensemble=True)
        (found,) = judged([row])
        assert math.isnan(found.p_value)
        return found.outcome

    assert outcome([3, 4, 5, 3, 4]) is Outcome.DIFFERS
    assert outcome([-3, -4, -5, -3, -4]) is Outcome.DIFFERS
    assert outcome([1, -1, 2, 0, 1]) is Outcome.SAME
    assert outcome([1, 4, 5, 3, 4]) is Outcome.OPEN
    assert outcome([3, 4, 5, 4]) is Outcome.OPEN  # too few


def test_backends_agree_within_a_twentieth_or_half_a_millisecond() -> None:
    def found(difference: float, level: float, n: int = 10) -> Outcome:
        rng = np.random.default_rng(3)
        other = level + rng.normal(0, 0.01, n)
        ours = other + difference + rng.normal(0, 0.01, n)
        row = agreement(
            RTT, ("pie", "kernel", "sim"), ours, other, capacity_bps=math.inf, packet_s=1e-4
        )
        return row.outcome

    assert found(4.0, 100.0) is Outcome.SAME
    assert found(6.0, 100.0) is Outcome.DIFFERS
    assert found(0.4, 1.0) is Outcome.SAME
    assert found(0.6, 1.0) is Outcome.DIFFERS
    assert found(4.0, 100.0, n=4) is Outcome.OPEN


BBR_BPS = np.array([19e6, 18e6, 19e6, 14e6, 1.7e6])
RATE = Quantity.parse("flow[bbr].goodput_bps")


def test_no_interval_reaches_beyond_what_can_be() -> None:
    """Of a rate not below zero, of a share not above one; of a difference it may."""
    scattered = np.array([19e6, 1e6, 1.5e6, 1e6])
    found = measured(scattered, Scale.RATE, possible=RATE.measure.possible)
    whole = student_interval(scattered)
    assert whole.low < 0.0
    assert (found.low, found.high, found.is_cut) == (0.0, whole.high, True)
    share = Quantity.parse("flow[bbr].goodput_share").measure.possible
    found = measured(np.array([0.99, 0.7, 1.0]), Scale.SHARE, possible=share)
    assert found.high == 1.0 and found.is_cut
    free = measured(scattered, Scale.OTHER)
    assert (free.low, free.is_cut) == (whole.low, False)


def test_what_a_run_had_is_possible() -> None:
    """A burst that a shaper lets pass: more than the capacity for a while."""
    values = np.array([1.2, 1.1, 1.3])
    found = measured(values, Scale.SHARE, possible=(0.0, 1.0))
    assert found.low < found.value < found.high <= 1.3


def test_runs_in_two_states_are_told_with_their_shares() -> None:
    found = measured(BBR_BPS, Scale.RATE, possible=RATE.measure.possible)
    assert found.groups is not None
    assert group_words(found.groups, "Mbit/s", 1e-6) == (
        "the runs fall into two groups, 4 of 5 at 14.0 to 19.0 Mbit/s and 1 at 1.70 Mbit/s; the "
        "mean of all describes neither"
    )
    possible = RATE.measure.possible
    assert measured(BBR_BPS, Scale.RATE, possible=possible, is_ensemble=True).groups is None
    assert measured(BBR_BPS[:4], Scale.RATE, possible=possible).groups is None
    assert measured(BBR_BPS, Scale.OTHER).groups is None

"""What the pages conclude in sentences, read in every case that a verdict or a fit can take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dumbbell.claims import (
    Claim,
    Curves,
    Judged,
    Origin,
    Runs,
    Verdict,
    counts_of,
    judge,
    not_testable,
    views_of,
)
from dumbbell.claims.rules import Equals, Ordering
from dumbbell.stats import student_interval
from dumbbell.studies.buffer_sizing import text as sizing_text
from dumbbell.studies.pie_rrul import claims as pie_claims
from dumbbell.studies.pie_rrul import text as pie_text
from dumbbell.studies.pie_rrul.fit import LatencyFit as RingFit
from dumbbell.studies.queue_size_delay import listing
from dumbbell.studies.queue_size_delay import text as listing_text
from dumbbell.studies.statistical_multiplexing import claims, published, text
from dumbbell.studies.statistical_multiplexing.fit import Fitted, QuartileFit
from dumbbell.studies.statistical_multiplexing.senders import OVERSLEEPING, SLOWER, Sender

PRINTED_MS = np.array([each.ms for each in published.QUARTILES])
GOOD, BAD = 0.13, 3.4e-5
VALUES = {SLOWER: 78.5, OVERSLEEPING: 3.0}


def _fit(sender: Sender, p_value: float) -> QuartileFit:
    value = VALUES[sender]
    of_sender = Fitted(value, 0.98 * value, 1.02 * value, at_edge=False)
    return QuartileFit(of_sender, Fitted(1.7, 1.5, 1.9, at_edge=False), 7.0, 4, p_value, PRINTED_MS)


def _runs(n: int, times: float) -> np.ndarray:
    """Quartiles of runs around the printed ones, `times` times as long, less the base RTT."""
    noise = np.random.default_rng(7).normal(0.0, 0.05, size=(n, PRINTED_MS.size))
    return times * PRINTED_MS * np.exp(noise) - 1.7


def _told(times: dict[Sender, float], p_values: dict[Sender, float], n: int = 40) -> str:
    tried = {sender: {VALUES[sender]: _runs(n, each)} for sender, each in times.items()}
    fits = {sender: _fit(sender, p_value) for sender, p_value in p_values.items()}
    return text.summary([claims.together(tried)], {}, fits, tried)


def test_what_explains_is_told_before_what_does_not() -> None:
    said = _told({SLOWER: 2.0, OVERSLEEPING: 1.0}, {SLOWER: BAD, OVERSLEEPING: GOOD})
    assert said.endswith(
        "Senders that sleep 3 ms (2.94 to 3.06) too long after every packet give all six printed "
        "numbers in one run (p = 0.13, the share of such runs that would fit worse). Senders that "
        "send 78.5 packets/s (76.9 to 80.1) where 110 were asked for do not give all six (p = "
        "3.4e-05, the share of such runs that would fit worse)."
    )


def test_neither_or_both_may_explain() -> None:
    neither = _told({SLOWER: 2.0, OVERSLEEPING: 2.0}, {SLOWER: BAD, OVERSLEEPING: BAD})
    assert neither.count("do not give all six (") == 2 and "numbers in one run" not in neither
    both = _told({SLOWER: 1.0, OVERSLEEPING: 1.0}, {SLOWER: GOOD, OVERSLEEPING: GOOD})
    assert both.count("give all six printed numbers in one run (") == 2


def test_a_fit_that_says_the_opposite_of_the_joint_rule_is_told_as_such() -> None:
    said = _told({SLOWER: 2.0, OVERSLEEPING: 1.0}, {SLOWER: GOOD, OVERSLEEPING: BAD})
    assert "in one run, although their best fit is rejected (p = 3.4e-05, " in said
    assert "do not give all six, although their best fit is not rejected" in said


def test_too_few_runs_decide_nothing() -> None:
    said = _told({SLOWER: 1.0, OVERSLEEPING: 1.0}, {SLOWER: GOOD, OVERSLEEPING: GOOD}, n=7)
    assert said.endswith("gives all six printed numbers these runs do not decide.")


@pytest.mark.parametrize(
    ("p_value", "said"),
    [
        (0.2, "A steady load of 1.066 (1.043 to 1.090) gives their growth (p = 0.2, "),
        (0.006, "No steady load gives their growth: the best, 1.066 (1.043 to 1.090), gives its "),
    ],
)
def test_the_listings_load_gives_it_or_does_not(p_value: float, said: str) -> None:
    found = listing.fit_load()
    assert found.p_value == pytest.approx(0.00605, abs=5e-5)
    assert said in listing_text.summary([], replace(found, p_value=p_value))


@pytest.mark.parametrize(
    ("excess_ms", "said"),
    [
        ((5.8, 6.0, 6.2), "are 6.0 ms above what follows from the printed parameters: a driver's"),
        ((-6.2, -6.0, -5.8), "are 6.0 ms below what follows from the printed parameters, which no"),
        ((-1.0, 0.1, 1.0), "are not shown to differ from what follows from the printed parameters"),
    ],
)
def test_a_ring_explains_only_an_excess(excess_ms: tuple[float, ...], said: str) -> None:
    fit = RingFit(student_interval(np.array(excess_ms)))
    assert said in pie_text.summary([], fit)


def _judged(fact: str, wanted: Verdict) -> Judged:
    """A claim of a source with the verdict wanted."""
    around = {Verdict.REPRODUCED: 0.0, Verdict.NOT_REPRODUCED: 9.0, Verdict.INCONCLUSIVE: 1.0}[
        wanted
    ]
    rule = Equals(value=0.0, margin=1.0, unit="1", origin=Origin.PUBLISHED)
    claim = Claim(id=fact, statement="s", source="t", rule=rule, fact=fact)
    one = judge(claim, Runs([around - 0.1, around, around + 0.1]))
    assert one.verdict is wanted
    return one


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict.REPRODUCED, "follow the target, and a smaller one costs no throughput."),
        (Verdict.NOT_REPRODUCED, "follow the target does not hold everywhere."),
        (Verdict.INCONCLUSIVE, "follow the target could not be shown."),
    ],
)
def test_what_pies_target_does_in_every_case(verdict: Verdict, said: str) -> None:
    equal = _judged(pie_claims.EQUAL_THROUGHPUT, Verdict.REPRODUCED)
    told = pie_text.summary([_judged(pie_claims.FOLLOWS, verdict), equal], None)
    assert said in told


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict.REPRODUCED, "Without other traffic tupdate hardly matters."),
        (Verdict.NOT_REPRODUCED, "hardly matters without other traffic does not hold everywhere."),
        (Verdict.INCONCLUSIVE, "hardly matters without other traffic could not be shown."),
    ],
)
def test_what_pies_clock_does_in_every_case(verdict: Verdict, said: str) -> None:
    same = _judged(pie_claims.TUPDATE_THROUGHPUT, Verdict.REPRODUCED)
    assert said in pie_text.summary([_judged(pie_claims.TUPDATE_DELAY, verdict), same], None)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (1.0, "The source's conclusion holds"),
        (-1.0, "SM's delays left of TDM's, does not hold everywhere."),
        (0.0, "SM's delays left of TDM's, could not be shown everywhere."),
    ],
)
def test_the_order_of_two_arms_in_every_case(step: float, said: str) -> None:
    rows = [[step + away, 2 * step + away] for away in (-0.2, -0.1, 0.0, 0.1, 0.2)]
    rule = Ordering(over="everywhere", unit="1")
    one = judge(Claim(id="o", statement="s", source="t", rule=rule), Curves(rows))
    assert said in text.summary([one], {}, {}, {})


def test_facts_that_no_run_can_test_are_counted() -> None:
    """The counts of a sentence add up to the facts it speaks of."""
    judged = [_judged("a", Verdict.REPRODUCED), _judged("b", Verdict.INCONCLUSIVE)]
    judged.append(not_testable(replace(judged[0].claim, id="c", fact="c"), "nothing says"))
    (count,) = counts_of(views_of(judged))
    said = sizing_text._counted(count)
    assert said == (
        "Of 3 facts that the source states 1 hold wherever they were looked at, 1 would take more "
        "runs to decide, 1 no such run can test."
    )

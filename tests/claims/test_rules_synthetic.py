"""Error rates of rules on synthetic data: at most 5 % of verdicts may be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.claims import Claim, Runs, Verdict, judge
from dumbbell.claims.rules import Published, RuleName, Supremum
from dumbbell.claims.synthetic import (
    CONFIRMS,
    DENIES,
    REPLICATIONS,
    TRIALS,
    Case,
    Trial,
    allowed,
    shares,
    wrong_share,
)

CASES = [(trial, case) for trial in TRIALS for case in trial.cases]
IDS = [f"{trial.rule.value}: {trial.what}: {case.truth}" for trial, case in CASES]
JUDGED_OTHERWISE = {RuleName.PREVIEW, RuleName.CALIBRATION, RuleName.CHECK}


def check(trial: Trial, case: Case, draws: int) -> None:
    for n in REPLICATIONS:
        wrong = wrong_share(case, shares(case, n, draws))
        assert wrong <= allowed(draws), f"n = {n}: {100 * wrong:.1f} % wrong"


@pytest.mark.slow
@pytest.mark.parametrize(("trial", "case"), CASES, ids=IDS)
def test_few_verdicts_are_wrong(trial: Trial, case: Case) -> None:
    check(trial, case, max(20, 200 // trial.weight))


@pytest.mark.long
@pytest.mark.parametrize(("trial", "case"), CASES, ids=IDS)
def test_hardly_any_verdict_is_wrong(trial: Trial, case: Case) -> None:
    check(trial, case, max(400, 4000 // trial.weight))


def test_every_rule_that_judges_is_tried_at_its_truth_and_far_from_it() -> None:
    for name in set(RuleName) - JUDGED_OTHERWISE:
        wrong = {verdicts for trial in TRIALS if trial.rule is name for verdicts in
                 (case.wrong for case in trial.cases)}  # fmt: skip
        assert any(verdicts >= CONFIRMS for verdicts in wrong), name
        assert any(verdicts >= DENIES for verdicts in wrong), name


@pytest.mark.parametrize(("trial", "case"), CASES, ids=IDS)
def test_with_forty_replications_a_rule_decides(trial: Trial, case: Case) -> None:
    """A rule that never decides is never wrong, and of no use."""
    if "edge" in case.truth or "half" in case.truth or "zero at" in case.truth:
        return
    if "scatter by" in case.truth:  # only *uninformative* is right
        assert shares(case, 40, 20).keys() == {Verdict.UNINFORMATIVE}
        return
    found = shares(case, 40, max(6, 60 // trial.weight))
    decided = sum(share for verdict, share in found.items() if verdict in CONFIRMS | DENIES)
    # Where one side scatters twice as much, or six differences share a band, 40 are few.
    is_hard = "scattering" in trial.what or case.truth == "no difference"
    assert decided >= (0.3 if is_hard else 0.9)


@pytest.mark.parametrize("printed", [20.0, 26.0])
@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_fewer_than_ten_runs_may_speak_against_a_published_number_alone(
    n: int, printed: float
) -> None:
    """From 3 runs Student's interval would hold a truth 6 standard deviations away in 24 %.

    Against the truth itself they speak in 0.1 %, as their 99.9 % prediction interval has it.
    """
    random = np.random.default_rng(7)
    rule = Published(printed=printed, rounding=0.0, unit="ms")
    claim = Claim(id="far", statement="s", source="t", rule=rule)
    verdicts = [judge(claim, Runs(random.normal(20.0, 1.0, n))).verdict for _ in range(1000)]
    assert set(verdicts) <= {Verdict.INCONCLUSIVE, Verdict.NOT_REPRODUCED}
    against = verdicts.count(Verdict.NOT_REPRODUCED)
    if n == 2:
        assert against == 0
    elif printed == 20.0:
        assert against <= 6  # of 1000 one is expected; more than 6 in 0.01 % of the time
    elif n == 9:
        assert against > 500


def test_an_outlying_number_is_not_reproduced_however_wide_the_interval_is() -> None:
    rule = Published(printed=500.0, rounding=0.0, unit="ms")
    claim = Claim(id="far", statement="s", source="t", rule=rule)
    runs = Runs(np.random.default_rng(1).normal(20.0, 12.0, 40))
    assert judge(claim, runs).verdict is Verdict.NOT_REPRODUCED


def test_a_supremum_does_not_turn_with_the_number_of_runs() -> None:
    """Nine runs of ten reach it: more of them make that surer, and nothing else of it."""
    random = np.random.default_rng(5)
    rule = Supremum(bound=100.0, packet=1.0, unit="ms")
    claim = Claim(id="peak", statement="s", source="t", rule=rule)

    def share(n: int, verdict: Verdict) -> float:
        def once() -> Verdict:
            peaks = np.where(random.random(n) < 0.9, 99.5, 97.0)
            return judge(claim, Runs(peaks)).verdict

        return sum(once() is verdict for _ in range(300)) / 300

    reproduced = [share(n, Verdict.REPRODUCED) for n in (5, 10, 40, 160)]
    assert reproduced == sorted(reproduced)
    assert reproduced[-1] == 1.0
    assert max(share(n, Verdict.NOT_REPRODUCED) for n in (5, 10, 40, 160)) < 0.01

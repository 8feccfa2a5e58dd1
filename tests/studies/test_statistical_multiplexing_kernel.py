"""The multiplexing study on two backends: claims side by side, pairs, figures, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dumbbell.claims import Verdict, to_rows
from dumbbell.claims.rules import Agreement
from dumbbell.replication import Replications
from dumbbell.report import Report, claims_table, write_report
from dumbbell.stats import student_interval
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.shape import Amount, Presets
from dumbbell.studies.statistical_multiplexing import claims, controlled, parts
from dumbbell.studies.statistical_multiplexing.measures import (
    DelayComparison,
    Ideal,
    IdealSourceRun,
)

STUDY = "statistical-multiplexing"
BOTH = ("sim", "kernel")
RUNS = 10
TINY = replace(
    parts.PRESETS.quick,
    ideal_on_kernel=Amount(6, over=(2,)),
    controls=Amount(48),
    fit=Amount(60, over=(68.0, 84.0)),
)


@pytest.fixture(scope="module")
def tiny() -> Iterator[None]:
    before = parts.PRESETS, parts.PACKETS_ON_KERNEL
    parts.PRESETS, parts.PACKETS_ON_KERNEL = Presets(TINY, before[0].full), 1e4
    yield
    parts.PRESETS, parts.PACKETS_ON_KERNEL = before


@pytest.fixture(scope="module")
def both(pretended_kernel: None, tiny: None) -> Report:
    options = StudyOptions(backends=BOTH, quick=True, replications=RUNS, seed=3)
    return get_study(STUDY).reproduce(options)


def test_every_claim_is_judged_once_on_each_backend_that_can(both: Report) -> None:
    rows = to_rows(both.judged)
    assert len({(row["id"], row["backend"]) for row in rows}) == len(rows)
    by_backend = {b: {row["id"] for row in rows if row["backend"] == b} for b in BOTH}
    agreements = {row["id"] for row in rows if row["id"].startswith("agreement-")}
    assert len(agreements) == 6
    only_on_the_kernel = by_backend["kernel"] - by_backend["sim"]
    assert only_on_the_kernel == agreements
    assert len(by_backend["kernel"]) == 4 + 6 + 10 + 4


def test_rows_of_one_claim_stand_together(both: Report) -> None:
    ids = [one.claim.id for one in both.judged]
    assert ids == sorted(ids, key=ids.index)


def test_the_same_system_agrees_with_itself(both: Report) -> None:
    for one in both.judged:
        if isinstance(one.claim.rule, Agreement):
            assert one.verdict is Verdict.REPRODUCED
            assert (one.decision.margin or 0.0) >= 0.5
            assert abs(one.found.value or 0.0) < 1e-9
    assert "keep packets equally long" in both.summary


def test_the_page_says_what_was_run_on_the_kernel(both: Report, tmp_path: Path) -> None:
    assert both.meta["backends"] == list(BOTH)
    assert both.meta["longest_lateness_ns"] == 512
    assert set(both.meta["versions"]) == set(BOTH)
    assert {"nominal SM", "nominal SM on the kernel"} <= set(both.meta["digests_of_replication_0"])
    names = [figure.name for figure in both.figures]
    assert {"rtt-cdf-kernel", "kernel-less-simulator", "gain-against-streams"} <= set(names)
    assert any("10 replications of 10000 packets" in note for note in both.notes)
    page = write_report(both, tmp_path / "page").read_text(encoding="utf-8")
    assert '<span class="where">kernel</span>' in page
    assert page.count('id="claim-ideal-t-sm-m2"') == 1
    assert page.count('id="claim-ideal-t-sm-m2-kernel"') == 1


def test_the_terminal_says_where(both: Report) -> None:
    console = Console(width=100)
    alone = [one for one in both.judged if one.backend == "sim"]
    for judged, said in ((both.judged, True), (alone, False)):
        with console.capture() as captured:
            console.print(claims_table(judged))
        head = next(line for line in captured.get().splitlines() if "verdict" in line)
        assert ("where" in head.split()) is said


def test_on_the_kernel_alone_the_load_is_not_fitted(pretended_kernel: None, tiny: None) -> None:
    options = StudyOptions(backends=("kernel",), quick=True)
    report = get_study(STUDY).reproduce(options)
    assert {one.backend for one in report.judged} == {"kernel"}
    assert not any(one.claim.id.startswith(("fitted", "load")) for one in report.judged)
    assert report.meta["fit"] is None
    assert any("--backend sim,kernel" in note for note in report.notes)
    assert len(str(report.files["pingtimes-1-sm.csv"]).splitlines()) == 1000


def _ideal(sojourn_s: dict[str, np.ndarray]) -> Ideal:
    results = {arm: tuple(IdealSourceRun(x, 9 * x) for x in of) for arm, of in sojourn_s.items()}
    return Replications(results, len(sojourn_s["SM"]), "as asked")


def test_the_simulator_as_control_variate_covers_the_truth_and_is_narrower() -> None:
    """200 times: a kernel whose mean is 1 % more than the simulator's."""
    rng = np.random.default_rng(7)
    hits, narrower = 0, 0
    for _ in range(200):
        sim = {"SM": rng.gamma(20, 1 / 20, 200), "TDM": rng.gamma(20, 2 / 20, 200)}
        kernel = {k: 1.01 * v[:6] + rng.normal(0, 0.005, 6) for k, v in sim.items()}
        means = controlled.ideal_means(_ideal(kernel), _ideal(sim))
        hits += means.sm_ms.contains(1010.0) and means.factor.contains(2.0)
        narrower += means.sm_ms.half_width < student_interval(1e3 * kernel["SM"]).half_width
        assert means.sm_ms.n == 6
    assert hits >= 190
    assert narrower >= 190


def test_a_kernel_that_is_slower_is_found_out() -> None:
    sim = np.array([40.0, 44.0, 38.0, 47.0, 41.0])
    pair = DelayComparison("x", "x", "x", sim + np.array([0.61, 0.59, 0.60, 0.60, 0.61]), sim)
    judged = claims.agreement(pair)
    assert judged.verdict is Verdict.NOT_REPRODUCED
    assert judged.found.value == pytest.approx(0.602)
    noisy = replace(pair, kernel_ms=sim + np.array([5.0, -5.0, 4.0, -4.0, 1.0]))
    assert claims.agreement(noisy).verdict is Verdict.INCONCLUSIVE
    few = DelayComparison("x", "x", "x", sim[:4], sim[:4])
    assert claims.agreement(few).verdict is Verdict.INCONCLUSIVE

"""The multiplexing study on two backends: claims side by side, pairs, figures, what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dumbbell.claims import to_rows
from dumbbell.claims.legacy import Verdict
from dumbbell.report import Report, claims_table, write_report
from dumbbell.stats import prediction_quantiles, student_interval
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.statistical_multiplexing import agreement, controlled, paired
from dumbbell.studies.statistical_multiplexing.campaigns import IdealSize
from dumbbell.studies.statistical_multiplexing.ensembles import predicted

STUDY = "statistical-multiplexing"
BOTH = ("sim", "kernel")
TINY = paired.KernelPreset((2,), IdealSize(1e4, 4, 4, None, paired.ENLARGED), 8, 3)


@pytest.fixture(scope="module")
def tiny() -> paired.KernelPreset:
    before, paired.QUICK = paired.QUICK, TINY
    yield TINY
    paired.QUICK = before


@pytest.fixture(scope="module")
def both(pretended_kernel: None, tiny: None) -> Report:
    options = StudyOptions(backends=BOTH, quick=True, replications=9, seed=3)
    return get_study(STUDY).reproduce(options)


def test_every_claim_is_judged_once_on_each_backend_that_can(both: Report) -> None:
    rows = to_rows(both.judged)
    assert len({(row["id"], row["backend"]) for row in rows}) == len(rows)
    by_backend = {b: {row["id"] for row in rows if row["backend"] == b} for b in BOTH}
    agreements = {row["id"] for row in rows if row["id"].startswith("agreement-")}
    assert len(agreements) == 4
    only_on_the_kernel = by_backend["kernel"] - by_backend["sim"]
    assert only_on_the_kernel == agreements
    assert len(by_backend["kernel"]) == 4 + 4 + 10 + 10


def test_rows_of_one_claim_stand_together(both: Report) -> None:
    ids = [one.claim.id for one in both.judged]
    assert ids == sorted(ids, key=ids.index)


def test_the_same_system_agrees_with_itself(both: Report) -> None:
    for one in both.judged:
        if one.claim.id.startswith("agreement-"):
            assert one.verdict is Verdict.REPRODUCED
            assert one.claim.margin == agreement.MARGIN_MS
            assert abs(one.measured or 0.0) < 1e-9
    assert "keep packets equally long" in both.summary


def test_the_page_says_what_was_run_on_the_kernel(both: Report, tmp_path: Path) -> None:
    assert both.meta["backends"] == list(BOTH)
    assert both.meta["longest_lateness_ns"] == 512
    assert set(both.meta["versions"]) == set(BOTH)
    assert {"nominal", "nominal on the kernel"} <= set(both.meta["digests_of_replication_0"])
    names = [figure.name for figure in both.figures]
    assert {"rtt-cdf-kernel", "kernel-less-simulator", "gain-against-streams"} <= set(names)
    assert any("9 replications of 10000 packets" in note for note in both.notes)
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


def _values(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {name: rng.gamma(20, 1 / 20, n) * scale for name, scale in (
        ("T_SM", 1.0), ("T_TDM", 2.0), ("N_SM", 9.0), ("N_TDM", 9.0)
    )}  # fmt: skip


def test_the_simulator_as_control_variate_covers_the_truth_and_is_narrower() -> None:
    """200 times: a kernel whose mean is 1 % more than the simulator's."""
    rng = np.random.default_rng(7)
    hits, narrower = 0, 0
    for _ in range(200):
        sim = _values(rng, 200)
        kernel = {k: 1.01 * v[:6] + rng.normal(0, 0.005, 6) for k, v in sim.items()}
        means = controlled.ideal_means(kernel, sim)
        hits += means.sm_ms.contains(1010.0) and means.factor.contains(2.0)
        narrower += means.sm_ms.half_width < student_interval(1e3 * kernel["T_SM"]).half_width
        assert means.sm_ms.n == 6
    assert hits >= 190
    assert narrower >= 190


def test_a_kernel_that_is_slower_is_found_out() -> None:
    sim = np.array([40.0, 44.0, 38.0, 47.0])
    pair = agreement.Pair("agreement-x", "x", "x", sim + np.array([0.31, 0.29, 0.30, 0.30]), sim)
    judged = agreement.judge(pair)
    assert judged.verdict is Verdict.NOT_REPRODUCED
    assert judged.measured == pytest.approx(0.3)
    noisy = replace(pair, kernel_ms=sim + np.array([5.0, -5.0, 4.0, -4.0]))
    assert agreement.judge(noisy).verdict is Verdict.INCONCLUSIVE


def test_few_runs_are_predicted_by_student_many_by_order_statistics() -> None:
    values = np.exp(np.random.default_rng(1).normal(3, 0.5, 39))
    assert predicted(values) == prediction_quantiles(values)
    few = predicted(values[:8])
    assert few.level == 0.95
    assert few.low < values[:8].min()
    assert few.high > values[:8].max()
    assert few.value == pytest.approx(np.exp(np.log(values[:8]).mean()))

"""RFC 7928's scenarios and the staggered flows: their networks, and what a run gives."""

from __future__ import annotations

import pytest

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.studies import aqm_scenarios as scenarios
from dumbbell.studies import staggered_flows as staggered
from dumbbell.studies.one_line import QUEUE


def test_every_scenario_goes_through_every_discipline() -> None:
    for scenario in scenarios.scenarios():
        resolved = {
            aqm: scenarios.experiment(scenario, aqm, seed=1).resolved() for aqm in scenarios.AQMS
        }
        flows = [each["flows"] for each in resolved.values()]
        assert all(each == flows[0] for each in flows)
        queues = [str(each["links"][-1]["forward"]["qdisc"]) for each in resolved.values()]
        assert len(set(queues)) == len(scenarios.AQMS)


def test_the_levels_of_congestion_are_numbers_of_flows() -> None:
    """p = (0.87 n/W)^2 with n flows and W packets of pipe and buffer."""
    window = scenarios.BDP + scenarios.LIMIT
    for level, loss in zip(scenarios.LEVELS.values(), (0.001, 0.005, 0.01), strict=True):
        assert (0.87 * level) ** 2 == pytest.approx(loss, rel=0.03)
        assert scenarios.at_level(level) / window == pytest.approx(level, rel=0.05)


def test_a_scenario_is_reduced_to_the_numbers_of_its_run() -> None:
    run = simulate(scenarios.experiment("8.2.4 heavy congestion", "fq_codel", seed=1))
    found = scenarios.reached(run)
    assert found.delay_ms == 1e3 * metrics.mean_sojourn_s(run, QUEUE)
    assert found.delay_ms < found.delay_p99_ms
    assert 90 < found.used_percent < 100 and 1 < found.lost_percent < 10
    assert 0.9 < found.fairness <= 1


def test_flows_start_20_s_apart_and_all_send_when_it_is_measured() -> None:
    experiment = staggered.staggered("cubic", "PIE", 20, seed=1)
    assert [flow.start for flow in experiment.flows[:3]] == ["0s", "20s", "40s"]
    run = simulate(experiment)
    assert all(metrics.goodput_bps(run, name) > 1e6 for name in staggered.FLOWS)
    assert staggered.total_mbps(run) == pytest.approx(9.4, abs=0.3)


def test_disciplines_are_compared_with_equal_tcp() -> None:
    class Found:
        arms = ("pfifo, CUBIC", "PIE, CUBIC", "FQ-CoDel, CUBIC")
        n = 2

        def values(self, arm: str) -> list[float]:
            return {"pfifo": [4.0, 8.0], "PIE": [1.0, 2.0], "FQ-CoDel": [2.0, 2.0]}[
                arm.split(",", maxsplit=1)[0]
            ]

    found = Found()
    over = staggered.against_pfifo(found, is_over=True)  # type: ignore[arg-type]
    assert list(over) == ["PIE, CUBIC", "FQ-CoDel, CUBIC"]
    assert (over["PIE, CUBIC"].above / over["PIE, CUBIC"].below).tolist() == [4.0, 4.0]
    shared = staggered.against_fq_codel(found)  # type: ignore[arg-type]
    assert (shared["PIE, CUBIC"].above / shared["PIE, CUBIC"].below).tolist() == [2.0, 1.0]

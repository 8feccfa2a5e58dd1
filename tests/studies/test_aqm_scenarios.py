"""RFC 7928's scenarios and the staggered flows: their networks, and what a run gives."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.studies import StudyOptions
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


def flows_of(scenario: str) -> dict[str, dict[str, Any]]:
    resolved = scenarios.experiment(scenario, "codel", seed=1).resolved()
    return {each["name"]: each for each in resolved["flows"]}


def test_transports_are_those_of_section_5() -> None:
    reno = flows_of("5.1.1 one Reno flow")["flow"]["tcp"]
    assert (reno["congestion_control"], reno["initial_window_pkts"]) == ("reno", 3)
    for window in (3, 10):
        both = flows_of(f"5.1.2 transfers of 60 packets, window of {window}")
        # More than 10 packets and less than 100, when the other flow is past its slow start.
        assert both["short"]["source"]["size"]["value"] == 60 * 1448
        assert both["short"]["tcp"]["initial_window_pkts"] == window
        assert both["short"]["start_ns"] == both["flow"]["start_ns"] + 10_000_000_000
    shares = [
        8 * 1442 / flows_of(f"5.3 UDP of {words}")["udp"]["source"]["gap"]["mean"] / 10e6
        for words in ("120 %", "80 % and Reno")
    ]
    assert shares == pytest.approx([1.2, 0.8], abs=0.02)


def test_bursts_and_mixes_have_the_flows_of_figure_2_and_of_section_9() -> None:
    cases = {
        name: Counter(each.rstrip("-0123456789") for each in flows_of(name))
        for name in scenarios.scenarios()
        if name.startswith(("7.2", "9."))
    }
    of = [(each["video"], each["web"], each["cbr"], each["flow"]) for each in cases.values()]
    assert of[:4] == [(0, 6, 1, 0), (0, 6, 1, 1), (1, 6, 1, 0), (1, 6, 1, 1)]
    mix, both_ways = list(cases.values())[4:]
    assert mix == {"flow": 5, "web": 36, "voice": 1, "heard": 1, "cbr": 1, "video": 1, "chatter": 1}
    assert both_ways["flow"] == both_ways["back"] == scenarios.at_level(0.036)
    web = flows_of("7.2 web and CBR")["web-1"]
    assert web["tcp"]["initial_window_pkts"] == 10 and web["source"]["size"]["low"] == 1024


@pytest.mark.parametrize("rtt_ms", [5, 20, 560])
def test_category_1_has_100_ms_and_category_2_the_other_round_trip(rtt_ms: int) -> None:
    experiment = scenarios.experiment(f"6.2 round trips of 100 and {rtt_ms} ms", "codel", seed=1)
    resolved = experiment.resolved()
    delays = {link["a"]: link["forward"]["delay_ns"] / 1e6 for link in resolved["links"]}
    trips = {
        each["name"]: 2 * (delays[each["from"]] + delays["router"])
        for each in resolved["flows"]
        if each["name"].startswith("category")
    }
    assert trips == {"category-1": 100, "category-2": rtt_ms}
    found = scenarios.reached(simulate(experiment))
    assert (found.second_over_first > 1) == (rtt_ms < 100)


def test_levels_and_capacity_vary_in_steps_of_20_s_and_of_a_tenth() -> None:
    starts = [each["start_ns"] / 1e9 for each in flows_of("8.2.5 varying congestion").values()]
    counts = [starts.count(at) for at in (0, 30, 50)]
    levels = [scenarios.at_level(level) for level in scenarios.LEVELS.values()]
    assert counts == [levels[0] + 1, levels[1] - levels[0], levels[2] - levels[1]]
    for words, step in (("20", 20), ("0.1", 0.1)):
        forward = scenarios.experiment(f"8.2.6 capacity, every {words} s", "codel", 1).resolved()
        changes = forward["links"][-1]["forward"]["changes"]
        assert [each["rate_bps"] for each in changes[:3]] == [10_000_000, 100_000_000, 10_000_000]
        times = [each["at_ns"] / 1e9 for each in changes]
        assert times == pytest.approx([step * (n + 1) for n in range(len(times))])


def test_both_directions_go_through_the_discipline() -> None:
    link = scenarios.experiment("9.2 mild, both ways", "fq_pie", seed=1).resolved()["links"][-1]
    assert link["forward"]["qdisc"] == link["reverse"]["qdisc"]
    assert link["forward"]["rate_bps"] == link["reverse"]["rate_bps"] == 10_000_000


def test_a_table_has_the_metrics_of_its_scenario() -> None:
    found = scenarios.reached(simulate(scenarios.experiment("7.2 web, CBR and Reno", "pie", 1)))
    assert 100 < found.completion_ms < 1000
    assert np.isnan(found.fairness) and np.isnan(found.second_over_first)


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


def test_the_aqm_with_the_shortest_wait_is_advised_if_the_runs_decide_it() -> None:
    options = StudyOptions(quick=True, replications=3, jobs=1)
    study = staggered.StaggeredFlows(options)
    study.parts = [part for part in study.parts if part.name in ("delay", "throughput")]
    (advice,) = study.report().advice
    waits = {
        name: np.mean(study.finished_trials()[0].found.values(f"{name}, CUBIC"))
        for name in staggered.DISCIPLINES
    }
    assert staggered.DISCIPLINES[min(waits, key=lambda name: waits[name])] == advice.setting
    assert f"pfifo of 1000 packets {1e3 * waits['pfifo']:.0f} ms (3 runs)" in advice.because
    without = staggered.StaggeredFlows(options)
    without.parts = [part for part in without.parts if part.name == "delay"]
    assert not without.report().advice

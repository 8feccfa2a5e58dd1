"""The settings of Google's BBR suite: checked against run_tests.sh and nsperf.py."""

from __future__ import annotations

import pytest

from dumbbell.errors import SpecError
from dumbbell.judge.nsperf import SECTIONS
from dumbbell.judge.nsperf.network import buffer_pkts, links, netem
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.section import Trial
from dumbbell.judge.suites import sections_of


def trial(name: str) -> Trial:
    """That of ``dctcp`` at full depth."""
    section = next(each for each in SECTIONS if each.reference == name)
    found = section.trial(JudgeRequest("dctcp", depth=Depth.FULL))
    assert found is not None
    return found


def settings(name: str) -> list[object]:
    """What is set in each cell, once."""
    found: list[object] = []
    for each in trial(name).expectations:
        value = next(iter(each.where.values()))
        if value not in found:
            found.append(value)
    return found


def test_a_buffer_is_reckoned_in_frames_and_the_way_in_packets() -> None:
    # "BDP is 1G*100ms = 8256 packets", run_tests.sh
    assert buffer_pkts(1000, 100, 1) == 8256
    assert netem(1000, 100, 0.02) == f"netem limit {4166 + 165} delay 50ms rate 1000mbit"
    assert netem(50, 30, 1, "0.1") == (
        f"netem limit {62 + 123} delay 15ms loss random 0.1% rate 50mbit"
    )
    back = links(netem(50, 30, 1), 30)[0]["reverse"]["qdisc"]
    assert back == f"netem limit {1250 + 1000} delay 15ms rate 1000mbit"


def test_cells_are_those_of_run_tests() -> None:
    assert settings("coexist") == [netem(50, 30, bdps) for bdps in (0.1, 1, 2, 4, 8, 16)]
    assert settings("bufferbloat") == [netem(50, 30, bdps) for bdps in (1, 10, 50, 100)]
    percents = [
        "0.00001",
        "0.0001",
        "0.001",
        "0.01",
        "0.1",
        "0.2",
        "0.5",
        "1",
        "2",
        "3",
        "10",
        "15",
        "20",
    ]
    lossy = {netem(1000, 100, 1, percent) for percent in percents}
    assert set(map(str, settings("random_loss"))) == lossy
    assert settings("shallow") == [1, 10, 30, 60, 100]
    assert sorted(map(int, map(str, settings("ecn_bulk")))) == [1, 4, 10, 40, 100]


def test_runs_are_as_long_as_those_of_run_tests() -> None:
    durations = {each.reference: trial(each.reference).document["duration"] for each in SECTIONS}
    assert durations == {
        "coexist": "182s",
        "random_loss": "60s",
        "shallow": "300s",
        "bufferbloat": "120s",
        "ecn_bulk": "10s",
    }


def test_the_figure_of_coexist_has_the_goodput_of_both_flows() -> None:
    labels = [each.label for each in trial("coexist").expectations]
    assert labels[:4] == ["0.1 BDP", "CUBIC, 0.1 BDP", "1 BDP", "CUBIC, 1 BDP"]
    assert len(set(labels)) == len(labels) == 12


def test_marks_are_asked_for_by_both_ends_and_codel_drops_nothing_itself() -> None:
    document = trial("ecn_bulk").document
    assert document["flows"][0]["tcp"]["ecn"] is True
    assert "codel ce_threshold 242us limit 1000 target 100ms" in str(document["links"])


def test_ecn_bulk_has_every_quantity_that_run_tests_names() -> None:
    # "graph p50 and p95 RTT (and retx, tput, fairness) for range of flow counts", run_tests.sh
    wanted = {"srtt_p50_s", "srtt_p95_s", "retransmitted_share", "total_goodput_bps", "jain_index"}
    found: dict[object, set[str]] = {}
    for each in trial("ecn_bulk").expectations:
        flows = each.where["flows[bulk].count"]
        found.setdefault(flows, set()).add(each.quantity.rpartition(".")[2])
    assert found.pop(1) == wanted - {"jain_index"}
    assert list(found.values()) == [wanted] * 4


def test_an_unknown_suite_is_refused_with_the_nearest_word() -> None:
    with pytest.raises(SpecError) as raised:
        sections_of("nsprf")
    assert raised.value.hint == "nsperf"

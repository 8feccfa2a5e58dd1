"""Summaries of runs: numbers by path."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.compare import MEASURES, MeasureSubject, Quantity, Summary, equal_flows, summary_of
from dumbbell.compare.quantities_page import quantities_markdown
from dumbbell.compare.summary import groups_of_one
from dumbbell.errors import DumbbellError, SpecError
from dumbbell.metrics import METRICS
from dumbbell.spec import Experiment
from dumbbell.tables import Run

HOME = """
duration = "8s"
warm_up = "1s"
[[links]]
a = "server"
b = "home"
delay = "5ms"
rate = "5mbit"
[[flows]]
name = "bulk-1"
from = "server"
to = "home"
source = { kind = "greedy" }
[[flows]]
name = "bulk-2"
from = "server"
to = "home"
source = { kind = "greedy" }
[[flows]]
name = "web"
from = "server"
to = "home"
source = { kind = "arrivals", gap = "exponential 4pps", size = "20kb" }
[[probes]]
name = "ping"
from = "home"
to = "server"
interval = "100ms"
"""


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(Experiment.from_toml(HOME))


@pytest.fixture(scope="module")
def summary(run: Run) -> Summary:
    return summary_of(run)


def test_numbers_are_those_of_the_metrics(run: Run, summary: Summary) -> None:
    queue = "server->home"
    expected = {
        "network.jain_index": metrics.jain_index(run),
        "network.mean_completion_time_s": metrics.mean_completion_time_s(run),
        "flows[bulk].total_goodput_bps": metrics.total_goodput_bps(run, ["bulk-1", "bulk-2"]),
        "flow[bulk-2].goodput_bps": metrics.goodput_bps(run, "bulk-2"),
        "flow[web].completed_transfers": metrics.completed_transfers(run, "web"),
        "flow[web].completion_time_p95_s": metrics.completion_time_quantiles_s(run, 0.95, "web"),
        "flow[web].delay_p95_s": metrics.delay_quantile_s(run, "web", 0.95),
        "flows[bulk].delay_p99_s": metrics.delay_quantile_s(run, ["bulk-1", "bulk-2"], 0.99),
        "probe[ping].sent": 80,
        "probe[ping].rtt_p99_ms": metrics.ping_rtt_quantiles_ms(run, 0.99, ["ping"]),
        "probe[ping].loss_ratio": metrics.ping_loss_ratio(run, ["ping"]),
        f"queue[{queue}].sojourn_p95_s": metrics.sojourn_quantile_s(run, queue, 0.95),
        f"queue[{queue}].loss_ratio": metrics.loss_ratio(run, queue),
    }
    for path, value in expected.items():
        assert summary[path] == pytest.approx(float(value), nan_ok=False), path


def test_only_flows_with_transfers_have_completion_times(summary: Summary) -> None:
    assert "mean_completion_time_s" in summary.of(MeasureSubject.FLOW, "web")
    assert "mean_completion_time_s" not in summary.of(MeasureSubject.FLOW, "bulk-1")
    assert "mean_completion_time_s" not in summary.of(MeasureSubject.FLOWS, "bulk")
    assert summary.names(MeasureSubject.FLOWS) == ["bulk"]
    quiet = Experiment.from_toml('duration = "1s"\nlinks = [{ a = "a", b = "b" }]')
    found = summary_of(simulate(quiet))
    assert "mean_completion_time_s" not in found.of(MeasureSubject.NETWORK)
    assert math.isnan(found["queue[a->b].mean_sojourn_s"])


def test_every_path_reads_back(summary: Summary) -> None:
    for quantity in summary.values:
        assert Quantity.parse(quantity.path) == quantity
        assert quantity.unit == METRICS[quantity.measure.metric].unit


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda each: f"{each.of}.{each.name}")
def test_a_name_ends_in_its_unit(measure: object) -> None:
    suffixes = {"_s": "s", "_ms": "ms", "_bps": "bit/s", "_pps": "/s", "_pkts": "packets"}
    for suffix, unit in suffixes.items():
        if measure.name.endswith(suffix):  # type: ignore[attr-defined]
            assert measure.unit.endswith(unit)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "allowed", "hint"),
    [
        ("goodput", "a path such as", None),
        ("flow.goodput_bps", "a path such as", None),
        ("network[x].jain_index", "a path such as", None),
        ("flwo[x].goodput_bps", "one of network", "flow"),
        ("flow[x].goodput_bsp", "goodput_bps", "goodput_bps"),
    ],
)
def test_a_path_that_is_none(path: str, allowed: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        Quantity.parse(path)
    assert allowed in caught.value.allowed
    assert caught.value.hint == hint


def test_a_number_that_the_run_has_not(summary: Summary) -> None:
    with pytest.raises(SpecError, match=r"did you mean 'flow\[web\]\.goodput_bps'"):
        summary["flow[wbe].goodput_bps"]


def test_equal_flows_differ_in_their_number_alone() -> None:
    def flow(name: str, start: str = "0s") -> dict[str, object]:
        source = {"kind": "greedy"}
        return {"name": name, "from": "a", "to": "b", "start": start, "source": source}

    flows = [flow("x-1"), flow("x-2"), flow("x-3", "1s"), flow("y"), flow("z-1"), flow("x-10")]
    links = [{"a": "a", "b": "b", "rate": "1mbit"}]
    spec = Experiment.read({"duration": "5s", "links": links, "flows": flows}).resolved()
    assert equal_flows(spec) == {"x": [0, 1, 5]}


def test_an_imported_run_has_no_summary() -> None:
    with pytest.raises(DumbbellError, match="imported"):
        summary_of(Run("imported", 0, None, {}))


def _calls_for(flows: int) -> int:
    """Functions that are called while a run of `flows` flows is summed up and looked up."""
    source = {"kind": "cbr", "gap": "10ms", "size": "100B"}
    described = {
        "duration": "100ms",
        "links": [{"a": "a", "b": "b", "rate": "1gbit"}],
        "flows": [
            {"name": f"f{place}x", "from": "a", "to": "b", "source": source}
            for place in range(flows)
        ],
    }
    run = simulate(Experiment.read(described))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        summary = summary_of(run)
        for name in summary.names(MeasureSubject.FLOW):
            assert summary.of(MeasureSubject.FLOW, name)
        metrics.asked_and_measured(run)
    finally:
        sys.setprofile(None)
    return calls


def test_ten_times_the_flows_are_ten_times_the_work() -> None:
    # Not a hundred times, as when a flow is looked for among all for each of its numbers.
    few, many = _calls_for(30), _calls_for(300)
    assert few < many < 12 * few


SHARED = """
duration = "4s"
warm_up = "1s"
links = [{{ a = "a", b = "r" }}, {{ a = "r", b = "b", delay = "10ms", rate = "10mbit" }}]
[[flows]]
name = "bbr"
count = {count}
from = "a"
to = "b"
tcp = {{ congestion_control = "bbr" }}
source = {{ kind = "greedy" }}
[[flows]]
name = "voice"
from = "a"
to = "b"
source = {{ kind = "cbr", rate = "50pps", size = "200B" }}
"""


@pytest.mark.parametrize("count", [1, 3])
def test_a_group_has_the_same_numbers_for_any_count(count: int) -> None:
    """``flows[bbr]`` of one flow is that flow, by the name that any other count has."""
    run = simulate(Experiment.from_toml(SHARED.format(count=count)))
    found = summary_of(run)
    members = [name for name in run.flow_names if name.startswith("bbr-")]
    assert len(members) == count
    together = metrics.total_goodput_bps(run, members)
    everything = metrics.total_goodput_bps(run)
    assert found["flows[bbr].total_goodput_bps"] == together
    assert found["flows[bbr].mean_delay_s"] == metrics.mean_delay_s(run, members)
    assert found["flows[bbr].goodput_share"] == pytest.approx(together / everything)
    assert found["flows[bbr].goodput_share_of_greedy"] == pytest.approx(1.0)
    assert found["flow[bbr-1].goodput_share_of_greedy"] == pytest.approx(
        metrics.goodput_bps(run, "bbr-1") / together
    )
    assert math.isnan(found["flow[voice].goodput_share_of_greedy"])
    assert math.isnan(found["flow[voice].retransmitted_share"])
    assert found["flows[bbr].retransmitted_share"] == metrics.retransmitted_share(run, members)
    assert found["flows[voice].goodput_share"] + found["flows[bbr].goodput_share"] == pytest.approx(
        1.0
    )
    assert math.isnan(found["flows[bbr].jain_index"]) == (count == 1)


def test_a_part_of_a_group_is_no_group() -> None:
    """Two flows that differ have no name together, nor has a name that nothing has."""
    assert groups_of_one(["x-1", "x-2", "y-1", "z"], ["w"]) == {
        "x-1": "x-1",
        "x-2": "x-2",
        "y-1": "y-1",
        "z": "z",
        "y": "y-1",
    }
    found = summary_of(simulate(Experiment.from_toml(SHARED.format(count=1))))
    with pytest.raises(SpecError, match="flows"):
        found["flows[cubic].total_goodput_bps"]


def test_the_page_of_quantities() -> None:
    page = Path(__file__).parents[2] / "docs" / "quantities.md"
    assert page.read_text(encoding="utf-8") == quantities_markdown(), (
        "python -m dumbbell.compare.quantities_page > docs/quantities.md"
    )

"""``count = 10``: ten equal flows."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from spec_samples import SMALL

from dumbbell.backends import simulate
from dumbbell.spec import Experiment, SpecError, testbed_lines


def counted(count: object, **changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(SMALL)
    document["flows"][0] |= {"count": count, **changes}
    return document


def test_equal_flows_have_names_with_numbers() -> None:
    experiment = Experiment.read(counted(3))
    flows = experiment.resolved()["flows"]
    assert [flow["name"] for flow in flows] == ["stream-1", "stream-2", "stream-3"]
    assert len({str({**flow, "name": ""}) for flow in flows}) == 1
    assert simulate(experiment).flow_names == ["stream-1", "stream-2", "stream-3"]


def test_they_are_the_flows_one_would_write_out() -> None:
    written = copy.deepcopy(SMALL)
    (flow,) = written["flows"]
    written["flows"] = [{**flow, "name": f"stream-{number}"} for number in (1, 2, 3)]
    short, long = Experiment.read(counted(3)), Experiment.read(written)
    assert short.resolved_json() == long.resolved_json()
    assert Experiment.from_resolved(short.resolved()).resolved() == short.resolved()
    # Each has random numbers of its own.
    sent = simulate(short).column("flows", "created_bytes")
    assert len(set(sent.tolist())) == 3


def test_commands_name_each_of_them() -> None:
    greedy = counted(3, source={"kind": "greedy"})
    lines = [line for _, line in testbed_lines(Experiment.read(greedy))]
    assert len([line for line in lines if line.startswith("iperf3 -c")]) == 3
    jitter = counted(2, source={"kind": "greedy"}, start_jitter="5ms")
    lines = [line for _, line in testbed_lines(Experiment.read(jitter))]
    assert [line.split(":")[0] for line in lines if "at random" in line] == [
        "# stream-1",
        "# stream-2",
    ]


def test_one_is_a_flow_with_a_number() -> None:
    assert Experiment.read(counted(1)).resolved()["flows"][0]["name"] == "stream-1"


@pytest.mark.parametrize("count", [0, -1, 2.5, "3", True, 10_001])
def test_a_count_that_is_none(count: object) -> None:
    with pytest.raises(SpecError) as caught:
        Experiment.read(counted(count))
    assert caught.value.path == "flows[0].count"
    assert "from 1 to 10000" in caught.value.allowed


def test_names_with_numbers_are_unique_and_short() -> None:
    document = counted(2)
    document["flows"].append({**SMALL["flows"][0], "name": "stream-2"})
    with pytest.raises(SpecError) as caught:
        Experiment.read(document)
    assert caught.value.path == "flows[1].name"
    long = "x" * 62
    assert Experiment.read(counted(None, name=long)).flows[0].names == (long,)
    with pytest.raises(SpecError, match="at most 63 characters"):
        Experiment.read(counted(10, name=long))


WEB = {
    "arrivals": {"kind": "arrivals", "gap": "exponential 20pps", "size": "1kb"},
    "closed_loop": {"kind": "closed_loop", "size": "1kb", "think": "exponential 50ms"},
}


@pytest.mark.parametrize("kind", WEB)
def test_so_many_transfers_and_no_more(kind: str) -> None:
    """The first of those that there would be; the description reads back, with them or without."""
    document = counted(None, source=WEB[kind], start="1s")
    document["links"][0]["delay"] = "1ms"
    limited = copy.deepcopy(document)
    limited["flows"][0]["source"] = {**WEB[kind], "transfers": 40}
    every, forty = Experiment.read(document), Experiment.read(limited)
    began = simulate(every).column("transfers", "started_ns")
    run = simulate(forty)
    assert len(began) > 80
    assert run.column("transfers", "started_ns").tolist() == began[:40].tolist()
    assert (run.column("transfers", "completed_ns") > 0).all()
    for experiment in (every, forty):
        assert Experiment.from_resolved(experiment.resolved()).resolved() == experiment.resolved()
    assert "transfers" not in every.resolved()["flows"][0]["source"]
    # Fewer where the run ends before.
    limited["flows"][0]["source"]["transfers"] = 10_000
    assert len(simulate(Experiment.read(limited)).column("transfers", "flow")) == len(began)


@pytest.mark.parametrize("transfers", [0, -1, 2.5, "3", 2**32])
def test_a_number_of_transfers_that_is_none(transfers: object) -> None:
    with pytest.raises(SpecError) as caught:
        Experiment.read(counted(None, source={**WEB["arrivals"], "transfers": transfers}))
    assert caught.value.path == "flows[0].source.transfers"

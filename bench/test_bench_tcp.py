"""The arithmetic behind the TCP table, and that the work is what its name says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tcp
import tcp_work

from dumbbell.backends import simulate


def sample(
    delivered: int = 1000, dropped: int = 10, goodput: float = 50, cpu_s: float = 1e-3
) -> tcp.Sample:
    return tcp.Sample("x", delivered, dropped, goodput, 0.01, cpu_s, 0)


def row(ours: tcp.Sample, other: tcp.Sample, *, is_floor: bool = False) -> tcp.Row:
    return tcp.Row("other", 100, [ours] * 3, [other] * 3, is_floor)


def test_ratio_is_the_other_s_cost_per_delivered_packet_over_ours() -> None:
    compared = row(sample(delivered=1000, cpu_s=1e-3), sample(delivered=1010, cpu_s=0.202))
    assert compared.ratio().median == pytest.approx(200)
    assert compared.verdict() == "met"
    assert row(sample(), sample(cpu_s=0.05)).verdict() == "missed"


def test_other_goodput_or_loss_is_not_counted_however_fast() -> None:
    assert "goodput -10.0%" in row(sample(), sample(goodput=45, cpu_s=9)).verdict()
    assert "loss 1.49 times" in row(sample(), sample(dropped=15, cpu_s=9)).verdict()
    assert "loss inf times" in row(sample(dropped=0), sample(cpu_s=9)).verdict()
    assert row(sample(), sample(goodput=48, dropped=12, cpu_s=9)).verdict() == "met"


def test_beside_the_floor_only_the_cost_counts() -> None:
    assert row(sample(), sample(goodput=45, dropped=30, cpu_s=9), is_floor=True).verdict() == "met"


def test_loss_is_pooled_over_the_runs() -> None:
    assert tcp.loss([sample(900, 100), sample(1000, 0)]) == pytest.approx(0.05)
    assert tcp.loss_factor(0.0, 0.0) == 1


def test_windows_are_flat_or_not() -> None:
    assert tcp.window_line({10: 200.0, 1000: 290.0})[1]
    assert not tcp.window_line({10: 200.0, 1000: 310.0})[1]


def test_many_flows_and_hosts_cost_twice_at_most() -> None:
    met = tcp.Size("crowd-10", "crowd-10000", 250.0, 500.0, tcp.SIZE_GOAL)
    assert str(met).endswith("2.00 times, goal 2.0: met") and not met.is_missed
    missed = tcp.Size("crowd-10", "crowd-10000", 250.0, 510.0, tcp.SIZE_GOAL)
    assert str(missed).endswith("goal 2.0: missed") and missed.is_missed
    hops = tcp.Size("one link", "three links", 150.0, 450.0, None)
    assert str(hops).endswith("3.00 times") and not hops.is_missed


def test_a_campaign_counts_every_delivered_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    work = tcp_work.buffer_sizing(18, 3)
    ticks = iter((10.0, 12.0))
    monkeypatch.setattr("tcp.time.perf_counter", lambda: next(ticks))
    run = simulate(work.experiment, 1)
    one = int(run.column("queues", "departed_pkts")[work.queue])
    assert one > 1000
    assert tcp.campaign_ns_per_packet(work, 1) == pytest.approx(2e9 / one)


def test_a_campaign_is_held_against_one_run_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "campaign_ns_per_packet", lambda work, replications: 500.0)
    work = tcp_work.buffer_sizing(18, 3)
    slow = row(sample(), sample(delivered=1000, cpu_s=1e-3 * 60))
    assert "120.0 times less" in tcp.campaign_line(slow, work, 10)
    assert tcp.campaign_line(slow, work, 10).endswith("met")
    fast = row(sample(), sample(delivered=1000, cpu_s=1e-3 * 40))
    assert tcp.campaign_line(fast, work, 10).endswith("missed")


def test_the_tree_has_three_round_trip_times_and_one_bottleneck() -> None:
    work = tcp_work.buffer_sizing(18)
    resolved = json.loads(work.experiment.resolved_json())
    delays = {
        name: sum(
            link["forward"]["delay_ns"] + link["reverse"]["delay_ns"]
            for link in resolved["links"]
            if f"{link['a']}->{link['b']}" in work.experiment.route(name, "sink")
        )
        for name in ("source-0", "source-2", "source-6", "source-17")
    }
    assert {name: ns // 10**6 for name, ns in delays.items()} == {
        "source-0": 34,
        "source-2": 234,
        "source-6": 534,
        "source-17": 534,
    }
    assert len(resolved["flows"]) == 60
    assert work.experiment.queue_names[work.queue] == "target-2->target-1"


def test_round_trip_times_and_queue_of_the_dumbbell_by_value() -> None:
    work = tcp_work.by_value(10, 100, 1000)
    resolved = json.loads(work.experiment.resolved_json())
    links = {(link["a"], link["b"]): link for link in resolved["links"]}
    for k in range(8):
        source, sink = links[f"source-{k}", "router"], links[f"sink-{k}", "far"]
        ends = (source["forward"], source["reverse"], sink["forward"], sink["reverse"])
        assert sum(end["delay_ns"] for end in ends) == (20 + 8 * k) * 10**6
    # 50 ms at 100 Mbit/s are 416 packets of 1500 bytes, one of them in the transmitter.
    assert links["router", "far"]["forward"]["qdisc"]["limit_packets"] == 415


def test_crowds_and_trees_have_the_size_in_their_name() -> None:
    crowd = tcp_work.crowd(10_000, 1000)
    assert len(crowd.experiment.flows) == 10_000
    assert (crowd.name, tcp_work.rush(10, 1000).name) == ("crowd-10000", "rush-10")
    tree = tcp_work.tree(10, 1000)
    resolved = json.loads(tree.experiment.resolved_json())
    assert len(resolved["hosts"]) == 1112
    assert len(resolved["flows"]) == 1000
    assert len(tree.experiment.route("3-999", "sink")) == 4
    assert tree.name == "tree-1112"

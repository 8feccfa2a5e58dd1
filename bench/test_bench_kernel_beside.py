"""The arithmetic of the kernel's rows beside ns-3 and the simulator; that all do the same work."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import kernel_beside as bench
import tcp_work

from dumbbell.backends import simulate
from dumbbell.backends.kernel import find_kernel
from dumbbell.backends.kernel.backend import BACKEND
from dumbbell.spec.resolved import GuestKind

KERNEL = bench.Sample(100_000, 500, 95, cpu_s=1.0, start_cpu_s=0.2)
NS3 = bench.Sample(100_000, 470, 94, cpu_s=6.0)


def test_costs_are_per_packet_with_and_without_the_start() -> None:
    assert KERNEL.cpu_us_per_packet == pytest.approx(10)
    assert KERNEL.cpu_us_per_packet_without_start == pytest.approx(8)
    row = bench.Row("cubic", [KERNEL] * 3, {bench.NS3: [NS3] * 3})
    assert row.ratio(bench.NS3).median == pytest.approx(6)
    assert row.ratio(bench.NS3, with_start=False).median == pytest.approx(7.5)


def test_the_goal_is_beside_ns_3_alone() -> None:
    slow = replace(KERNEL, cpu_s=3.0)
    others = {bench.NS3: [NS3] * 2, bench.SIMULATOR: [replace(NS3, cpu_s=0.02)] * 2}
    assert bench.Row("a", [KERNEL] * 2, others).verdict(bench.NS3) == "met"
    assert bench.Row("a", [slow] * 2, others).verdict(bench.NS3) == "missed"
    assert bench.Row("a", [KERNEL, slow], others).verdict(bench.NS3).startswith("open")
    assert bench.Row("a", [slow] * 2, others).verdict(bench.SIMULATOR) == ""


def test_the_table_has_a_line_for_each() -> None:
    others = {bench.SIMULATOR: [replace(NS3, cpu_s=0.02)] * 2, bench.NS3: [NS3] * 2}
    head, kernel, simulator, ns3 = bench.table(
        [bench.Row("cubic", [KERNEL] * 2, others)]
    ).splitlines()
    assert "CPU us/packet" in head
    assert kernel.split()[:5] == ["cubic", "2", "100,000", "95.00", "0.498"]
    assert simulator.split()[0] == bench.SIMULATOR
    assert ns3.split()[-3:] == [">=", "5", "met"]
    assert "cubic 0.20 s" in bench.start_line([bench.Row("cubic", [KERNEL] * 2, others)])


def test_networks_have_linux_s_tcp_and_segments_one_by_one() -> None:
    for work, _ in bench.cases(0.01):
        tcp = work.experiment.model_dump(mode="json", exclude_unset=True)["flows"][0]["tcp"]
        assert tcp["gso_max_segs"] == 1
        assert not {"profile", "send_buffer", "receive_window"} & set(tcp)


def test_the_simulator_s_sample_is_that_of_its_run() -> None:
    work = tcp_work.on_linux(tcp_work.policing(2))
    sample = bench.by_simulator(work, 1)
    queues = simulate(work.experiment.with_(seed=1)).tables["queues"]
    assert sample.delivered_pkts == queues["departed_pkts"][work.queue]
    assert sample.dropped_pkts > 0
    assert 3 < sample.goodput_mbps < 4.6  # with the bucket of 1 Mbit


@pytest.mark.kernel
def test_kernel_and_simulator_do_the_same_work() -> None:
    kernel = find_kernel()
    if kernel is None:
        pytest.skip("the kernel in virtual time is not built")
    for each, _ in bench.cases(0.01):
        BACKEND.check(each.experiment.with_(guest=GuestKind.MODULE).resolved_json())
    work = tcp_work.on_linux(tcp_work.bulk(100, 1))
    real, model = bench.by_kernel(kernel.path, work, 1), bench.by_simulator(work, 1)
    assert real.delivered_pkts == pytest.approx(model.delivered_pkts, rel=0.05)
    assert 0 < real.start_cpu_s < real.cpu_s

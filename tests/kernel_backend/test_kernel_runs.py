"""Runs on the real kernel in virtual time, beside the simulator."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from kernel_samples import EXPONENTIAL, network, ping

from dumbbell import metrics
from dumbbell.backends import run_many, simulate
from dumbbell.metrics import delay_quantile_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run, check_schema

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]

LATE_NS = 3_000
"""A clock read costs 256 ns of virtual time; between two hosts there are a few."""


def both(experiment: Experiment, replication: int = 0) -> tuple[Run, Run]:
    kernel = simulate(experiment, replication, backend="kernel")
    check_schema(kernel.tables)
    assert kernel.origin == "kernel"
    return kernel, simulate(experiment, replication)


def same(kernel: Run, simulated: Run, table: str, *columns: str) -> None:
    for column in columns:
        found, expected = kernel.column(table, column), simulated.column(table, column)
        np.testing.assert_array_equal(found, expected, err_msg=f"{table}.{column}")


def test_an_idle_link_of_20_ms_pings_20_ms() -> None:
    probe = ping(interval="100ms")
    kernel, _ = both(network(link={"delay": "20ms"}, probes=[probe]))
    rtt = kernel.column("probes", "rtt_ns")
    assert len(rtt) == 200
    assert rtt.min() >= 20_000_000
    assert rtt.max() <= 20_000_000 + LATE_NS


def test_a_link_of_10_mbit_and_20_ms_pings_as_in_the_simulator() -> None:
    hops = [{}, {"rate": "10mbit", "delay": "10ms"}]
    kernel, simulated = both(network(hops=hops, probes=[ping()]))
    late = kernel.column("probes", "rtt_ns") - simulated.column("probes", "rtt_ns")
    assert 0 <= late.min() <= late.max() <= LATE_NS
    same(kernel, simulated, "probes", "seq", "sent_ns")


@pytest.mark.parametrize(
    "link",
    [
        {"qdisc": "netem rate 1mbit limit 100000"},
        {"rate": "1mbit", "qdisc": "pfifo limit 100000", "delay": "5ms"},
    ],
)
def test_a_loaded_queue_is_the_simulators(link: dict[str, str]) -> None:
    source = {**EXPONENTIAL, "size": "uniform 64B 1000B", "rate": "200pps"}
    experiment = network(
        source=source, link=link, probes=[ping()], warm_up="2s", sample_interval="1s"
    )
    kernel, simulated = both(experiment)
    same(kernel, simulated, "flows", "created_pkts", "created_bytes", "dropped_pkts")
    same(kernel, simulated, "flows", "sent_datagrams", "sent_payload_bytes", "first_sent_ns")
    same(kernel, simulated, "queues", "arrived_pkts", "arrived_bytes", "sojourn_count")
    same(kernel, simulated, "queue_samples", "t_ns", "queue")
    for column in ("sojourn_mean_s", "wait_mean_s", "system_mean_pkts", "busy_s"):
        found = kernel.column("queues", column, queue="router->receiver")[0]
        expected = simulated.column("queues", column, queue="router->receiver")[0]
        assert found == pytest.approx(expected, rel=1e-3), column


def test_a_full_queue_drops_as_many_within_a_few() -> None:
    link = {"rate": "1mbit", "qdisc": "pfifo limit 10"}
    source = {**EXPONENTIAL, "size": "uniform 64B 1000B", "rate": "250pps"}
    kernel, simulated = both(network(source=source, link=link))
    found = kernel.column("flows", "dropped_pkts")[0]
    expected = simulated.column("flows", "dropped_pkts")[0]
    assert expected > 100
    assert abs(found - expected) <= 0.05 * expected
    parts = ("delivered_pkts", "dropped_pkts", "in_network_pkts")
    total = sum(kernel.column("flows", part)[0] for part in parts)
    assert total == kernel.column("flows", "created_pkts")[0]


def test_mm1_through_netem_is_what_theory_says() -> None:
    """M/G/1 with a size on the wire of 42 bytes or more: Pollaczek and Khinchine."""
    experiment = network(
        source={**EXPONENTIAL, "rate": "150pps"},
        link={"qdisc": "netem rate 1mbit limit 1000000"},
        duration="200s",
        warm_up="10s",
    )
    runs = [run for _, run in run_many([(experiment, n) for n in range(6)], backend="kernel")]
    waits = [run.column("queues", "wait_mean_s", queue="router->receiver")[0] for run in runs]
    sizes = np.maximum(np.random.default_rng(1).exponential(512, 2_000_000).round(), 42)
    service = sizes * 8 / 1e6
    theory = 150 * np.mean(service**2) / (2 * (1 - 150 * service.mean()))
    error = np.std(waits, ddof=1) / math.sqrt(len(waits))
    assert abs(np.mean(waits) - theory) <= 4.03 * error  # Student's t, 5 degrees, 99 %
    assert error < 0.1 * theory


def test_large_datagrams_are_fragmented_and_the_queue_is_still_known() -> None:
    source = {"kind": "ditg", "gap": "exponential 50pps", "size": "uniform 100B 4000B"}
    experiment = network(source=source, link={"qdisc": "netem rate 2mbit limit 100000"})
    kernel, simulated = both(experiment)
    same(kernel, simulated, "flows", "created_pkts", "created_bytes", "delivered_bytes")
    same(kernel, simulated, "queues", "arrived_pkts", "arrived_bytes")
    means = [run.column("queues", "sojourn_mean_s")[2] for run in (kernel, simulated)]
    assert means[0] == pytest.approx(means[1], rel=1e-3)


def test_behind_two_slow_links_packets_are_seen_at_both() -> None:
    hops = [{"rate": "2mbit"}, {"rate": "1mbit", "delay": "5ms"}]
    source = {**EXPONENTIAL, "size": "constant 500B"}
    kernel, simulated = both(network(source=source, hops=hops, probes=[ping()]))
    for queue in ("sender->router", "router->receiver"):
        for column in ("sojourn_mean_s", "wait_mean_s", "system_mean_pkts", "busy_s"):
            found = kernel.column("queues", column, queue=queue)[0]
            expected = simulated.column("queues", column, queue=queue)[0]
            assert found == pytest.approx(expected, rel=1e-3, abs=LATE_NS * 1e-9), (queue, column)
    delays = [run.column("flows", "delay_mean_s")[0] for run in (kernel, simulated)]
    assert delays[0] == pytest.approx(delays[1], rel=1e-3)
    for run in (kernel, simulated):
        counted = run.column("flow_delays", "pkts").sum()
        assert counted == run.column("flows", "delay_count")[0] > 0
    tails = [delay_quantile_s(run, "stream", [0.5, 0.95, 0.99]) for run in (kernel, simulated)]
    np.testing.assert_allclose(*tails, rtol=0.01)


def test_loss_after_the_queue_is_the_kernels_own_and_repeats() -> None:
    source = {**EXPONENTIAL, "size": "constant 500B"}
    experiment = network(source=source, link={"loss": 0.1, "delay": "1ms"})
    runs = [simulate(experiment, 0, backend="kernel") for _ in range(2)]
    lost, sent = (runs[0].column("flows", each)[0] for each in ("dropped_pkts", "created_pkts"))
    assert abs(lost / sent - 0.1) < 4 * math.sqrt(0.09 / sent)
    assert runs[0].meta["digest"] == runs[1].meta["digest"]


def test_a_link_that_changes_does_so_at_the_same_instants() -> None:
    """Not so where a delay becomes shorter: netem with a rate keeps the order of packets."""
    changes = [{"at": "5s", "rate": "1mbit", "delay": "30ms"}, {"at": "10s", "rate": "2mbit"}]
    source = {"kind": "cbr", "gap": "20ms", "size": "1000B"}
    link = {"rate": "2mbit", "delay": "5ms", "changes": changes}
    experiment = network(source=source, link=link, sample_interval="1s")
    kernel, simulated = both(experiment)
    sums = [run.column("flow_samples", "delay_sum_s") for run in (kernel, simulated)]
    np.testing.assert_allclose(np.diff(sums[0]), np.diff(sums[1]), rtol=1e-3)
    same(kernel, simulated, "flow_samples", "delivered_pkts", "dropped_pkts")


def test_a_link_with_a_trace_takes_its_steps_at_the_same_instants() -> None:
    steps = {"kind": "steps", "steps": "0r2md5m 5gr1md30m 5gr2m"}
    source = {"kind": "cbr", "gap": "20ms", "size": "1000B"}
    experiment = network(source=source, link={"trace": steps}, sample_interval="1s")
    kernel, simulated = both(experiment)
    sums = [run.column("flow_samples", "delay_sum_s") for run in (kernel, simulated)]
    np.testing.assert_allclose(np.diff(sums[0]), np.diff(sums[1]), rtol=1e-3)
    same(kernel, simulated, "flow_samples", "delivered_pkts", "dropped_pkts")
    # What the trace lets through is what the load is held against, on both.
    loads = [metrics.utilization(run, "router->receiver") for run in (kernel, simulated)]
    assert loads[0] == pytest.approx(loads[1], rel=1e-3)


def test_a_seed_repeats_to_the_byte_and_another_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = {"rate": "1mbit", "qdisc": "pfifo limit 20", "delay": "3ms"}
    experiment = network(source=EXPONENTIAL, link=link, probes=[ping()], sample_interval="1s")
    first = simulate(experiment, 0, backend="kernel").meta["digest"]
    elsewhere = tmp_path / "another folder"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    assert simulate(experiment, 0, backend="kernel").meta["digest"] == first
    assert simulate(experiment, 1, backend="kernel").meta["digest"] != first
    assert list(elsewhere.iterdir()) == []


def test_versions_name_what_decides_the_result() -> None:
    run = simulate(network(probes=[ping()]), backend="kernel")
    versions = run.meta["versions"]
    assert versions["kernel"].startswith("6.")
    assert versions["kernel_hz"] == 1000
    hashes = {"kernel_sha256", "guest_sha256", "ip_sha256", "tc_sha256"}
    assert all(len(versions[name]) == 64 for name in hashes)
    assert {"libc.so.6", "libmnl.so.0"} <= versions["libraries_sha256"].keys()


def test_provenance_has_the_time_the_guest_took() -> None:
    provenance = simulate(network(probes=[ping()]), backend="kernel").provenance
    assert 0 < provenance["cpu_s"] < 60
    assert 0 < provenance["wall_s"] <= provenance["batch_wall_s"]

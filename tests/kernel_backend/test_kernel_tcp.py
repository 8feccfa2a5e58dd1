"""The kernel's own TCP over queues of the kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_samples import network, ping

from dumbbell.backends import simulate
from dumbbell.metrics import delay_quantile_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run, check_schema

pytestmark = pytest.mark.usefixtures("kernel")

QUEUE = "router->receiver"
PAYLOAD_SHARE = 1448 / 1514
"""Of the bytes on an Ethernet, with timestamps."""
SEGMENT_S = 1514 * 8 / 10e6
RTT_S = 0.02
LATE_NS = 5_000
GREEDY = {"kind": "greedy"}


def over_tcp(link: dict[str, Any] | None = None, **changes: Any) -> Experiment:
    """A flow over TCP through 10 Mbit/s; 20 ms there, nothing back."""
    bottleneck = {"rate": "10mbit", "delay": "20ms", "qdisc": "pfifo limit 50"}
    keys = ("source", "tcp", "start_jitter", "stop", "transport", "dscp")
    flow = {key: changes.pop(key) for key in keys if key in changes}
    flow = {"name": "bulk", "from": "sender", "to": "receiver", "source": GREEDY, **flow}
    given = {"duration": "10s", "sample_interval": "100ms", "flows": [flow], **changes}
    return network(link={**bottleneck, **(link or {})}, **given)


def on_kernel(experiment: Experiment, replication: int = 0) -> Run:
    run = simulate(experiment, replication, backend="kernel")
    check_schema(run.tables)
    return run


def value(run: Run, column: str, table: str = "flows", **where: str) -> float:
    return float(run.column(table, column, **where)[0])


def test_one_cubic_flow_fills_the_link_and_sends_again_what_was_dropped() -> None:
    run = on_kernel(over_tcp(warm_up="1s"))
    goodput_bps = 8 * value(run, "received_payload_bytes") / 9
    assert goodput_bps == pytest.approx(10e6 * PAYLOAD_SHARE, rel=0.01)
    dropped = value(run, "dropped_pkts")
    assert dropped == value(run, "retransmitted_pkts") > 0
    samples = run.column("flow_samples", "dropped_pkts")
    assert samples[-1] == dropped
    assert np.all(np.diff(samples) >= 0)
    parts = ("delivered_pkts", "dropped_pkts", "in_network_pkts")
    assert sum(value(run, part) for part in parts) == value(run, "created_pkts")
    # Of single packets of TCP nothing is known, neither their mean delay nor percentiles.
    assert value(run, "delay_count") == len(run.column("flow_delays", "pkts")) == 0
    assert math.isnan(delay_quantile_s(run, "bulk", 0.95))


def test_the_queue_of_a_tcp_flow_is_known_packet_by_packet() -> None:
    run = on_kernel(over_tcp())

    def queue(column: str) -> float:
        return value(run, column, "queues", queue=QUEUE)

    assert queue("backlog_max_pkts") == 50
    assert queue("system_max_pkts") == 51
    # The longest wait is behind 50 packets, the one in transmission just begun.
    assert 49 * SEGMENT_S < queue("wait_max_ns") * 1e-9 <= 50 * SEGMENT_S + 1e-6
    # Little's law, with the packets still in the queue at the end at most 51.
    arrivals = queue("departed_pkts") / queue("measured_s")
    expected = arrivals * queue("sojourn_mean_s")
    assert queue("system_mean_pkts") == pytest.approx(expected, rel=0.02)
    # The kernel's own samples of what the discipline holds agree with the replay's levels.
    backlog = run.column("queue_samples", "backlog_pkts", queue=QUEUE)
    assert 0 < backlog.mean() == pytest.approx(queue("backlog_mean_pkts"), rel=0.1)
    # What holds nothing adds nothing.
    assert value(run, "sojourn_mean_s", "queues", queue="sender->router") == 0


def test_the_window_and_the_queue_explain_the_round_trip_time() -> None:
    run = on_kernel(over_tcp())
    times = run.column("flow_samples", "t_ns") > 2e9
    srtt_s = run.column("flow_samples", "srtt_ns")[times] * 1e-9
    inflight = run.column("flow_samples", "inflight_pkts")[times]
    # In flight over round-trip time is the rate.
    assert np.median(inflight / srtt_s) == pytest.approx(1 / SEGMENT_S, rel=0.05)
    assert run.column("flow_samples", "min_rtt_ns")[-1] == pytest.approx(RTT_S * 1e9, rel=0.02)
    ssthresh = run.column("flow_samples", "ssthresh_pkts")
    assert ssthresh[-1] > 0
    rate = run.column("flow_samples", "delivery_rate_bps")[times]
    assert np.median(rate) == pytest.approx(10e6 * PAYLOAD_SHARE, rel=0.02)


def test_a_seed_repeats_to_the_byte_and_jitter_makes_another_path() -> None:
    experiment = over_tcp(start_jitter="10ms", duration="5s")
    digests = [on_kernel(experiment).meta["digest"] for _ in range(2)]
    assert digests[0] == digests[1]
    other = on_kernel(experiment.with_seed(2))
    assert other.meta["digest"] != digests[0]
    start = value(other, "first_sent_ns")
    assert 0 < start < 10e6


def test_a_transfer_in_the_initial_window_takes_two_round_trips() -> None:
    """The SYN's round trip, then ten segments one behind the other and half a round trip."""
    run = on_kernel(over_tcp(source={"kind": "sized", "size": "14480B"}, duration="2s"))
    (bytes_,), (started,), (completed,) = (
        run.column("transfers", column) for column in ("bytes", "started_ns", "completed_ns")
    )
    assert (bytes_, started) == (14480, 0)
    # SYN and the last of ten segments each cross the slow link; nothing delays the way back.
    syn_s, expected_s = 74 * 8 / 10e6, 2 * RTT_S + 10 * SEGMENT_S
    # The acknowledgement of the SYN-ACK goes before the data.
    expected_s += syn_s + 66 * 8 / 10e6
    assert (completed - started) * 1e-9 == pytest.approx(expected_s, abs=2e-5)
    assert value(run, "received_payload_bytes") == 14480


def test_a_larger_initial_window_saves_a_round_trip() -> None:
    def takes(window: int) -> float:
        source = {"kind": "sized", "size": "28960B"}
        link = {"rate": "100mbit"}
        tcp = {"initial_window": window}
        run = on_kernel(over_tcp(link, source=source, tcp=tcp, duration="2s"))
        return float(run.column("transfers", "completed_ns")[0]) * 1e-9

    assert takes(10) - takes(20) == pytest.approx(RTT_S, rel=0.1)


def test_a_closed_loop_thinks_between_transfers() -> None:
    source = {"kind": "closed_loop", "size": "uniform 1kb 40kb", "think": "exponential 200ms"}
    run = on_kernel(over_tcp(source=source, duration="20s"))
    started, completed = (
        run.column("transfers", f"{name}_ns") for name in ("started", "completed")
    )
    sizes = run.column("transfers", "bytes")
    assert len(sizes) > 30
    assert np.all((sizes >= 1024) & (sizes <= 40960))
    thinking_s = (started[1:] - completed[:-1]) * 1e-9
    assert np.all(thinking_s > 0)
    error = 0.2 / math.sqrt(len(thinking_s))
    assert abs(thinking_s.mean() - 0.2) < 4 * error
    assert np.all(completed[:-1] - started[:-1] >= 2 * RTT_S * 1e9)
    done = sizes[completed >= 0].sum()
    assert done <= value(run, "received_payload_bytes") <= sizes.sum()


def test_writes_over_tcp_come_at_the_instants_of_the_schedule() -> None:
    source = {"kind": "cbr", "gap": "20ms", "size": "500B"}
    run = on_kernel(over_tcp(source=source, transport="tcp", duration="4s"))
    assert value(run, "sent_datagrams") == 200
    # The last of 500 bytes each; those of the last 20 ms are under way.
    received = value(run, "received_payload_bytes")
    assert 198 * 500 <= received <= 200 * 500
    assert len(run.column("transfers", "bytes")) == 0


def test_bbr_keeps_the_queue_short_and_paces() -> None:
    deep = {"qdisc": "pfifo limit 500"}
    runs = [
        on_kernel(over_tcp(deep, tcp={"congestion_control": name}, warm_up="3s"))
        for name in ("bbr", "reno")
    ]
    waits = [value(run, "wait_mean_s", "queues", queue=QUEUE) for run in runs]
    assert waits[0] < 2 * RTT_S < waits[1]
    assert np.median(runs[0].column("flow_samples", "pacing_rate_bps")) > 5e6
    goodput_bps = 8 * value(runs[0], "received_payload_bytes") / 7
    assert goodput_bps > 0.9 * 10e6 * PAYLOAD_SHARE


def test_a_flow_that_stops_sends_nothing_afterwards() -> None:
    run = on_kernel(over_tcp(stop="2s", duration="4s"))
    # What was on its way at the stop is discarded by the receiver's host.
    assert value(run, "last_received_ns") <= 2e9 + 1e8
    backlog = run.column("queue_samples", "backlog_pkts", queue=QUEUE)
    assert backlog[:18].max() > 0
    assert backlog[-10:].max() == 0


def test_a_fixed_receive_window_bounds_what_is_in_flight() -> None:
    run = on_kernel(over_tcp(tcp={"receive_window": "14480B"}, duration="5s"))
    inflight = run.column("flow_samples", "inflight_pkts")
    assert 0 < inflight.max() <= 10
    assert value(run, "retransmitted_pkts") == 0


@pytest.mark.parametrize("kind", ["ping", "udp"])
def test_an_idle_link_of_20_ms_echoes_in_20_ms(kind: str) -> None:
    probe = ping(kind=kind, interval="100ms")
    run = on_kernel(network(link={"delay": "20ms"}, probes=[probe], duration="2s"))
    rtt = run.column("probes", "rtt_ns")
    assert len(rtt) == 20
    assert 20_000_000 <= rtt.min() <= rtt.max() <= 20_000_000 + LATE_NS


def test_bursts_are_the_simulators() -> None:
    source = {"kind": "bursts", "packets": 8, "gap": "exponential 50ms", "size": "500B"}
    experiment = network(source=source, link={"rate": "1mbit"}, duration="5s")
    kernel, simulated = on_kernel(experiment), simulate(experiment, 0)
    for column in ("created_pkts", "created_bytes", "dropped_pkts"):
        assert value(kernel, column) == value(simulated, column)
    waits = [value(run, "wait_mean_s", "queues", queue=QUEUE) for run in (kernel, simulated)]
    assert waits[0] == pytest.approx(waits[1], rel=1e-3)


def test_pie_says_its_drop_probability() -> None:
    experiment = over_tcp({"qdisc": "pie limit 200 target 15ms"}, warm_up="1s")
    run = on_kernel(experiment)
    probability = run.column("queue_samples", "drop_probability", queue=QUEUE)
    assert np.all((probability >= 0) & (probability < 0.1))
    assert probability.max() > 0
    delay = run.column("queue_samples", "delay_estimate_ns", queue=QUEUE)
    assert 0 < np.median(delay) < 60e6
    dropped = value(run, "dropped_aqm_pkts", "queues", queue=QUEUE)
    assert dropped > 0
    assert value(run, "dropped_overlimit_pkts", "queues", queue=QUEUE) == 0


def test_codel_drops_what_it_held() -> None:
    run = on_kernel(over_tcp({"qdisc": "codel limit 1000"}, warm_up="1s"))
    assert value(run, "dropped_aqm_pkts", "queues", queue=QUEUE) > 0
    # The kernel's own samples agree with the levels between packets.
    backlog = run.column("queue_samples", "backlog_pkts", queue=QUEUE)[10:]
    mean = value(run, "backlog_mean_pkts", "queues", queue=QUEUE)
    assert backlog.mean() == pytest.approx(mean, rel=0.1, abs=0.5)


def test_ecn_marks_instead_of_drops() -> None:
    run = on_kernel(over_tcp({"qdisc": "codel limit 1000 ecn"}, tcp={"ecn": True}))
    marked = value(run, "marked_pkts", "queues", queue=QUEUE)
    assert marked > 0
    assert run.column("queue_samples", "marked_pkts", queue=QUEUE)[-1] == marked
    assert value(run, "retransmitted_pkts") == 0

"""The whole TCP against theory: periodic loss, and BBR alone on its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run
from dumbbell.theory import cubic_mean_window, reno_mean_window

RTT_MS = 100
MSS_BYTES = 1448


def one_flow(
    duration_s: int, tcp: dict[str, Any], forward: dict[str, Any], rtt_ms: int = RTT_MS
) -> Run:
    delay = f"{rtt_ms / 2:g}ms"
    experiment = {
        "name": "periodic-loss",
        "duration": f"{duration_s}s",
        "sample_interval": "10ms",
        "links": [
            {"a": "sender", "b": "receiver", "delay": delay, "forward": forward},
        ],
        "flows": [
            {
                "name": "flow",
                "from": "sender",
                "to": "receiver",
                "source": {"kind": "greedy"},
                "tcp": tcp,
            }
        ],
    }
    return simulate(Experiment.model_validate(experiment))


def column(run: Run, name: str, from_s: float) -> np.ndarray:
    samples = run.tables["flow_samples"]
    return np.asarray(samples[name])[np.asarray(samples["t_ns"]) >= from_s * 1e9]


def mean_window(loss_every: int, tcp: dict[str, Any], losses: int = 40, **link: Any) -> float:
    """Packets delivered a round trip, between two losses late in the run."""
    expected = 1.2 * loss_every**0.5
    duration_s = int(losses * loss_every / expected * RTT_MS / 1000) + 20
    run = one_flow(duration_s, tcp, {"loss_every": loss_every} | link)
    samples = run.tables["flow_samples"]
    retransmitted = np.asarray(samples["retransmitted_pkts"])
    times = np.asarray(samples["t_ns"]) / 1e9
    delivered = np.asarray(samples["delivered_payload_bytes"]) / MSS_BYTES
    # Whole cycles only: the mean of a part of a tooth is not that of the tooth.
    rises = np.flatnonzero(np.diff(retransmitted) > 0)
    rises = rises[len(rises) // 3 :]
    assert len(rises) >= 5
    first, last = rises[0], rises[-1]
    packets = delivered[last] - delivered[first]
    # One packet in n is lost: what is delivered between two losses is the cycle.
    assert packets / (len(rises) - 1) == pytest.approx(loss_every, rel=0.1)
    return float(packets / (times[last] - times[first]) * RTT_MS / 1000)


def with_recovery(window_pkts: float, loss_every: int) -> float:
    """The formula leaves recovery out: one round trip more of a cycle, with nothing more sent."""
    return loss_every / (loss_every / window_pkts + 1)


@pytest.mark.parametrize("loss_every", [1000, 5000, 20_000])
@pytest.mark.parametrize("ack_every", [1, 2])
def test_reno_follows_mathis(loss_every: int, ack_every: int) -> None:
    tcp = {"profile": "rfc", "congestion_control": "reno", "ack_every": ack_every}
    formula = reno_mean_window(1 / loss_every, packets_per_ack=ack_every)
    expected = with_recovery(formula, loss_every)
    assert mean_window(loss_every, tcp) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("loss_every", [300, 1000, 5000])
def test_linux_counts_packets_not_acknowledgements(loss_every: int) -> None:
    expected = with_recovery(reno_mean_window(1 / loss_every), loss_every)
    window = mean_window(loss_every, {"congestion_control": "reno"})
    assert window == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("loss_every", [5000, 20_000, 50_000])
def test_cubic_follows_rfc_9438_above_its_reno_region(loss_every: int) -> None:
    expected = cubic_mean_window(1 / loss_every, RTT_MS / 1000)
    assert expected > reno_mean_window(1 / loss_every)
    window = mean_window(loss_every, {"profile": "rfc", "congestion_control": "cubic"})
    assert window == pytest.approx(expected, rel=0.15)


# At an infinite rate a window is sent within one instant, and RACK, which orders what was sent in
# the same microsecond by its numbers (RFC 8985 section 6.2 step 2), may take a copy for lost that
# is on its way.
@pytest.mark.slow
@pytest.mark.parametrize("loss_every", [20_000, 50_000, 100_000])
def test_linuxs_cubic_follows_it_where_the_window_is_large(loss_every: int) -> None:
    expected = cubic_mean_window(1 / loss_every, RTT_MS / 1000)
    # Of what leaves in bursts, losses by count hit few: the formula's packets go one by one.
    tcp = {"congestion_control": "cubic", "gso_max_segs": 1}
    window = mean_window(loss_every, tcp, rate="10gbit", qdisc="pfifo limit 100000")
    assert window == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(("rate_mbps", "rtt_ms"), [(10, 40), (40, 20), (40, 100)])
def test_bbr_alone_keeps_little_more_than_the_path_holds_in_flight(
    rate_mbps: int, rtt_ms: int
) -> None:
    forward = {"rate": f"{rate_mbps}mbit", "qdisc": "pfifo limit 10000"}
    run = one_flow(30, {"congestion_control": "bbr"}, forward, rtt_ms)
    window = column(run, "cwnd_pkts", 5)
    in_flight = column(run, "inflight_pkts", 5)
    bdp_pkts = rate_mbps * 1e6 / 8 * rtt_ms / 1000 / (MSS_BYTES + 66)
    probes = window <= 4
    assert 0.01 < probes.mean() < 0.04  # 200 ms in 10 s
    # A second for refilling the pipe.
    settled = np.convolve(probes, np.ones(100), mode="full")[: len(probes)] == 0
    assert 1.0 <= in_flight[settled].mean() / bdp_pkts <= 1.3


def test_bbr_keeps_its_estimate_of_the_bandwidth_through_the_emptied_pipe() -> None:
    # Packets sent with four in flight say nothing of the path (ProbeRTT, draft 4.3.5).
    forward = {"rate": "40mbit", "qdisc": "pfifo limit 10000"}
    run = one_flow(15, {"congestion_control": "bbr"}, forward, 20)
    window, rate = column(run, "cwnd_pkts", 5), column(run, "pacing_rate_bps", 5)
    assert (window <= 4).any()
    # The least gain is 3/4; payload at 99 % of the rate on the wire.
    assert rate.min() > 0.74 * 0.99 * 40e6 * MSS_BYTES / (MSS_BYTES + 66)

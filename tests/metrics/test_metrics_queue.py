from __future__ import annotations

import math

import numpy as np
import pytest
from metrics_samples import BOTTLENECK, by_hand, experiment

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run


def test_by_hand() -> None:
    run = by_hand(
        {
            "queues": {
                "queue": [0, 1, 2],
                "measured_s": [10, 10, 10],
                "busy_s": [5, 0, 9],
                "arrived_pkts": [100, 0, 50],
                "arrived_bytes": [1000, 0, 500],
                "departed_bytes": [800, 0, 125_000],
                "departed_pkts": [60, 0, 50],
                "dropped_overlimit_pkts": [20, 0, 0],
                "dropped_aqm_pkts": [10, 0, 0],
                "policed_pkts": [5, 0, 0],
                "marked_pkts": [15, 0, 0],
                "sojourn_count": [80, 0, 40],
                "sojourn_mean_s": [0.1, math.nan, 0.4],
                "sojourn_max_ns": [3_000_000, -1, 7],
                "wait_mean_s": [0.05, math.nan, 0.3],
                "system_mean_pkts": [1.5, 0, 2],
                "backlog_mean_pkts": [1.0, 0, 1.25],
                "backlog_mean_bytes": [900, 0, 64],
            }
        }
    )
    assert metrics.arrival_rate_pps(run, 0) == 10.0
    assert metrics.offered_load_bps(run, 0) == 800.0
    assert metrics.throughput_bps(run, 0) == 640.0
    assert metrics.utilization(run, 0) == 0.5
    assert metrics.loss_ratio(run, 0) == 0.35
    assert metrics.mark_ratio(run, 0) == 0.25
    assert metrics.mean_sojourn_s(run, 0) == 0.1
    assert metrics.mean_sojourn_s(run, [0, 1, 2]) == pytest.approx((80 * 0.1 + 40 * 0.4) / 120)
    assert metrics.mean_wait_s(run, 0) == 0.05
    assert metrics.max_sojourn_s(run, 0) == 0.003
    assert metrics.mean_system_pkts(run, 0) == 1.5
    assert metrics.mean_backlog_pkts(run, BOTTLENECK) == 1.25
    assert metrics.mean_backlog_bytes(run, BOTTLENECK) == 64
    # 10**6 bit in 10 s at 1 Mbit/s; the window of the description is 120 s.
    assert metrics.utilization_bits(run, BOTTLENECK) == pytest.approx(1e6 / (120 * 1e6))
    for nothing in (
        metrics.mean_sojourn_s,
        metrics.max_sojourn_s,
        metrics.loss_ratio,
        metrics.mark_ratio,
    ):
        assert math.isnan(nothing(run, 1))
    assert metrics.utilization_bits(run, 0) == 0.0  # nothing limits that link


def test_quantiles_and_distributions_by_hand() -> None:
    run = by_hand(
        {
            "distributions": {
                "queue": [2] * 5,
                "quantity": [0, 0, 2, 2, 2],
                "low": [1e9, 2e9, 0, 1, 7],
                "high": [2e9, 4e9, 1, 2, 8],
                "weight": [75, 25, 5, 3, 2],
            },
            "queues": {
                "queue": [0, 1, 2],
                "sojourn_max_ns": [-1, -1, 3_500_000_000],
                "wait_max_ns": [-1, -1, -1],
            },
        }
    )
    # The last bin ends at 4 s, and the greatest is known exactly.
    np.testing.assert_allclose(metrics.sojourn_quantile_s(run, 2, [0, 0.375, 0.875, 1]),
                               [1, 1.5, 3, 3.5])  # fmt: skip
    assert metrics.sojourn_quantile_s(run, 2, 0.375).shape == ()
    assert math.isnan(metrics.sojourn_quantile_s(run, 0, 0.5))
    assert np.isnan(metrics.wait_quantile_s(run, 2, [0.1, 0.9])).all()
    high, share = metrics.sojourn_cdf(run, 2)
    assert (high.tolist(), share.tolist()) == ([2.0, 4.0], [0.75, 1.0])
    packets, seconds = metrics.queue_length_distribution(run, 2)
    assert (packets.tolist(), seconds.tolist()) == ([0.0, 1.0, 7.0], [5.0, 3.0, 2.0])
    packets, share = metrics.queue_length_cdf(run, 2)
    assert share.tolist() == [0.5, 0.8, 1.0]
    found = metrics.queue_length_quantile_pkts(run, 2, [0, 0.5, 0.500001, 0.8, 0.81, 1])
    assert found.tolist() == [0, 0, 1, 1, 7, 7]


def test_the_metrics_of_a_real_run_agree_with_each_other(lab_run: Run) -> None:
    queue = BOTTLENECK
    # Little's law: accepted packets a second times their stay is the number in the system. The
    # window's edges cut off a few packets of some ten thousand.
    accepted = metrics.arrival_rate_pps(lab_run, queue) * (1 - metrics.loss_ratio(lab_run, queue))
    little = accepted * metrics.mean_sojourn_s(lab_run, queue)
    assert metrics.mean_system_pkts(lab_run, queue) == pytest.approx(little, rel=0.005)
    packets, seconds = metrics.queue_length_distribution(lab_run, queue)
    assert float(packets @ seconds) / 120 == pytest.approx(
        metrics.mean_system_pkts(lab_run, queue), rel=1e-9
    )
    assert metrics.utilization(lab_run, queue) == pytest.approx(1 - seconds[0] / 120, rel=1e-9)
    # A FIFO is busy as long as it sends.
    assert metrics.utilization_bits(lab_run, queue) == pytest.approx(
        metrics.utilization(lab_run, queue), abs=2e-4
    )
    assert metrics.loss_ratio(lab_run, queue) > 0
    assert packets[-1] == 31
    top = float(metrics.sojourn_quantile_s(lab_run, queue, 1.0))
    assert top == pytest.approx(metrics.max_sojourn_s(lab_run, queue), rel=1 / 128)
    middle = metrics.sojourn_quantile_s(lab_run, queue, 0.5) - metrics.wait_quantile_s(
        lab_run, queue, 0.5
    )
    assert 0 < middle < 0.0125


def test_utilization_by_bits_follows_the_changes_of_the_rate() -> None:
    changing = experiment().with_link(
        "router",
        "receiver",
        forward={"rate": "1mbit", "changes": [{"at": "60s", "rate": "250kbit"}]},
    )
    run = simulate(changing)
    share = metrics.utilization_bits(run, BOTTLENECK)
    # 50 s of 1 Mbit/s and 70 s of 0.25 Mbit/s in the window [10 s, 130 s).
    bits = 8 * float(run.column("queues", "departed_bytes", queue=BOTTLENECK)[0])
    assert share == pytest.approx(bits / (50e6 + 17.5e6))
    # Time and bits weigh the two parts differently.
    assert share < metrics.utilization(run, BOTTLENECK) < 1


def test_netem_paces_itself() -> None:
    paced = Experiment.read(
        {
            "duration": "60s",
            "links": [{"a": "a", "b": "b", "forward": {"qdisc": "netem rate 1mbit limit 100"}}],
            "flows": [
                {
                    "name": "stream",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "poisson", "rate": "122pps", "size": "exponential 512B"},
                }
            ],
        }
    )
    run = simulate(paced)
    assert metrics.utilization(run, "a->b") == pytest.approx(0.5, abs=0.03)
    assert metrics.utilization_bits(run, "a->b") == pytest.approx(
        metrics.utilization(run, "a->b"), rel=1e-3
    )
    assert metrics.mean_backlog_pkts(run, 0) == metrics.mean_system_pkts(run, 0)


def test_a_flow_over_tcp_has_no_datagrams() -> None:
    described = Experiment.from_toml(
        """
        duration = "2s"
        [[links]]
        a = "a"
        b = "b"
        delay = "5ms"
        forward = { rate = "10mbit" }
        [[flows]]
        name = "bulk"
        from = "a"
        to = "b"
        source = { kind = "greedy" }
        """
    )
    run = simulate(described)
    assert math.isnan(metrics.sending_rate_pps(run, "bulk"))
    assert metrics.goodput_bps(run, "bulk") > 8e6

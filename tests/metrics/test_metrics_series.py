from __future__ import annotations

import numpy as np
import pytest
from metrics_samples import BOTTLENECK, by_hand, experiment

from dumbbell import metrics, stats
from dumbbell.backends import simulate
from dumbbell.errors import DumbbellError
from dumbbell.tables import Run


def test_by_hand() -> None:
    spec = {**experiment().resolved(), "duration_ns": 4e9, "warm_up_ns": 1e9}
    run = by_hand(
        {
            "queue_samples": {
                "t_ns": [1e9, 2e9, 3e9, 4e9],
                "queue": [2] * 4,
                "departed_pkts": [10, 10, 30, 40],
                "departed_bytes": [100, 100, 300, 450],
                "dropped_pkts": [0, 4, 4, 5],
                "sojourn_sum_s": [1.0, 1.0, 5.0, 6.0],
                "system_integral_pkt_s": [2.0, 5.0, 6.0, 6.5],
            }
        },
        spec,
    )
    ends, means = metrics.interval_means(run, 2, "system_pkts")
    assert (ends.tolist(), means.tolist()) == ([2.0, 3.0, 4.0], [3.0, 1.0, 0.5])
    ends, means = metrics.interval_means(run, 2, "system_pkts", from_start=True)
    assert (ends.tolist(), means.tolist()) == ([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 1.0, 0.5])
    _, means = metrics.interval_means(run, 2, "sojourn_s")
    np.testing.assert_array_equal(means, [np.nan, 0.2, 0.1])
    assert metrics.interval_means(run, 2, "throughput_bps")[1].tolist() == [0, 1600, 1200]
    assert metrics.interval_means(run, 2, "drop_rate_pps")[1].tolist() == [4, 0, 1]
    # Three intervals are left; of two batches of one, the oldest interval is dropped.
    assert metrics.batch_means_series(run, 2, "system_pkts", n_batches=2).tolist() == [1.0, 0.5]
    assert metrics.batch_means_series(run, 2, n_batches=1).tolist() == [5.0 / 30]
    with pytest.raises(DumbbellError, match="3 sampling intervals"):
        metrics.batch_means_series(run, 2, n_batches=4)


def test_intervals_add_up_to_the_exact_mean(lab_run: Run) -> None:
    _, means = metrics.interval_means(lab_run, BOTTLENECK, "system_pkts")
    assert len(means) == 120
    assert means.mean() == pytest.approx(metrics.mean_system_pkts(lab_run, BOTTLENECK), rel=1e-9)
    _, rates = metrics.interval_means(lab_run, BOTTLENECK, "throughput_bps")
    assert rates.mean() == pytest.approx(metrics.throughput_bps(lab_run, BOTTLENECK), rel=1e-9)
    assert rates.max() <= 1e6 * 1.05  # a packet counts when its last bit has left


def test_batches_of_a_run_give_an_interval(lab_run: Run) -> None:
    series = metrics.batch_means_series(lab_run, BOTTLENECK, "system_pkts", n_batches=20)
    assert series.shape == (20,)
    estimate = stats.student_interval(series)
    assert estimate.value == pytest.approx(metrics.mean_system_pkts(lab_run, BOTTLENECK))


def test_a_run_without_samples() -> None:
    run = simulate(experiment(sample_interval="0s"))
    with pytest.raises(DumbbellError, match="give it a sample_interval"):
        metrics.interval_means(run, BOTTLENECK, "system_pkts")

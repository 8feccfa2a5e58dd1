from __future__ import annotations

import math

import numpy as np
import pytest
from metrics_samples import by_hand, experiment

from dumbbell import metrics
from dumbbell.errors import DumbbellError
from dumbbell.tables import Run, TableError

MS = 1_000_000


@pytest.fixture
def two_probes() -> Run:
    ping = experiment().probes[0]
    described = experiment(probes=[ping.with_(name="ping-1"), ping.with_(name="ping-2")])
    return by_hand(
        {
            "probes": {
                "probe": [0, 0, 0, 1, 1],
                "seq": [1, 2, 3, 1, 2],
                "sent_ns": [0, 500 * MS, 1000 * MS, 100 * MS, 999 * MS],
                "rtt_ns": [4 * MS, -1, 8 * MS, 1 * MS, 2_500_000],
            }
        },
        described.resolved(),
    )


def test_probes_are_pooled_and_lost_ones_left_out(two_probes: Run) -> None:
    assert metrics.ping_rtt_ms(two_probes).tolist() == [4.0, 8.0, 1.0, 2.5]
    assert metrics.ping_rtt_ms(two_probes, ["ping-2"]).tolist() == [1.0, 2.5]
    assert metrics.ping_rtt_ms(two_probes, "ping-2").tolist() == [1.0, 2.5]
    assert metrics.ping_rtt_ms(two_probes, [1, 0]).tolist() == [1.0, 2.5, 4.0, 8.0]
    assert metrics.ping_rtt_ms(two_probes, []).tolist() == []


def test_only_the_first_seconds(two_probes: Run) -> None:
    assert metrics.ping_rtt_ms(two_probes, first_s=1.0).tolist() == [4.0, 1.0, 2.5]
    assert metrics.ping_rtt_ms(two_probes, first_s=0.05).tolist() == [4.0]
    assert metrics.ping_loss_ratio(two_probes, first_s=1.0) == 0.25


def test_quantiles_are_rs(two_probes: Run) -> None:
    # R: quantile(c(4, 8, 1, 2.5), c(.25, .5, .75, 1)) gives 2.125 3.250 5.000 8.000
    found = metrics.ping_rtt_quantiles_ms(two_probes, [0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(found, [2.125, 3.25, 5.0, 8.0])
    assert metrics.mean_ping_rtt_ms(two_probes) == pytest.approx(15.5 / 4)
    assert metrics.ping_loss_ratio(two_probes) == 0.2


def test_without_answers(two_probes: Run) -> None:
    assert np.isnan(metrics.ping_rtt_quantiles_ms(two_probes, [0.5, 1.0], [])).all()
    assert math.isnan(metrics.mean_ping_rtt_ms(two_probes, []))
    assert math.isnan(metrics.ping_loss_ratio(two_probes, []))


def test_an_import_that_does_not_know_when_it_sent(two_probes: Run) -> None:
    two_probes.tables["probes"]["sent_ns"][:] = -1  # type: ignore[index]
    assert len(metrics.ping_rtt_ms(two_probes)) == 4
    with pytest.raises(DumbbellError, match="first_s"):
        metrics.ping_rtt_ms(two_probes, first_s=200)


def test_an_unknown_probe(two_probes: Run) -> None:
    with pytest.raises(TableError, match="did you mean 'ping-"):
        metrics.ping_rtt_ms(two_probes, ["pin-1"])

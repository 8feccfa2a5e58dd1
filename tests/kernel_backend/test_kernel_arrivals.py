"""Transfers that begin at instants of their own: on the kernel as in the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_samples import network
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from dumbbell.backends import simulate
from dumbbell.metrics import completion_time_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run, check_schema

pytestmark = pytest.mark.usefixtures("kernel")

Floats = NDArray[np.float64]
PACKET_S = 1514 * 8 / 50e6
TURNS_S = 50e-6
"""Two hosts take a few microseconds each time that they are woken, which is every round trip."""


def mice(gap: str, size: str, duration: str = "60s", **changes: Any) -> Experiment:
    """Transfers through 10 Mbit/s and 20 ms."""
    flow = {
        "name": "mice",
        "from": "sender",
        "to": "receiver",
        "source": {"kind": "arrivals", "gap": gap, "size": size},
        **changes,
    }
    link = {"rate": "10mbit", "delay": "20ms", "qdisc": "pfifo limit 50"}
    return network(link=link, duration=duration, sample_interval="1s", flows=[flow])


def on_both(experiment: Experiment, replication: int = 0) -> tuple[Run, Run]:
    simulated = simulate(experiment, replication)
    kernel = simulate(experiment, replication, backend="kernel")
    check_schema(kernel.tables)
    for column in ("transfer", "bytes", "started_ns"):
        there = simulated.column("transfers", column)
        assert np.array_equal(there, kernel.column("transfers", column))
    return simulated, kernel


def test_a_transfer_alone_takes_as_long_as_in_the_simulator() -> None:
    """No queue overflows, so nothing but the time of wakes can differ."""
    simulated, kernel = on_both(mice("exponential 2s", "uniform 1kb 60kb"))
    taken = [completion_time_s(run) for run in (simulated, kernel)]
    assert len(taken[0]) > 20
    assert np.isfinite(taken[0]).all()
    assert np.abs(taken[0] - taken[1]).max() < TURNS_S
    counted = [run.column("flows", "received_payload_bytes")[0] for run in (simulated, kernel)]
    assert counted[0] == counted[1] == simulated.column("transfers", "bytes").sum()


def segments_time_s(segments: int) -> float:
    """A packet on the wire, or a burst of two."""
    return PACKET_S * min(segments, 2)


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize(
    ("size", "segments", "drops"),
    [("100kB", 1, 0), ("1MB", 1, 46), ("100kB", 65535, 1), ("1MB", 65535, 22)],
)
def test_slow_start_into_a_small_buffer_loses_the_same_packets(
    size: str, segments: int, drops: int
) -> None:
    """A packet acknowledged alone, not in a pair, decides whether the third round overflows."""
    experiment = Experiment.read(
        {
            "duration": "3s",
            "links": [
                {"a": "sender", "b": "router", "rate": "100mbit", "delay": "10ms"},
                {
                    "a": "router",
                    "b": "receiver",
                    "delay": "7ms",
                    "forward": {
                        "rate": "50mbit",
                        "qdisc": "pfifo limit 18",
                        "record_packets": True,
                    },
                },
            ],
            "flows": [
                {
                    "name": "one",
                    "from": "sender",
                    "to": "receiver",
                    "transport": "tcp",
                    "source": {"kind": "sized", "size": size},
                    "tcp": {"gso_max_segs": segments},
                }
            ],
        }
    )
    runs = [simulate(experiment), simulate(experiment, backend="kernel")]
    dropped = [
        run.column("packets", "t_ns", event="drop", queue="router->receiver") * 1e-9 for run in runs
    ]
    assert len(dropped[0]) == len(dropped[1]) == drops
    assert np.allclose(dropped[0], dropped[1], rtol=0, atol=segments_time_s(segments))
    taken = [completion_time_s(run)[0] for run in runs]
    # Of a burst the other segment may be the one that is lost: the last is repaired later.
    apart = 0.01 if segments == 1 else 0.1
    assert abs(taken[0] - taken[1]) < apart * taken[1]


def test_under_load_completion_times_have_the_same_distribution() -> None:
    """Losses fall on other transfers, so it is the distributions that agree.

    Three runs of a thousand transfers; they are not independent within a run, so the distance is
    bounded itself, at twice what those of two independent samples exceed in one case of a hundred.
    """
    runs = [on_both(mice("exponential 60ms", "pareto 1.5 10000B"), each) for each in range(3)]
    for run in (run for pair in runs for run in pair):
        assert run.column("flows", "dropped_pkts")[0] > 50
    simulated, kernel = (
        np.concatenate([_completed(pair[side]) for pair in runs]) for side in (0, 1)
    )
    few = min(len(simulated), len(kernel))
    assert abs(len(simulated) - len(kernel)) < 0.01 * few
    assert ks_2samp(simulated, kernel).statistic < 2 * 1.63 * np.sqrt(2 / few)
    for level in (0.25, 0.5, 0.75):
        # The initial window decides these, and hardly any of them loses anything.
        expected = np.quantile(simulated, level)
        assert np.quantile(kernel, level) == pytest.approx(expected, rel=0.02)


def _completed(run: Run) -> Floats:
    taken = completion_time_s(run)
    return taken[np.isfinite(taken)]


def test_transfers_overlap_and_end_with_the_flow() -> None:
    _, kernel = on_both(mice("exponential 5ms", "exponential 20kB", "4s", stop="2s"))
    started, completed = (
        kernel.column("transfers", f"{name}_ns") for name in ("started", "completed")
    )
    assert len(started) > 300
    assert started.max() < 2e9
    # Three times what the link takes: more and more of them are open at a time, and the stop
    # ends those that are not done.
    done = completed >= 0
    assert (started[1:][done[:-1]] < completed[:-1][done[:-1]]).mean() > 0.9
    assert 10 < (~done).sum() < len(started)
    assert completed.max() < 2.1e9
    backlog = kernel.column("queue_samples", "backlog_pkts", queue="router->receiver")
    assert backlog[-1] == 0
    # With several at a time there is no one window to tell.
    assert (kernel.column("flow_samples", "cwnd_pkts") == -1).all()


def test_a_seed_repeats_to_the_byte() -> None:
    experiment = mice("exponential 30ms", "pareto 1.5 10000B", "5s")
    digests = [simulate(experiment, backend="kernel").meta["digest"] for _ in range(2)]
    assert digests[0] == digests[1]
    assert simulate(experiment, 1, backend="kernel").meta["digest"] != digests[0]

"""Sums in the samples of a TCP flow go on when its connections are closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

SOURCES = {
    "greedy": {"kind": "greedy"},
    "closed loop": {"kind": "closed_loop", "size": "144800B", "think": "1s"},
    "arrivals": {"kind": "arrivals", "size": "144800B", "gap": "1s"},
}


def sampled(source: dict[str, Any]) -> Run:
    end = {"rate": "10mbit", "delay": "5ms", "loss_every": 50}
    return simulate(
        Experiment.read(
            {
                "duration": "5s",
                "sample_interval": "100ms",
                "links": [{"a": "a", "b": "b", "forward": end}],
                "flows": [
                    {"name": "f", "from": "a", "to": "b", "stop": "4s", "source": source},
                ],
            }
        )
    )


@pytest.mark.parametrize("kind", SOURCES)
def test_sums_grow_to_those_of_the_run(kind: str) -> None:
    run = sampled(SOURCES[kind])
    cwnd_pkts = run.column("flow_samples", "cwnd_pkts", flow="f")
    # The case in question: there are samples without a connection, or with several.
    assert (cwnd_pkts == -1).any()
    sent = run.column("flow_samples", "sent_payload_bytes", flow="f")
    again = run.column("flow_samples", "retransmitted_pkts", flow="f")
    for sums in (sent, again):
        assert sums[0] >= 0
        assert (np.diff(sums) >= 0).all()
        assert sums[-1] > 0
    assert again[-1] == run.column("flows", "retransmitted_pkts")[0]


def test_the_deviation_of_a_steady_path_goes_to_nothing() -> None:
    """As tcpi_rttvar: what the timeout is made of does not fall below 50 ms in Linux."""
    tcp = {"send_buffer": "20kB"}
    flow = {"name": "f", "from": "a", "to": "b", "source": {"kind": "greedy"}, "tcp": tcp}
    described = {
        "duration": "5s",
        "sample_interval": "1s",
        "links": [{"a": "a", "b": "b", "rate": "100mbit", "delay": "10ms"}],
        "flows": [flow],
    }
    run = simulate(Experiment.read(described))
    deviation_ns = run.column("flow_samples", "rttvar_ns", flow="f")[1:]
    assert (deviation_ns >= 0).all()
    assert deviation_ns[-1] < 1_000_000


def test_there_are_none_of_udp() -> None:
    run = sampled({"kind": "poisson", "rate": "100pps", "size": "100B"})
    for name in ("sent_payload_bytes", "retransmitted_pkts"):
        assert (run.column("flow_samples", name, flow="f") == -1).all()

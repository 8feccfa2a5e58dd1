"""Super-packets on the wire and behind GRO: the simulator's are the kernel's."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import pytest

from dumbbell.backends import run_many, simulate
from dumbbell.metrics import goodput_bps, mean_sojourn_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]

QUEUE = "router->client"
STARTS = 3
TSO, GRO = {"tso": True}, {"forward": {"gro": "0s"}}
WITHIN = {
    "goodput": 0.02,
    "mean time in the queue": 0.1,
    "drops": 0.1,
    "acknowledgements": 0.05,
    "longest queue": 0.1,
    "largest window": 0.05,
}
"""Of what the kernel has, in the mean over the starts; two packets more or less in any case."""


def behind_a_router(controller: str, rate: str, qdisc: str, **links: Any) -> Experiment:
    """A sender, a router with a queue, a receiver; `first` and `second` are more of the links."""
    queue = {"rate": rate, "qdisc": qdisc}
    return Experiment.model_validate(
        {
            "seed": 1,
            "duration": "8s",
            "warm_up": "1s",
            "sample_interval": "10ms",
            "links": [
                {"a": "server", "b": "router", **links.get("first", {})},
                {
                    "a": "router",
                    "b": "client",
                    "delay": "20ms",
                    "forward": queue,
                    **links.get("second", {}),
                },
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "server",
                    "to": "client",
                    "start_jitter": "50ms",
                    "source": {"kind": "greedy"},
                    "tcp": {"congestion_control": controller},
                }
            ],
        }
    )


def numbers(run: Run) -> dict[str, float]:
    """What is compared."""
    return {
        "goodput": goodput_bps(run, "f"),
        "mean time in the queue": mean_sojourn_s(run, QUEUE),
        "drops": float(run.column("queue_samples", "dropped_pkts", queue=QUEUE)[-1]),
        "acknowledgements": float(run.column("queues", "departed_pkts", queue="client->router")[0]),
        "longest queue": float(run.column("queues", "backlog_max_pkts", queue=QUEUE)[0]),
        "largest window": float(run.column("flow_samples", "cwnd_pkts", flow="f").max()),
    }


def means(experiment: Experiment, backend: str) -> Mapping[str, float]:
    """Over several instants at which the flow begins, the same on both."""
    jobs = [(experiment, start) for start in range(STARTS)]
    found = [numbers(run) for _, run in run_many(jobs, backend=backend)]
    assert len(found) == STARTS
    return {name: statistics.fmean(each[name] for each in found) for name in WITHIN}


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize(
    ("controller", "rate", "qdisc", "links"),
    [
        ("bbr", "10mbit", "pfifo limit 17", {"first": TSO, "second": TSO}),
        ("bbr", "100mbit", "pfifo limit 80", {"first": TSO, "second": TSO}),
        ("cubic", "10mbit", "pfifo limit 34", {"first": TSO, "second": TSO}),
        ("reno", "100mbit", "pfifo limit 340", {"first": TSO, "second": TSO}),
        ("cubic", "10mbit", "pfifo limit 17", {"first": GRO}),
        ("reno", "100mbit", "pfifo limit 340", {"first": GRO}),
        ("cubic", "10mbit", "bfifo limit 51476b", {"first": TSO, "second": TSO}),
        ("bbr", "100mbit", "pfifo limit 80", {"first": GRO}),
    ],
)
def test_a_router_s_queue(controller: str, rate: str, qdisc: str, links: dict[str, Any]) -> None:
    experiment = behind_a_router(controller, rate, qdisc, **links)
    simulated, kernel = means(experiment, "sim"), means(experiment, "kernel")
    for name, there in kernel.items():
        assert simulated[name] == pytest.approx(there, rel=WITHIN[name], abs=2), name


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("controller", ["cubic", "bbr"])
def test_a_merged_packet_has_one_acknowledgement(controller: str) -> None:
    """A bucket lets bursts through in an instant, in segments, and the receiver merges them."""
    experiment = Experiment.model_validate(
        {
            "duration": "4s",
            "warm_up": "1s",
            "links": [
                {
                    "a": "sender",
                    "b": "receiver",
                    "delay": "20ms",
                    "forward": {"qdisc": "tbf rate 100mbit burst 70kb limit 500kb", "gro": "0s"},
                }
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "sender",
                    "to": "receiver",
                    "source": {"kind": "greedy"},
                    "tcp": {"congestion_control": controller},
                }
            ],
        }
    )
    simulated, kernel = (
        simulate(experiment, backend=backend).column("queues", "departed_pkts")
        for backend in ("sim", "kernel")
    )
    data, acknowledgements = kernel
    assert acknowledgements < data / 8
    assert simulated[1] == pytest.approx(acknowledgements, rel=0.02)
    assert simulated[0] == pytest.approx(data, rel=0.01)

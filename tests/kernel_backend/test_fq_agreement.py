"""``fq`` at a sender's own root: packets leave when the kernel's do, with the same consequences."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell.backends import simulate
from dumbbell.errors import SpecError
from dumbbell.metrics import goodput_bps, mean_sojourn_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]

OWN, BOTTLENECK = "server->router", "router->client"
WITHIN = {
    "goodput": 0.02,
    "time in the sender's queue": 0.05,
    "time at the bottleneck": 0.1,
    "drops": 0.1,
    "retransmissions": 0.1,
    "largest window": 0.05,
}
"""Of what the kernel has; of packets two more or less in any case, of times 50 us."""


def behind_fq(controller: str, rate: str, limit_pkts: int, **more: Any) -> Experiment:
    """A sender whose root is fq, a router with a short queue, a receiver."""
    return Experiment.model_validate(
        {
            "duration": "4s",
            "warm_up": "1s",
            "sample_interval": "10ms",
            "links": [
                {"a": "server", "b": "router", "forward": {"qdisc": "fq"}},
                {
                    "a": "router",
                    "b": "client",
                    "delay": "20ms",
                    "forward": {"rate": rate, "qdisc": f"pfifo limit {limit_pkts}"},
                },
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "server",
                    "to": "client",
                    "source": {"kind": "greedy"},
                    "tcp": {"congestion_control": controller},
                }
            ],
            **more,
        }
    )


def numbers(run: Run) -> dict[str, float]:
    """What is compared."""
    return {
        "goodput": goodput_bps(run, "f"),
        "time in the sender's queue": mean_sojourn_s(run, OWN),
        "time at the bottleneck": mean_sojourn_s(run, BOTTLENECK),
        "drops": float(run.column("queue_samples", "dropped_pkts", queue=BOTTLENECK)[-1]),
        "retransmissions": float(run.column("flows", "retransmitted_pkts")[0]),
        "largest window": float(run.column("flow_samples", "cwnd_pkts", flow="f").max()),
    }


def check(experiment: Experiment) -> None:
    simulated = numbers(simulate(experiment))
    kernel = numbers(simulate(experiment, backend="kernel"))
    for name, there in kernel.items():
        least = 50e-6 if name.startswith("time") else 2
        assert simulated[name] == pytest.approx(there, rel=WITHIN[name], abs=least), name


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("controller", ["cubic", "bbr"])
def test_at_ten_megabits(controller: str) -> None:
    check(behind_fq(controller, "10mbit", 17))


@pytest.mark.long
@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize(("controller", "limit_pkts"), [("cubic", 80), ("cubic", 340), ("bbr", 80)])
def test_at_a_hundred_megabits(controller: str, limit_pkts: int) -> None:
    check(behind_fq(controller, "100mbit", limit_pkts))


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("controller", ["cubic", "bbr"])
def test_the_slow_link_is_the_senders_own(controller: str) -> None:
    """The queue is fq's: what TCP keeps there waits for its time, or for the link."""
    link = {
        "a": "sender",
        "b": "receiver",
        "delay": "20ms",
        "forward": {"rate": "10mbit", "qdisc": "fq"},
    }
    flow = {
        "name": "f",
        "from": "sender",
        "to": "receiver",
        "source": {"kind": "greedy"},
        "tcp": {"congestion_control": controller},
    }
    experiment = Experiment.model_validate(
        {"duration": "4s", "warm_up": "1s", "links": [link], "flows": [flow]}
    )
    simulated, kernel = (simulate(experiment, backend=backend) for backend in ("sim", "kernel"))
    for column, within in [("sojourn_mean_s", 0.02), ("backlog_mean_bytes", 0.03)]:
        there = kernel.column("queues", column)[0]
        assert simulated.column("queues", column)[0] == pytest.approx(there, rel=within), column
    assert goodput_bps(simulated, "f") == pytest.approx(goodput_bps(kernel, "f"), rel=0.01)


@pytest.mark.parametrize("words", ["ce_threshold 1ms", "maxrate 5mbit"])
def test_on_the_way_two_words_are_refused(words: str) -> None:
    experiment = behind_fq("cubic", "10mbit", 17).model_dump(by_alias=True, exclude_unset=True)
    experiment["links"][1]["forward"]["qdisc"] = f"fq {words}"
    with pytest.raises(SpecError, match="comes from another host"):
        simulate(Experiment.model_validate(experiment), backend="kernel")

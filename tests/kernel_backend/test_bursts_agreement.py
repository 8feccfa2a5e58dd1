"""Bursts of a sender with the kernel's own ``gso_max_segs``: the simulator's are the kernel's."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.backends.kernel.programs import are_installed
from dumbbell.spec import Experiment
from dumbbell.spec.programs import Tool
from dumbbell.tables import Run

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]

START_NS = 2_000_000_000
WITHIN = {
    "dropped in the first two seconds": 0.1,
    "dropped": 0.1,
    "largest window": 0.03,
    "megabytes": 0.01,
}
"""Of what the kernel has; one packet more or less in any case."""
QUEUE = "router->client"
FIRST_PKTS = 100
"""So many are looked at one by one."""


def cell(controller: str, segments: int, limit_pkts: int = 33, **source: str) -> Experiment:
    """A sender, a router with a queue of a bandwidth-delay product at 10 Mbit/s, a receiver."""
    return Experiment.model_validate(
        {
            "seed": 1,
            "duration": "8s",
            "sample_interval": "10ms",
            "links": [
                {"a": "server", "b": "router"},
                {
                    "a": "router",
                    "b": "client",
                    "forward": {
                        "rate": "10mbit",
                        "delay": "20ms",
                        "qdisc": f"pfifo limit {limit_pkts}",
                    },
                    "reverse": {"delay": "20ms"},
                },
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "server",
                    "to": "client",
                    "source": {"kind": "greedy", **source},
                    "tcp": {"congestion_control": controller, "gso_max_segs": segments},
                }
            ],
        }
    )


def numbers(run: Run) -> dict[str, float]:
    """What a start costs, and what comes of it."""
    times_ns = run.column("queue_samples", "t_ns", queue=QUEUE)
    dropped = run.column("queue_samples", "dropped_pkts", queue=QUEUE)
    return {
        "dropped in the first two seconds": dropped[np.searchsorted(times_ns, START_NS) - 1],
        "dropped": dropped[-1],
        "largest window": run.column("flow_samples", "cwnd_pkts", flow="f").max(),
        "megabytes": run.column("flow_samples", "delivered_payload_bytes", flow="f")[-1] / 1e6,
    }


@pytest.mark.parametrize("controller", ["cubic", "bbr", "reno"])
def test_what_a_start_costs(controller: str) -> None:
    experiment = cell(controller, 65535)
    simulated = numbers(simulate(experiment))
    kernel = numbers(simulate(experiment, backend="kernel"))
    for name, there in kernel.items():
        assert simulated[name] == pytest.approx(there, rel=WITHIN[name], abs=1), name


@pytest.mark.parametrize("controller", ["cubic", "bbr"])
@pytest.mark.parametrize(
    ("first_write", "rest_after"),
    [("37B", "0s"), ("37B", "60ms"), ("37B", "1.5s"), ("30kB", "200ms")],
)
def test_what_a_start_costs_behind_a_first_write(
    controller: str, first_write: str, rest_after: str
) -> None:
    """A sample of the round trip that no queue has lengthened, and a window that is not used."""
    experiment = cell(controller, 65535, first_write=first_write, rest_after=rest_after)
    simulated = numbers(simulate(experiment))
    kernel = numbers(simulate(experiment, backend="kernel"))
    for name, there in kernel.items():
        assert simulated[name] == pytest.approx(there, rel=WITHIN[name], abs=1), name


@pytest.mark.parametrize("controller", ["cubic", "bbr"])
def test_what_a_start_costs_that_is_iperf3s(controller: str) -> None:
    experiment = cell(controller, 65535, kind="iperf3")
    simulated = numbers(simulate(experiment))
    kernel = numbers(simulate(experiment, backend="kernel"))
    for name, there in kernel.items():
        assert simulated[name] == pytest.approx(there, rel=WITHIN[name], abs=1), name


def begun_by(end: dict[str, str], **sends: list[dict[str, object]]) -> list[float]:
    """When the first data packets came to the router, ms from the first; without those dropped."""
    back = {"delay": end["delay"]}
    links = [
        {"a": "server", "b": "router"},
        {"a": "router", "b": "client", "forward": {**end, "record_packets": True}, "reverse": back},
    ]
    experiment = Experiment.model_validate({"seed": 1, "duration": "2s", "links": links, **sends})
    run = simulate(experiment, backend="kernel")
    row = {name: run.column("packets", name, queue=QUEUE) for name in ("t_ns", "event", "bytes")}
    came_ns = row["t_ns"][(row["event"] == 0) & (row["bytes"] > 1000)]
    return ((came_ns[:FIRST_PKTS] - came_ns[0]) / 1e6).tolist()


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("delay", ["20.15ms", "50ms"])
def test_its_first_packets_are_those_of_iperf3(delay: str) -> None:
    """But for a few, as its receiver does not read at the same instants.

    They are a little later: its control connection has acknowledgements to send.
    """
    if not are_installed((Tool("iperf3", ""),)):
        pytest.skip("iperf3 is not installed")
    end = {"rate": "10mbit", "delay": delay, "qdisc": "pfifo limit 83"}
    named = {"name": "it", "from": "server", "to": "client"}
    program = begun_by(end, programs=[{**named, "kind": "iperf3", "duration": "1s"}])
    source = begun_by(end, flows=[{**named, "source": {"kind": "iperf3"}}])
    assert len(source) == FIRST_PKTS
    assert np.count_nonzero(np.abs(np.subtract(program, source)) > 0.25) <= 4


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("write_size", ["700B", "20kB"])
def test_writes_of_one_size(write_size: str) -> None:
    """Packets as many: what a write leaves at its end is filled up by the next, or waits."""
    experiment = cell("cubic", 65535, write_size=write_size)
    runs = [simulate(experiment, backend=backend) for backend in ("sim", "kernel")]
    simulated, kernel = map(numbers, runs)
    for name, there in kernel.items():
        assert simulated[name] == pytest.approx(there, rel=WITHIN[name], abs=1), name
    here, there = (run.column("flows", "created_pkts")[0] for run in runs)
    assert here == pytest.approx(there, rel=0.02)


@pytest.mark.usefixtures("linux_6_1")
def test_the_switch_changes_both_alike() -> None:
    """What CUBIC's start loses with half a product of buffer, over instants at which it begins."""
    lost = {
        backend: [
            sum(numbers(simulate(each, backend=backend))["dropped"] for each in begun(segments))
            for segments in (1, 65535)
        ]
        for backend in ("sim", "kernel")
    }
    assert lost["kernel"][0] < lost["kernel"][1]
    assert lost["sim"] == pytest.approx(lost["kernel"], abs=1)


def begun(segments: int) -> list[Experiment]:
    """The cell, three times."""
    plain = cell("cubic", segments, limit_pkts=17).model_dump(by_alias=True, exclude_unset=True)
    (flow,) = plain["flows"]
    plain["flows"] = [{**flow, "start_jitter": "50ms"}]
    return [Experiment.model_validate({**plain, "seed": seed}) for seed in (1, 2, 3)]


@pytest.mark.usefixtures("linux_6_1")
@pytest.mark.parametrize("controller", ["cubic", "bbr"])
@pytest.mark.parametrize(
    ("rate", "qdisc"),
    [
        ("10mbit", "pfifo limit 34"),
        ("10mbit", "fq_codel"),
        ("inf", "tbf rate 10mbit burst 5kb limit 51kb"),
        ("inf", "tbf rate 10mbit burst 1600b limit 51kb"),
    ],
)
def test_a_queue_of_the_senders_own_host(rate: str, qdisc: str, controller: str) -> None:
    """It takes a burst for one packet; a bucket that has no room for one takes segments."""
    experiment = Experiment.model_validate(
        {
            "duration": "8s",
            "warm_up": "1s",
            "links": [
                {
                    "a": "sender",
                    "b": "receiver",
                    "delay": "20ms",
                    "forward": {"rate": rate, "qdisc": qdisc},
                }
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "sender",
                    "to": "receiver",
                    "source": {"kind": "greedy"},
                    "tcp": {"congestion_control": controller, "gso_max_segs": 65535},
                }
            ],
        }
    )
    simulated, kernel = (simulate(experiment, backend=backend) for backend in ("sim", "kernel"))
    for column, within in [("sojourn_mean_s", 0.01), ("backlog_mean_bytes", 0.02)]:
        there = kernel.column("queues", column)[0]
        assert simulated.column("queues", column)[0] == pytest.approx(there, rel=within), column
    for column in ("dropped_overlimit_pkts", "backlog_max_pkts"):
        there = int(kernel.column("queues", column)[0])
        assert int(simulated.column("queues", column)[0]) == pytest.approx(there, abs=1), column

"""Flows with ports of their own on the kernel: whose packets are whose."""

from __future__ import annotations

import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment

pytestmark = [pytest.mark.usefixtures("kernel"), pytest.mark.kernel]

_CBR = {"kind": "cbr", "gap": "7ms", "size": "700B"}


def _described() -> Experiment:
    """Two hosts with a server at port 80 each, behind one queue with a filter by port."""
    ends = [("router", "left"), ("router", "right")]
    qdisc = (
        "root handle 1: prio; parent 1:1 pfifo limit 3; parent 1:3 pfifo limit 3;"
        "filter add parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff flowid 1:1;"
        "filter add parent 1: prio 2 matchall flowid 1:3"
    )
    links = [{"a": "sender", "b": "router", "forward": {"rate": "1mbit", "qdisc": qdisc}}]
    links += [{"a": a, "b": b, "forward": {"delay": "5ms"}} for a, b in ends]
    flows = [
        {"name": "left", "to": "left", "port": 80, "source": _CBR},
        {"name": "right", "to": "right", "port": 80, "source": _CBR, "start": "1ms"},
        {"name": "other", "to": "left", "source": _CBR, "start": "2ms"},
        {
            "name": "page",
            "to": "left",
            "port": 80,
            "transport": "tcp",
            "source": {"kind": "transfers", "size": "20kB", "count": 1},
        },
    ]
    return Experiment.model_validate(
        {"duration": "3s", "links": links, "flows": [{"from": "sender", **each} for each in flows]}
    )


def test_each_flow_has_what_it_has_in_the_simulator() -> None:
    described = _described()
    simulated, run = simulate(described), simulate(described, backend="kernel")
    for name in ("left", "right", "other"):
        for column in ("sent_pkts", "delivered_pkts"):
            expected = simulated.column("flows", column, flow=name)
            found = run.column("flows", column, flow=name)
            assert abs(int(found[0]) - int(expected[0])) <= 12, (name, column)
    assert run.column("flows", "delivered_pkts", flow="left")[0] > 200
    assert run.column("flows", "delivered_bytes", flow="page")[0] == 20_000

"""Flows with ports of their own on the kernel: whose packets are whose."""

from __future__ import annotations

import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = [pytest.mark.usefixtures("kernel"), pytest.mark.kernel]

_CBR = {"kind": "cbr", "gap": "7ms", "size": "700B", "size_at": "payload"}


def _described() -> Experiment:
    """Two hosts with a server at port 80 each, behind one queue with a filter by port."""
    ends = [("router", "left"), ("router", "right")]
    qdisc = (
        "root handle 1: prio; parent 1:1 pfifo limit 20; parent 1:3 pfifo limit 3;"
        "filter add parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff flowid 1:1;"
        "filter add parent 1: prio 2 matchall flowid 1:3"
    )
    links = [{"a": "sender", "b": "router", "forward": {"rate": "2mbit", "qdisc": qdisc}}]
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
            "source": {"kind": "sized", "size": "20kB"},
        },
    ]
    return Experiment.model_validate(
        {"duration": "3s", "links": links, "flows": [{"from": "sender", **each} for each in flows]}
    )


def test_each_flow_has_what_it_has_in_the_simulator() -> None:
    described = _described()
    simulated, run = simulate(described), simulate(described, backend="kernel")

    def delivered(run: Run, name: str) -> int:
        return int(run.column("flows", "delivered_pkts", flow=name)[0])

    # What the filter has is not dropped, and the other flow has what is left.
    for name in ("left", "right"):
        assert delivered(run, name) == delivered(simulated, name) > 420
    assert delivered(run, "other") == pytest.approx(delivered(simulated, "other"), abs=12)
    assert delivered(run, "other") < 200
    assert run.column("flows", "delivered_bytes", flow="page")[0] >= 20_000

"""The port of a flow, and filters that no flow has packets for."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell.errors import SpecError
from dumbbell.spec import Experiment

_SOURCE = {"kind": "cbr", "gap": "10ms", "size": "100B"}


def _experiment(*flows: dict[str, Any], qdisc: str = "pfifo") -> Experiment:
    ends = {"from": "a", "to": "b", "source": _SOURCE}
    described: dict[str, Any] = {
        "duration": "1s",
        "links": [{"a": "a", "b": "b", "forward": {"rate": "1mbit", "qdisc": qdisc}}],
        "flows": [{"name": f"f{i}", **ends, **each} for i, each in enumerate(flows)],
    }
    return Experiment(**described)


def test_a_port_is_there_where_it_was_said() -> None:
    described = _experiment({}, {"port": 80}, {"port": 90, "count": 3})
    ports = [each.get("port") for each in described.resolved()["flows"]]
    assert ports == [None, 80, 90, 91, 92]
    again = Experiment.from_resolved(described.resolved_json())
    assert again.resolved_json() == described.resolved_json()


@pytest.mark.parametrize(
    ("flows", "path", "said"),
    [
        ([{"port": 80}, {"port": 80}], "flows[1].port", "f0 has 80"),
        ([{"port": 80, "count": 3}, {"port": 82}], "flows[1].port", "f0-3 has 82"),
        ([{}, {"port": 10_000}], "flows[1].port", "f0 has 10000"),
        ([{"port": 0}], "flows[0].port", "1 to 29999"),
        ([{"port": 30_000}], "flows[0].port", "1 to 29999"),
        ([{"port": 29_999, "count": 2}], "flows[0].port", "up to 29999"),
        ([{"port": 6, "count": 2}], "flows[0].port", "without 7"),
    ],
)
def test_a_port_that_is_taken_is_refused(flows: list[dict[str, Any]], path: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        _experiment(*flows)
    assert path in str(refused.value)
    assert said in str(refused.value)


def test_transports_and_hosts_have_ports_of_their_own() -> None:
    greedy = {"source": {"kind": "greedy"}}
    described = _experiment(
        {"port": 80}, {"port": 80, **greedy}, {"port": 80, "from": "b", "to": "a"}
    )
    assert len(described.resolved()["flows"]) == 3


_FILTER = (
    "root handle 1: prio; filter add parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:1"
)


def test_a_filter_that_no_flow_has_packets_for_is_told_of() -> None:
    (notice,) = _experiment({}, qdisc=_FILTER).notices()
    assert notice.path == "links[0].forward.qdisc"
    assert notice.notice.kind == "matches_no_flow"
    assert notice.notice.instead == "port = 80"
    assert _experiment({"port": 80}, qdisc=_FILTER).notices() == ()

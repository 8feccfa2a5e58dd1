"""What a run is expected to cost, beside what it costs: guards and limits of time stand on it."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell import _engine
from dumbbell.backends import simulate
from dumbbell.spec import Experiment

SHAPED = {
    "a transmitter": {"rate": "10mbit", "qdisc": "pfifo limit 100"},
    "netem": {"rate": "inf", "qdisc": "netem rate 10mbit limit 100"},
    "a bucket before a transmitter": {
        "rate": "1gbit",
        "qdisc": "tbf rate 10mbit burst 3000 limit 150kb",
    },
    "a token bucket": {"rate": "inf", "qdisc": "tbf rate 10mbit burst 3000 limit 150kb"},
    "a class tree that has all packets": {
        "rate": "inf",
        "qdisc": "root handle 1: htb default 1\nclass add parent 1: classid 1:1 htb rate 10mbit",
    },
    "a policer": {
        "rate": "100mbit",
        "qdisc": "pfifo limit 100",
        "police": "police rate 10mbit burst 100kb drop",
    },
    "netem that loses": {"rate": "10mbit", "qdisc": "netem loss 1% limit 100"},
}


def dumbbell(bottleneck: dict[str, Any], flows: int) -> Experiment:
    """Greedy flows over fast links and a bottleneck."""
    hosts = [f"sender-{number}" for number in range(flows)]
    access = [{"a": host, "b": "router", "rate": "1gbit", "delay": "1ms"} for host in hosts]
    return Experiment.model_validate(
        {
            "name": "estimated",
            "duration": "5s",
            "links": [*access, {"a": "router", "b": "sink", "delay": "5ms", "forward": bottleneck}],
            "flows": [
                {"name": f"flow-{host}", "from": host, "to": "sink", "source": {"kind": "greedy"}}
                for host in hosts
            ],
        }
    )


@pytest.mark.parametrize("flows", [1, 8])
@pytest.mark.parametrize("kind", SHAPED)
def test_greedy_flows_share_what_limits_them(kind: str, flows: int) -> None:
    experiment = dumbbell(SHAPED[kind], flows)
    expected = _engine.check(experiment.resolved_json(), simulated=True).events
    done = simulate(experiment).meta["events"]
    # More, since links whose departures need no events are counted as if they had them.
    assert done < expected < 4 * done


def test_short_transfers_take_little_from_a_long_one() -> None:
    alone = dumbbell(SHAPED["a transmitter"], 1)
    given = alone.model_dump(mode="json", exclude_unset=True, by_alias=True)
    short = [
        {**given["flows"][0], "name": f"short-{n}", "source": {"kind": "sized", "size": "10kB"}}
        for n in range(30)
    ]
    crowded = Experiment.model_validate({**given, "flows": [*given["flows"], *short]})
    without, beside = (
        _engine.check(experiment.resolved_json(), simulated=True).events
        for experiment in (alone, crowded)
    )
    assert 0.8 * without < beside < 1.3 * without


@pytest.mark.parametrize("controller", ["reno", "yeah", "lp"])
def test_a_controller_of_the_kernel_alone_has_an_estimate(controller: str) -> None:
    """The simulator refuses it; what it costs on the kernel is foreseen all the same."""
    experiment = Experiment.from_toml(
        f"""
        duration = "2s"
        links = [{{ a = "a", b = "b", rate = "10mbit", forward = {{ loss = 0.01 }} }}]
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        source = {{ kind = "greedy" }}
        tcp = {{ congestion_control = "{controller}" }}
        """
    )
    assert _engine.check(experiment.resolved_json(), simulated=False).events > 100

"""Detection of experiments without randomness, and the ensemble that replaces it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dumbbell.backends import simulate
from dumbbell.compare import ensemble_for
from dumbbell.compare.ensemble import Ensemble, is_random
from dumbbell.spec import Experiment

GREEDY = {"kind": "greedy"}


def line(flow: dict[str, Any] | None = None, **link: Any) -> Experiment:
    links = [
        {"a": "s", "b": "r"},
        {"a": "r", "b": "c", "rate": "10mbit", "delay": "10ms", **link},
    ]
    flows = [{"name": "bulk", "from": "s", "to": "c", "source": GREEDY, **(flow or {})}]
    return Experiment.read({"duration": "4s", "links": links, "flows": flows})


def traced(**trace: Any) -> Experiment:
    """The link's rate, delay or loss by a trace."""
    return line(rate="inf", forward={"trace": trace})


_ON_OFF = {"kind": "on-off", "rate": "5mbit"}
_HANDOVER = {
    "kind": "handover",
    "every": "1s",
    "outage": "constant 10ms",
    "least_rate": "5mbit",
    "most_rate": "5mbit",
    "least_delay": "5ms",
    "most_delay": "5ms",
}
_STATE = {"hold": "constant 500ms", "rate": "5mbit"}
_SLOW = {"hold": "constant 300ms", "rate": "1mbit"}


SETTLED = {
    "greedy": line(),
    "cbr": line({"source": {"kind": "cbr", "rate": "10pps", "size": "100B"}}),
    "codel": line(qdisc="fq_codel"),
    "netem": line(qdisc="netem delay 1ms rate 10mbit"),
    "slots": line(qdisc="netem slot 2ms"),
    "steps": traced(kind="steps", steps="0r5m 1gr1md20ml0"),
    "on and off": traced(**_ON_OFF, on="constant 1s", off="constant 100ms"),
    "handovers to the same": traced(**_HANDOVER),
    "bursts": traced(kind="aggregation", gap="constant 2ms", size="4kb"),
    "two states": traced(kind="markov", states=[_STATE, _SLOW]),
    "three states in order": traced(
        kind="markov",
        states=[
            {**_STATE, "next": [0, 1, 0]},
            {**_SLOW, "next": [0, 0, 1]},
            {**_STATE, "next": [1, 0, 0]},
        ],
    ),
}
RANDOM = {
    "jitter": line({"start_jitter": "1ms"}),
    "poisson": line({"source": {"kind": "poisson", "rate": "10pps", "size": "100B"}}),
    "sizes": line(
        {"source": {"kind": "cbr", "rate": "10pps", "size": "uniform 100B 900B"}},
    ),
    "loss": line(loss=0.01),
    "later": line(changes=[{"at": "1s", "loss": 0.01}]),
    "pie": line(qdisc="pie target 2ms"),
    "netem": line(qdisc="netem delay 3ms 1ms"),
    "lossy": line(qdisc="netem loss 1%"),
    "damaged": line(qdisc="netem corrupt 1%"),
    "drawn slots": line(qdisc="netem slot 1ms 5ms"),
    "bbr": line({"tcp": {"congestion_control": "bbr"}}),
    "bbr3": line({"tcp": {"congestion_control": "bbr3"}, "source": GREEDY}, qdisc="pfifo limit 50"),
    "steps that lose": traced(kind="steps", steps="0r5m 1gl20m"),
    "on and off": traced(**_ON_OFF, on="exponential 1s", off="constant 100ms"),
    "handovers": traced(**{**_HANDOVER, "most_delay": "9ms"}),
    "bursts": traced(kind="aggregation", gap="exponential 2ms", size="4kb"),
    "states that lose": traced(kind="markov", states=[_STATE, {**_SLOW, "loss": 0.1}]),
    "states that are drawn": traced(
        kind="markov", states=[_STATE, _SLOW, {**_SLOW, "delay": "5ms"}]
    ),
}


@pytest.mark.parametrize("name", SETTLED)
def test_nothing_random_makes_one_run_again_and_again(name: str) -> None:
    experiment = SETTLED[name]
    assert not is_random(experiment)
    digests = {simulate(experiment, number).meta["digest"] for number in range(3)}
    assert len(digests) == 1


@pytest.mark.parametrize("name", RANDOM)
def test_something_random_makes_different_runs(name: str) -> None:
    experiment = RANDOM[name]
    assert is_random(experiment)
    digests = {simulate(experiment, number).meta["digest"] for number in range(3)}
    assert len(digests) == 3


def test_one_settled_cell_is_enough_for_an_ensemble() -> None:
    assert ensemble_for(RANDOM) is None
    assert ensemble_for({**RANDOM, "greedy": SETTLED["greedy"]}) == Ensemble(("greedy",))


def test_members_differ_in_delay_and_start_and_in_nothing_else() -> None:
    ensemble, experiment = Ensemble(("greedy",)), SETTLED["greedy"]
    base = experiment.resolved()
    delays = []
    for number in range(200):
        member = json.loads(ensemble.member(experiment, number).resolved_json())
        delays.append(member["links"][1]["forward"]["delay_ns"])
        # A full packet, 1514 bytes at 10 Mbit/s.
        assert member["flows"][0]["start_jitter_ns"] == 1_211_200
        for link in member["links"]:
            for end in (link["forward"], link["reverse"]):
                assert end["delay_ns"] % 1000 == 0
                end["delay_ns"] = 10_000_000 if end["delay_ns"] else 0
        member["flows"][0]["start_jitter_ns"] = 0
        assert member == base
    assert 9_900_000 <= min(delays) < 9_910_000
    assert 10_090_000 < max(delays) <= 10_100_000
    assert len(set(delays)) > 100


def test_a_jitter_that_there_is_stays() -> None:
    member = Ensemble(()).member(line({"start_jitter": "50ms"}), 0)
    assert json.loads(member.resolved_json())["flows"][0]["start_jitter_ns"] == 50_000_000

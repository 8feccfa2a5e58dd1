"""The keys of a link's end, as the crate ``spec`` has them: what Python makes of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from spec_samples import bent

from dumbbell import _engine
from dumbbell.spec import Experiment, SpecError
from dumbbell.spec.keys import CHANGE, LINK, Key

OTHERS: dict[str, Any] = {
    "flag": True,
    "time": "321ms",
    "rate": "3mbit",
    "overhead": "wire",
    "probability": 0.25,
    "police": "police rate 4mbit burst 10kb drop",
    "qdisc": "codel",
    "gro": "50us",
    "bytes": "9000B",
    "whole": 7,
    "trace": {"kind": "steps", "steps": "0d5m"},
    "changes": [{"at": "1s", "rate": "inf", "delay": "2ms", "loss": 0.5}],
}
"""Of each kind of value one that is no default."""
BOUNDED = [key for key in LINK.values() if key.kind in ("whole", "bytes")]
TOO_MUCH = {"rate_bps": 4 * 10**12, "overhead_bytes": 1000, "gro_ns": 10**9}
"""Of other kinds the most that is allowed, as resolved."""


def _end(resolved: dict[str, Any]) -> dict[str, Any]:
    end: dict[str, Any] = resolved["links"][0]["forward"]
    return end


@pytest.mark.parametrize("key", LINK.values(), ids=lambda key: key.name)
@pytest.mark.parametrize("place", ["links__0__", "links__0__forward__"])
def test_each_key_goes_through_the_resolved_description_and_back(key: Key, place: str) -> None:
    experiment = Experiment.read(bent(**{f"{place}{key.name}": OTHERS[key.kind]}))
    resolved = experiment.resolved()
    assert _end(resolved)[key.resolved] != key.default
    assert Experiment.from_resolved(experiment.resolved_json()).resolved() == resolved
    _engine.check(json.dumps(resolved), simulated=False)


def test_what_is_left_out_has_the_default_of_the_table() -> None:
    experiment = Experiment.read({"duration": "1s", "links": [{"a": "a", "b": "b"}]})
    defaults = {key.resolved: key.default for key in LINK.values() if key.presence != "or-absent"}
    assert _end(experiment.resolved()) == defaults


@pytest.mark.parametrize("key", BOUNDED, ids=lambda key: key.name)
@pytest.mark.parametrize("end", ["least", "most"])
def test_both_sides_hold_a_number_to_its_bounds(key: Key, end: str) -> None:
    within = key.bounds[end]
    beyond = within + (1 if end == "most" else -1)
    resolved = Experiment.read(bent(**{f"links__0__{key.name}": key.written(within)})).resolved()
    assert _end(resolved)[key.resolved] == within
    if beyond >= 0:
        with pytest.raises(SpecError) as refused:
            Experiment.read(bent(**{f"links__0__{key.name}": key.written(beyond)}))
        assert refused.value.path == f"links[0].{key.name}"
        _end(resolved)[key.resolved] = beyond
        with pytest.raises(_engine.SpecInvalid, match=key.resolved):
            _engine.check(json.dumps(resolved), simulated=False)


@pytest.mark.parametrize("name", TOO_MUCH)
def test_the_engine_refuses_more_than_the_most(name: str) -> None:
    resolved = Experiment.read(bent()).resolved()
    _end(resolved)[name] = TOO_MUCH[name]
    _engine.check(json.dumps(resolved), simulated=False)
    _end(resolved)[name] += 1
    with pytest.raises(_engine.SpecInvalid, match=name):
        _engine.check(json.dumps(resolved), simulated=False)


@pytest.mark.parametrize("key", CHANGE.values(), ids=lambda key: key.name)
def test_each_key_of_a_change_is_resolved(key: Key) -> None:
    change = {"at": "1s", key.name: OTHERS[key.kind]}
    change |= {} if key.name != "at" else {"loss": 0.5}
    found = Experiment.read(bent(links__0__changes=[change])).resolved()
    values = _end(found)["changes"][0]
    assert values[key.resolved] is not None
    left_out = {other.resolved for other in CHANGE.values() if other.name not in change}
    assert {name for name, value in values.items() if value is None} == left_out

"""Keys of the top of a file, of flows and of probes: one table for what a person writes, what is
resolved, and what the engine refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from spec_samples import bent

from dumbbell import SpecError, _engine
from dumbbell.spec import Experiment
from dumbbell.spec.keys import EXPERIMENT, ONE_FLOW, PROBE, Key

TABLES: Mapping[str, Mapping[str, Key]] = {"": EXPERIMENT, "flows": ONE_FLOW, "probes": PROBE}
_LONGEST_NS = 200 * 86_400 * 10**9
# Of a kind of key: what a person may write, what it resolves to, and what both sides refuse.
GOOD: Mapping[str, tuple[Any, Any]] = {
    "time": ("250ms", 250_000_000),
    "positive-time": ("9s", 9_000_000_000),
    "end-time": ("8s", 8_000_000_000),
    "code-point": ("EF", 46),
    "numbers": (250, 250),
    "whole": (8, 8),
    "bytes": ("100B", 100),
    "seed": (9, 9),
    "title": ("other", "other"),
    "kernel-name": ("6.12", "6.12"),
    "flag": (True, True),
}
BAD: Mapping[str, tuple[Any, Any]] = {
    "time": ("201d", _LONGEST_NS + 1),
    "positive-time": ("0s", 0),
    "end-time": ("201d", _LONGEST_NS + 1),
    "code-point": (64, 64),
    "numbers": (300, 300),
    "bytes": ("65508B", 65_508),
    "kernel-name": ("-x", "-x"),
}


def _keys(kinds: Mapping[str, object]) -> list[Any]:
    return [
        pytest.param(table, key, id=f"{table or 'top'}.{key.name}")
        for table, keys in TABLES.items()
        for key in keys.values()
        if key.kind in kinds
    ]


def _path(table: str, name: str) -> str:
    return f"{table}[0].{name}" if table else name


def _bent(table: str, key: Key, value: Any) -> dict[str, Any]:
    return bent(**{f"{table}__0__{key.name}" if table else key.name: value})


def _place(resolved: dict[str, Any], table: str) -> dict[str, Any]:
    place: dict[str, Any] = resolved[table][0] if table else resolved
    return place


@pytest.mark.parametrize(("table", "key"), _keys(GOOD))
def test_a_key_goes_to_the_resolved_description_and_back(table: str, key: Key) -> None:
    written, resolved = GOOD[key.kind]
    experiment = Experiment.read(_bent(table, key, written))
    assert _place(experiment.resolved(), table)[key.resolved] == resolved
    assert Experiment.from_resolved(experiment.resolved_json()).resolved() == experiment.resolved()
    _engine.check(experiment.resolved_json(), simulated=False)


@pytest.mark.parametrize(("table", "key"), _keys({**BAD, "whole": None}))
def test_both_sides_refuse_what_is_out_of_range(table: str, key: Key) -> None:
    beyond = key.bounds["most"] + 1 if key.kind == "whole" else None
    written, number = BAD.get(key.kind, (beyond, beyond))
    with pytest.raises(SpecError) as refused:
        Experiment.read(_bent(table, key, written))
    assert refused.value.path == _path(table, key.name)
    resolved = Experiment.read(bent()).resolved()
    _place(resolved, table)[key.resolved] = number
    with pytest.raises(_engine.SpecInvalid) as invalid:
        _engine.check(json.dumps(resolved), simulated=False)
    assert str(invalid.value).startswith(_path(table, key.resolved))


@pytest.mark.parametrize(("table", "key"), _keys(dict.fromkeys((*GOOD, "words", "name"))))
def test_what_is_left_out_has_the_default_of_the_table(table: str, key: Key) -> None:
    document = bent()
    place = document[table][0] if table else document
    resolved = _place(Experiment.read(document).resolved(), table)
    if key.name in place or key.presence == "by-others":
        assert key.resolved in resolved
    elif key.presence == "or-absent":
        assert key.resolved not in resolved
    else:
        assert resolved[key.resolved] == key.default


def test_every_kind_of_key_is_tried() -> None:
    kinds = {key.kind for keys in TABLES.values() for key in keys.values()}
    assert kinds - set(GOOD) == {"words", "name", "own", "queue-names"}

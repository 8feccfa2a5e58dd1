"""A window by hand in WebAssembly: what was played is a description, with the native digest."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from lab_module import asked

import dumbbell

MS = 1_000_000
GAME = """
name = "game"
duration = "6s"
sample_interval = "20ms"

[[links]]
a = "server"
b = "home"
delay = "30ms"
rate = "5mbit"
qdisc = "pfifo limit 40"

[[flows]]
name = "hand"
count = 2
from = "server"
to = "home"
source = { kind = "greedy" }
tcp = { congestion_control = "manual" }

[[flows]]
name = "beside"
from = "server"
to = "home"
source = { kind = "greedy" }
"""
PATH = "flows[hand].tcp.cwnd_changes"


def _resolved() -> dict[str, Any]:
    return dumbbell.Experiment.from_toml(GAME).resolved()


@pytest.mark.parametrize("record", [None, 0], ids=["as described", "watched"])
def test_what_was_played_is_a_description(module: Path, record: int | None) -> None:
    draw = random.Random(5)
    begin = {"do": "begin", "replication": 2, "record": record, "keeps_samples": True}
    played: list[dict[str, Any]] = [{"do": "load", "resolved": _resolved()}, begin]
    for step in range(1, 60):
        cwnd_pkts = draw.randrange(1, 60)
        played.append({"do": "advance_to", "until_ns": 100 * MS * step + draw.randrange(MS)})
        played.append({"do": "change_cwnd", "group": "hand", "cwnd_pkts": cwnd_pkts})
    played += [{"do": "advance_to", "until_ns": 10_000 * MS}, {"do": "finish", "queue": 0}]
    *answers, over = asked(module, played)
    assert [each["is_going"] for each in answers if "is_going" in each][-2:] == [True, False]
    moves = [each for each in answers if "at_ns" in each]
    assert len(moves) == 59
    described = [
        {"do": "load", "resolved": _resolved()},
        {"do": "change", "changes": [{"path": PATH, "value": moves}]},
        {"do": "toml"},
        {"run": 0, "replication": 2, "pieces": 5000},
    ]
    _, changed, file, again = asked(module, described)
    assert over["numbers"] == again["numbers"]
    # Records of packets are a table more.
    assert (over["digest"] == again["digest"]) == (record is None)
    experiment = dumbbell.Experiment.from_toml(file["text"])
    assert json.loads(experiment.resolved_json()) == changed["resolved"]
    assert dumbbell.simulate(experiment, replication=2).meta["digest"] == again["digest"]


def test_no_moves_are_no_key(module: Path) -> None:
    requests = [
        {"do": "load", "resolved": _resolved()},
        {"do": "change", "changes": [{"path": PATH, "value": [{"at_ns": 5, "cwnd_pkts": 7}]}]},
        {"do": "change", "changes": [{"path": PATH, "value": []}]},
        {"do": "toml"},
    ]
    loaded, one, none, file = asked(module, requests)
    assert one["resolved"] != loaded["resolved"] == none["resolved"]
    assert dumbbell.Experiment.from_toml(file["text"]).resolved() == _resolved()


@pytest.mark.parametrize(
    "value",
    [
        [{"at_ns": 5, "cwnd_pkts": 0}],
        [{"at_ns": 5, "cwnd_pkts": 7}, {"at_ns": 5, "cwnd_pkts": 8}],
        [{"at_ns": -1, "cwnd_pkts": 7}],
        [{"at_ns": 1, "cwnd_pkts": 7, "more": 1}],
        [{"at_ns": at, "cwnd_pkts": 1} for at in range(10_001)],
        [5],
        "no list",
        {"at_ns": 5},
    ],
    ids=["no packets", "one instant", "before", "unknown key", "many", "number", "text", "table"],
)
def test_moves_that_are_none_are_refused(module: Path, value: Any) -> None:
    change = {"do": "change", "changes": [{"path": PATH, "value": value}]}
    _, refused = asked(module, [{"do": "load", "resolved": _resolved()}, change])
    assert "cwnd_changes" in refused["problem"]["path"]
    assert refused["problem"]["allowed"]


def test_only_a_window_by_hand_is_given_one(module: Path) -> None:
    begin = [{"do": "load", "resolved": _resolved()}, {"do": "begin", "replication": 0}]
    for group, cwnd_pkts in (("beside", 5), ("nobody", 5), ("hand", 0), ("hand", 100_001)):
        ask = {"do": "change_cwnd", "group": group, "cwnd_pkts": cwnd_pkts}
        assert "problem" in asked(module, [*begin, ask])[-1], (group, cwnd_pkts)
    (answer,) = asked(module, [{"do": "advance_to", "until_ns": 1}])
    assert answer["problem"]["allowed"] == "a run that has begun"

"""Fast paths change no digest: runs with them and with an event for each departure."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dumbbell
from dumbbell import _engine

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from digest_runs import QUEUES, descriptions

NAMES = (
    *(f"example {name}" for name in ("chain", "cubic-and-bbr", "home-line", "mm1", "two-queues")),
    *(f"queue {kind}" for kind in QUEUES),
    "small_queues = true",
    "source bursts",
)
"""Every discipline, and what else has a path of its own."""


def _runs(jobs: list[tuple[str, int]], *, fast_paths: bool) -> dict[str, tuple[str, int]]:
    done = _engine.simulate(jobs, fast_paths=fast_paths)
    return {NAMES[each.index]: (each.digest, each.events) for each in done}


def test_runs_with_an_event_for_each_departure_have_the_same_digests() -> None:
    assert QUEUES.keys() == {each["name"] for each in json.loads(_engine.disciplines())}
    texts = descriptions()
    jobs = [(dumbbell.Experiment.from_toml(texts[name]).resolved_json(), 0) for name in NAMES]
    fast, ordinary = _runs(jobs, fast_paths=True), _runs(jobs, fast_paths=False)
    assert fast.keys() == set(NAMES)
    assert {name: run[0] for name, run in fast.items()} == {
        name: run[0] for name, run in ordinary.items()
    }
    # Otherwise nothing has been compared.
    fewer = {name for name in NAMES if fast[name][1] < ordinary[name][1]}
    assert fewer >= {"example mm1", "queue pfifo", "queue bfifo", "small_queues = true"}

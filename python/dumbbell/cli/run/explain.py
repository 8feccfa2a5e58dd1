"""``dumbbell run --explain``: how the simulator will handle each queue; runs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from dumbbell import _engine
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say
from dumbbell.spec import Experiment

_ROLES = {
    "pass_through": "packets pass without delay",
    "folded": "departure times are computed on arrival; events only if a host waits",
    "pipe": "departures and drops are computed on arrival, without events",
    "shaped": "departure times follow from the tokens on arrival, without events",
    "queued": "one event per departure",
}
_BESIDE = {
    "chained_to": "receives packets without an arrival event from",
    "deferred_from": "enqueues, just before its next transmission, packets from",
    "leads_into": "packets are passed without an event to",
}


def explain(experiment: Experiment, *, as_json: bool, console: Console) -> None:
    """Print the simulator's plan for each queue of an experiment.

    Raises:
        SpecError: It cannot be simulated.
    """
    queues = json.loads(_engine.explain(experiment.resolved_json()))
    if as_json:
        say(json_text({"experiment": experiment.name, "queues": queues}))
        return
    for queue in queues:
        for line in _lines(queue):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(queue: Mapping[str, Any]) -> Iterator[str]:
    yield f"{queue['queue']}: {queue['role']}"
    yield f"  {_ROLES[queue['role']]}"
    yield f"  because: {queue['because']}"
    for key, words in _BESIDE.items():
        if queue[key] is not None:
            yield f"  {words} {queue[key]}"
    if queue["merged_from"]:
        yield f"  merges packets in order from {', '.join(queue['merged_from'])}"

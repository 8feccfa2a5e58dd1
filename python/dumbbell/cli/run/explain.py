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
    "pass_through": "passes in the instant in which a packet comes",
    "folded": "departures are known when packets come; events only where a host waits",
    "pipe": "departure and refusal are known when a packet comes; no event for either",
    "shaped": "tokens tell when a packet leaves as it comes; no event for a departure",
    "queued": "an event for each departure",
}
_BESIDE = {
    "chained_to": "takes packets without an event of their arrival from",
    "deferred_from": "enqueues just before it sends next what comes from",
    "leads_into": "packets go without an event into",
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
        yield f"  puts in order what comes from {', '.join(queue['merged_from'])}"

"""The observed queues; for other queues only packets and bytes are counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dumbbell.spec.refusal import Refused, nearest, one_of
from dumbbell.spec.resolved import Resolved

if TYPE_CHECKING:
    from dumbbell.spec.experiment import Experiment

ALL = "all"
BOTTLENECK = "bottleneck"
_WORDS = (ALL, BOTTLENECK)
_ALLOWED = '"all", "bottleneck" or a list of names of queues, such as ["a->b"]'


def checked(value: object) -> str | tuple[str, ...]:
    """A word, or names of queues, of which it is not known yet whether they are there.

    Raises:
        Refused: It is neither.
    """
    if isinstance(value, str):
        if value not in _WORDS:
            raise Refused(value, _ALLOWED, nearest(value, _WORDS))
        return value
    if not isinstance(value, list | tuple):
        raise Refused(value, _ALLOWED)
    for index, name in enumerate(value):
        if not isinstance(name, str):
            raise Refused(name, "the name of a queue", path=f"[{index}]")
    return tuple(value)


def check_names(experiment: Experiment) -> None:
    """Refuses a queue that is not there, or is named twice.

    Raises:
        Refused: With its path from the experiment's root.
    """
    if isinstance(experiment.observe, str):
        return
    known = experiment.queue_names
    seen = set()
    for index, name in enumerate(experiment.observe):
        path = f"observe[{index}]"
        if name not in known:
            raise Refused(name, f"a queue: {one_of(known)}", nearest(name, known), path=path)
        if name in seen:
            raise Refused(name, "each queue once", path=path)
        seen.add(name)


def names(experiment: Experiment, described: Resolved) -> list[str] | None:
    """The observed queues of an experiment that resolves to this; None for all.

    The bottleneck of a flow or probe is the queue on its path with the lowest rate of transmitter
    or discipline; the first if several are equal.
    """
    if experiment.observe == ALL:
        return None
    if experiment.observe != BOTTLENECK:
        return list(experiment.observe)
    ends = [(flow.from_, flow.to) for flow in experiment.all_flows]
    ends += [(probe.from_, probe.to) for probe in experiment.all_probes]
    found = set()
    for start, end in dict.fromkeys(ends):
        way = experiment.route(start, end)
        found.add(min(way, key=lambda name: _rate_bps(described, name)))
    return [name for name in experiment.queue_names if name in found]


def _rate_bps(described: Resolved, name: str) -> float:
    queue = described.queue(name)
    return queue.served_bps or math.inf

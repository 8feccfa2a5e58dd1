"""An experiment as the page has it: resolved, with the queue that is looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.lab.task import Task
from dumbbell.spec import Experiment, Resolved

SAMPLES = 300
"""Of a run that takes none of its own: enough for a line."""
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class LabExperiment:
    """An experiment of the page.

    Attributes:
        id: What a link calls it.
        title: What a person chooses it by.
        question: What to try, in a sentence.
        experiment: As it is before anything is changed.
        queue: Name of the queue that is looked at; the bottleneck when left out.
        changes: What the page begins with, path to value; each can be taken back.
        group: Under what it stands in the list of all, such as a study's title; alone at the top
            when empty.
        task: What a class is asked to do with it, shown beside the sliders.
        is_own: Whether only this page knows it, so that a link carries it whole.
    """

    id: str
    title: str
    question: str
    experiment: Experiment
    queue: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    is_own: bool = False
    task: Task | None = None

    def as_json(self) -> dict[str, Any]:
        """For the page.

        Raises:
            SpecError: It has no links, or only what the kernel can run.
        """
        names = self.experiment.queue_names
        queue = self.queue or bottleneck_of(self.experiment)
        resolved = self.experiment.resolved()
        changes = dict(self.changes)
        if not resolved["sample_interval_ns"]:
            step_ms = max(1, resolved["duration_ns"] // SAMPLES // _NS_PER_MS)
            changes["sample_interval_ns"] = step_ms * _NS_PER_MS
        return {
            "id": self.id,
            "title": self.title,
            "group": self.group,
            "isOwn": self.is_own,
            "question": self.question,
            "resolved": resolved,
            "queue": names.index(queue),
            **({} if self.task is None else {"task": self.task.as_json()}),
            "changes": changes,
        }


def bottleneck_of(experiment: Experiment) -> str:
    """The queue that the first flow or probe finds slowest on its way; the first of equal ones.

    Raises:
        SpecError: There are no links, or nobody sends.
    """
    described = Resolved(experiment.resolved())
    ends = [(flow.from_, flow.to) for flow in experiment.flows]
    ends += [(probe.from_, probe.to) for probe in experiment.probes]
    if not ends:
        raise SpecError("flows", "none", "a flow or a probe: the laboratory shows what is sent")
    way = experiment.route(*ends[0])

    def rate(name: str) -> float:
        found = described.queue(name)
        # A link that follows a trace is what one wants to look at.
        return 0 if found.trace is not None else found.served_bps or math.inf

    return min(way, key=rate)

"""An experiment for the page: resolved, with the observed queue."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.errors import SpecError
from dumbbell.lab.task import Task
from dumbbell.spec import Experiment, Resolved

SAMPLES = 300
"""Samples of a run whose experiment takes none: enough for a line."""
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class LabExperiment:
    """An experiment of the page.

    Attributes:
        id: Id used in links.
        title: Title in the list.
        question: What to try, in a sentence.
        experiment: The experiment before changes.
        queue: Name of the observed queue; the bottleneck when left out.
        changes: Initial changes, value by path; each can be undone.
        group: Group in the list, such as a study's title; at the top without a group when empty.
        task: Exercise for a class, shown beside the sliders.
        is_own: Whether only this page has it, so that a link must contain it completely.
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
        """Return the JSON form for the page.

        Raises:
            SpecError: It has no links, or only the kernel can run it.
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
    """Return the slowest queue on the path of the first flow or probe; the first of equal ones.

    Raises:
        SpecError: There are no links, or no senders.
    """
    described = Resolved(experiment.resolved())
    ends = [(flow.from_, flow.to) for flow in experiment.all_flows]
    ends += [(probe.from_, probe.to) for probe in experiment.all_probes]
    if not ends:
        raise SpecError("flows", "none", "a flow or a probe: the laboratory shows what is sent")
    way = experiment.route(*ends[0])

    def rate(name: str) -> float:
        found = described.queue(name)
        # A link that follows a trace is preferred for observation.
        return 0 if found.trace is not None else found.served_bps or math.inf

    return min(way, key=rate)

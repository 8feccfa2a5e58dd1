"""The studies by name. To add one, write a module with a ``STUDY`` and add a line here.

``dumbbell reproduce all`` runs `STUDIES`; studies in `MORE` run only when named.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

from dumbbell.errors import SpecError
from dumbbell.replication.interrupted import Interrupted
from dumbbell.studies.base import Study, StudyOptions, StudyWithRequirements

__all__ = [
    "MORE",
    "STUDIES",
    "Interrupted",
    "Study",
    "StudyOptions",
    "StudyWithRequirements",
    "get_study",
    "question_of",
    "topic_of",
]

_MODULES = {
    "statistical-multiplexing": "dumbbell.studies.statistical_multiplexing",
    "queue-size-delay": "dumbbell.studies.queue_size_delay",
    "traffic-policing": "dumbbell.studies.traffic_policing",
    "buffer-sizing": "dumbbell.studies.buffer_sizing",
    "pie-rrul": "dumbbell.studies.pie_rrul",
    "folklore": "dumbbell.studies.folklore",
    "bbr-share": "dumbbell.studies.bbr_share",
    "l4s-adoption": "dumbbell.studies.l4s_adoption",
    "aqm-scenarios": "dumbbell.studies.aqm_scenarios",
    "staggered-flows": "dumbbell.studies.staggered_flows",
}

_WHEN_NAMED = frozenset(
    {"folklore", "bbr-share", "l4s-adoption", "aqm-scenarios", "staggered-flows"}
)
"""Studies that ``all`` does not run, because it should end within a minute; see `MORE`."""

_TOPICS = {
    "Queues": ("statistical-multiplexing",),
    "Buffers": ("queue-size-delay", "buffer-sizing"),
    "Policing": ("traffic-policing",),
    "Active queue management": ("pie-rrul", "aqm-scenarios", "staggered-flows"),
    "Fairness": ("bbr-share",),
    "L4S": ("l4s-adoption",),
    "Rules of thumb": ("folklore",),
}

_QUESTIONS = {
    "Queues": "How long does one wait in a queue?",
    "Buffers": "How large should a buffer be?",
    "Policing": "What does a policer do to TCP?",
    "Active queue management": "What does active queue management give?",
    "Fairness": "Who gets how much of a line?",
    "L4S": "Is L4S to be deployed?",
    "Rules of thumb": "Which rules of thumb hold?",
}


class _Studies(Mapping[str, Study]):
    """Mapping that imports a study on access, so that listing names is fast."""

    def __init__(self, *, when_named: bool) -> None:
        self._when_named = when_named

    def __getitem__(self, name: str) -> Study:
        if name not in self:
            raise KeyError(name)
        return cast(Study, import_module(_MODULES[name]).STUDY)

    def __iter__(self) -> Iterator[str]:
        return (name for name in _MODULES if (name in _WHEN_NAMED) is self._when_named)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES and (name in _WHEN_NAMED) is self._when_named


STUDIES: Mapping[str, Study] = _Studies(when_named=False)
"""Studies of ``all``, by name, in order."""

MORE: Mapping[str, Study] = _Studies(when_named=True)
"""Further studies, which run only when named."""


def topic_of(name: str) -> str:
    """Topic of a study on the index page; empty if it has none."""
    return next((topic for topic, names in _TOPICS.items() if name in names), "")


def question_of(topic: str) -> str:
    """Question of a topic on the index page; empty if it has none."""
    return _QUESTIONS.get(topic, "")


def get_study(name: str) -> Study:
    """The study of that name.

    Raises:
        SpecError: There is no study of that name.
    """
    for studies in (STUDIES, MORE):
        if name in studies:
            return studies[name]
    known = [*STUDIES, *MORE]
    near = difflib.get_close_matches(name, [*known, "all"], n=1)
    allowed = f"one of {', '.join(known)}, or all"
    raise SpecError("study", name, allowed, near[0] if near else None)

"""The published experiments, by name. A new one is its file, with a ``STUDY``, and a line here."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

from dumbbell.errors import SpecError
from dumbbell.replication.interrupted import Interrupted
from dumbbell.studies.base import Demanding, Study, StudyOptions

__all__ = ["STUDIES", "Demanding", "Interrupted", "Study", "StudyOptions", "get_study"]

_MODULES = {
    "statistical-multiplexing": "dumbbell.studies.statistical_multiplexing",
    "queue-size-delay": "dumbbell.studies.queue_size_delay",
    "traffic-policing": "dumbbell.studies.traffic_policing",
    "buffer-sizing": "dumbbell.studies.buffer_sizing",
    "pie-rrul": "dumbbell.studies.pie_rrul",
}


class _Studies(Mapping[str, Study]):
    """Imports a study when it is asked for, so that listing names costs nothing."""

    def __getitem__(self, name: str) -> Study:
        return cast(Study, import_module(_MODULES[name]).STUDY)

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES


STUDIES: Mapping[str, Study] = _Studies()
"""Every study by its name, in the order they are run."""


def get_study(name: str) -> Study:
    """The study of that name.

    Raises:
        SpecError: There is none.
    """
    if name not in STUDIES:
        near = difflib.get_close_matches(name, [*STUDIES, "all"], n=1)
        allowed = f"one of {', '.join(STUDIES)}, or all"
        raise SpecError("study", name, allowed, near[0] if near else None)
    return STUDIES[name]

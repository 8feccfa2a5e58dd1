"""Sections of two seconds, for tests that need a whole dossier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dumbbell.compare.executing import Threads
from dumbbell.judge.dossier import Dossier, judge_controller, write_experiments
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Section, Trial
from dumbbell.judge.sections.existing import EXISTING
from dumbbell.judge.sections.tail_drop import TAIL_DROP


def shortened(section: Section) -> Section:
    """The section with runs of two seconds."""

    def trial(request: JudgeRequest) -> Trial | None:
        whole = section.trial(request)
        if whole is None:
            return None
        return replace(whole, document={**whole.document, "duration": "2s", "warm_up": "1s"})

    return replace(section, trial=trial)


SHORT = (shortened(EXISTING), shortened(TAIL_DROP))


def short_dossier(request: JudgeRequest, folder: Path) -> Dossier:
    """A dossier of `SHORT`."""
    written = write_experiments(request, folder, SHORT)
    return judge_controller(request, written, executor_of=lambda cells: Threads(1))

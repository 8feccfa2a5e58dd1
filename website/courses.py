"""The course: links that open an experiment in the laboratory, and handouts that fit a page."""

from __future__ import annotations

import posixpath

from repository import ROOT
from result_pages import FOLDER, LABORATORY

from dumbbell.lab import LabExperiment, Task, state_hash
from dumbbell.spec import Experiment

EXPERIMENTS = ROOT / "examples" / "course"
HANDOUTS = ROOT / "docs" / "course"


def opening(file: str, page: str) -> str:
    """What follows a link to a file: for an experiment of the course, a link to the laboratory.

    Args:
        file: Place in the repository of what is linked to.
        page: Place on the site of the page that does.
    """
    path = ROOT / file
    if path.parent != EXPERIMENTS or path.suffix != ".toml":
        return ""
    experiment = Experiment.from_toml(path)
    task = _task_of(page)
    hash_ = state_hash(LabExperiment("file", experiment.name, "", experiment, task=task))
    there = posixpath.relpath(f"{FOLDER}/{LABORATORY}", posixpath.dirname(page) or ".")
    return f" ([open it in the laboratory]({there}{hash_}))"


def on_paper(text: str, page: str) -> str:
    """A page of the course as it is printed: a handout has one page of A4, its answer sheet two.

    ``site.css`` finds it by an element without content, and leaves command lines out.

    Args:
        text: In Markdown.
        page: Its place on the site.
    """
    place = ROOT / "docs" / page
    kind = "answer-sheet" if place.parent == HANDOUTS / "sheets" else "handout"
    if kind == "handout" and _task_of(page) is None:
        return text
    title, rest = text.split("\n", 1)
    return f'{title}\n\n<div class="{kind}"></div>\n{rest}'


def _task_of(page: str) -> Task | None:
    """Of a link on a handout: the handout, which the laboratory shows beside its sliders."""
    handout = ROOT / "docs" / page
    if handout.parent != HANDOUTS:
        return None
    task = Task.read(handout.read_text(encoding="utf-8"), page)
    return task if task.files else None

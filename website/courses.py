"""Links that open an experiment of the course in the laboratory."""

from __future__ import annotations

import posixpath

from repository import ROOT
from result_pages import FOLDER, LABORATORY

from dumbbell.lab import LabExperiment, state_hash
from dumbbell.spec import Experiment

EXPERIMENTS = ROOT / "examples" / "course"


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
    hash_ = state_hash(LabExperiment("file", experiment.name, "", experiment))
    there = posixpath.relpath(f"{FOLDER}/{LABORATORY}", posixpath.dirname(page) or ".")
    return f" ([open it in the laboratory]({there}{hash_}))"

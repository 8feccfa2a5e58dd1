"""The page in one file: template, style, scripts, experiments and the simulator's module."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template

from dumbbell import _engine
from dumbbell.folders import replace_file
from dumbbell.lab import modules
from dumbbell.lab.experiments import LabExperiment
from dumbbell.lab.presets import presets

SOURCES = Path(__file__).parent / "page"
SCRIPT = (
    "words.js",
    "intervals.js",
    "state.js",
    "plot.js",
    "figures.js",
    "stage.js",
    "ends.js",
    "sources.js",
    "controls.js",
    "fields.js",
    "unpacked.js",
    "orders.js",
    "game.js",
    "embedded.js",
    "main.js",
)
"""Of the page, each after those that it imports from."""
WORKER = (
    "engine.js",
    "turns.js",
    "packets.js",
    "looking.js",
    "series.js",
    "play.js",
    "worker.js",
)


def _file(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def _joined(names: Sequence[str]) -> str:
    return modules.joined([SOURCES / name for name in names])


def _json(value: object) -> str:
    """JSON that can stand in a script's element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page_text(experiments: Sequence[LabExperiment] = (), more: Sequence[LabExperiment] = ()) -> str:
    """The page.

    Args:
        experiments: What it offers before the presets; it begins with the first.
        more: What it offers after them.

    Raises:
        NoModuleError: The module is not there.
        SpecError: One of them cannot be looked at.
    """
    offered = [each.as_json() for each in (*experiments, *presets(), *more)]
    controllers = _engine.congestion_controllers()
    return Template(_file("page.html")).substitute(
        style=_file("style.css"),
        experiments=_json({"experiments": offered, "controllers": controllers}),
        module=modules.packed_module(),
        worker=_joined(WORKER),
        script=_joined(SCRIPT),
    )


def write_laboratory(
    place: Path,
    experiments: Sequence[LabExperiment] = (),
    more: Sequence[LabExperiment] = (),
) -> None:
    """Write the page beside its place, then put it there; arguments as of `page_text`.

    Raises:
        NoModuleError: The module is not there.
        SpecError: An experiment cannot be looked at.
        OSError: The file cannot be written.
    """
    replace_file(place, page_text(experiments, more))

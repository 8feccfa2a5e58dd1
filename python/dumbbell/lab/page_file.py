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
from dumbbell.lab.own_line import own_line
from dumbbell.lab.parameters import numbers
from dumbbell.lab.presets import presets

SOURCES = Path(__file__).parent / "page"


def _modules(names: str) -> tuple[Path, ...]:
    """Return modules of the page's folder, or of the live figures' folder (``live/chart``)."""
    return tuple(
        SOURCES.parent / (f"{n}.js" if "/" in n else f"page/{n}.js") for n in names.split()
    )


SCRIPT = _modules(
    "words intervals state plot live/chart live/strip packets stack families figures ends"
    " window classes lanes stage bucket sources fields task numbers trace_controls controls"
    " form unpacked orders score game rules rule_worker rule_panel embedded taking answer"
    " line_files line_estimate own_line drop main"
)
"""Modules of the page, in dependency order."""
WORKER = _modules(
    "engine turns ends live/tokens packets tokens_seen stack looking activities families series"
    " play worker"
)
RULE_WORKER = _modules("closed engine activities ends families series rule_run")
"""Modules of the worker that runs a user's rule."""


def _file(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def _rule_worker() -> str:
    """Return the code before a rule; the rule cannot access the names of its modules."""
    scopes = "\n".join(map(modules.scope, RULE_WORKER))
    return (
        f'"use strict";\nconst dumbbell_rule = (() => {{\n{scopes}\n'
        "return module_rule_run.closed();\n})();"
    )


def _json(value: object) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page_text(experiments: Sequence[LabExperiment] = (), more: Sequence[LabExperiment] = ()) -> str:
    """Return the page.

    Args:
        experiments: Experiments listed before the presets; the first one is opened.
        more: Experiments listed after the presets.

    Raises:
        NoModuleError: The simulator's module was not built.
        SpecError: An experiment cannot be shown.
    """
    offered = [each.as_json() for each in (*experiments, *presets(), *more)]
    controllers = _engine.congestion_controllers()
    return Template(_file("page.html")).substitute(
        style=_file("style.css"),
        experiments=_json(
            {
                "experiments": offered,
                "line": own_line(),
                "controllers": controllers,
                **numbers(),
            }
        ),
        module=modules.packed_module(),
        worker=modules.joined(WORKER),
        rule_worker=_rule_worker(),
        script=modules.joined(SCRIPT),
    )


def write_laboratory(
    place: Path,
    experiments: Sequence[LabExperiment] = (),
    more: Sequence[LabExperiment] = (),
) -> None:
    """Write the page atomically, by a temporary file; arguments as in `page_text`.

    Raises:
        NoModuleError: The simulator's module was not built.
        SpecError: An experiment cannot be shown.
        OSError: The file cannot be written.
    """
    replace_file(place, page_text(experiments, more))

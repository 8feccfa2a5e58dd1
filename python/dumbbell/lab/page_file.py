"""The page in one file: template, style, scripts, experiments and the simulator's module."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from dumbbell import _engine
from dumbbell.errors import EXIT_BAD_INPUT, DumbbellError
from dumbbell.folders import replace_file
from dumbbell.lab.experiments import LabExperiment
from dumbbell.lab.presets import presets

MODULE = "engine.wasm"
SOURCES = Path(__file__).parent / "page"
SCRIPT = (
    "words.js",
    "intervals.js",
    "state.js",
    "plot.js",
    "figures.js",
    "stage.js",
    "controls.js",
    "fields.js",
    "orders.js",
    "main.js",
)
"""Of the page, each after those that it imports from."""
WORKER = ("engine.js", "series.js", "worker.js")

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


class NoModuleError(DumbbellError):
    """The simulator's module was not built."""

    exit_code = EXIT_BAD_INPUT


def _file(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def _joined(names: Sequence[str]) -> str:
    """Modules as one script, each in a scope of its own; the last exports nothing."""
    *imported, last = names
    scopes = [_scope(name) for name in imported]
    return "\n".join([*scopes, _with_constants(_file(last))])


def _scope(name: str) -> str:
    """A module as a constant that has what it exports."""
    text = _with_constants(_file(name))
    exported = ", ".join(_EXPORT.findall(text))
    inside = _EXPORT.sub("", text)
    return f"const module_{Path(name).stem} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();"


def _with_constants(text: str) -> str:
    """A module whose imports are taken from the constants of `_scope`."""
    return _IMPORT.sub(r"const \1 = module_\2;", text)


def _module() -> str:
    place = SOURCES.parent / MODULE
    if not place.is_file():
        raise NoModuleError(
            "the laboratory's simulator was not built with this installation: in a clone of the "
            "sources, rustup target add wasm32-unknown-unknown, then make lab"
        )
    # No time stamp: the same sources give the same page.
    return base64.b64encode(gzip.compress(place.read_bytes(), mtime=0)).decode("ascii")


def _json(value: object) -> str:
    """JSON that can stand in a script's element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page_text(experiments: Sequence[LabExperiment] = ()) -> str:
    """The page.

    Args:
        experiments: What it offers before the presets; it begins with the first.

    Raises:
        NoModuleError: The module is not there.
        SpecError: One of them cannot be looked at.
    """
    offered = [each.as_json() for each in (*experiments, *presets())]
    controllers = _engine.congestion_controllers()
    return Template(_file("page.html")).substitute(
        style=_file("style.css"),
        experiments=_json({"experiments": offered, "controllers": controllers}),
        module=_module(),
        worker=_joined(WORKER),
        script=_joined(SCRIPT),
    )


def write_laboratory(place: Path, experiments: Sequence[LabExperiment] = ()) -> None:
    """Write the page beside its place, then put it there.

    Raises:
        NoModuleError: The module is not there.
        SpecError: An experiment cannot be looked at.
        OSError: The file cannot be written.
    """
    replace_file(place, page_text(experiments))

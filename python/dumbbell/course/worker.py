"""The program of the process that runs a submission in an experiment; started by `confined_run`.

It reads one JSON message from standard input, and writes lines of JSON to the original standard
output: an outcome for each task, or the reason for a failure. The submission's output goes to
standard error.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from dumbbell import _engine
from dumbbell.backends.native.building import BuildError, compile_object
from dumbbell.backends.native.python_class import (
    MODULE,
    PythonClass,
    controllers_in,
    executed_module,
    loaded_class,
)
from dumbbell.compare.executing import FailedTask, FinishedTask
from dumbbell.compare.executing.wire import Sender
from dumbbell.compare.summary import Summary, summary_of
from dumbbell.course.allowed_imports import ForbiddenImportError, check_imports, guard_imports
from dumbbell.course.placeholder import PLACEHOLDER_SHA256, SUBMISSION, SUBMITTED_CLASS
from dumbbell.course.sealing import limit_compiler, seal
from dumbbell.errors import RunError
from dumbbell.spec import canonical_json
from dumbbell.tables import Run

C_REFERENCE = "file:submission.c"
_POLL_S = 3600.0
_MOST_LINES = 20


class UnfitError(Exception):
    """A submission that is not a controller."""


@dataclass(frozen=True)
class LoadedSubmission:
    """A submission, ready to run.

    Attributes:
        shared_object: Shared object of a submission in C.
        source: Source of a submission in Python, executed anew for each run.
        shown: The file's name in messages.
        class_name: Class of a submission in Python.
    """

    shared_object: Path | None = None
    source: Path | None = None
    shown: str = ""
    class_name: str = ""

    def described(self, description: str) -> str:
        """The description with this submission as controller."""
        if self.shared_object is None or f'"{SUBMISSION}"' not in description:
            return description
        spec = json.loads(description)
        for flow in spec["flows"]:
            tcp = flow["tcp"]
            if tcp is not None and tcp["congestion_control"] == SUBMISSION:
                tcp["congestion_control"] = C_REFERENCE
                tcp["controller"].pop("class", None)
        return canonical_json(spec)

    def objects(self) -> dict[str, str]:
        """C controllers in the engine's form."""
        one = self.shared_object
        return {} if one is None else {PLACEHOLDER_SHA256: str(one)}

    def classes(self) -> dict[tuple[str, str], PythonClass]:
        """Python controllers in the engine's form."""
        if self.source is None:
            return {}
        loaded = loaded_class(self.source, self.shown, self.class_name)
        return {(PLACEHOLDER_SHA256, SUBMITTED_CLASS): loaded}


def summary_by_engine(
    description: str, replication: int, loaded: LoadedSubmission = LoadedSubmission()
) -> tuple[Summary, str]:
    """The numbers of a run and its digest.

    Args:
        description: Canonical description.
        replication: Number of the replication.
        loaded: The submission, if the description uses one.

    Raises:
        RunError: The run failed.
    """
    text = loaded.described(description)
    stream = _engine.simulate(
        [(text, replication, None)],
        threads=1,
        controllers=loaded.objects(),
        classes=loaded.classes(),
    )
    while (completed := stream.poll(_POLL_S)) is None:
        pass
    if completed.error is not None:
        raise RunError(completed.error)
    spec = json.loads(description)
    run = Run("simulated", replication, spec, completed.take_tables())
    return summary_of(run), completed.digest


def main() -> None:
    """Handle the message."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = json.loads(sys.stdin.readline())
    _tell(answers, {"begun": True})
    try:
        loaded = _sealed(request, answers)
    except BaseException as error:
        _tell(answers, {"refused": _reason(error)})
        return
    sender = Sender()
    for index, (place, replication) in enumerate(request["tasks"]):
        outcome: FinishedTask | FailedTask
        try:
            found = summary_by_engine(request["descriptions"][place], replication, loaded)
            outcome = FinishedTask(index, *found)
        except BaseException as error:
            outcome = FailedTask(index, RunError(_reason(error)))
        _tell(answers, dict(sender.message(outcome)))


def _sealed(request: Mapping[str, Any], answers: TextIO) -> LoadedSubmission:
    """The submission, compiled if it is in C; afterwards this process is restricted."""
    # Imported now: later, memory and files are restricted.
    import dumbbell.compare.measures  # noqa: F401

    source = Path(request["source"])
    shown = request["shown"]
    if source.suffix == ".py":
        _warm()
        seal(time_s=request["time_s"], memory_bytes=request["memory_bytes"])
        _tell(answers, {"held": True})
        text = source.read_text(encoding="utf-8")
        check_imports(text, shown, request["imports"])
        guard_imports(request["imports"])
        return LoadedSubmission(source=source, shown=shown, class_name=_class_of(source, shown))
    limit_compiler()
    target = source.with_name("submission.so")
    compile_object(source, target, [])
    _warm()
    seal(time_s=request["time_s"], memory_bytes=request["memory_bytes"])
    _tell(answers, {"held": True})
    return LoadedSubmission(shared_object=target, shown=shown)


def _warm() -> None:
    """Start the engine's thread and initialize libraries before memory is limited."""
    import polars  # noqa: F401


def _class_of(source: Path, shown: str) -> str:
    """The only controller in a file.

    Raises:
        UnfitError: It has no controller, or several candidates.
        Exception: Whatever the file raises when it is executed.
    """
    found = {
        name: each
        for name, each in controllers_in(executed_module(source, shown)).items()
        if each.__module__ == MODULE
    }
    # If one class derives from another, the derived one is used.
    last = [
        name
        for name, each in found.items()
        if not any(issubclass(other, each) and other is not each for other in found.values())
    ]
    if len(last) != 1:
        names = ", ".join(last) or "none"
        raise UnfitError(f"{shown}: one class that derives from Controller is needed: has {names}")
    return last[0]


def _reason(error: BaseException) -> str:
    """The message for the student: our own errors' message, or the end of the traceback."""
    if isinstance(error, ForbiddenImportError | BuildError | RunError | UnfitError):
        return str(error)
    # Frames before the student's file are ours.
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__") != MODULE:
        frames = frames.tb_next
    lines = "".join(traceback.format_exception(error.with_traceback(frames))).rstrip().splitlines()
    return "\n".join(lines[-_MOST_LINES:])


def _tell(answers: TextIO, message: Mapping[str, Any]) -> None:
    answers.write(f"{json.dumps(message)}\n")
    answers.flush()


if __name__ == "__main__":
    main()

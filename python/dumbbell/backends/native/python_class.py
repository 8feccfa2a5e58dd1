"""Controllers in Python: from an allowed file, or from a class that a program passes."""

from __future__ import annotations

import hashlib
import inspect
import linecache
import platform
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dumbbell.controllers import Controller, parameters_of

MODULE: Final = "dumbbell_controller"
"""Name of the module made from a file."""
MOST_PARAMETERS: Final = 64
MOST_SEND_BUFFER_WINDOWS: Final = 100
_REQUIRED: Final = ("on_ack", "on_loss")
_HEEDED: Final = (
    *_REQUIRED,
    "init",
    "on_rtt",
    "on_rto",
    "on_enter_loss",
    "on_ecn",
    "on_exit_recovery",
    "on_undo",
    "on_transmit_start",
    "on_idle_restart",
    "limits_itself",
    "least_burst_pkts",
)


@dataclass(frozen=True, slots=True)
class PythonClass:
    """A class in the engine's form.

    Attributes:
        make: Called with a connection, returns a controller.
        heeds: Methods that are called.
        wants_pacing: Whether it asks for pacing.
        owns_recovery: Whether it also sets the window during recovery.
        send_buffer_windows: Size of the send buffer in windows.
    """

    make: type[Controller]
    heeds: list[str]
    wants_pacing: bool
    owns_recovery: bool
    send_buffer_windows: int


def checked_class(controller: object, name: str) -> PythonClass:
    """The properties of a class that the engine needs.

    Raises:
        ValueError: It is not a controller; the message says what is required.
    """
    if not (isinstance(controller, type) and issubclass(controller, Controller)):
        raise ValueError(f"{name}: a class that derives from dumbbell.controllers.Controller")
    heeds = [each for each in _HEEDED if getattr(controller, each) is not getattr(Controller, each)]
    for required in _REQUIRED:
        if required not in heeds:
            raise ValueError(f"{name}: a controller that has on_ack and on_loss: not {required}")
    if len(parameters_of(controller)) > MOST_PARAMETERS:
        raise ValueError(f"{name}: at most {MOST_PARAMETERS} parameters")
    windows = controller.send_buffer_windows
    if not isinstance(windows, int) or not 1 <= windows <= MOST_SEND_BUFFER_WINDOWS:
        allowed = f"1 to {MOST_SEND_BUFFER_WINDOWS}"
        raise ValueError(f"{name}: send_buffer_windows of {allowed}: not {windows!r}")
    return PythonClass(
        controller,
        heeds,
        bool(controller.wants_pacing),
        bool(controller.owns_recovery),
        windows,
    )


def executed_module(source: Path, shown: str) -> types.ModuleType:
    """Execute a file as a module of its own, so that no two runs share a variable.

    Args:
        source: The file.
        shown: Its name in tracebacks.

    Raises:
        Exception: Whatever the file raises when it is executed.
    """
    text = source.read_text(encoding="utf-8")
    module = types.ModuleType(MODULE)
    module.__file__ = shown
    # Python looks here for the source lines of tracebacks, and dataclasses look for their module.
    linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
    sys.modules[module.__name__] = module
    exec(compile(text, shown, "exec"), vars(module))
    return module


def controllers_in(module: types.ModuleType) -> dict[str, type[Controller]]:
    """Subclasses of `Controller` in a module, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Controller) and value is not Controller
    }


def loaded_class(source: Path, shown: str, class_name: str) -> PythonClass:
    """The class of a file; see `executed_module`.

    Args:
        source: The file.
        shown: Its name in tracebacks.
        class_name: The class.

    Raises:
        ValueError: There is no such class, or it is not a controller.
        Exception: Whatever the file raises when it is executed.
    """
    module = executed_module(source, shown)
    if class_name not in vars(module):
        names = ", ".join(controllers_in(module)) or "it has none"
        raise ValueError(f"a class of {shown} ({names}): {class_name}")
    return checked_class(vars(module)[class_name], class_name)


Facts = tuple[str, bool, bool, bool, list[tuple[str, int, int, int]]]
"""In the form of `_engine.controller_facts`."""


def facts_of(source: Path, shown: str, class_name: str) -> Facts:
    """Properties of a file's class; executes the file in this process.

    Raises:
        ValueError: It is not a controller.
        Exception: As `loaded_class`.
    """
    found = loaded_class(source, shown, class_name)
    parameters = [
        (name, each.least, each.most, each.value)
        for name, each in parameters_of(found.make).items()
    ]
    return class_name, found.wants_pacing, found.owns_recovery, True, parameters


def interpreter() -> str:
    """The interpreter, on which results depend: ``CPython 3.11.7``."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def sha256_of_class(controller: type[Controller]) -> str:
    """Hash of the class's source text if Python knows it; else of its name."""
    try:
        text = inspect.getsource(controller)
    except (OSError, TypeError):
        text = f"{controller.__module__}.{controller.__qualname__}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

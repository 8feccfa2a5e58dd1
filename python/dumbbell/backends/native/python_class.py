"""Controllers in Python: from a file that is allowed, or from a class that a program gives."""

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
"""What the module of a file is called."""
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
    """A class as the engine takes it.

    Attributes:
        make: Called with a connection, it gives a controller.
        heeds: Methods that are called.
        wants_pacing: Whether it asks for pacing.
        owns_recovery: Whether it sets the window in recovery too.
        send_buffer_windows: Windows that a send buffer holds.
    """

    make: type[Controller]
    heeds: list[str]
    wants_pacing: bool
    owns_recovery: bool
    send_buffer_windows: int


def checked_class(controller: object, name: str) -> PythonClass:
    """What the engine needs to know of a class.

    Raises:
        ValueError: It is no controller; the message says what one is.
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
    """A file, executed as a module of its own: no two runs share a variable of it.

    Args:
        source: The file.
        shown: Its name in tracebacks.

    Raises:
        Exception: Whatever the file raises when it is executed.
    """
    text = source.read_text(encoding="utf-8")
    module = types.ModuleType(MODULE)
    module.__file__ = shown
    # Python looks for the lines of a traceback here, and dataclasses for their module there.
    linecache.cache[shown] = (len(text), None, text.splitlines(keepends=True), shown)
    sys.modules[module.__name__] = module
    exec(compile(text, shown, "exec"), vars(module))
    return module


def controllers_in(module: types.ModuleType) -> dict[str, type[Controller]]:
    """Classes of a module that derive from `Controller`, by name."""
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
        ValueError: There is no such class, or it is no controller.
        Exception: Whatever the file raises when it is executed.
    """
    module = executed_module(source, shown)
    if class_name not in vars(module):
        names = ", ".join(controllers_in(module)) or "it has none"
        raise ValueError(f"a class of {shown} ({names}): {class_name}")
    return checked_class(vars(module)[class_name], class_name)


Facts = tuple[str, bool, bool, bool, list[tuple[str, int, int, int]]]
"""As `_engine.controller_facts` has them."""


def facts_of(source: Path, shown: str, class_name: str) -> Facts:
    """What a file's class says of itself; executes the file in this process.

    Raises:
        ValueError: It is no controller.
        Exception: As `loaded_class`.
    """
    found = loaded_class(source, shown, class_name)
    parameters = [
        (name, each.least, each.most, each.value)
        for name, each in parameters_of(found.make).items()
    ]
    return class_name, found.wants_pacing, found.owns_recovery, True, parameters


def interpreter() -> str:
    """What executes it, as a result depends on it: ``CPython 3.11.7``."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def sha256_of_class(controller: type[Controller]) -> str:
    """Of the text of a class, as far as Python knows it; else of its name."""
    try:
        text = inspect.getsource(controller)
    except (OSError, TypeError):
        text = f"{controller.__module__}.{controller.__qualname__}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

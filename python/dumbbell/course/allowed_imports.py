"""Which modules a submission in Python may import.

This is a rule of the course: it keeps honest students from clocks and random numbers, which would
make marks irreproducible. It is not a security boundary. A malicious submission is held by the
confinement of its process (`dumbbell.course.sealing`).
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator
from typing import Any, Final

from dumbbell.backends.native.python_class import MODULE

USUAL_IMPORTS: Final = (
    "__future__",
    "collections",
    "dataclasses",
    "dumbbell.controllers",
    "enum",
    "fractions",
    "functools",
    "itertools",
    "math",
    "typing",
)
"""Where the course file names none."""


class ForbiddenImportError(ImportError):
    """A submission imports what the course does not allow."""


def is_allowed(name: str, allowed: Collection[str]) -> bool:
    """Whether a module, or a package that it is in, is among the allowed ones."""
    parts = name.split(".")
    return any(".".join(parts[:count]) in allowed for count in range(1, len(parts) + 1))


def check_imports(text: str, shown: str, allowed: Collection[str]) -> None:
    """Refuse the first import of a source that is not allowed.

    Raises:
        ForbiddenImportError: With the line.
        SyntaxError: The source is no Python.
    """
    for line, name in _imported(ast.parse(text, shown)):
        if not is_allowed(name, allowed):
            raise ForbiddenImportError(_words(f"{shown}, line {line}: ", name, allowed))


def guard_imports(allowed: Collection[str]) -> None:
    """From now on refuse imports that a source reaches by other ways than the statement."""
    real = builtins.__import__

    def guarded(name: str, *rest: Any, **named: Any) -> Any:
        if _importing_module() == MODULE and not is_allowed(name, allowed):
            raise ForbiddenImportError(_words("", name, allowed))
        return real(name, *rest, **named)

    builtins.__import__ = guarded


def _importing_module() -> str:
    """Name of the module that called the caller of this function; empty outside Python."""
    try:
        return str(sys._getframe(2).f_globals.get("__name__", ""))
    except ValueError:  # the engine's thread, while it formats a traceback
        return ""


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield node.lineno, each.name
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                yield node.lineno, "." * node.level + module
            elif module:
                yield from ((node.lineno, _of(module, each.name)) for each in node.names)


def _of(module: str, name: str) -> str:
    """``from dumbbell import controllers`` imports the module dumbbell.controllers."""
    return f"{module}.{name}" if module == "dumbbell" else module


def _words(where: str, name: str, allowed: Collection[str]) -> str:
    return f"{where}import of {name} is not allowed; allowed: {', '.join(sorted(allowed))}"

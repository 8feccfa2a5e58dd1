"""The backends by name. A new backend is a file and a line here."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import cast

from dumbbell.backends.base import Backend
from dumbbell.errors import SpecError

_MODULES = {
    "sim": "dumbbell.backends.sim",
    "kernel": "dumbbell.backends.kernel.backend",
}


def backend_names() -> tuple[str, ...]:
    """Allowed values of ``--backend``."""
    return tuple(_MODULES)


def get_backend(name: str) -> Backend:
    """The backend of that name, imported on first use.

    Raises:
        SpecError: There is no such backend.
    """
    if name not in _MODULES:
        near = difflib.get_close_matches(name, _MODULES, n=1)
        allowed = f"one of {', '.join(_MODULES)}"
        raise SpecError("backend", name, allowed, near[0] if near else None)
    return cast(Backend, import_module(_MODULES[name]).BACKEND)

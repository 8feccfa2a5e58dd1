"""The backends by name. A new one is its file and a line here."""

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
    """What may be given as ``--backend``."""
    return tuple(_MODULES)


def get_backend(name: str) -> Backend:
    """The backend of that name, loaded now.

    Raises:
        SpecError: There is none.
    """
    if name not in _MODULES:
        near = difflib.get_close_matches(name, _MODULES, n=1)
        allowed = f"one of {', '.join(_MODULES)}"
        raise SpecError("backend", name, allowed, near[0] if near else None)
    return cast(Backend, import_module(_MODULES[name]).BACKEND)

"""Docstrings name functions in two ways, `name` and with Sphinx's role before it: shown alike."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data|exc):(?=`)")


class WithoutRoles(griffe.Extension):
    """Takes roles out of docstrings before they are read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub("", obj.docstring.value)

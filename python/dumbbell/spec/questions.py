"""Tables of a file that evaluate the experiment and are not part of its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUESTIONS: tuple[str, ...] = ("sweep", "figure", "claim", "unknown")
"""Keys of these tables."""


def parted(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a file into the description and the other tables."""
    described = {key: value for key, value in document.items() if key not in QUESTIONS}
    asked = {key: document[key] for key in QUESTIONS if key in document}
    return described, asked

"""Tables of a file that ask something of its experiment and describe nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUESTIONS: tuple[str, ...] = ("sweep", "figure", "claim")
"""Keys of such tables."""


def parted(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A file's description, and its questions, each as it stands in the file."""
    described = {key: value for key, value in document.items() if key not in QUESTIONS}
    asked = {key: document[key] for key in QUESTIONS if key in document}
    return described, asked

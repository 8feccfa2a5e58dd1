"""Errors of readers."""

from __future__ import annotations

from dumbbell.errors import DumbbellError, SpecError


class FormatError(SpecError):
    """A file that is not in the expected format; ``path`` is ``FILE:LINE``."""


class UnreadableError(FormatError):
    """A file that cannot be read at all; ``why`` is the reason in a sentence."""

    is_sentence = True

    def __init__(self, path: str, why: str) -> None:
        """Store the path and the reason."""
        self.why = why
        super().__init__(path, "", why)

    def __str__(self) -> str:
        """Path and reason."""
        return f"{self.path}: {self.why}"


class DamageError(DumbbellError):
    """Malformed bytes; the message says why, and readers add the file's name."""

"""What a reader refuses."""

from __future__ import annotations

from dumbbell.errors import DumbbellError, SpecError


class FormatError(SpecError):
    """A file that is not what it was taken for; ``path`` is ``FILE:LINE``."""


class UnreadableError(FormatError):
    """A file of which nothing can be read; ``why`` says it in a sentence."""

    is_sentence = True

    def __init__(self, path: str, why: str) -> None:
        """Of the file at a path."""
        self.why = why
        super().__init__(path, "", why)

    def __str__(self) -> str:
        """Path and reason."""
        return f"{self.path}: {self.why}"


class DamageError(DumbbellError):
    """Bytes that are not what they were taken for, in words; readers say of which file."""

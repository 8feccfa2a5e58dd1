"""What a reader refuses."""

from __future__ import annotations

from dumbbell.errors import SpecError


class FormatError(SpecError):
    """A file that is not what it was taken for; ``path`` is ``FILE:LINE``."""

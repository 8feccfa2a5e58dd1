"""What can be wrong with a wish for a figure."""

from __future__ import annotations

from dumbbell.errors import DumbbellError


class NothingToDrawError(DumbbellError):
    """A run does not have what a figure shows."""

    def __init__(self, figure: str, reason: str) -> None:
        """Say why.

        Args:
            figure: Such as ``a queue over time``.
            reason: As the rest of the sentence, with a way out where there is one.
        """
        super().__init__(f"{figure} cannot be drawn: {reason}")
        self.figure = figure
        self.reason = reason

"""Errors of figures."""

from __future__ import annotations

from dumbbell.errors import DumbbellError


class NothingToDrawError(DumbbellError):
    """A run does not have the data of a figure."""

    def __init__(self, figure: str, reason: str) -> None:
        """Say why.

        Args:
            figure: Name of the figure, such as ``a queue over time``.
            reason: The rest of the sentence, with a remedy if there is one.
        """
        super().__init__(f"{figure} cannot be drawn: {reason}")
        self.figure = figure
        self.reason = reason

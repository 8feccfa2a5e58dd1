"""Settings to use on a router, as far as an experiment has measured them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """An answer to "which settings should I use on this router?", based on measurements.

    A study gives advice only where its runs support it; undecided points are left out.

    Attributes:
        wish: The goal, as the first half of a sentence: ``Nobody is to wait longer than 50 ms``.
        setting: What to do: words, or the line to type.
        is_typed: Whether the setting is a line to type.
        because: What was measured, in a sentence or two with its numbers.
        figure: Name of the figure of the study's page that shows it, or empty.
    """

    wish: str
    setting: str
    because: str
    is_typed: bool = False
    figure: str = ""

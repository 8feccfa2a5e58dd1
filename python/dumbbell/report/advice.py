"""What one should set on a router, as far as an experiment has measured it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """An answer to "what should one set on this router?", made from what was measured.

    A study gives one only when its runs decide it; what they do not decide is left out.

    Attributes:
        wish: What one wants, as the first half of a sentence: ``Nobody is to wait longer than
            50 ms``.
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

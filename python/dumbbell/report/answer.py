"""What a page says first and last, made from what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the question that a page has for a title.

    Attributes:
        sentence: One clause with one number at most: what a reader takes away.
        measured: What that number is and how sure it is: ranges, intervals, how many runs. It
            stands in the margin.
        so: What follows from it, a sentence after "So:"; empty where the runs do not decide it.
    """

    sentence: str
    measured: str = ""
    so: str = ""

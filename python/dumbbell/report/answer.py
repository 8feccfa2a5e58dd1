"""The answer shown at the top and at the end of a page, based on measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the question in the page's title.

    Attributes:
        sentence: The main result: one clause with at most one number.
        measured: The definition and uncertainty of that number: ranges, intervals, number of runs.
            Printed in the margin.
        so: The conclusion, a sentence after "So:"; empty if the runs do not support one.
    """

    sentence: str
    measured: str = ""
    so: str = ""

"""A Flent data file as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.printable import printable

FORMAT_VERSION = 4
"""The version of the format that is written; older ones are read too."""
_LONGEST_SHOWN = 300


def shown(text: str) -> str:
    """A stranger's text as one line of bounded length that does nothing to a terminal."""
    return printable(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


def is_column(series: str) -> bool:
    """``TCP upload BE::tcp_cwnd`` is a column of samples; ``TCP upload::1`` is a flow."""
    return "::" in series and not series.rpartition("::")[2].isdecimal()


@dataclass(frozen=True, slots=True)
class FlentFile:
    """What a data file holds.

    Attributes:
        x_values: Seconds from the test's start, ascending.
        results: Series to its values at `x_values`, equally long; None where there is none.
            Rates are Mbit/s (10^6), latencies ms.
        raw_values: Series to its samples as taken, each with its Unix time ``t`` in seconds.
        metadata: All about the test, by Flent's keys (``NAME``, ``LENGTH``, ``STEP_SIZE``, ...).
    """

    x_values: list[float]
    results: Mapping[str, list[float | None]]
    raw_values: Mapping[str, list[dict[str, Any]]]
    metadata: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A text of the metadata as it can be shown, see `shown`; empty where there is none."""
        value = self.metadata.get(key)
        return shown(value) if isinstance(value, str) else ""

    def number(self, key: str) -> float | None:
        """A number of the metadata; None where there is none."""
        value = self.metadata.get(key)
        return float(value) if isinstance(value, int | float) and value is not True else None

    def series_meta(self, series: str) -> Mapping[str, Any]:
        """What the metadata say of a series."""
        of_all = self.metadata.get("SERIES_META")
        found = of_all.get(series) if isinstance(of_all, Mapping) else None
        return found if isinstance(found, Mapping) else {}

"""The content of a Flent data file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.printable import printable

FORMAT_VERSION = 4
"""Version of the format that is written; older versions can be read too."""
_LONGEST_SHOWN = 300


def shown(text: str) -> str:
    """Escape and shorten a text from a file to one printable line."""
    return printable(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


def is_column(series: str) -> bool:
    """Whether a series is a column of samples (``TCP upload BE::tcp_cwnd``) and not a flow (``TCP
    upload::1``).
    """
    return "::" in series and not series.rpartition("::")[2].isdecimal()


@dataclass(frozen=True, slots=True)
class FlentFile:
    """The content of a data file.

    Attributes:
        x_values: Seconds from the test's start, ascending.
        results: Values of each series at `x_values`, of equal length; None where missing. Rates are
            in Mbit/s (10^6), latencies in ms.
        raw_values: Original samples of each series, each with its Unix time ``t`` in seconds.
        metadata: Description of the test, by Flent's keys (``NAME``, ``LENGTH``, ``STEP_SIZE``,
            ...).
    """

    x_values: list[float]
    results: Mapping[str, list[float | None]]
    raw_values: Mapping[str, list[dict[str, Any]]]
    metadata: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A printable text of the metadata (see `shown`); empty if missing."""
        value = self.metadata.get(key)
        return shown(value) if isinstance(value, str) else ""

    def number(self, key: str) -> float | None:
        """A number of the metadata; None if missing."""
        value = self.metadata.get(key)
        return float(value) if isinstance(value, int | float) and value is not True else None

    def series_meta(self, series: str) -> Mapping[str, Any]:
        """Metadata of a series."""
        of_all = self.metadata.get("SERIES_META")
        found = of_all.get(series) if isinstance(of_all, Mapping) else None
        return found if isinstance(found, Mapping) else {}

"""What a log is once it has been read: typed columns with units, and what was not understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

NOT_SAID = -1
"""Stands in whole-number columns for what a line does not say; NaN does in others."""
LARGEST_NUMBER = 1 << 62
"""No counter and no time of a log is larger; what is, is damage."""

Array = NDArray[Any]
Holds = Literal["whole", "real", "text"]


class LogFormat(StrEnum):
    """Whose output a file is; the value is how it is written."""

    PING = "ping"
    ITGDEC = "ITGDec"
    IPERF3 = "iperf3"
    IPERF = "iperf"
    SS = "ss -tin"
    TC = "tc -s"
    IRTT = "irtt"
    NETPERF = "netperf"
    CRUSADER = "crusader"
    NDT7 = "ndt7"
    WAVEFORM = "Waveform"


@dataclass(frozen=True, slots=True)
class LogColumn:
    """A column of a log's table.

    Attributes:
        name: With its unit at the end: ``_ns``, ``_s``, ``_bytes``, ``_pkts``, ``_bps``.
        unit: Of its values; ``-`` for none.
        doc: What it is.
        holds: ``whole`` numbers (-1 where a line does not say it), ``real`` ones (NaN) or
            ``text`` (empty).
    """

    name: str
    unit: str
    doc: str
    holds: Holds = "whole"

    @property
    def absent(self) -> int | float | str:
        """What stands for a value that is not there."""
        if self.holds == "text":
            return ""
        return NOT_SAID if self.holds == "whole" else float("nan")

    @property
    def dtype(self) -> type:
        """Of its array."""
        return {"whole": np.int64, "real": np.float64, "text": object}[self.holds]


@dataclass(frozen=True, slots=True, eq=False)
class LogTable:
    """Rows of a log.

    Attributes:
        columns: What there is.
        values: An array a column, by its name, all as long.
    """

    columns: tuple[LogColumn, ...]
    values: Mapping[str, Array]

    @classmethod
    def of(
        cls, columns: Sequence[LogColumn], rows: Sequence[Mapping[str, int | float | str]]
    ) -> LogTable:
        """Of rows, each with what it says by the columns' names."""
        values: dict[str, Array] = {
            each.name: np.array([row.get(each.name, each.absent) for row in rows], dtype=each.dtype)
            for each in columns
        }
        return cls(tuple(columns), MappingProxyType(values))

    def __len__(self) -> int:
        """Rows."""
        return len(self.values[self.columns[0].name])

    def __getitem__(self, name: str) -> Array:
        """A column."""
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Unknown:
    """What of a file was not understood, and so is in no number.

    Attributes:
        count: Lines; of JSON, values.
        where: The first of them: ``line 12``; of JSON its path, ``intervals[3].sum``.
        text: What stands there, its first characters.
        what: Which of the two the first is.
    """

    count: int = 0
    where: str = ""
    text: str = ""
    what: Literal["line", "value"] = "line"

    def __str__(self) -> str:
        """A sentence; empty where all was understood."""
        if not self.count:
            return ""
        many = f"{self.count} {self.what}s are" if self.count > 1 else f"1 {self.what} is"
        return f"{many} not understood and left out; the first, {self.where}: {self.text!r}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Log:
    """What a program printed.

    Attributes:
        source: Name of the file.
        variant: Which program or version, as far as the text tells: ``iputils``, ``iperf 3.12``.
        tables: By name.
        unknown: What was not understood.
        problems: What the file says went wrong, or what is missing in it, a sentence each.
    """

    format: ClassVar[LogFormat]

    source: str
    variant: str = ""
    tables: Mapping[str, LogTable]
    unknown: Unknown = field(default_factory=Unknown)
    problems: tuple[str, ...] = ()

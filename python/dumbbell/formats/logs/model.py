"""The content of a log: typed columns with units, and a count of unknown lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

NOT_SAID = -1
"""Missing value in integer columns; in others it is NaN."""
LARGEST_NUMBER = 1 << 62
"""Largest counter or time of a log; larger numbers count as damage."""

Array = NDArray[Any]
Holds = Literal["whole", "real", "text"]


class LogFormat(StrEnum):
    """Program that wrote a file; the value is its name."""

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
        name: Name with the unit at its end: ``_ns``, ``_s``, ``_bytes``, ``_pkts``, ``_bps``.
        unit: Unit of the values; ``-`` for none.
        doc: Description.
        holds: ``whole`` numbers (-1 if missing), ``real`` numbers (NaN), or ``text`` (empty).
    """

    name: str
    unit: str
    doc: str
    holds: Holds = "whole"

    @property
    def absent(self) -> int | float | str:
        """The value that marks a missing one."""
        if self.holds == "text":
            return ""
        return NOT_SAID if self.holds == "whole" else float("nan")

    @property
    def dtype(self) -> type:
        """Type of its array."""
        return {"whole": np.int64, "real": np.float64, "text": object}[self.holds]


@dataclass(frozen=True, slots=True, eq=False)
class LogTable:
    """Rows of a log.

    Attributes:
        columns: The columns.
        values: Arrays of equal length, by column name.
    """

    columns: tuple[LogColumn, ...]
    values: Mapping[str, Array]

    @classmethod
    def of(
        cls, columns: Sequence[LogColumn], rows: Sequence[Mapping[str, int | float | str]]
    ) -> LogTable:
        """Build from rows, each a dictionary of values by column name."""
        values: dict[str, Array] = {
            each.name: np.array([row.get(each.name, each.absent) for row in rows], dtype=each.dtype)
            for each in columns
        }
        return cls(tuple(columns), MappingProxyType(values))

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.values[self.columns[0].name])

    def __getitem__(self, name: str) -> Array:
        """A column."""
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Unknown:
    """The part of a file that was not understood and is not in any number.

    Attributes:
        count: Number of lines; in JSON, of values.
        where: Position of the first: ``line 12``; in JSON its path, ``intervals[3].sum``.
        text: Beginning of the first.
        what: Whether it is a line or a value.
    """

    count: int = 0
    where: str = ""
    text: str = ""
    what: Literal["line", "value"] = "line"

    def __str__(self) -> str:
        """As a sentence; empty if everything was understood."""
        if not self.count:
            return ""
        many = f"{self.count} {self.what}s are" if self.count > 1 else f"1 {self.what} is"
        return f"{many} not understood and left out; the first, {self.where}: {self.text!r}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Log:
    """The output of a program.

    Attributes:
        source: Name of the file.
        variant: Program or version, if the text shows it: ``iputils``, ``iperf 3.12``.
        tables: Tables by name.
        unknown: Lines or values that were not understood.
        problems: Errors reported in the file, or missing parts, one sentence each.
    """

    format: ClassVar[LogFormat]

    source: str
    variant: str = ""
    tables: Mapping[str, LogTable]
    unknown: Unknown = field(default_factory=Unknown)
    problems: tuple[str, ...] = ()

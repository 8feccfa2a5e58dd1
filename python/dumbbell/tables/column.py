"""A column of a table, and the usual kinds of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["identity", "exact", "sampled"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: With its unit.
        dtype: NumPy name: ``int64``, ``int32``, ``int8`` or ``float64``.
        unit: In words; empty for an index or a code.
        kind: ``identity`` says which row it is; ``exact`` is a count, an integral or a time that
            misses nothing; ``sampled`` is a level at the row's instant and nothing between.
        doc: What it is, with its scope.
    """

    name: str
    dtype: str
    unit: str
    kind: Kind
    doc: str

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The type as NumPy's."""
        return np.dtype(self.dtype)


def identity_column(name: str, doc: str, dtype: str = "int32", unit: str = "") -> Column:
    """A column that says which row it is."""
    return Column(name, dtype, unit, "identity", doc)


def packets_column(name: str, doc: str) -> Column:
    """An exact number of packets."""
    return Column(name, "int64", "packets", "exact", doc)


def bytes_column(name: str, doc: str) -> Column:
    """An exact number of bytes."""
    return Column(name, "int64", "bytes", "exact", doc)


def ns_column(name: str, doc: str) -> Column:
    """An exact time."""
    return Column(name, "int64", "ns", "exact", doc)


def real_column(name: str, unit: str, doc: str) -> Column:
    """An exact number with a fraction."""
    return Column(name, "float64", unit, "exact", doc)


NOT_TCP = "; -1 if not TCP or unknown."


def tcp_level_column(name: str, unit: str, doc: str) -> Column:
    """A number that a TCP sender knows at the row's instant."""
    return Column(name, "int64", unit, "sampled", f"{doc.rstrip('.')}{NOT_TCP}")


def queues_column(name: str, doc: str) -> Column:
    """A number of queues at the row's instant."""
    return Column(name, "int64", "queues", "sampled", doc)


AT = identity_column("t_ns", "Time since the start of the run.", "int64", "ns")
"""Time of a sample."""
QUEUE = identity_column(
    "queue", "Directed link end: link i forward (a to b) is 2 i, reverse 2 i + 1."
)
"""Which queue."""

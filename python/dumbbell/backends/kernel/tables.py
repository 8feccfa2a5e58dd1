"""Read the columns that a guest wrote, as tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumbbell.errors import RunError
from dumbbell.tables import FLENT_ONLY, IMPORTED_ONLY, PROGRAMS_ONLY, SCHEMA, Table

_NUMPY = {"int64": "<i8", "int32": "<i4", "int8": "<i1", "float64": "<f8"}


@dataclass(frozen=True, slots=True)
class GuestResult:
    """Results in a guest's folder.

    Attributes:
        tables: Table to column to values. For a queue in ``unknown_queues`` only the kernel's
            counters are known: its packets, drops and backlog; other values are NaN or -1.
        digest: Hash of the tables' canonical bytes.
        events: Number of messages sent and received.
        longest_lateness_ns: Largest delay of a host's action after its due time, in the guest's
            time: computing also takes time there.
        release: ``uname -r`` of the guest.
        module_refused: Why the guest's kernel did not load the module for traffic; None if it did,
            or had none.
        unknown_queues: Names of the queues whose packet times the hosts could not determine.
    """

    tables: dict[str, Table]
    digest: str
    events: int
    longest_lateness_ns: int
    release: str
    module_refused: str | None
    unknown_queues: tuple[str, ...]


def read_result(folder: Path) -> GuestResult | None:
    """Read a guest's results; None if it did not finish.

    Raises:
        RunError: The files are not valid tables.
    """
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    content = (folder / "columns.bin").read_bytes()
    ours = SCHEMA.keys() - IMPORTED_ONLY - PROGRAMS_ONLY - FLENT_ONLY
    tables: dict[str, Table] = {name: {} for name in SCHEMA if name in ours}
    at = 0
    for table, column, kind, size in result["columns"]:
        values = np.frombuffer(content, _NUMPY[kind], size // np.dtype(kind).itemsize, at)
        tables[table] = {**tables[table], column: values.astype(kind, copy=False)}
        at += size
    if at != len(content):
        raise RunError(f"the guest's columns have {len(content)} bytes, not {at}")
    return GuestResult(
        {name: columns or _without_rows(name) for name, columns in tables.items()},
        result["digest"],
        result["events"],
        result["latest_ns"],
        result["release"],
        result.get("module_refused"),
        tuple(result["unknown_queues"]),
    )


def _without_rows(name: str) -> Table:
    """An empty table for `captured_flows`, which a guest does not write."""
    return {column.name: np.empty(0, column.numpy) for column in SCHEMA[name]}

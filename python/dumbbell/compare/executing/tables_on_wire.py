"""A run's tables as JSON, to return them from another machine.

Columns are little-endian bytes of the types in `SCHEMA`, compressed and in base64. Reading them
yields numbers and executes nothing.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from dumbbell.compare.executing.executor import Task
from dumbbell.errors import RunError
from dumbbell.tables import SCHEMA, Array, Run, check_schema

LARGEST_BYTES = 128 * 2**20
"""Limit for a run's tables, which pass through the scheduler's memory."""
_FAST = 1


def run_as_json(run: Run) -> Mapping[str, Any] | None:
    """A run without its description; None for a run with a capture.

    Raises:
        RunError: Its tables are too large.
    """
    if run.files:
        return None
    size = sum(column.nbytes for table in run.tables.values() for column in table.values())
    if size > LARGEST_BYTES:
        raise RunError(
            f"its tables have {size / 2**20:.0f} MiB, and {LARGEST_BYTES >> 20} come back from a "
            "cluster: leave --keep-tables, or records and samples that make them so large"
        )
    return {
        "origin": run.origin,
        "meta": run.meta,
        "provenance": run.provenance,
        "tables": {
            name: {column: _text(values) for column, values in table.items()}
            for name, table in run.tables.items()
        },
    }


def run_from_json(message: Mapping[str, Any], task: Task) -> Run:
    """Restore the run of a task from `run_as_json`.

    Raises:
        RunError: The message is not such a run.
    """
    try:
        tables = {
            name: {
                column.name: _values(message["tables"][name][column.name], column.numpy)
                for column in SCHEMA[name]
            }
            for name in message["tables"]
        }
        check_schema(tables)
        return Run(
            origin=message["origin"],
            replication=task.replication,
            spec=json.loads(task.description),
            tables=tables,
            meta=message["meta"],
            provenance=message["provenance"],
        )
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise RunError(f"a worker sent tables that are none: {error}") from error


def _text(values: Array) -> str:
    plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes()
    return base64.b64encode(zlib.compress(plain, _FAST)).decode("ascii")


def _values(text: str, dtype: np.dtype[np.generic]) -> Array:
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(base64.b64decode(text), LARGEST_BYTES)
    if not unpacking.eof:
        raise ValueError(f"a column that does not end within {LARGEST_BYTES} bytes")
    return np.frombuffer(plain, dtype=dtype.newbyteorder("<")).astype(dtype)

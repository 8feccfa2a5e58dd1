"""The stored content of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dumbbell.tables import Origin, Run

Digest: TypeAlias = bytes
"""The key of a run: SHA-256, 32 bytes, over everything that determines its result."""
DIGEST_BYTES = 32


def run_id_of(key: Digest) -> str:
    """A key as text: the column ``run_id`` of exported numbers and of Parquet segments."""
    return key.hex()


@dataclass(frozen=True, slots=True, order=True)
class CellName:
    """The request under which a run was made, by which results are listed and removed.

    Attributes:
        experiment: Name of the experiment.
        settings: Path and value, as text, of each setting that overrides the file.
        is_ensemble: Whether its runs are members of an ensemble instead of replications.
    """

    experiment: str
    settings: tuple[tuple[str, str], ...] = ()
    is_ensemble: bool = False

    @property
    def by_path(self) -> Mapping[str, str]:
        """The settings."""
        return dict(self.settings)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers of a run.

    Attributes:
        layout: Description of the numbers, as text of the caller; shared by many runs.
        values: The numbers, shape (numbers,); NaN if undefined.
    """

    layout: str
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Content:
    """A finished run to be stored.

    Attributes:
        key: Its key.
        backend: Its backend.
        replication: Its replication, from 0 to 2**64 - 1.
        version: Further inputs of the result: JSON, shared by many runs.
        numbers: Its numbers.
        run: Its tables, if they are stored.
    """

    key: Digest
    backend: str
    replication: int
    version: str
    numbers: Numbers
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class KeptTables:
    """Location of the stored tables of a run.

    Attributes:
        segment: Name of the segment.
        origin: See `Run`.
        tables: Names of its tables.
        files: SHA-256 in hexadecimal of each table's file; empty tables have no file.
        meta: See `Run`.
        provenance: See `Run`.
    """

    segment: str
    origin: Origin
    tables: tuple[str, ...]
    files: Mapping[str, str]
    meta: Mapping[str, Any]
    provenance: Mapping[str, Any]

"""What a store keeps of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dumbbell.tables import Origin, Run

Digest: TypeAlias = bytes
"""SHA-256, 32 bytes, of all that decides what a run is: the key of its result."""
DIGEST_BYTES = 32


def run_id_of(key: Digest) -> str:
    """A key as text: the column ``run_id`` of exported numbers and of Parquet segments."""
    return key.hex()


@dataclass(frozen=True, slots=True, order=True)
class CellName:
    """What a person asked for when a run was made: what results are listed and forgotten by.

    Attributes:
        experiment: Its name.
        settings: Path to value, as text, of what was put in place of the file's.
        is_ensemble: Whether its runs are members of an ensemble, and no replications.
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
        layout: What they are, as text of whoever keeps them; the same for many runs.
        values: Shape (numbers,); NaN where not defined.
    """

    layout: str
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Content:
    """A finished run, as it is kept.

    Attributes:
        key: By which it is found.
        backend: Where it ran.
        replication: Its number, from 0 to 2**64 - 1.
        version: What decided the result besides: JSON, the same for many runs.
        numbers: What came of it.
        run: Its tables, where they are to be kept.
    """

    key: Digest
    backend: str
    replication: int
    version: str
    numbers: Numbers
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class KeptTables:
    """Where the tables of a run are.

    Attributes:
        segment: Name of the files they are in.
        origin: As of `Run`.
        tables: Names of those it has.
        files: Table to SHA-256, in hexadecimal, of the segment's file; one without rows has none.
        meta: As of `Run`.
        provenance: As of `Run`.
    """

    segment: str
    origin: Origin
    tables: tuple[str, ...]
    files: Mapping[str, str]
    meta: Mapping[str, Any]
    provenance: Mapping[str, Any]

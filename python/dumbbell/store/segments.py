"""Tables of runs: a Parquet file a table and segment, with the runs told apart by ``run_id``."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.folders import file_of_library, replaced_file
from dumbbell.store.content import Digest, run_id_of
from dumbbell.store.errors import corrupt
from dumbbell.tables import SCHEMA, Array, Run, Table, empty_table

if TYPE_CHECKING:
    import polars as pl

RUN_ID = "run_id"
_IN_USE_S = 3600.0
_NAME = re.compile(r"[0-9a-f]{16}")


class Segments:
    """The folder of a store's tables: ``TABLE/SEGMENT.parquet``.

    A segment has the tables of the runs that were committed together, those without rows left out.
    Files are written beside their place and renamed, before a row of the database names them.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made with the first segment."""
        self._folder = folder

    def write(self, runs: Mapping[Digest, Run]) -> str:
        """Write the tables of some runs.

        Returns:
            The segment's name; empty where there are no runs.

        Raises:
            OSError: They cannot be written; a full disk names the file.
        """
        if not runs:
            return ""
        import polars as pl

        segment = secrets.token_hex(8)
        for table in SCHEMA:
            frames = []
            for key, run in runs.items():
                columns = run.tables.get(table, {})
                rows = len(next(iter(columns.values()), ()))
                if rows:
                    ids = pl.repeat(run_id_of(key), rows, eager=True).alias(RUN_ID)
                    frames.append(pl.DataFrame([ids, *_series(columns)]))
            if frames:
                with (
                    replaced_file(self._file(table, segment)) as new,
                    file_of_library(new) as parquet,
                ):
                    pl.concat(frames).write_parquet(parquet)
        return segment

    def read(self, segment: str, key: Digest, tables: Sequence[str]) -> dict[str, Table]:
        """The tables of one run, of those names.

        Raises:
            StoreError: They are not there, or not as they should be.
        """
        import polars as pl

        if not _NAME.fullmatch(segment):
            raise corrupt(self._folder, f"a segment named {segment[:100]!r}")
        found: dict[str, Table] = {}
        for table in tables:
            if table not in SCHEMA:
                raise corrupt(self._folder, f"a table named {table[:100]!r}")
            file = self._file(table, segment)
            if not file.is_file():
                found[table] = empty_table(table)
                continue
            try:
                own = (
                    pl.scan_parquet(file, glob=False)
                    .filter(pl.col(RUN_ID) == run_id_of(key))
                    .collect()
                )
                found[table] = _columns(own, table)
            except (pl.exceptions.PolarsError, ValueError) as error:
                raise corrupt(file, str(error)) from error
        return found

    def remove(self, segments: Iterable[str]) -> None:
        """Remove the files of segments that no row names any more."""
        for segment in segments:
            if _NAME.fullmatch(segment):
                for table in SCHEMA:
                    self._file(table, segment).unlink(missing_ok=True)

    def remove_orphans(self, named: Collection[str]) -> None:
        """Remove what a process wrote that was killed before a row named it.

        Those of the last hour stay: their process may be about to name them.
        """
        youngest = time.time() - _IN_USE_S
        for file in self._folder.glob("*/*.parquet"):
            if _NAME.fullmatch(file.stem) and file.stem not in named:
                with contextlib.suppress(FileNotFoundError):
                    if file.stat().st_mtime < youngest:
                        file.unlink()

    def _file(self, table: str, segment: str) -> Path:
        return self._folder / table / f"{segment}.parquet"


def _series(columns: Table) -> list[pl.Series]:
    import polars as pl

    return [pl.Series(name, np.asarray(values)) for name, values in columns.items()]


def _columns(own: pl.DataFrame, table: str) -> dict[str, Array]:
    found = {}
    for column in SCHEMA[table]:
        values = own[column.name].to_numpy()
        if values.dtype != column.numpy:
            raise ValueError(f"{column.name} is {values.dtype}, not {column.dtype}")
        found[column.name] = values
    return found

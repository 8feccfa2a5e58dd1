"""Tables of runs: one Parquet file per table and segment; ``run_id`` identifies the runs."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.folders import file_for_library, replaced_file
from dumbbell.store.content import Digest, KeptTables, run_id_of
from dumbbell.store.digests import file_sha256
from dumbbell.store.errors import corrupt, damaged_run
from dumbbell.tables import SCHEMA, Array, Run, Table, empty_table

if TYPE_CHECKING:
    import polars as pl

RUN_ID = "run_id"
_IN_USE_S = 3600.0
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Segment:
    """A written segment.

    Attributes:
        name: Name of its files.
        files: SHA-256 in hexadecimal of each table's file.
    """

    name: str
    files: dict[str, str]


class Segments:
    """The folder of a store's tables: ``TABLE/SEGMENT.parquet``.

    A segment has the non-empty tables of runs that were committed together. Files are written to a
    temporary name and renamed, before a row of the database names them.
    """

    def __init__(self, folder: Path) -> None:
        """Set the folder; it is created with the first segment."""
        self._folder = folder
        self._whole: set[tuple[Path, int, int, str]] = set()

    def write(self, runs: Mapping[Digest, Run]) -> Segment:
        """Write the tables of several runs.

        Returns:
            The segment; one without a name where there are no runs.

        Raises:
            OSError: They cannot be written; the error of a full disk has the file name.
        """
        if not runs:
            return Segment("", {})
        import polars as pl

        segment = Segment(secrets.token_hex(8), {})
        for table in SCHEMA:
            frames = []
            for key, run in runs.items():
                columns = run.tables.get(table, {})
                rows = len(next(iter(columns.values()), ()))
                if rows:
                    ids = pl.repeat(run_id_of(key), rows, eager=True).alias(RUN_ID)
                    frames.append(pl.DataFrame([ids, *_series(columns)]))
            if frames:
                with replaced_file(self._file(table, segment.name)) as new:
                    with file_for_library(new) as parquet:
                        pl.concat(frames).write_parquet(parquet)
                    segment.files[table] = file_sha256(new)
        return segment

    def read(self, kept: KeptTables, key: Digest) -> dict[str, Table]:
        """The tables of one run.

        Raises:
            DamagedRunError: They are missing, or their digest is wrong.
            StoreError: Their format is invalid.
        """
        import polars as pl

        self.check(kept, key)
        found: dict[str, Table] = {}
        for table in kept.tables:
            if table not in kept.files:
                found[table] = empty_table(table)
                continue
            file = self._file(table, kept.segment)
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

    def check(self, kept: KeptTables, key: Digest) -> None:
        """Check the digests of the files of a run's tables.

        Raises:
            DamagedRunError: A digest is wrong.
            StoreError: The description names unknown tables or segments.
            OSError: A file cannot be read.
        """
        if not _NAME.fullmatch(kept.segment):
            raise corrupt(self._folder, f"a segment named {kept.segment[:100]!r}")
        for table in (*kept.tables, *kept.files):
            if table not in SCHEMA:
                raise corrupt(self._folder, f"a table named {table[:100]!r}")
        for table, sha256 in kept.files.items():
            file = self._file(table, kept.segment)
            try:
                about = file.stat()
                # Many runs are in one segment.
                known = (file, about.st_size, about.st_mtime_ns, sha256)
                if known not in self._whole:
                    if file_sha256(file) != sha256:
                        raise damaged_run(file, key, "the file of its table has another digest")
                    self._whole.add(known)
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise damaged_run(file, key, "the file of its table is not there") from None

    def remove(self, segments: Iterable[str]) -> None:
        """Remove the files of segments without rows."""
        for segment in segments:
            if _NAME.fullmatch(segment):
                for table in SCHEMA:
                    self._file(table, segment).unlink(missing_ok=True)

    def remove_orphans(self, named: Collection[str]) -> None:
        """Remove segments without rows, left by killed processes.

        Segments of the last hour are kept, because their process may still write the rows.
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

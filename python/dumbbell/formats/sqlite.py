"""Metrics in an SQLite database: one row per metric, as in CCPerf's ``benchmark_*.db``.

Table ``metrics``: ``experiment``, ``kind`` (``flow``, ``link`` or ``network``), ``entity`` (its
name), ``name``, ``value`` (NULL if unknown), ``unit``, ``interval_s`` (the sampling interval that
values of samples depend on; NULL without one). The same rows give the same bytes with the same
version of SQLite, because they are written in order into a new file.
"""

from __future__ import annotations

import errno
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dumbbell.folders import replaced_file
from dumbbell.formats.errors import FormatError

KINDS = ("flow", "link", "network")
APPLICATION_ID = 0x64756D62
"""``dumb`` in ASCII, in the file's header, by which ``file`` and readers recognize it."""
SCHEMA_VERSION = 1

_COLUMNS = ("experiment", "kind", "entity", "name", "value", "unit", "interval_s")
_CREATE = """\
CREATE TABLE metrics (
    experiment TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('flow', 'link', 'network')),
    entity TEXT NOT NULL,
    name TEXT NOT NULL,
    value REAL,
    unit TEXT NOT NULL,
    interval_s REAL,
    PRIMARY KEY (experiment, kind, entity, name)
) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of one entity in one experiment.

    Attributes:
        experiment: Name of the experiment.
        kind: ``flow``, ``link`` or ``network``.
        entity: Name of the flow, link or network.
        name: Name of the metric.
        value: NaN if unknown.
        unit: Unit of the value.
        interval_s: Sampling interval in seconds; None without one.
    """

    experiment: str
    kind: str
    entity: str
    name: str
    value: float
    unit: str
    interval_s: float | None

    def __post_init__(self) -> None:
        """Refuse an unknown kind."""
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r}: one of {', '.join(KINDS)}")


def write_sqlite(path: Path, rows: Iterable[MetricRow]) -> None:
    """Write the rows, replacing those of the same experiments in the file.

    Rows of other experiments are kept. A new file is written beside the old one and replaces it
    atomically.

    Raises:
        FormatError: The file exists and is not such a database.
        OSError: It cannot be written.
    """
    new = list(rows)
    experiments = {row.experiment for row in new}
    kept = [] if not path.exists() else read_sqlite(path)
    table = [row for row in kept if row.experiment not in experiments] + new
    keys = {(row.experiment, row.kind, row.entity, row.name) for row in table}
    if len(keys) < len(table):
        raise ValueError("two rows for one metric of one entity")
    table.sort(key=lambda row: (row.experiment, row.kind, row.entity, row.name))
    with replaced_file(path) as staging, _disk_errors():
        _fill(staging, table)


def _fill(path: Path, table: Iterable[MetricRow]) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        database.execute(_CREATE)
        places = ", ".join("?" * len(_COLUMNS))
        database.executemany(f"INSERT INTO metrics VALUES ({places})", map(_stored, table))


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Convert SQLite's errors for a full or read-only disk to OSError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(errno.EIO, str(error)) from error


def read_sqlite(path: Path) -> list[MetricRow]:
    """The rows of a database, sorted by experiment, kind, entity and name.

    Raises:
        FormatError: It is not such a database.
        FileNotFoundError: There is no such file.
    """
    if not path.exists():
        raise FileNotFoundError(path)
    address = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            found = database.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM metrics ORDER BY experiment, kind, entity, name"
            ).fetchall()
    except sqlite3.DatabaseError as error:
        raise FormatError(str(path), str(error), "a database with the table metrics") from error
    return [
        MetricRow(experiment, kind, entity, name, math.nan if value is None else value, unit, every)
        for experiment, kind, entity, name, value, unit, every in found
    ]


def _stored(row: MetricRow) -> tuple[str | float | None, ...]:
    value = row.value if math.isfinite(row.value) else None
    return (row.experiment, row.kind, row.entity, row.name, value, row.unit, row.interval_s)

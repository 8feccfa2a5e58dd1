"""Metrics in an SQLite database: a row a metric, as CCPerf's ``benchmark_*.db`` keeps them.

Table ``metrics``: ``experiment``, ``kind`` (``flow``, ``link`` or ``network``), ``entity`` (its
name), ``name``, ``value`` (NULL where not known), ``unit``, ``interval_s`` (the sampling interval
that values of samples depend on; NULL where there is none). The same rows give the same bytes with
the same version of SQLite: they are written in order into a new file.
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
"""``dumb`` in ASCII, in the file's header: ``file`` and readers can tell whose it is."""
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
        experiment: Its name.
        kind: ``flow``, ``link`` or ``network``.
        entity: Name of the flow, link or network.
        name: Of the metric.
        value: NaN where not known.
        unit: Of the value.
        interval_s: Sampling interval in seconds; None where there is none.
    """

    experiment: str
    kind: str
    entity: str
    name: str
    value: float
    unit: str
    interval_s: float | None

    def __post_init__(self) -> None:
        """Refuse a kind that is not known."""
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r}: one of {', '.join(KINDS)}")


def write_sqlite(path: Path, rows: Iterable[MetricRow]) -> None:
    """Write the rows, in place of those of the same experiments that the file has.

    Rows of other experiments stay. The file is made anew beside the old one and put in its place
    at the end: nobody sees half of it.

    Raises:
        FormatError: The file is there and is not such a database.
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
    """SQLite's words for a disk that is full or cannot be written, as everybody else's."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(errno.EIO, str(error)) from error


def read_sqlite(path: Path) -> list[MetricRow]:
    """The rows of a database, in order of experiment, kind, entity and name.

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

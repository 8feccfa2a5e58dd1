"""The tables of a run: the definition of every column, and `Run`, which holds them."""

from dumbbell.tables.codes import (
    EVENT_NAMES,
    NO_INSTANT,
    QUANTITY_NAMES,
    REASON_NAMES,
    place_code,
)
from dumbbell.tables.column import Column
from dumbbell.tables.docs import tables_markdown
from dumbbell.tables.errors import TableError
from dumbbell.tables.files import read_parquet, run_folder, write_parquet
from dumbbell.tables.run import Array, Origin, Run, Table, check_schema
from dumbbell.tables.run_file import RunFile
from dumbbell.tables.schema import (
    FLENT_ONLY,
    IMPORTED_ONLY,
    PROGRAMS_ONLY,
    SCHEMA,
    TABLE_DOCS,
    empty_table,
)

__all__ = [
    "EVENT_NAMES",
    "FLENT_ONLY",
    "IMPORTED_ONLY",
    "NO_INSTANT",
    "PROGRAMS_ONLY",
    "QUANTITY_NAMES",
    "REASON_NAMES",
    "SCHEMA",
    "TABLE_DOCS",
    "Array",
    "Column",
    "Origin",
    "Run",
    "RunFile",
    "Table",
    "TableError",
    "check_schema",
    "empty_table",
    "place_code",
    "read_parquet",
    "run_folder",
    "tables_markdown",
    "write_parquet",
]

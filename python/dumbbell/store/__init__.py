"""A store of results, addressed by content, so that no run is repeated.

A `Store` is a folder: rows of numbers in SQLite and, on request, tables of runs in Parquet. It does
not interpret keys, numbers and tables. Several processes of one machine may write to one store; a
`Shard` writes its own file, for folders shared by machines.
"""

from dumbbell.store.content import (
    CellName,
    Content,
    Digest,
    KeptTables,
    Numbers,
    run_id_of,
)
from dumbbell.store.errors import DamagedRunError, DamagedRunWarning, StoreError
from dumbbell.store.folder import Shard, Store
from dumbbell.store.reading import ListedRun, Reader
from dumbbell.store.values import NotKeptError, is_value, numbers_of, value_from
from dumbbell.store.writing import Writer

__all__ = [
    "CellName",
    "Content",
    "DamagedRunError",
    "DamagedRunWarning",
    "Digest",
    "KeptTables",
    "ListedRun",
    "NotKeptError",
    "Numbers",
    "Reader",
    "Shard",
    "Store",
    "StoreError",
    "Writer",
    "is_value",
    "numbers_of",
    "run_id_of",
    "value_from",
]

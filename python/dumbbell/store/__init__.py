"""Results of runs by content, so that none is done twice.

A `Store` is a folder: rows of numbers in SQLite, and tables of runs in Parquet where they are asked
for. It knows keys, numbers and tables, and nothing of what they mean. Several processes of one
machine may write one store; a `Shard` writes a file of its own, for folders that machines share.
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

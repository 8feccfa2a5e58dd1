"""The database of a store: its tables, and how a file is found to be one."""

from __future__ import annotations

APPLICATION_ID = 0x64756D73
"""``dums``, in the file's header: ``file`` and readers can tell whose it is."""
SCHEMA_VERSION = 2
"""1 had no digests."""

TABLES = {
    # What a run depends on besides its description: JSON.
    "versions": """\
CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
)""",
    # What the numbers of a run are, in their order.
    "layouts": """\
CREATE TABLE layouts (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
)""",
    # numbers: little-endian doubles. replication: from 2**63 on less 2**64. digest, here and below:
    # of everything that is read of the row (digests.py).
    "runs": """\
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE CHECK (length(key) = 32),
    backend TEXT NOT NULL,
    replication INTEGER NOT NULL,
    version INTEGER NOT NULL REFERENCES versions,
    layout INTEGER NOT NULL REFERENCES layouts,
    finished_unix_s INTEGER NOT NULL,
    numbers BLOB NOT NULL,
    digest BLOB NOT NULL
)""",
    "cells": """\
CREATE TABLE cells (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL,
    settings TEXT NOT NULL,
    is_ensemble INTEGER NOT NULL,
    UNIQUE (experiment, settings, is_ensemble)
)""",
    # Which cells a run is of; it may be in another file of the same store. With an index, so that
    # each key is there twice, and a lost page of one of them is noticed.
    "asked": """\
CREATE TABLE asked (
    key BLOB NOT NULL CHECK (length(key) = 32),
    cell INTEGER NOT NULL REFERENCES cells,
    digest BLOB NOT NULL,
    UNIQUE (key, cell)
)""",
    # Runs whose tables are in Parquet segments.
    "kept_tables": """\
CREATE TABLE kept_tables (
    key BLOB PRIMARY KEY CHECK (length(key) = 32),
    segment TEXT NOT NULL,
    described TEXT NOT NULL,
    digest BLOB NOT NULL
) WITHOUT ROWID""",
}

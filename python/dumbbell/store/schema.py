"""The database of a store: its tables and its identification."""

from __future__ import annotations

APPLICATION_ID = 0x64756D73
"""``dums``, the application id in the file's header, for ``file`` and readers."""
SCHEMA_VERSION = 2
"""Version of the format; version 1 had no digests."""

TABLES = {
    # Inputs of a run besides its description: JSON.
    "versions": """\
CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
)""",
    # Names of the numbers of a run, in order.
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
    # The cells of a run, which may be in another file of the store. The index contains each key a
    # second time, so that a lost page is noticed.
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

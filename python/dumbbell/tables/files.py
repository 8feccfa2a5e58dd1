"""A run as a folder of Parquet files and back.

The folder holds ``TABLE.parquet`` for each table, ``meta.json`` (with the resolved description)
and ``provenance.json``, and the run's files (captures). It appears whole or not at all.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.tables.run import Run
from dumbbell.tables.run_file import RunFile
from dumbbell.tables.schema import SCHEMA

MARKER = ".dumbbell-run"
"""A file of this name says that the folder is ours to replace."""


def check_run_folder(folder: Path) -> None:
    """Refuse to replace what we did not write; called before a run as well as before writing.

    Raises:
        SpecError: It is a file, or a folder with somebody else's files in it.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise SpecError("--out", folder, "a folder, existing or new, is expected")
    if not (folder / MARKER).is_file() and any(folder.iterdir()):
        raise SpecError(
            "--out",
            folder,
            f"the folder is not empty and was not written by dumbbell (no {MARKER} in it): "
            "choose another or empty it",
        )


def write_parquet(run: Run, folder: str | Path, files: Mapping[str, str] | None = None) -> Path:
    """Write a run's tables; an earlier run in that folder is replaced.

    Args:
        run: What to write.
        folder: New, empty or an earlier run.
        files: Further text files by name, such as ``ping-1.txt``.

    Returns:
        The folder.

    Raises:
        SpecError: The folder holds files that are not ours.
    """
    target = Path(os.path.realpath(folder))
    check_run_folder(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f".{target.name}.partial-{os.getpid()}-{secrets.token_hex(4)}")
    staging.mkdir()
    try:
        _fill(staging, run, files or {})
        _put_in_place(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def read_parquet(folder: str | Path) -> Run:
    """Read what `write_parquet` wrote.

    Raises:
        SpecError: There is no run in that folder.
    """
    import polars as pl

    source = Path(folder)
    if not (source / MARKER).is_file():
        raise SpecError("folder", source, "a folder written by dumbbell is expected")
    described = json.loads((source / "meta.json").read_text(encoding="utf-8"))
    tables = {}
    for name in SCHEMA:
        path = source / f"{name}.parquet"
        if path.is_file():
            frame = pl.read_parquet(path)
            tables[name] = {column: frame[column].to_numpy() for column in frame.columns}
    return Run(
        origin=described["origin"],
        replication=described["replication"],
        spec=described["spec"],
        tables=tables,
        meta=described["meta"],
        provenance=json.loads((source / "provenance.json").read_text(encoding="utf-8")),
        files={
            name: RunFile(source / name)
            for name in described["meta"].get("files", {})
            if Path(name).name == name and (source / name).is_file()
        },
    )


def _fill(folder: Path, run: Run, files: Mapping[str, str]) -> None:
    import polars as pl

    for name, columns in run.tables.items():
        frame = pl.DataFrame({key: np.asarray(values) for key, values in columns.items()})
        frame.write_parquet(folder / f"{name}.parquet")
    described = {
        "origin": run.origin,
        "replication": run.replication,
        "spec": run.spec,
        "meta": run.meta,
    }
    _write(folder / "meta.json", _json_text(described))
    _write(folder / "provenance.json", _json_text(run.provenance))
    for name, text in files.items():
        _write(folder / name, text)
    for name, file in run.files.items():
        shutil.copyfile(file.path, folder / name)
    (folder / MARKER).touch()


def _put_in_place(staging: Path, target: Path) -> None:
    aside = staging.with_name(f"{staging.name}-old")
    if target.exists():
        target.rename(aside)
    try:
        staging.rename(target)
    except BaseException:
        if aside.exists():
            aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))


def _json_text(value: Mapping[str, Any]) -> str:
    safe = _json_safe(value)
    return json.dumps(safe, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _json_safe(value: object) -> object:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, Mapping):
        return {str(key): _json_safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

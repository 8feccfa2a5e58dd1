"""A run as a folder of Parquet files and back.

The folder holds ``TABLE.parquet`` for each table, ``meta.json`` (with the resolved description)
and ``provenance.json``, and the run's files (captures). It appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.folders import (
    Content,
    ResultFolder,
    ResultKind,
    Subject,
    file_for_library,
    write_content,
)
from dumbbell.printable import utf8, whole_json
from dumbbell.tables.run import Origin, Run
from dumbbell.tables.run_file import RunFile
from dumbbell.tables.schema import SCHEMA

RUN = ResultKind(
    noun="run",
    marker=".dumbbell-run",
    known=frozenset({"meta.json", "provenance.json", *(f"{name}.parquet" for name in SCHEMA)}),
)

NAMED = frozenset({"transfers"})
"""Tables whose files have names beside the numbers of flows; `Run.table` has them of any."""


def run_folder(
    folder: str | Path,
    spec: Mapping[str, Any],
    *,
    replication: int,
    origin: Origin,
    source: Path | None = None,
    replace: bool = False,
    tell: Callable[[str], None] | None = None,
) -> ResultFolder:
    """The folder of a run; call its ``check`` before a long one.

    Args:
        folder: New, empty, or with an earlier run of the same experiment in it: of the same file,
            where files are known, else of the same name.
        spec: The resolved description.
        replication: Its number.
        origin: Who makes it.
        source: The experiment's file.
        replace: Whether the run of another experiment may be replaced.
        tell: Gets a sentence about whatever a person may not expect.
    """
    described = {key: value for key, value in spec.items() if key not in ("name", "seed")}
    digest = hashlib.sha256(_json_text(described).encode()).hexdigest()
    settings = {
        "seed": str(spec["seed"]),
        "replication": str(replication),
        "origin": origin,
    }
    subject = Subject(str(spec["name"]), source, digest, settings)
    return ResultFolder(folder, RUN, subject, replace=replace, tell=tell)


def write_parquet(
    run: Run, folder: str | Path | ResultFolder, files: Mapping[str, Content] | None = None
) -> Path:
    """Write a run's tables; an earlier run of the same experiment in that folder is replaced.

    Files that somebody else put there stay.

    Args:
        run: What to write.
        folder: New, empty or an earlier run of the same experiment. Of `run_folder` where more is
            to be said about it.
        files: Further files by name, such as ``ping-1.txt``.

    Returns:
        The folder.

    Raises:
        SpecError: The folder is not ours, or holds the run of another experiment.
        OSError: It cannot be written; a full disk names the folder.
    """
    place = folder if isinstance(folder, ResultFolder) else _folder_of(run, folder)
    with place.replaced() as staging:
        _fill(staging, run, files or {})
    return Path(os.path.realpath(place.folder))


def read_parquet(folder: str | Path) -> Run:
    """Read what `write_parquet` wrote.

    Raises:
        SpecError: There is no run in that folder.
    """
    import polars as pl

    source = Path(folder)
    if not (source / RUN.marker).is_file():
        raise SpecError("folder", source, "a folder written by dumbbell is expected")
    described = json.loads((source / "meta.json").read_text(encoding="utf-8"))
    tables = {}
    for name in SCHEMA:
        path = source / f"{name}.parquet"
        if path.is_file():
            frame = pl.read_parquet(path)
            # Names that stand beside numbers for other programs are made anew.
            known = [column.name for column in SCHEMA[name] if column.name in frame.columns]
            tables[name] = {column: frame[column].to_numpy() for column in known}
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


def _fill(folder: Path, run: Run, files: Mapping[str, Content]) -> None:
    import polars as pl

    for name, columns in run.tables.items():
        shown = run.named_columns(name) if name in NAMED else columns
        frame = pl.DataFrame({key: np.asarray(values) for key, values in shown.items()})
        with file_for_library(folder / f"{name}.parquet") as parquet:
            frame.write_parquet(parquet)
    described = {
        "origin": run.origin,
        "replication": run.replication,
        "spec": run.spec,
        "meta": run.meta,
    }
    _write(folder / "meta.json", _json_text(described))
    _write(folder / "provenance.json", _json_text(run.provenance))
    for name, content in files.items():
        write_content(folder / name, content)
    for name, file in run.files.items():
        shutil.copyfile(file.path, folder / name)


def _folder_of(run: Run, folder: str | Path) -> ResultFolder:
    if run.spec is not None:
        return run_folder(folder, run.spec, replication=run.replication, origin=run.origin)
    subject = Subject(str(run.meta.get("source", run.origin)))
    return ResultFolder(folder, RUN, subject)


def _write(path: Path, text: str) -> None:
    path.write_bytes(utf8(text))


def _json_text(value: Mapping[str, Any]) -> str:
    safe = _json_safe(value)
    text = json.dumps(safe, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{whole_json(text)}\n"


def _json_safe(value: object) -> object:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, Mapping):
        return {str(key): _json_safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

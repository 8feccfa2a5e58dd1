"""Export runs and comparisons to other formats: ``dumbbell run --to csv,sqlite``.

A run's tables have names in addition to the indices of flows, queues and probes. The table
``summary`` has each number of the run's summary by its path, with its unit.
"""

from __future__ import annotations

import enum
import io
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from dumbbell.compare.flent_of_run import flent_of_run
from dumbbell.compare.program_logs import ping_files, ss_files, tc_files
from dumbbell.compare.summary import Summary, summary_of
from dumbbell.errors import SpecError
from dumbbell.folders import Content
from dumbbell.formats.ss import has_one_connection
from dumbbell.printable import whole_json
from dumbbell.report.numbers import json_safe
from dumbbell.report.spreadsheets import for_spreadsheets
from dumbbell.spec import Experiment, Resolved
from dumbbell.spec.refusal import nearest

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.compare.comparison import Comparison
    from dumbbell.tables import Run

SUMMARY = "summary"
"""Name of the table with a run's summary."""
NUMBERS = "numbers"
"""Name of the table with the summaries of all runs of a comparison."""
CAPTURE = "capture.pcapng"


class Format(enum.StrEnum):
    """Formats of ``--to``."""

    CSV = "csv"
    PARQUET = "parquet"
    SQLITE = "sqlite"
    JSON = "json"
    FLENT = "flent"
    PCAPNG = "pcapng"
    PING = "ping"
    SS = "ss"
    TC = "tc"


OF_SINGLE_RUNS = (Format.FLENT, Format.PCAPNG, Format.PING, Format.SS, Format.TC)
LOOK_ALIKES = {Format.PING: ping_files, Format.SS: ss_files, Format.TC: tc_files}
"""Formats that imitate the logs of a testbed's programs."""


def formats_of(text: str) -> tuple[Format, ...]:
    """Parse ``csv,flent``; duplicates are dropped.

    Raises:
        SpecError: A format is not known.
    """
    known = [each.value for each in Format]
    found = []
    for word in text.split(","):
        name = word.strip().lower()
        if name not in known:
            allowed = f"one of {', '.join(known)}, or several with commas"
            raise SpecError("--to", word.strip(), allowed, nearest(name, known))
        found.append(Format(name))
    return tuple(dict.fromkeys(found))


def check_formats(formats: Sequence[Format], experiment: Experiment) -> None:
    """Refuse formats that need data the experiment will not record, before it runs.

    Raises:
        SpecError: It has no samples, probes, TCP flows or capture that a format needs.
    """
    described = Resolved(experiment.resolved())
    for each in (Format.FLENT, Format.SS, Format.TC):
        if each in formats and not described.sample_interval_ns:
            allowed = "an experiment with samples: --set sample_interval=200ms"
            raise SpecError("--to", each.value, allowed)
    if Format.PING in formats and not described.probes:
        raise SpecError("--to", Format.PING.value, "an experiment with [[probes]]")
    if Format.SS in formats and not any(has_one_connection(flow) for flow in described.flows):
        raise SpecError(
            "--to", Format.SS.value, "an experiment with a flow over one TCP connection"
        )
    if Format.PCAPNG in formats and not any(queue.capture for queue in described.queues):
        allowed = "an experiment with a capture: --set 'links[0].capture=true'"
        raise SpecError("--to", Format.PCAPNG.value, allowed)


def exported_run(
    run: Run, formats: Sequence[Format], summary: Summary | None = None
) -> dict[str, Content]:
    """The exported files of a run, by name.

    Args:
        run: A run with a description.
        formats: The formats; see `check_formats`.
        summary: Its summary, if already computed.
    """
    tables = {name: run.table(name) for name in run.tables}
    tables[SUMMARY] = summary_frame(summary or summary_of(run))
    name = str((run.spec or {}).get("name", "run"))
    files = dict(_of_tables(tables, formats, name))
    if Format.JSON in formats:
        files["run.json"] = _json_text({"meta": run.meta, "tables": _columns(tables)})
    if Format.FLENT in formats:
        files[f"{name}.flent.gz"] = flent_of_run(run)
    for each, look_alike in LOOK_ALIKES.items():
        if each in formats:
            files |= look_alike(run)
    if Format.PCAPNG in formats:
        files[CAPTURE] = run.files[CAPTURE].path
    return files


def exported_comparison(found: Comparison, formats: Sequence[Format]) -> dict[str, Content]:
    """The exported files of a comparison, by name: the table ``numbers`` (see `numbers_frame`).

    Raises:
        SpecError: A format is for single runs only.
    """
    check_comparable(formats)
    tables = {NUMBERS: numbers_frame(found)}
    files = dict(_of_tables(tables, formats, found.cells[0].experiment.name))
    if Format.JSON in formats:
        files["comparison.json"] = _json_text({"tables": _columns(tables)})
    return files


def check_comparable(formats: Sequence[Format]) -> None:
    """Refuse formats that are for single runs only.

    Raises:
        SpecError: A format is for single runs only.
    """
    for each in formats:
        if each in OF_SINGLE_RUNS:
            others = [one.value for one in Format if one not in OF_SINGLE_RUNS]
            raise SpecError("--to", each.value, f"{', '.join(others)} of several runs")


def summary_frame(summary: Summary) -> pl.DataFrame:
    """One row per number: ``quantity`` (its path), ``value`` (NaN where undefined) and ``unit``."""
    import polars as pl

    return pl.DataFrame(
        {
            "quantity": [each.path for each in summary.quantities],
            "value": summary.numbers,
            "unit": [each.unit for each in summary.quantities],
        }
    )


def numbers_frame(found: Comparison) -> pl.DataFrame:
    """One row per number and run: ``cell``, ``backend``, ``replication``, ``quantity``, ``value``,
    ``unit``.
    """
    import polars as pl

    frames = [
        summary_frame(summary).select(
            pl.lit(arm.cell).alias("cell"),
            pl.lit(arm.backend).alias("backend"),
            pl.lit(number, dtype=pl.Int64).alias("replication"),
            pl.all(),
        )
        for arm in found.arms
        for number, summary in enumerate(found.results[arm].summaries)
    ]
    return pl.concat(frames)


def sqlite_bytes(tables: Mapping[str, pl.DataFrame]) -> bytes:
    """A database with one table per frame; integers, floats and texts keep their types.

    Numbers that are not finite become NULL, because SQLite has none.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        for name, frame in tables.items():
            columns = ", ".join(
                f"{_quoted(column)} {_sql_type(frame, column)}" for column in frame.columns
            )
            database.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
            places = ", ".join("?" * frame.width)
            rows = ([_stored(value) for value in row] for row in frame.iter_rows())
            database.executemany(f"INSERT INTO {_quoted(name)} VALUES ({places})", rows)
        database.commit()
        return database.serialize()


def _stored(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _sql_type(frame: pl.DataFrame, column: str) -> str:
    dtype = frame.schema[column]
    if dtype.is_integer():
        return "INTEGER"
    return "REAL" if dtype.is_float() else "TEXT"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _of_tables(
    tables: Mapping[str, pl.DataFrame], formats: Sequence[Format], name: str
) -> Iterator[tuple[str, Content]]:
    for table, frame in tables.items():
        if Format.CSV in formats:
            yield f"{table}.csv", for_spreadsheets(frame).write_csv()
        if Format.PARQUET in formats:
            out = io.BytesIO()
            frame.write_parquet(out)
            yield f"{table}.parquet", out.getvalue()
    if Format.SQLITE in formats:
        yield f"{name}.sqlite", sqlite_bytes(tables)


def _columns(tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    return {name: frame.to_dict(as_series=False) for name, frame in tables.items()}


def _json_text(value: Mapping[str, Any]) -> str:
    text = whole_json(json.dumps(json_safe(value), ensure_ascii=False, allow_nan=False))
    return f"{text}\n"

"""Tables of ``dumbbell analyze`` in other formats, and the folder they are written to."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.cli.common.pages import page_folder
from dumbbell.cli.common.unique_names import unique_names
from dumbbell.cli.terminal.output import tell
from dumbbell.compare.exporting import Format, formats_of, sqlite_bytes
from dumbbell.errors import SpecError
from dumbbell.report import report_folder

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.folders import Content, ResultFolder

TABLE_FORMATS = (Format.CSV, Format.PARQUET, Format.SQLITE)


def table_formats(to: str | None) -> tuple[Format, ...]:
    """Parse ``--to`` for tables.

    Raises:
        SpecError: A format applies only to runs.
    """
    formats = formats_of(to) if to is not None else ()
    for each in formats:
        if each not in TABLE_FORMATS:
            allowed = f"one of {', '.join(known.value for known in TABLE_FORMATS)} of a measurement"
            raise SpecError("--to", each.value, allowed)
    return formats


def measured_folder(
    files: Sequence[Path], out: Path | None, *, kind: str, replace: bool, is_wanted: bool
) -> ResultFolder | None:
    """Folder for a page or tables: ``results/NAME-KIND`` by default; None if nothing is written.

    Args:
        files: The analyzed files.
        out: The folder given by the user.
        kind: Such as ``log``.
        replace: Whether the result of other files may be replaced.
        is_wanted: Whether anything will be written.

    Raises:
        SpecError: The folder cannot be used.
    """
    if not is_wanted:
        return None
    name = re.sub(r"\.(gz|bz2|xz|zst)$", "", files[0].name)
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", Path(name).stem).lstrip("._-") or kind
    several = len(files) > 1
    subject = f"{kind}s {', '.join(unique_names(files))}" if several else kind
    folder = out or page_folder(stem, kind)
    source = None if several else files[0]
    place = report_folder(folder, subject, source=source, replace=replace, tell=tell)
    place.check()
    return place


def table_files(
    frames: Mapping[str, pl.DataFrame], formats: Sequence[Format], *, kind: str
) -> dict[str, Content]:
    """The tables as files: ``NAME.csv``, ``NAME.parquet``, and all of them in ``KIND.sqlite``."""
    from dumbbell.report.spreadsheets import for_spreadsheets

    files: dict[str, Content] = {}
    for name, frame in frames.items():
        if Format.CSV in formats:
            files[f"{name}.csv"] = for_spreadsheets(frame).write_csv()
        if Format.PARQUET in formats:
            out = io.BytesIO()
            frame.write_parquet(out)
            files[f"{name}.parquet"] = out.getvalue()
    if Format.SQLITE in formats:
        files[f"{kind}.sqlite"] = sqlite_bytes(dict(frames))
    return files


def write_tables(place: ResultFolder, files: Mapping[str, Content]) -> str:
    """Write the files without a page.

    Returns:
        A sentence with the files and the folder.
    """
    from dumbbell.folders import write_content

    with place.replaced() as staging:
        for name, content in files.items():
            write_content(staging / name, content)
    return f"exported: {', '.join(files)} in {place.folder}"

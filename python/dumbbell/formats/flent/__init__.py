"""Flent's data files (``NAME.flent.gz``): written from a run, read as an imported run.

The format is that of Flent 2 (version 4), as its manual describes it: one JSON object, compressed,
with series on a common time axis (``results``), the original samples (``raw_values``), and a
description of the test (``metadata``).
"""

from dumbbell.formats.flent.export import flent_file
from dumbbell.formats.flent.file import FORMAT_VERSION, FlentFile, is_column
from dumbbell.formats.flent.imported import (
    flent_test_of,
    imported_run,
    is_measured,
    measured_series,
    parameters_of_test,
    raw_samples,
)
from dumbbell.formats.flent.reader import read_flent
from dumbbell.formats.flent.stated_settings import (
    StatedQueue,
    TitleFacts,
    is_qdisc,
    said_by_sysctl,
    said_by_tc,
    said_by_title,
)
from dumbbell.formats.flent.summary import (
    SummaryRow,
    series_mean,
    series_values,
    summary_rows,
    summary_text,
)
from dumbbell.formats.flent.writer import SUFFIX, flent_bytes, flent_file_name, write_flent

__all__ = [
    "FORMAT_VERSION",
    "SUFFIX",
    "FlentFile",
    "StatedQueue",
    "SummaryRow",
    "TitleFacts",
    "flent_bytes",
    "flent_file",
    "flent_file_name",
    "flent_test_of",
    "imported_run",
    "is_column",
    "is_measured",
    "is_qdisc",
    "measured_series",
    "parameters_of_test",
    "raw_samples",
    "read_flent",
    "said_by_sysctl",
    "said_by_tc",
    "said_by_title",
    "series_mean",
    "series_values",
    "summary_rows",
    "summary_text",
    "write_flent",
]

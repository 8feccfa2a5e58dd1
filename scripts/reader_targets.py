"""Properties that the Python readers must have for any input: a function for each reader.

`scripts/fuzz_readers.py` calls them with inputs that libFuzzer makes, and
`scripts/test_fuzz_readers.py` with the files that are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.formats import FormatError
from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.flent import flent_test_of, imported_run, read_flent, summary_text
from dumbbell.formats.logs import LogText, log_of_text
from dumbbell.metrics.logs import log_numbers, log_series

ROOT = Path(__file__).resolve().parents[1]


def flent(content: bytes) -> None:
    """Flent's data files: refused in a sentence, or a run, a test and a summary of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.flent"
        path.write_bytes(content)
        try:
            file = read_flent(path)
        except FormatError:
            return
        summary_text(file)
        for use in (imported_run, flent_test_of):
            try:
                use(file)
            except (FormatError, SpecError):
                continue


def logs(content: bytes) -> None:
    """What programs print: refused in a sentence, or tables whose columns are of one length."""
    try:
        log = log_of_text(LogText.of_bytes("log", content))
    except UnreadableError:
        return
    assert (log.unknown.count > 0) == bool(log.unknown.where)
    for table in log.tables.values():
        assert len({len(table[column.name]) for column in table.columns}) == 1
    for number in log_numbers(log):
        assert not np.isinf(number.value), number.name
    for series in log_series(log):
        assert len(series.t_s) == len(series.values)


@dataclass(frozen=True, slots=True)
class Target:
    """A reader.

    Attributes:
        check: Raises where what must hold does not.
        folder: Files that a search begins with.
    """

    check: Callable[[bytes], None]
    folder: Path

    def files(self) -> list[Path]:
        """Those files, in order."""
        return sorted(path for path in self.folder.iterdir() if path.suffix != ".md")


TARGETS: Mapping[str, Target] = {
    "flent": Target(flent, ROOT / "fuzz/readers/flent"),
    "logs": Target(logs, ROOT / "tests/formats/logs"),
}

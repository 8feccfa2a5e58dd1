"""The tables of numbers in the answers of the course, from the runs that they name.

python tests/docs/course_tables.py    # computes them all, and writes them into the pages
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docs_pages import ROOT

from dumbbell.backends import run_many
from dumbbell.compare import summary_of
from dumbbell.lab import bottleneck_of
from dumbbell.spec import Experiment, Setting, settings_applied
from dumbbell.stats import student_interval
from dumbbell.tables import Run

ANSWERS = sorted((ROOT / "docs" / "course" / "answers").glob("*.md"))
REPLICATIONS = 30
"""As many as the laboratory makes of each run."""
NOTHING = "nothing"
_TABLE = re.compile(
    r"(?P<head><!-- numbers: (?P<file>\S+) -->\n\n(?P<titles>\|.*\|)\n\|[ :|-]+\|\n)"
    r"(?P<rows>(?:\|.*\|\n)+)"
)
# A column's title, in the words of the laboratory and with its unit: end of the path, factor.
_OF_QUEUE = {
    "link busy, %": ("utilization", 100.0),
    "dropped, %": ("loss_ratio", 100.0),
    "in the system, mean, packets": ("mean_system_pkts", 1.0),
    "time in the system, mean, ms": ("mean_sojourn_s", 1e3),
    "time in the system, 95 %, ms": ("sojourn_p95_s", 1e3),
}
_OF_FLOWS = {
    "goodput, Mbit/s": ("goodput_bps", 1e-6),
    "goodput, sum, Mbit/s": ("total_goodput_bps", 1e-6),
    "Jain's fairness index": ("jain_index", 1.0),
    "round trip, mean, ms": ("mean_rtt_ms", 1.0),
}


@dataclass(frozen=True)
class Row:
    """One setting of an experiment, and its numbers as they stand on the page."""

    page: Path
    file: str
    titles: tuple[str, ...]
    change: str
    cells: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.page.stem}: {Path(self.file).stem}: {self.change}"

    @property
    def settings(self) -> list[Setting]:
        if self.change == NOTHING:
            return []
        return [Setting.parse(each) for each in re.findall(r"`([^`]+)`", self.change)]

    def experiment(self) -> Experiment:
        document = tomllib.loads((ROOT / self.file).read_text(encoding="utf-8"))
        return Experiment.read(settings_applied(document, self.settings))

    def computed(self) -> tuple[str, ...]:
        """What the cells should be."""
        experiment = self.experiment()
        queue = bottleneck_of(experiment)
        wanted = [(experiment, number) for number in range(REPLICATIONS)]
        found = {number: _numbers(run, queue, self.titles) for number, run in run_many(wanted)}
        in_order = [found[number] for number in range(REPLICATIONS)]
        return tuple(_shown(values) for values in zip(*in_order, strict=True))


def _numbers(run: Run, queue: str, titles: Sequence[str]) -> list[float]:
    summary = summary_of(run)
    numbers = []
    for title in titles:
        subject, _, measure = title.rpartition(": ")
        if measure in _OF_QUEUE:
            end, factor = _OF_QUEUE[measure]
            path = f"queue[{queue}].{end}"
        else:
            end, factor = _OF_FLOWS[measure]
            (path,) = [
                each.path
                for each in summary.values
                if re.fullmatch(rf"\w+\[{subject}\]\.{end}", each.path)
            ]
        numbers.append(summary[path] * factor)
    return numbers


def _shown(values: Sequence[float]) -> str:
    """Mean and interval as the laboratory shows them (`words.js`)."""
    if max(values) == min(values):
        return _sensible(values[0], 3)
    interval = student_interval(values)
    mean = sum(values) / len(values)
    return f"{_sensible(mean, 3)} ± {_sensible(interval.high - mean, 2)}"


def _sensible(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    whole = math.floor(math.log10(abs(value))) + 1
    return f"{value:.{min(6, max(0, digits - whole))}f}"


def rows_of(page: Path) -> Iterator[Row]:
    for table in _TABLE.finditer(page.read_text(encoding="utf-8")):
        _, *titles = _cells(table["titles"])
        for line in table["rows"].splitlines():
            change, *cells = _cells(line)
            yield Row(page, table["file"], tuple(titles), change, tuple(cells))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _written(page: Path) -> None:
    rows = iter(list(rows_of(page)))

    def again(table: re.Match[str]) -> str:
        lines = []
        for _ in table["rows"].splitlines():
            row = next(rows)
            lines.append(f"| {' | '.join([row.change, *row.computed()])} |\n")
            print(lines[-1], end="", flush=True)
        return table["head"] + "".join(lines)

    page.write_text(_TABLE.sub(again, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for each in ANSWERS:
        print(each.name)
        _written(each)

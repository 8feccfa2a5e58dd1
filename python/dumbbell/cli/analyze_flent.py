"""``dumbbell analyze FILE.flent.gz``: a measurement in our tables, beside simulated runs of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.failing import print_warning
from dumbbell.cli.flent_network import same_test
from dumbbell.cli.tables import print_table
from dumbbell.cli.telling import tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.cli.flent_network import SameTest
    from dumbbell.formats.flent import FlentFile
    from dumbbell.report import Figure, Report, ValueTable
    from dumbbell.spec import Experiment

FEWEST_REPLICATIONS = 2
DEFAULT_REPLICATIONS = 5
FIGURES = ("all_scaled", "totals", "ellipsis", "ping", "tcp_cwnd", "drops", "delay", "backlog")
"""Plots that a page has beside its test's default one, where a file has something for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The simulated runs to set a measurement beside.

    Attributes:
        network: Keys of `Network` that somebody gave; the others are estimated from the file.
        replications: How many runs; 0 for none.
        seed: All randomness follows from it.
        timer_hz: Of the kernel that is modelled; the file's own, else 1000, when None.
        jobs: Threads; 0 for one a core.
        instead: Controllers to run in place of those the test names.
    """

    network: Mapping[str, str]
    replications: int = DEFAULT_REPLICATIONS
    seed: int = 1
    timer_hz: int | None = None
    jobs: int = 0
    instead: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse a number of runs that says nothing."""
        if self.replications and self.replications < FEWEST_REPLICATIONS:
            allowed = "0 (none), or 2 and more: one has no interval"
            raise SpecError("--replications", self.replications, allowed)


@dataclass(frozen=True, slots=True)
class Compared:
    """One number of a measurement beside those of simulated runs.

    Attributes:
        series: Of the data file.
        statistic: ``mean``, or ``95 %`` (the 95th percentile).
        unit: ``Mbits/s`` or ``ms``.
        measured: In the file.
        simulated: Mean over the runs; NaN without runs.
        low: Lower end of the 95 % prediction interval for one more run; not below 0.
        high: Upper end of it.
    """

    series: str
    statistic: str
    unit: str
    measured: float
    simulated: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the measurement could be one more of the runs."""
        return self.low <= self.measured <= self.high


def analyze_flent(
    path: Path, *, beside: Beside, out: Path | None, console: Console, replace: bool = False
) -> None:
    """Print a measurement's numbers, beside simulated ones, and write a page with ``out``.

    With ``replace`` also where the page of another file lies.

    Raises:
        SpecError: The file or an option is not what it should be.
        RunError: A simulated run failed.
    """
    from dumbbell.formats.flent import read_flent
    from dumbbell.report import report_folder, write_report

    file = read_flent(path)
    place = None
    if out is not None:
        name = f"flent-{file.text('NAME')}"
        place = report_folder(out, name, source=path, replace=replace, tell=tell)
        place.check()
    runs: list[FlentFile] = []
    same = None
    if beside.replications:
        same = same_test(
            file, beside.network, beside.instead or {}, seed=beside.seed, timer_hz=beside.timer_hz
        )
        runs = _simulated(same, beside)
    notes = same.notes if same is not None else []
    experiment = same.experiment if same is not None else None
    rows = compare(file, runs)
    console.print(Text(headline(file)))
    for note in notes:
        console.print(Text(note), soft_wrap=True)
    print_table(_grid(rows, with_runs=bool(runs)), console)
    if place is not None:
        page = write_report(_report(file, runs, rows, experiment, notes), place, tell=print_warning)
        console.print(f"page: {page}", markup=False, soft_wrap=True)


def compare(file: FlentFile, runs: Sequence[FlentFile]) -> list[Compared]:
    """Means of every series, and 95th percentiles of latencies, beside those of the runs.

    Args:
        file: The measurement.
        runs: Simulated runs of the same test; series they do not have get NaN.
    """
    import numpy as np

    from dumbbell.formats.flent import series_values, summary_rows
    from dumbbell.stats import prediction_interval

    rows = []
    for row in summary_rows(file):
        if not row.points:
            continue
        ours = [np.array(series_values(run, row.series)) for run in runs]
        theirs = np.array(series_values(file, row.series))
        for name in ("mean", "95 %") if row.unit == "ms" else ("mean",):
            found = [statistic_of(name, values) for values in ours if len(values)]
            low = high = simulated = float("nan")
            if len(found) >= FEWEST_REPLICATIONS:
                interval = prediction_interval(found)
                low, high, simulated = max(interval.low, 0.0), interval.high, interval.value
            measured = statistic_of(name, theirs)
            rows.append(Compared(row.series, name, row.unit, measured, simulated, low, high))
    return rows


def statistic_of(name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """``mean``, or ``95 %``: the 95th percentile; of one value or more."""
    return float(values.mean() if name == "mean" else np.percentile(values, 95))


def _simulated(same: SameTest, beside: Beside) -> list[FlentFile]:
    """A data file a replication, in their order; never the replication that the file itself is."""
    from dumbbell.backends import BatchProgress, run_many
    from dumbbell.cli.flent import hint_at_instead
    from dumbbell.cli.progress import shown_progress
    from dumbbell.cli.stopping import stopped_by_ctrl_c
    from dumbbell.formats.flent import flent_file
    from dumbbell.sweep import Interrupted, Progress

    files: dict[int, FlentFile] = {}
    total = beside.replications
    with stopped_by_ctrl_c() as stop, shown_progress() as show:

        def tell(progress: BatchProgress) -> None:
            show(Progress(same.test.name, min(progress.done, float(total)), float(total), "runs"))

        numbers = [number for number in range(total + 1) if number != same.own_replication]
        jobs = [(same.experiment, number) for number in numbers[:total]]
        with hint_at_instead():
            for _, run in run_many(jobs, jobs=beside.jobs, cancel=stop, on_progress=tell):
                title = f"simulated-{run.replication}"
                files[run.replication] = flent_file(run, same.test, title=title)
        if stop.is_set():
            raise Interrupted("stopped; nothing was written")
    return [files[number] for number in sorted(files)]


def headline(file: FlentFile) -> str:
    """What was measured, as far as the file says it."""
    length_s, host = file.number("LENGTH"), file.text("HOST")
    how = _joined(" ", f"{length_s:g} s" if length_s else "", f"to {host}" if host else "")
    what = _joined(", ", file.text("NAME"), file.text("TITLE"))
    return _joined(": ", what, _joined(", ", how, file.text("TIME")))


def _joined(between: str, *parts: str) -> str:
    return between.join(part for part in parts if part)


def _cells(row: Compared, *, with_runs: bool) -> list[str]:
    cells = [f"{row.measured:.2f}"]
    if with_runs:
        known = row.simulated == row.simulated
        cells.append(f"{row.simulated:.2f}" if known else "-")
        cells.append(f"{row.low:.2f} to {row.high:.2f}" if known else "-")
        cells.append(("yes" if row.inside else "no") if known else "-")
    return cells


_HEAD = ("measured", "simulated", "one run, 95 %", "inside")


def _grid(rows: Sequence[Compared], *, with_runs: bool) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    grid.add_column("", no_wrap=True)
    grid.add_column("", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for name in _HEAD[: 4 if with_runs else 1]:
        grid.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [row.series, row.statistic, row.unit, *_cells(row, with_runs=with_runs)]
        grid.add_row(*(Text(cell) for cell in cells))
    return grid


def _report(
    file: FlentFile,
    runs: Sequence[FlentFile],
    rows: Sequence[Compared],
    experiment: Experiment | None,
    notes: Sequence[str],
) -> Report:
    from dumbbell.formats.flent import flent_bytes, imported_run
    from dumbbell.report import Report, Topology

    run = imported_run(file)
    inside, known = sum(row.inside for row in rows), sum(row.low == row.low for row in rows)
    summary = f"{headline(file)}."
    topologies = [Topology.of("Simulated", experiment)] if experiment is not None else []
    if runs:
        summary += (
            f" {inside} of {known} numbers lie where one more of {len(runs)} simulated runs of "
            "the same test would lie, with 95 % each."
        )
    return Report(
        study=f"flent-{file.text('NAME')}",
        title=f"{file.text('NAME')} {file.text('TITLE')}".strip(),
        summary=summary,
        topologies=topologies,
        values=[_value_table(rows, len(runs))],
        figures=_figures(file, runs),
        notes=list(notes),
        meta={
            "measurement": {
                **{key: file.text(key) for key in ("NAME", "TITLE", "TIME", "HOST")},
                **{key: file.number(key) for key in ("LENGTH", "STEP_SIZE")},
            },
            "experiment": experiment.resolved() if experiment is not None else None,
        },
        tables={name: run.named_columns(name) for name in run.tables},
        files={
            f"simulated-{number}.flent.gz": flent_bytes(each) for number, each in enumerate(runs)
        },
    )


def _value_table(rows: Sequence[Compared], n_runs: int) -> ValueTable:
    from dumbbell.report import Cell, ValueRow, ValueTable

    def cells(row: Compared) -> list[Cell | str | None]:
        measured = Cell(row.measured)
        if not n_runs:
            return [measured]
        if math.isnan(row.simulated):
            return [measured, None, None]
        return [measured, Cell(row.simulated, row.low, row.high), "yes" if row.inside else "no"]

    caption = f"Simulated: mean over {n_runs} runs, and where one more would lie, 95 %."
    return ValueTable(
        "Measured and simulated" if n_runs else "Measured",
        ("measured", "simulated [one run]", "inside")[: 3 if n_runs else 1],
        [ValueRow(f"{row.series}, {row.statistic}", row.unit, cells(row)) for row in rows],
        caption if n_runs else "",
    )


def _figures(file: FlentFile, runs: Sequence[FlentFile]) -> list[Figure]:
    """The measurement's own plots, and distributions beside the simulated ones."""
    return _beside_figures(file, runs) + drawn_plots(file, said=", measured")


def drawn_plots(of: FlentFile | Mapping[str, FlentFile], *, said: str = "") -> list[Figure]:
    """Of a file or of several by name: each one's default plot, then those of `FIGURES`.

    Args:
        of: The file; several are drawn over one another.
        said: At the end of each caption.
    """
    from dumbbell.report import Figure
    from dumbbell.report.flent_plots import draw_plot, plot_names

    files = of.values() if isinstance(of, Mapping) else [of]
    of_each = [plot_names(file) for file in files]
    known = {name for names in of_each for name in names}
    wanted = [names[0] for names in of_each] + [name for name in FIGURES if name in known]
    figures = []
    for name in dict.fromkeys(wanted):
        try:
            plot = draw_plot(of, name)
        except SpecError:
            continue  # a file need not have what its test has
        caption = f"{plot.caption}{said}"
        figures.append(Figure(name.replace("_", "-"), plot.chart, plot.data, caption, caption))
    return figures


def _beside_figures(file: FlentFile, runs: Sequence[FlentFile]) -> list[Figure]:
    from dumbbell.formats.flent import series_values
    from dumbbell.report import Figure, Sample, ecdf_chart

    figures = []
    for series, x_title in (
        ("Ping (ms) ICMP", "Ping (ms)"),
        ("TCP upload sum", "Upload (Mbit/s)"),
        ("TCP download sum", "Download (Mbit/s)"),
    ):
        samples = [Sample("measured", "", series_values(file, series))]
        pooled = [value for run in runs for value in series_values(run, series)]
        samples.append(Sample("simulated", "", pooled))
        samples = [sample for sample in samples if len(sample.values)]  # type: ignore[arg-type]
        if len(samples) < 2:
            continue
        caption = f"{series}: all samples of the measurement and of {len(runs)} simulated runs"
        name = f"beside-{series.replace(' (ms)', '').replace(' ', '-').lower()}"
        plot = ecdf_chart(samples, x_title=x_title, colour_title="")
        figures.append(Figure(name, plot.chart, plot.data, caption, f"{series}, side by side"))
    return figures

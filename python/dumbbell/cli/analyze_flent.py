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

from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile
    from dumbbell.report import Figure, Report, ValueTable
    from dumbbell.spec import Experiment
    from dumbbell.spec.flent import FlentTest, Network

FEWEST_REPLICATIONS = 2
_FULL_FRAME = 1514 / 1448
"""Bytes on an Ethernet of a full segment with time stamps, over its payload."""
_SECOND_S = 1.0
_FIGURES = ("all_scaled", "totals", "ellipsis", "ping", "tcp_cwnd", "drops", "delay", "backlog")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The simulated runs to set a measurement beside.

    Attributes:
        network: Keys of `Network` that somebody gave; the others are estimated from the file.
        replications: How many runs; 0 for none.
        seed: All randomness follows from it.
        timer_hz: Of the kernel that is modelled.
        jobs: Threads; 0 for one a core.
        instead: Controllers to run in place of those the test names.
    """

    network: Mapping[str, str]
    replications: int = 5
    seed: int = 1
    timer_hz: int = 1000
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


def analyze_flent(path: Path, *, beside: Beside, out: Path | None, console: Console) -> None:
    """Print a measurement's numbers, beside simulated ones, and write a page with ``out``.

    Raises:
        SpecError: The file or an option is not what it should be.
        RunError: A simulated run failed.
    """
    from dumbbell.formats.flent import read_flent
    from dumbbell.report import check_replaceable, write_report

    file = read_flent(path)
    if out is not None:
        check_replaceable(out)
    runs: list[FlentFile] = []
    experiment = None
    notes: list[str] = []
    if beside.replications:
        experiment, test, notes = _same_test(file, beside)
        runs = _simulated(experiment, test, beside)
    rows = compare(file, runs)
    console.print(Text(_headline(file)))
    for note in notes:
        console.print(Text(note), soft_wrap=True)
    console.print(_grid(rows, with_runs=bool(runs)))
    if out is not None:
        page = write_report(_report(file, runs, rows, experiment, notes), out)
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
            found = [_statistic(name, values) for values in ours if len(values)]
            low = high = simulated = float("nan")
            if len(found) >= FEWEST_REPLICATIONS:
                interval = prediction_interval(found)
                low, high, simulated = max(interval.low, 0.0), interval.high, interval.value
            measured = _statistic(name, theirs)
            rows.append(Compared(row.series, name, row.unit, measured, simulated, low, high))
    return rows


def _statistic(name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return float(values.mean() if name == "mean" else np.percentile(values, 95))


def _same_test(file: FlentFile, beside: Beside) -> tuple[Experiment, FlentTest, list[str]]:
    from dumbbell.formats.flent import flent_test_of
    from dumbbell.spec.flent import TEST_NAMES

    if file.text("NAME") not in TEST_NAMES:
        allowed = f"one of {', '.join(TEST_NAMES)}; --replications 0 shows the measurement alone"
        raise SpecError("NAME", file.text("NAME"), allowed)
    test = flent_test_of(file)
    test = test.with_controllers(beside.instead or {})
    network, notes = network_of(file, beside.network)
    experiment = test.experiment(network, seed=beside.seed, timer_hz=beside.timer_hz)
    return experiment, test, [*notes, *test.notes]


def network_of(file: FlentFile, given: Mapping[str, str]) -> tuple[Network, list[str]]:
    """The network that is built in, with what was given and else what the file lets guess.

    Rates are those of the fastest second of each direction's goodput, with the headers of full
    segments; the round trip is the least ping. What a file cannot say is left as it is by default.

    Args:
        file: The measurement.
        given: Keys of `Network` with their values.

    Returns:
        The network, and a sentence on where each of its values comes from.
    """
    from dumbbell.spec.flent import Network

    guessed: dict[str, tuple[str, str]] = {}
    up, down = (_fastest_bps(file, way) for way in ("upload", "download"))
    fastest = up or down
    if fastest:
        guessed["rate"] = (_rounded(fastest), "the fastest second of the measurement")
    if up and down:
        guessed["rate_down"] = (_rounded(down), "the fastest second of the measurement")
    least_ms = _least_ping_ms(file)
    if least_ms is not None:
        guessed["rtts"] = (f"{round(least_ms * 1e6)}ns", "the least ping")
    values: dict[str, Any] = {key: value for key, (value, _) in guessed.items()}
    values |= given
    if "rate" in given and "rate_down" not in given:
        values.pop("rate_down", None)
    if "rtts" in values:
        values["rtts"] = (values["rtts"],)
    network = Network(**values)
    notes = []
    for key, option in (("rate", "--rate"), ("rate_down", "--rate-down"), ("rtts", "--rtt")):
        if key in guessed and key not in given and key in values:
            value, where = guessed[key]
            notes.append(f"{option} {_readable(value)}: guessed, from {where}.")
    if "qdisc" not in given:
        notes.append(f'--qdisc "{network.qdisc}": a file does not say which it was.')
    return network, notes


def _rounded(bps: float) -> str:
    """Four digits: a guess has no more."""
    return f"{float(f'{bps:.4g}'):.0f}bit"


def _readable(quantity: str) -> str:
    if quantity.endswith("bit"):
        return f"{float(quantity.removesuffix('bit')) / 1e6:.4g}mbit"
    return f"{float(quantity.removesuffix('ns')) / 1e6:.4g}ms"


def _fastest_bps(file: FlentFile, way: str) -> float:
    """On the wire, bit/s; 0 where the file has no such traffic."""
    from dumbbell.formats.flent import is_measured

    sums = file.results.get(f"TCP {way} sum")
    if sums is None:
        streams = [
            name
            for name in file.results
            if name.startswith(("TCP", "UDP"))
            and ("::" not in name or name.rpartition("::")[2].isdecimal())
            and is_measured(file, name)
            and (way in name or (way == "upload" and "download" not in name))
        ]
        columns = [file.results[name] for name in streams]
        sums = [
            sum(value for value in row if value is not None) if any(row) else None
            for row in zip(*columns, strict=True)
        ]
    width = max(1, round(_SECOND_S / (file.number("STEP_SIZE") or 0.2)))
    values = [value for value in sums if value is not None]
    means = [sum(values[k : k + width]) / width for k in range(len(values) - width + 1)]
    return max(means, default=0.0) * 1e6 * _FULL_FRAME


def _least_ping_ms(file: FlentFile) -> float | None:
    from dumbbell.formats.flent import series_values

    pings = [s for s in file.results if s.startswith("Ping (ms)") and not s.endswith("avg")]
    values = [value for series in pings for value in series_values(file, series) if value > 0]
    return min(values, default=None)


def _simulated(experiment: Experiment, test: FlentTest, beside: Beside) -> list[FlentFile]:
    """A data file a replication, in their order."""
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
            show(Progress(test.name, min(progress.done, float(total)), float(total), "runs"))

        jobs = [(experiment, number) for number in range(total)]
        with hint_at_instead():
            for _, run in run_many(jobs, jobs=beside.jobs, cancel=stop, on_progress=tell):
                title = f"simulated-{run.replication}"
                files[run.replication] = flent_file(run, test, title=title)
        if stop.is_set():
            raise Interrupted("stopped; nothing was written")
    return [files[number] for number in sorted(files)]


def _headline(file: FlentFile) -> str:
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
    summary = f"{_headline(file)}."
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
    from dumbbell.report import Figure
    from dumbbell.report.flent_plots import draw_plot, plot_names

    figures = []
    names = plot_names(file)
    for name in names[:1] + [each for each in _FIGURES if each in names[1:]]:
        try:
            plot = draw_plot(file, name)
        except SpecError:
            continue  # a file need not have what its test has
        caption = f"{plot.caption}, measured"
        figures.append(Figure(name.replace("_", "-"), plot.chart, plot.data, caption, caption))
    return _beside_figures(file, runs) + figures


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

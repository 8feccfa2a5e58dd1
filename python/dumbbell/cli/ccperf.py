"""``dumbbell ccperf traffic-policing``: CCPerf's command line as printed on its pages."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.cli.common.options import Yes
from dumbbell.cli.terminal.consoles import standard_output
from dumbbell.cli.terminal.tables import print_table

if TYPE_CHECKING:
    from dumbbell.formats import MetricRow
    from dumbbell.metrics.ccperf import Table
    from dumbbell.tables import Run

_TITLES = {"flow": "Flow metrics", "link": "Link metrics", "network": "Network metrics"}

ccperf_app = typer.Typer(
    help="Experiments of CCPerf (ccperf.net) by its own command lines.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@ccperf_app.command(
    "traffic-policing",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def traffic_policing(context: typer.Context, *, yes: Yes = False) -> None:
    """A flow through a token bucket, with the options of ns3-dev-ccperf-traffic-policing-default.

    Needed: --policing-rate 4Mbps --peak-rate 1Gbps --algs TcpNewReno (TcpCubic, TcpBbr). Others:
    --experiment-name --db-path --parameters --aut --stop-time --seed --bw --loss --qlen --qdisc
    --rtts --sources --destinations --protocols --recoveries --start-times --stop-times
    --traffic-models. Lists have commas. --db-path writes the metrics to an SQLite database.
    """
    from dumbbell.backends import get_backend, simulate
    from dumbbell.cli.common.confirmation import agree_to_run
    from dumbbell.formats import write_sqlite
    from dumbbell.metrics.ccperf import tables
    from dumbbell.spec.ccperf import read_command

    options = _options(context.args)
    policing, without_effect = read_command(options)
    experiment = policing.experiment()
    cost = get_backend("sim").check(experiment.resolved_json())
    agree_to_run(cost, yes=yes, has_dry_run=False)
    run = simulate(experiment)
    found = tables(run)
    console = standard_output()
    for name, why in without_effect.items():
        console.print(Text(f"{name} has no effect: {why}", style="yellow"))
    console.print(Text(f"Samples are taken every {_interval_s(run):g} s."))
    for table in found:
        print_table(_grid(table), console, keys=2)
    if options.get("--db-path"):
        path = Path(options["--db-path"])
        write_sqlite(path, metric_rows(policing.name, found, _interval_s(run)))
        console.print(f"database: {path}", markup=False, soft_wrap=True)


def metric_rows(experiment: str, found: tuple[Table, ...], interval_s: float) -> list[MetricRow]:
    """The tables as rows of the database."""
    from dumbbell.formats import MetricRow
    from dumbbell.metrics.ccperf import ROWS

    return [
        MetricRow(experiment, table.of, entity, name, value, ROWS[name].unit, interval_s)
        for table in found
        for name, values in table.values.items()
        for entity, value in zip(table.columns, values, strict=True)
    ]


def _options(words: list[str]) -> dict[str, str]:
    """Parse ``--name=value`` and ``--name value``.

    Raises:
        SpecError: A word is not an option, or an option has no value or occurs twice.
    """
    from dumbbell.errors import SpecError

    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            raise SpecError("command line", word, "an option, as in --algs=TcpNewReno")
        if not equals:
            value = next(rest, "--")
            if value.startswith("--"):
                raise SpecError(name, "nothing", "a value")
        if name in options:
            raise SpecError(name, value, "given once")
        options[name] = value
    return options


def _interval_s(run: Run) -> float:
    from dumbbell.spec import Resolved

    return Resolved(run.spec).sample_interval_ns / 1e9 if run.spec else float("nan")


def _grid(table: Table) -> Grid:
    from dumbbell.metrics.ccperf import ROWS

    grid = Grid(box=box.SIMPLE_HEAD, title=_TITLES[table.of])
    grid.add_column("Metric", no_wrap=True)
    grid.add_column("Unit", no_wrap=True)
    for column in table.columns:
        grid.add_column(Text(column), justify="right", no_wrap=True)
    for name, values in table.values.items():
        best = table.best(name)
        cells = [
            Text(shown(value), style="bold" if place in best else "")
            for place, value in enumerate(values)
        ]
        grid.add_row(name if ROWS[name].is_published else f"{name} *", ROWS[name].unit, *cells)
    grid.caption = "* not in CCPerf's tables"
    return grid


def shown(value: float) -> str:
    """Two decimals, as published; more for small values."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.2f}" if not value or abs(value) >= 0.1 else f"{value:.2g}"

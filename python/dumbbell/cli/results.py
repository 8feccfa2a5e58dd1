"""``dumbbell results``: list, pivot, export and delete stored results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from dumbbell.cli.common.options import Json
from dumbbell.cli.common.store import DEFAULT, NONE, VARIABLE
from dumbbell.cli.terminal.consoles import standard_output
from dumbbell.cli.terminal.output import say, tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.compare.quantity import Quantity
    from dumbbell.compare.results import Group, PivotRow, Selection
    from dumbbell.store import ListedRun, Store

FORMATS = (".csv", ".json", ".parquet")

results_app = typer.Typer(
    help="Stored results of dumbbell run: list, filter, pivot, export, forget.",
    invoke_without_command=True,
)

Folder = Annotated[
    Path | None, typer.Option("--store", envvar=VARIABLE, metavar="DIR", help="Where.")
]
Name = Annotated[str, typer.Option("--name", help="Of one experiment.", metavar="NAME")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Only runs with this setting.", metavar="PATH=VALUE"),
]
Backend = Annotated[str, typer.Option(help="Only runs on this backend: sim or kernel.")]


@results_app.callback()
def list_command(
    context: typer.Context,
    *,
    store: Folder = None,
    name: Name = "",
    where: Where = None,
    backend: Backend = "",
    as_json: Json = False,
) -> None:
    """List stored experiments, settings, replications, dates and versions."""
    if context.invoked_subcommand is not None:
        if name or where or backend or as_json:
            allowed = f"options after it: dumbbell results {context.invoked_subcommand} ..."
            raise SpecError("dumbbell results", context.invoked_subcommand, allowed)
        context.obj = store
        return
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.compare.results import grouped

    place, runs = _selected(store, _selection(name, where, backend))
    groups = grouped(runs)
    if as_json:
        say(json_text([_group_json(each) for each in groups]))
    elif groups:
        _print_groups(groups, place)


@results_app.command("pivot")
def pivot_command(
    context: typer.Context,
    quantity: Annotated[str, typer.Argument(help="Such as 'flow[bulk].goodput_bps'.")],
    *,
    by: Annotated[list[str], typer.Option(help="Path of a setting.", metavar="PATH")],
    store: Folder = None,
    name: Name = "",
    where: Where = None,
    backend: Backend = "",
    as_json: Json = False,
) -> None:
    """Print a quantity at each value of a setting: mean and 95 % interval over the replications."""
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.compare.quantity import Quantity
    from dumbbell.compare.results import of_latest_version, pivot

    wanted = Quantity.parse(quantity)
    place, runs = _selected(store or context.obj, _selection(name, where, backend))
    latest = of_latest_version(runs)
    if len(latest) < len(runs):
        tell(f"{len(runs) - len(latest)} runs of earlier versions are left out")
    rows = pivot(place, latest, wanted, by) if latest else []
    if as_json:
        say(json_text([_row_json(each, by) for each in rows]))
    elif rows:
        _print_pivot(rows, wanted, by)


@results_app.command("export")
def export_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A name that ends in .csv, .json or .parquet.")],
    *,
    store: Folder = None,
    name: Name = "",
    where: Where = None,
    backend: Backend = "",
) -> None:
    """Write one row per run, with its settings and all its numbers by path."""
    from dumbbell.compare.results import frame
    from dumbbell.folders import file_for_library, replaced_file

    if file.suffix not in FORMATS:
        raise SpecError("FILE", file, f"a name that ends in {', '.join(FORMATS)}")
    place, runs = _selected(store or context.obj, _selection(name, where, backend))
    if not runs:
        return
    table = frame(place, runs)
    with replaced_file(file) as new, file_for_library(new) as stream:
        if file.suffix == ".csv":
            table.write_csv(stream)
        elif file.suffix == ".json":
            stream.write(table.write_json().encode())
        else:
            table.write_parquet(stream)
    say(f"{file}: {table.height} runs")


@results_app.command("forget")
def forget_command(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(help="Of experiments.", metavar="NAME...")],
    *,
    store: Folder = None,
) -> None:
    """Remove all runs of the named experiments."""
    from dumbbell.spec.refusal import nearest, one_of

    place = _store(store or context.obj)
    with place.reader() as reader:
        known = sorted({name for names in reader.experiments().values() for name in names})
    # All or none: if one name is mistyped, no runs are removed.
    for name in names:
        if name not in known:
            allowed = one_of(known) if known else f"nothing: {place.folder} has no runs"
            raise SpecError("NAME", name, allowed, nearest(name, known))
    for name in dict.fromkeys(names):
        say(f"{name}: {place.forget(name)} runs forgotten")


def _store(folder: Path | None) -> Store:
    from dumbbell.store import Store

    return Store(DEFAULT if folder is None or str(folder) == NONE else folder)


def _selection(name: str, where: Sequence[str] | None, backend: str) -> Selection:
    from dumbbell.compare.results import Selection
    from dumbbell.spec import Setting

    settings = [Setting.parse(each) for each in where or ()]
    return Selection(
        name, tuple((each.path, str(each).partition("=")[2]) for each in settings), backend
    )


def _selected(folder: Path | None, selection: Selection) -> tuple[Store, list[ListedRun]]:
    from dumbbell.compare.results import selected

    store = _store(folder)
    runs = selected(store, selection)
    if not runs:
        tell(f"nothing is stored in {store.folder}")
    return store, runs


def _print_groups(groups: Sequence[Group], store: Store) -> None:
    from dumbbell.cli.terminal.tables import print_table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("experiment", "settings", "backend"):
        table.add_column(name, no_wrap=name != "settings")
    table.add_column("runs", justify="right", no_wrap=True)
    for name in ("last", "version"):
        table.add_column(name, no_wrap=True)
    for each in groups:
        settings = ", ".join(f"{path}={value}" for path, value in each.cell.settings)
        runs = f"{each.replications}{' (ensemble)' if each.cell.is_ensemble else ''}"
        cells = (
            each.cell.experiment,
            settings,
            each.backend,
            runs,
            (_date(each.last_unix_s) or "unknown")[:16].replace("T", " "),
        )
        table.add_row(*(Text(cell) for cell in (*cells, each.version)))
    console = standard_output()
    print_table(table, console)
    total = sum(each.replications for each in groups)
    console.print(Text(f"{total} runs in {store.folder}"), soft_wrap=True)


def _print_pivot(rows: Sequence[PivotRow], quantity: Quantity, by: Sequence[str]) -> None:
    from dumbbell.cli.run.number_texts import measured_text
    from dumbbell.cli.terminal.tables import print_table
    from dumbbell.compare.judging import Basis

    unit, _ = quantity.measure.shown_unit
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for path in (*by, "backend"):
        table.add_column(Text(path), no_wrap=True)
    named = f"{quantity.words}{f' {unit}' if unit else ''}"
    for head in (named, "runs"):
        table.add_column(Text(head), justify="right", no_wrap=True)
    for row in rows:
        value, n = measured_text(quantity, row.measured), str(row.measured.n)
        table.add_row(*(Text(each) for each in (*row.values, row.backend, value, n)))
    console = standard_output()
    print_table(table, console)
    legends = {
        Basis.MEAN: "±: 95 % interval of the mean",
        Basis.GEOMETRIC: "±%: 95 % interval of the geometric mean, as values are skewed",
        Basis.SPREAD: "in brackets: the least and the greatest of an ensemble",
    }
    bases = {row.measured.basis for row in rows}
    told = "; ".join(words for basis, words in legends.items() if basis in bases)
    if told:
        console.print(Text(told, style="dim"), soft_wrap=True)


def _group_json(group: Group) -> dict[str, object]:
    return {
        "experiment": group.cell.experiment,
        "settings": group.cell.by_path,
        "is_ensemble": group.cell.is_ensemble,
        "backend": group.backend,
        "replications": group.replications,
        "first": _date(group.first_unix_s),
        "last": _date(group.last_unix_s),
        "version": group.version,
    }


def _row_json(row: PivotRow, by: Sequence[str]) -> dict[str, object]:
    return {
        "settings": dict(zip(by, row.values, strict=True)),
        "backend": row.backend,
        "is_ensemble": row.is_ensemble,
        "value": row.measured.value,
        "low": row.measured.low,
        "high": row.measured.high,
        "basis": row.measured.basis.value,
        "n": row.measured.n,
    }


def _date(unix_s: int) -> str | None:
    from dumbbell.compare.results import moment

    when = moment(unix_s)
    return None if when is None else when.isoformat(timespec="seconds")

"""``[sweep]`` and ``--set`` made into cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.compare.axes import Axis, Grid, told_apart
from dumbbell.compare.cells import Cell, FailedCell
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.sweep_plans import Names, Plan, check_quantities, plans_of
from dumbbell.compare.sweep_spelling import Spelling
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Setting, separate_settings_applied, spelled_as
from dumbbell.spec.experiment import context
from dumbbell.spec.questions import parted
from dumbbell.spec.sweep_tables import AxisTable, SweepTable, read_figures
from dumbbell.spec.toml_file import load

if TYPE_CHECKING:
    from dumbbell.compare.comparison import Comparison

MOST_CELLS = 10_000
"""More are a mistake far more often than a wish, and no table or figure shows them."""


@dataclass(frozen=True)
class Sweep:
    """Cells that lie on a grid; nothing has been run.

    Attributes:
        cells: What can be run.
        refused: What is not allowed, each with its reason.
        grid: Parameters, and what is compared.
        figures: ``[[figure]]``, checked.
        replications: Of each cell, as the file says; None where it does not.
        precision: The same.
    """

    cells: tuple[Cell, ...]
    refused: tuple[FailedCell, ...]
    grid: Grid
    figures: tuple[Plan, ...] = ()
    replications: int | None = None
    precision: float | None = None

    def run(
        self, *, replications: int | None = None, precision: float | None = None, **options: Any
    ) -> Comparison:
        """Run all cells; see `compare` for the options and what it raises.

        Args:
            replications: In place of what the file says.
            precision: The same.
            **options: Of `compare`: ``backends``, ``jobs``, ``executor`` and so on.
        """
        from dumbbell.compare.comparison import compare

        if replications is None and precision is None:
            replications, precision = self.replications, self.precision
        return compare(
            self.cells,
            replications=replications,
            precision=precision,
            failed=self.refused,
            grid=self.grid,
            figures=self.figures,
            **options,
        )


def has_sweep(document: Mapping[str, Any]) -> bool:
    """Whether a file asks for one."""
    return "sweep" in document


def sweep_of(source: str | Path, settings: Sequence[Setting] = ()) -> Sweep:
    """The sweep of a file.

    Args:
        source: A path; or text in TOML.
        settings: A path with one value has it in every cell, also where the file sweeps over it; a
            path with several values is swept over, in place of what the file says of it. The
            file may spell the path otherwise.

    Raises:
        SpecError: It cannot be read, sweeps over nothing, has too many cells, or none of them is
            allowed, as where two paths set the same value; or a figure asks for what there is not.
    """
    document, folder = load(source)
    name = str(source) if isinstance(source, Path) or "\n" not in source else ""
    return sweep_of_document(document, folder, name, settings)


def sweep_of_document(
    document: Mapping[str, Any],
    folder: Path,
    source: str,
    settings: Sequence[Setting] = (),
    *,
    allow_programs: bool = False,
) -> Sweep:
    """The same of a file that was read; see `sweep_of`.

    Args:
        document: What stands in it.
        folder: From which paths in it start.
        source: The file.
        settings: As for `sweep_of`.
        allow_programs: As `Experiment.from_toml`.
    """
    described, asked = parted(document)
    table = SweepTable.read(asked["sweep"]) if "sweep" in asked else SweepTable({})
    figures = read_figures(asked.get("figure", []))
    fixed, dimensions = _merged(table, spelled_as(described, settings, table.paths))
    axes = told_apart([axis for dimension in dimensions for axis in dimension])

    def read(chosen: Sequence[Setting]) -> Experiment:
        # Anew each time: what a cell changes is its own.
        return Experiment.read(
            separate_settings_applied(described, chosen), context(folder, allow_programs)
        )

    gone = frozenset(_gone(table, fixed))
    paths = [*(each.path for each in axes), *table.paths]
    spelling = Spelling(described, tuple(dict.fromkeys(paths)), read)
    grid = _grid(table, dimensions, axes, spelling, gone)
    n = grid.n_cells
    if n > MOST_CELLS:
        counts = " x ".join(str(len(dimension[0].values)) for dimension in dimensions)
        raise SpecError("sweep", f"{counts} = {n} cells", f"at most {MOST_CELLS} cells")
    cells: list[Cell] = []
    refused: list[FailedCell] = []
    places: dict[str, tuple[int, ...]] = {}
    for place in grid.places():
        label = grid.label(place)
        if label in places:
            raise SpecError("sweep", label, "values that differ from each other")
        places[label] = place
        chosen = (*fixed, *_settings(grid, place))
        try:
            experiment = read(chosen)
        except SpecError as error:
            refused.append(FailedCell(label, chosen, source, error, place=place))
        else:
            cells.append(Cell(label, experiment, chosen, source, place))
    if not cells:
        raise refused[0].error
    names = Names(each.experiment for each in (cells[0], cells[-1]))
    check_quantities(grid, names)
    plans = plans_of(figures, grid, names, spelling=spelling, chosen=cells[0].settings, gone=gone)
    return Sweep(tuple(cells), tuple(refused), grid, plans, table.replications, table.precision)


def _gone(table: SweepTable, fixed: Sequence[Setting]) -> Iterator[str]:
    """Paths and names of parameters that have one value by now."""
    typed = {setting.path for setting in fixed}
    for axes in (table.crossed, *table.zipped):
        for path, axis in axes.items():
            if path in typed:
                yield from (path, axis.name or Axis.of(path, axis.given()).name)


def _settings(grid: Grid, place: Sequence[int]) -> Iterator[Setting]:
    for axis, index in zip(grid.axes, place, strict=True):
        yield Setting(axis.path, axis.values[index])


def _merged(
    table: SweepTable, settings: Sequence[Setting]
) -> tuple[tuple[Setting, ...], list[list[Axis]]]:
    """What holds in all cells, and the axes, those whose values go together in one list."""
    typed: dict[str, list[Any]] = {}
    for setting in settings:
        typed.setdefault(setting.path, []).append(setting.value)
    fixed = tuple(Setting(path, values[0]) for path, values in typed.items() if len(values) == 1)
    dimensions: list[list[Axis]] = []
    for path, axis in table.crossed.items():
        if path not in typed:
            dimensions.append([_axis(path, axis)])
        elif len(typed[path]) > 1:
            dimensions.append([_retyped(path, axis, typed[path])])
    for zipped in table.zipped:
        left = [_axis(path, axis) for path, axis in zipped.items() if path not in typed]
        if left:
            dimensions.append(left)
    for path, values in typed.items():
        if len(values) > 1 and path not in table.crossed:
            dimensions.append([Axis.of(path, values)])
    return fixed, dimensions


def _axis(path: str, table: AxisTable) -> Axis:
    given = table.given()
    return Axis.of(path, given, text=table.text or "", name=table.name or "", unit=table.unit or "")


def _retyped(path: str, table: AxisTable, values: Sequence[Any]) -> Axis:
    """With values from the command line, which are what is set: there is no text around them."""
    return Axis.of(path, values, name=table.name or "", unit=table.unit or "")


def _grid(
    table: SweepTable,
    dimensions: Sequence[Sequence[Axis]],
    axes: Sequence[Axis],
    spelling: Spelling,
    gone: Set[str],
) -> Grid:
    numbers = iter(range(len(axes)))
    shape = tuple(tuple(next(numbers) for _ in dimension) for dimension in dimensions)
    quantities = []
    for number, path in enumerate(table.quantities):
        try:
            quantities.append(Quantity.parse(path))
        except SpecError as error:
            where = f"sweep.quantities[{number}]"
            raise SpecError(where, error.value, error.allowed, error.hint) from None
    bare = Grid(tuple(axes), shape, quantities=tuple(quantities))
    words = [number for number, axis in enumerate(axes) if not axis.is_numeric]
    along = words[0] if words else 0
    # Along a parameter that the command line gave one value nothing can be compared.
    if table.compare is not None and not {table.compare, spelling.path(table.compare)} & gone:
        along = bare.number(table.compare, "sweep.compare", spelling.path)
    return replace(bare, along=along, spelling=spelling)

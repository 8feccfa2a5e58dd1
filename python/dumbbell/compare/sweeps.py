"""Make the cells of a ``[sweep]`` table and of ``--set``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.compare.axes import Axis, Grid, with_unique_names
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
"""Most cells: more are usually a mistake, and no table or figure can show them."""


@dataclass(frozen=True)
class Sweep:
    """Cells that lie on a grid; nothing has been run.

    Attributes:
        cells: Cells that can be run.
        refused: Cells that are not allowed, with reasons.
        grid: Parameters, and the base of each comparison.
        figures: Plans of the ``[[figure]]`` tables.
        replications: Replications of each cell, from the file; None without.
        precision: Precision, from the file; None without.
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
        """Run all cells; see `compare` for the options and exceptions.

        Args:
            replications: Overrides the file's value.
            precision: Overrides the file's value.
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
    """Whether a file has a sweep."""
    return "sweep" in document


def sweep_of(source: str | Path, settings: Sequence[Setting] = ()) -> Sweep:
    """Read the sweep of a file.

    Args:
        source: A path, or TOML text.
        settings: A path with one value fixes it in every cell, even if the file sweeps over it; a
            path with several values is swept over instead of the file's values. The path may be
            spelled differently.

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
    """Like `sweep_of`, for a file that was parsed before.

    Args:
        document: The parsed file.
        folder: Folder that relative paths start from.
        source: The file.
        settings: As in `sweep_of`.
        allow_programs: See `Experiment.from_toml`.
    """
    described, asked = parted(document)
    table = SweepTable.read(asked["sweep"]) if "sweep" in asked else SweepTable({})
    figures = read_figures(asked.get("figure", []))
    fixed, dimensions = _merged(table, spelled_as(described, settings, table.paths))
    axes = with_unique_names([axis for dimension in dimensions for axis in dimension])

    def read(chosen: Sequence[Setting]) -> Experiment:
        # Parsed anew each time: a cell modifies its copy.
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
    """Paths and names of parameters that the command line fixed."""
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
    """Fixed settings, and the axes, grouped by dimension."""
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
    """The values of the command line: they are complete, so the file's text template does not
    apply.
    """
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
    # A parameter that the command line fixed has nothing to compare along.
    if table.compare is not None and not {table.compare, spelling.path(table.compare)} & gone:
        along = bare.number(table.compare, "sweep.compare", spelling.path)
    return replace(bare, along=along, spelling=spelling)

"""Plans of a sweep's figures: as the file asks, checked before any run, or the defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dumbbell.compare.axes import BACKEND, Axis, Grid
from dumbbell.compare.measures import MeasureSubject, Scale
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import named_groups
from dumbbell.compare.sweep_spelling import Spelling
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Resolved, Setting
from dumbbell.spec.programs import programs_of
from dumbbell.spec.refusal import nearest, one_of, shown
from dumbbell.spec.sweep_tables import FigureTable

MOST_PANELS = 12
"""Most panels that are readable."""
MOST_COLOURS = 8
"""Most curves that can be told apart in one panel."""

Parameter: TypeAlias = int
"""Index of an axis of the grid."""
BACKENDS: Parameter = -1
"""Pseudo-axis that distinguishes backends."""

_LESS_IS_BETTER = frozenset({"loss_ratio", "mark_ratio", "mean_backlog_pkts", "mean_system_pkts"})
_MORE_IS_BETTER = frozenset({"jain_index", "completed_transfers"})


@dataclass(frozen=True, kw_only=True)
class FigurePlan:
    """Fields that all kinds of figures have.

    Attributes:
        colour: The parameter shown by colour.
        facet: The parameter with one panel per value.
        where: Index of the one value drawn, by parameter.
        title: Heading; empty for the default.
    """

    colour: Parameter | None = None
    facet: Parameter | None = None
    where: Mapping[Parameter, int] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Lines(FigurePlan):
    """A quantity over a parameter, with its interval as a band."""

    x: Parameter
    y: Quantity


@dataclass(frozen=True, kw_only=True)
class HeatMap(FigurePlan):
    """A quantity over two parameters."""

    x: Parameter
    y: Parameter
    shown: Quantity


@dataclass(frozen=True, kw_only=True)
class Pareto(FigurePlan):
    """One quantity against another, with the Pareto front.

    Attributes:
        x_sign: 1 if more of x is better, -1 if less is.
        y_sign: The same for y.
    """

    x: Quantity
    y: Quantity
    x_sign: int
    y_sign: int


Plan: TypeAlias = Lines | HeatMap | Pareto


class Names:
    """Names of flows, queues, probes and programs in some experiments, for quantities."""

    def __init__(self, experiments: Iterable[Experiment]) -> None:
        """Collect the names."""
        self._names: dict[MeasureSubject, dict[str, None]] = {of: {} for of in MeasureSubject}
        self._names[MeasureSubject.NETWORK][""] = None
        for experiment in experiments:
            described = Resolved(experiment.resolved())
            for of, names in (
                (MeasureSubject.FLOWS, named_groups(described.mapping)),
                (MeasureSubject.FLOW, [flow["name"] for flow in described.mapping["flows"]]),
                (MeasureSubject.PROBE, [probe["name"] for probe in described.mapping["probes"]]),
                (MeasureSubject.PROGRAM, [each["name"] for each in programs_of(described.mapping)]),
                (MeasureSubject.QUEUE, experiment.queue_names),
            ):
                self._names[of].update(dict.fromkeys(names))

    def check(self, quantity: Quantity, where: str) -> Quantity:
        """Check that the quantity exists.

        Raises:
            SpecError: There is no such flow, queue, probe or program.
        """
        known = list(self._names[quantity.of])
        if quantity.name in known:
            return quantity
        paths = [f"{quantity.of.value}[{name}].{quantity.metric}" for name in known]
        for of, metric in (
            (MeasureSubject.FLOW, "goodput_bps"),
            (MeasureSubject.FLOWS, "total_goodput_bps"),
        ):
            if not paths and quantity.of in (MeasureSubject.FLOW, MeasureSubject.FLOWS):
                paths = [f"{of.value}[{name}].{metric}" for name in self._names[of]]
        allowed = one_of(paths) if paths else f"nothing: there is no {quantity.of.value}"
        raise SpecError(where, quantity.path, allowed, nearest(quantity.path, paths))


def check_quantities(grid: Grid, names: Names) -> None:
    """Check the quantities of a sweep's tables.

    Raises:
        SpecError: A quantity does not exist.
    """
    for number, quantity in enumerate(grid.quantities):
        names.check(quantity, f"sweep.quantities[{number}]")


def plans_of(
    tables: Sequence[FigureTable],
    grid: Grid,
    names: Names,
    *,
    spelling: Spelling | None = None,
    chosen: Sequence[Setting] = (),
    gone: Iterable[str] = (),
) -> tuple[Plan, ...]:
    """The plans of the figures that a file asks for.

    Args:
        tables: The ``[[figure]]`` tables.
        grid: Grid of the sweep.
        names: Names for quantities.
        spelling: Resolves other spellings of parameters and values; None for the grid's own only.
        chosen: A cell's settings, for ``spelling``.
        gone: Parameters of the file that the command line fixed at one value: figures ignore them,
            and a figure over such a parameter is left out.

    Raises:
        SpecError: A figure names an unknown parameter or quantity, or does not say how a parameter
            that varies is drawn.
    """
    left = frozenset(gone)
    meaning = _Meaning(grid, spelling, chosen, left)
    found = []
    for number, table in enumerate(tables):
        over = {"pareto": (), "lines": (table.x,), "heatmap": (table.x, table.y)}[table.kind]
        if not any(each and meaning.is_gone(each) for each in over):
            found.append(_Asked(table, f"figure[{number}]", meaning, names).plan())
    return tuple(found)


@dataclass(frozen=True)
class _Meaning:
    """Resolves names, paths and values of parameters."""

    grid: Grid
    spelling: Spelling | None
    chosen: Sequence[Setting]
    gone: frozenset[str]

    def is_gone(self, parameter: str) -> bool:
        """Whether the command line fixed it at one value."""
        return parameter in self.gone or self._path(parameter) in self.gone

    def axis(self, parameter: str, where: str) -> Parameter:
        """Index of a parameter's axis.

        Raises:
            SpecError: The sweep has no such parameter.
        """
        return self.grid.number(parameter, where, self._path)

    def value(self, axis: Axis, value: Any, where: str) -> int:
        """Index of a value, by its text or by its effect.

        Raises:
            SpecError: The axis has no such value, or two that set the same.
        """
        wanted = shown(value)
        given = [shown(each) for each in axis.values]
        labels = [*given, *axis.labels]
        if wanted in labels:
            return labels.index(wanted) % len(given)
        same = [] if self.spelling is None else self.spelling.numbers(axis, value, self.chosen)
        if len(same) == 1:
            return same[0]
        if same:
            allowed = one_of([given[each] for each in same])
            raise SpecError(where, wanted, allowed, reason="each of them sets the same")
        raise SpecError(where, wanted, one_of(list(axis.labels)), nearest(wanted, labels))

    def _path(self, parameter: str) -> str:
        return parameter if self.spelling is None else self.spelling.path(parameter)


class _Asked:
    """One ``[[figure]]`` table, and its path for errors."""

    def __init__(self, table: FigureTable, where: str, meaning: _Meaning, names: Names) -> None:
        self._table, self._where, self._names = table, where, names
        self._meaning, self._grid = meaning, meaning.grid

    def plan(self) -> Plan:
        table = self._table
        common = {
            "colour": self._parameter("colour") if table.kind != "heatmap" else None,
            "facet": self._parameter("facet"),
        }
        where, title = self._fixed(), table.title or ""
        if table.kind == "pareto":
            x, y = self._quantity("x"), self._quantity("y")
            return Pareto(
                x=x, y=y, x_sign=self._sign("x", x), y_sign=self._sign("y", y),
                **common, where=where, title=title,
            )  # fmt: skip
        x_axis = self._needed("x")
        if table.kind == "heatmap":
            plan: Lines | HeatMap = HeatMap(
                x=x_axis, y=self._needed("y"), shown=self._quantity("colour"),
                **common, where=where, title=title,
            )  # fmt: skip
        else:
            plan = Lines(x=x_axis, y=self._quantity("y"), **common, where=where, title=title)
        self._check_drawn(plan)
        return plan

    def _parameter(self, key: str) -> Parameter | None:
        name = getattr(self._table, key)
        if name is None or self._meaning.is_gone(name):
            return None
        if name == BACKEND:
            return BACKENDS
        return self._meaning.axis(name, f"{self._where}.{key}")

    def _needed(self, key: str) -> Parameter:
        found = self._parameter(key)
        assert found is not None
        return found

    def _quantity(self, key: str) -> Quantity:
        where, path = f"{self._where}.{key}", getattr(self._table, key)
        try:
            found = Quantity.parse(path)
        except SpecError as error:
            raise SpecError(where, error.value, error.allowed, error.hint) from None
        return self._names.check(found, where)

    def _sign(self, key: str, quantity: Quantity) -> int:
        said = getattr(self._table, f"{key}_better")
        sign = {"less": -1, "more": 1}.get(said or "") or better_sign(quantity)
        if sign is None:
            where = f"{self._where}.{key}_better"
            raise SpecError(where, "nothing", f"'less' or 'more': {quantity} does not say")
        return sign

    def _fixed(self) -> dict[Parameter, int]:
        found: dict[Parameter, int] = {}
        first: dict[Parameter, str] = {}
        for name, value in self._table.where.items():
            if self._meaning.is_gone(name):
                continue
            where = f"{self._where}.where.{name}"
            number = self._meaning.axis(name, where)
            before = first.setdefault(number, name)
            if before != name:
                allowed = f"either {shown(before)} or {shown(name)}"
                raise SpecError(where, shown(value), allowed, reason="they are one parameter")
            found[number] = self._meaning.value(self._grid.axes[number], value, where)
        return found

    def _check_drawn(self, plan: Lines | HeatMap) -> None:
        """Refuse plans that draw two cells at one position."""
        drawn = _drawn(plan)
        for dimension in self._grid.dimensions:
            axis = self._grid.axes[dimension[0]]
            if len(axis.values) > 1 and not drawn.intersection(dimension):
                keys = "`facet` or `where`" if isinstance(plan, HeatMap) else (
                    "`colour`, `facet` or `where`"
                )  # fmt: skip
                raise SpecError(
                    self._where, f"nothing for {axis.name}", f"{axis.name} in {keys}: it varies too"
                )
        if plan.facet is not None and plan.facet != BACKENDS:
            n = len(self._grid.axes[plan.facet].values)
            if n > MOST_PANELS:
                where = f"{self._where}.facet"
                raise SpecError(
                    where, f"{n} panels", f"a parameter of at most {MOST_PANELS} values"
                )


def _drawn(plan: Lines | HeatMap) -> set[Parameter]:
    channels = {plan.x, *plan.where}
    channels.update(each for each in (plan.colour, plan.facet) if each is not None)
    if isinstance(plan, HeatMap):
        channels.add(plan.y)
    return channels


def better_sign(quantity: Quantity) -> int | None:
    """1 if more is better, -1 if less is; None if neither."""
    if quantity.metric in _LESS_IS_BETTER:
        return -1
    if quantity.metric in _MORE_IS_BETTER:
        return 1
    return {Scale.DELAY: -1, Scale.TAIL: -1, Scale.RATE: 1, Scale.SHARE: 1}.get(
        quantity.measure.scale
    )


def default_plans(
    grid: Grid, n_backends: int, latency: Quantity | None, goodput: Quantity | None
) -> list[Plan]:
    """Default figures: lines or dots, a heat map, a Pareto front.

    Args:
        grid: Grid of the sweep.
        n_backends: Number of backends.
        latency: The row used for latency; None without one.
        goodput: The row used for throughput; None without one.
    """
    free = [dimension for dimension in grid.dimensions if len(grid.axes[dimension[0]].values) > 1]
    leading = [_leading(grid, dimension) for dimension in free]
    numeric = sorted(
        (each for each in leading if grid.axes[each].is_numeric),
        key=lambda each: -len(grid.axes[each].values),
    )
    words = [each for each in leading if each not in numeric]
    backends = [BACKENDS] if n_backends > 1 else []
    shown = [each for each in (latency, goodput) if each is not None]
    found: list[Plan] = []
    ordered = [*numeric[:1], *words, *numeric[1:]] if numeric else words
    if ordered:
        x, *others = ordered
        colour, facet, where = _shared(grid, [*backends, *others])
        found += [Lines(x=x, y=each, colour=colour, facet=facet, where=where) for each in shown]
    if len(numeric) > 1:
        x, y = numeric[:2]
        _, facet, where = _shared(grid, [*backends, *words, *numeric[2:]], colours=0)
        found += [HeatMap(x=x, y=y, shown=each, facet=facet, where=where) for each in shown[:1]]
    if latency is not None and goodput is not None and ordered:
        colour, *_ = _shared(grid, [*backends, *words, *numeric])
        found.append(Pareto(x=latency, y=goodput, x_sign=-1, y_sign=1, colour=colour))
    return found


def _leading(grid: Grid, dimension: Sequence[int]) -> int:
    """The axis that represents a dimension: the first numeric one, or else the first."""
    return next((each for each in dimension if grid.axes[each].is_numeric), dimension[0])


def _shared(
    grid: Grid, others: Sequence[Parameter], colours: int = MOST_COLOURS
) -> tuple[Parameter | None, Parameter | None, dict[Parameter, int]]:
    """Assign the remaining parameters to colours, panels or a fixed first value."""
    colour: Parameter | None = None
    facet: Parameter | None = None
    where: dict[Parameter, int] = {}
    for each in others:
        n = 2 if each == BACKENDS else len(grid.axes[each].values)
        if colour is None and n <= colours:
            colour = each
        elif facet is None and n <= MOST_PANELS:
            facet = each
        else:
            where[each] = 0
    return colour, facet, where


def axis_of(grid: Grid, parameter: Parameter, backends: Sequence[str]) -> Axis:
    """The axis of a parameter, including that of the backends."""
    return Axis.of(BACKEND, backends) if parameter == BACKENDS else grid.axes[parameter]

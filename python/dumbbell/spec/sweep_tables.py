"""The tables ``[sweep]`` and ``[[figure]]`` of an experiment file.

`dumbbell.compare.sweeps` resolves their paths; it has the experiment and its quantities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from dumbbell.errors import SpecError
from dumbbell.spec.base import SpecModel
from dumbbell.spec.refusal import Refused, joined, nearest, one_of, shown

MOST_VALUES = 10_000
"""Of one path."""
_MOST_FIGURES = 50
_NUMBER = re.compile(r"\s*(?P<number>[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>[A-Za-z]*)\s*")
_A_LIST = "a list of values, such as [1, 2, 5], or a table with `values` or `from`, `to`, `steps`"

_T = TypeVar("_T")
Word = Annotated[str, Field(min_length=1, max_length=80)]
Place = Annotated[str, Field(min_length=1, max_length=200)]


class AxisTable(SpecModel):
    """Values of one path as a table, for a range, a template or a label."""

    values: list[Any] | None = Field(
        default=None, min_length=1, max_length=MOST_VALUES, description="In place of a range."
    )
    from_: int | float | str | None = Field(
        default=None,
        alias="from",
        description="First value of a range: a number, or a quantity with its unit.",
        json_schema_extra={"x-unit": "number, quantity"},
    )
    to: int | float | str | None = Field(
        default=None,
        description="Last value, in the same unit.",
        json_schema_extra={"x-unit": "number, quantity"},
    )
    steps: Annotated[int, Field(ge=2, le=MOST_VALUES)] | None = Field(
        default=None, description="How many values, both ends included."
    )
    scale: Literal["linear", "log"] = Field(
        default="linear", description="Equal distances, or equal ratios."
    )
    text: Word | None = Field(
        default=None,
        description="What is set, with the value in place of `{}`: `pfifo limit {}`.",
    )
    name: Word | None = Field(default=None, description="What tables and figures call it.")
    unit: Word | None = Field(
        default=None, description="Of plain numbers, for tables and figures: `packets`."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        ends = {"from": self.from_, "to": self.to, "steps": self.steps}
        missing = [key for key, value in ends.items() if value is None]
        if self.values is not None and len(missing) < len(ends):
            raise Refused("values and a range", "either `values` or `from`, `to` and `steps`")
        if self.values is None and missing:
            what = "nothing" if len(missing) == len(ends) else f"no {missing[0]}"
            raise Refused(what, "`values`, or `from`, `to` and `steps`")
        if self.text is not None and self.text.count("{}") != 1:
            raise Refused(self.text, "text with one {} in it, for the value", path="text")
        return self

    def given(self) -> list[Any]:
        """The values, with ranges expanded, before insertion into the template.

        Raises:
            Refused: The ends make no range.
        """
        if self.values is not None:
            return list(self.values)
        assert self.steps is not None
        shares = [number / (self.steps - 1) for number in range(self.steps)]
        found, unit = self._between(shares)
        # A range between whole numbers gives whole numbers, unless its step is fractional.
        ends_are_whole = isinstance(self.from_, int) and isinstance(self.to, int)
        is_even = self.scale == "log" or not (found[-1] - found[0]) % (self.steps - 1)
        numbers = self._rounded(found, ends_are_whole and is_even)
        if len(set(numbers)) < len(numbers):
            raise Refused(self.steps, "so few that the values differ", path="steps")
        return [f"{each:.10g}{unit}" for each in numbers] if unit else list(numbers)

    def value_at(self, share: float) -> Any:
        """The value at a position from 0 to 1 of the range, ignoring its steps.

        Raises:
            Refused: The ends make no range, or there is none.
        """
        if self.values is not None:
            raise Refused("values", "a range", path="values")
        found, unit = self._between([share])
        whole = isinstance(self.from_, int) and isinstance(self.to, int)
        (number,) = self._rounded(found, whole)
        return f"{number:.10g}{unit}" if unit else number

    def _between(self, shares: Sequence[float]) -> tuple[list[float], str]:
        """Values at shares, 0 to 1, of the range, and their unit."""
        assert self.from_ is not None and self.to is not None
        (low, unit), (high, other) = (_end(self.from_, "from"), _end(self.to, "to"))
        if unit != other:
            raise Refused(self.to, f"a value in the unit of `from`, {unit or 'none'}", path="to")
        if self.scale == "log" and not (low > 0 and high > 0):
            raise Refused(self.scale, "`linear`, or a range above 0", path="scale")
        if self.scale == "log":
            found = [low * (high / low) ** share for share in shares]
        else:
            found = [low + (high - low) * share for share in shares]
        exact = {0.0: low, 1.0: high}
        return [exact.get(share, each) for share, each in zip(shares, found, strict=True)], unit

    def _rounded(self, found: Sequence[float], whole: bool) -> list[float]:
        # Logarithmic ranges give irrational numbers; round them to a few digits.
        digits = 4 if self.scale == "log" else 10
        return [round(each) if whole else float(f"{each:.{digits}g}") for each in found]


def _end(value: int | float | str, key: str) -> tuple[float, str]:
    if not isinstance(value, str):
        return float(value), ""
    match = _NUMBER.fullmatch(value)
    if match is None or not math.isfinite(float(match["number"])):
        raise Refused(value, "a number, or one with its unit, such as 5ms", path=key)
    return float(match["number"]), match["unit"]


class FigureTable(SpecModel):
    """``[[figure]]``: one figure of a sweep."""

    kind: Literal["lines", "heatmap", "pareto"] = Field(
        description="`lines` with bands; `heatmap`; `pareto`, one number against another with the "
        "front marked."
    )
    x: Place = Field(description="A parameter; of `pareto` a quantity.")
    y: Place = Field(description="A quantity; of `heatmap` a parameter.")
    colour: Place | None = Field(
        default=None, description="A parameter; of `heatmap` the quantity that is shown."
    )
    facet: Place | None = Field(default=None, description="A parameter: a small panel for each.")
    where: dict[str, Any] = Field(
        default={},
        description="Parameter to the one value that is drawn.",
        json_schema_extra={"x-unit": "table"},
    )
    title: Word | None = Field(default=None, description="Above the figure.")
    x_better: Literal["less", "more"] | None = Field(
        default=None, description="Of `pareto`, where the quantity does not say."
    )
    y_better: Literal["less", "more"] | None = Field(default=None, description="The same of y.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind == "heatmap" and self.colour is None:
            raise Refused("nothing", "the quantity that a heat map shows", path="colour")
        return self


@dataclass(frozen=True, slots=True)
class SweepTable:
    """A parsed table ``[sweep]``, before its values are applied.

    Attributes:
        crossed: Values of each path that is crossed with the others.
        zipped: Tables of paths whose values vary together, with equal lengths.
        replications: Replications of each cell; None if not given.
        precision: Precision instead of a number; None if not given.
        quantities: Paths of the quantities in its tables; empty if not given.
        compare: The parameter along which cells are compared; None if not given.
    """

    crossed: Mapping[str, AxisTable]
    zipped: tuple[Mapping[str, AxisTable], ...] = ()
    replications: int | None = None
    precision: float | None = None
    quantities: tuple[str, ...] = ()
    compare: str | None = None

    @property
    def paths(self) -> list[str]:
        """Paths of all parameters."""
        return [*self.crossed, *(path for each in self.zipped for path in each)]

    @classmethod
    def read(cls, data: object) -> SweepTable:
        """The table of a file.

        Raises:
            SpecError: Something in it is not allowed.
        """
        if not isinstance(data, Mapping):
            raise SpecError("sweep", shown(data), "one table, [sweep]")
        known = _Plain.keys()
        plain = {key: data[key] for key in known if key in data}
        paths = {key: value for key, value in data.items() if key not in plain and key != "zip"}
        keys = _within("sweep", lambda: _Plain.read(plain))
        crossed = {path: _axis(path, value, ("sweep",)) for path, value in paths.items()}
        zips = data.get("zip", [])
        if not isinstance(zips, list) or not all(isinstance(each, Mapping) for each in zips):
            raise SpecError("sweep.zip", shown(zips), "tables of their own, [[sweep.zip]]")
        zipped = tuple(_zipped(each, f"sweep.zip[{n}]") for n, each in enumerate(zips))
        all_paths = [*crossed, *(path for each in zipped for path in each)]
        for path in all_paths:
            if all_paths.count(path) > 1:
                raise SpecError(f"sweep.{path}", "values twice", "values of a path in one place")
        if not all_paths:
            allowed = 'at least one path with values, such as "links[a->b].delay" = ["5ms", "50ms"]'
            raise SpecError("sweep", "no parameter", allowed)
        return cls(
            crossed,
            zipped,
            keys.replications,
            keys.precision,
            tuple(keys.quantities),
            keys.compare,
        )


class _Plain(SpecModel):
    """The keys of ``[sweep]`` that are not paths."""

    replications: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Runs of each cell; 10 where nothing is said."
    )
    precision: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="In place of a number of runs: half-width over mean that each cell has to "
        "reach, such as 0.05.",
        json_schema_extra={"x-unit": "number"},
    )
    quantities: list[Place] = Field(
        default=[],
        max_length=50,
        description="What its tables show and its differences are of, such as "
        "`probe[call].rtt_p95_ms`; a few that say most when left out.",
    )
    compare: Place | None = Field(
        default=None,
        description="The parameter along which cells are compared: each with the one that has its "
        "first value, all else equal. The first that is no number when left out.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.replications is not None and self.precision is not None:
            raise Refused(self.precision, "either replications or precision", path="precision")
        return self


def sweep_schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """JSON schemas: of the keys ``sweep`` and ``figure``, and of the tables that they name."""
    values: dict[str, Any] = {
        "anyOf": [{"type": "array", "minItems": 1}, {"$ref": "#/$defs/SweptValues"}]
    }
    sweep = _Plain.model_json_schema()
    sweep["properties"]["zip"] = {
        "type": "array",
        "items": {"type": "object", "minProperties": 1, "additionalProperties": values},
        "default": [],
        "description": "Tables of paths whose values go together: the first ones, the second ones.",
    }
    sweep = {**sweep, "additionalProperties": values, "title": "Sweep"}
    keys = {
        "sweep": {
            "$ref": "#/$defs/Sweep",
            "x-unit": "table",
            "description": "Values of parameters by their paths, crossed.",
        },
        "figure": {
            "type": "array",
            "items": {"$ref": "#/$defs/Figure"},
            "x-unit": "list of tables",
            "description": "What the page of a sweep shows.",
        },
    }
    tables = {
        "Sweep": sweep,
        "SweptValues": AxisTable.model_json_schema(),
        "Figure": FigureTable.model_json_schema(),
    }
    return keys, tables


def read_figures(data: object) -> tuple[FigureTable, ...]:
    """The tables ``[[figure]]`` of a file.

    Raises:
        SpecError: Something in one is not allowed.
    """
    if not isinstance(data, list) or len(data) > _MOST_FIGURES:
        allowed = f"at most {_MOST_FIGURES} tables of their own, [[figure]]"
        raise SpecError("figure", shown(data), allowed)
    return tuple(
        _within(f"figure[{number}]", partial(FigureTable.read, each))
        for number, each in enumerate(data)
    )


def _zipped(table: Mapping[str, Any], where: str) -> Mapping[str, AxisTable]:
    found = {path: _axis(path, value, (where,)) for path, value in table.items()}
    if not found:
        raise SpecError(where, "an empty table", "paths with as many values each")
    counts = {path: len(_given(where, path, each)) for path, each in found.items()}
    first, n = next(iter(counts.items()))
    for path, count in counts.items():
        if count != n:
            raise SpecError(f"{where}.{path}", f"{count} values", f"{n}, as many as {first} has")
    return found


def _axis(path: str, value: object, where: tuple[str, ...]) -> AxisTable:
    place = joined(*where, path)
    known = (*_Plain.keys(), "zip")
    if isinstance(value, list):
        found = _within(place, lambda: AxisTable.read({"values": value}))
    elif isinstance(value, Mapping) and (not value or set(value) & set(AxisTable.keys())):
        found = _within(place, lambda: AxisTable.read(value))
    elif isinstance(value, Mapping):
        inner = next(iter(value))
        allowed = f'a path in quotation marks, such as "{path}.{inner}" = [...]'
        raise SpecError(place, "a table", allowed)
    elif nearest(path, known):
        raise SpecError(place, path, one_of(known), nearest(path, known))
    else:
        raise SpecError(place, shown(value), _A_LIST)
    _given(joined(*where), path, found)
    return found


def _given(where: str, path: str, table: AxisTable) -> list[Any]:
    return _within(joined(where, path), table.given)


def _within(where: str, make: Callable[[], _T]) -> _T:
    """The result of ``make``, with errors that have the path in the file."""
    try:
        return make()
    except Refused as error:
        place = joined(where, error.path)
        raise SpecError(place, error.value, error.allowed, error.hint) from None
    except SpecError as error:
        place = joined(where, error.path)
        raise SpecError(place, error.value, error.allowed, error.hint, error.reason) from None

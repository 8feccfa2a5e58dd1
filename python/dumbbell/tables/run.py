"""A run: the tables of one replication, from any backend or imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dumbbell.errors import MissingExtraError
from dumbbell.tables.codes import EVENT_NAMES, PLACE_NAMES, QUANTITY_NAMES, REASON_NAMES
from dumbbell.tables.errors import TableError
from dumbbell.tables.run_file import RunFile
from dumbbell.tables.schema import SCHEMA

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.plots import RunPlots

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Table: TypeAlias = Mapping[str, Array]
Origin = Literal["simulated", "kernel", "imported"]

_CODES: Mapping[tuple[str, str], Mapping[int, str]] = {
    ("distributions", "quantity"): QUANTITY_NAMES,
    ("captured_flows", "place"): PLACE_NAMES,
    ("captured_intervals", "place"): PLACE_NAMES,
    ("packets", "event"): EVENT_NAMES,
    ("packets", "reason"): REASON_NAMES,
}


@dataclass(frozen=True)
class Run:
    """One replication's tables, and where they come from.

    Treat everything in it as read-only: replications of an experiment share one ``spec``.

    Attributes:
        origin: Who made it.
        replication: Its number; 0 for an imported one.
        spec: The resolved description; None for an imported run.
        tables: Table to column to values, as `SCHEMA` defines them. An imported run has only
            the tables its source knows.
        meta: What is the same whenever the run is repeated: seed, versions, events, digest.
        provenance: What is not: host, date, time taken.
        files: Name to file, of what does not fit in tables; their hashes are in ``meta["files"]``.
    """

    origin: Origin
    replication: int
    spec: Mapping[str, Any] | None
    tables: Mapping[str, Table]
    meta: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, RunFile] = field(default_factory=dict)

    @property
    def queue_names(self) -> list[str]:
        """``a->b`` for each direction of each link, ``a->b#2`` for a parallel link."""
        return list(self._queue_names)

    @cached_property
    def _queue_names(self) -> list[str]:
        if self.spec is None:
            return list(self.meta.get("queue_names", []))
        seen: Counter[str] = Counter()
        names = []
        for link in self.spec["links"]:
            for sender, receiver in ((link["a"], link["b"]), (link["b"], link["a"])):
                base = f"{sender}->{receiver}"
                seen[base] += 1
                names.append(base if seen[base] == 1 else f"{base}#{seen[base]}")
        return names

    @property
    def flow_names(self) -> list[str]:
        """Names of the flows, in the order of the description."""
        return list(self._flow_names)

    @cached_property
    def _flow_names(self) -> list[str]:
        return self._names("flows", "flow_names")

    @property
    def probe_names(self) -> list[str]:
        """Names of the probes, in the order of the description."""
        return self._names("probes", "probe_names")

    @property
    def program_names(self) -> list[str]:
        """Names of the programs, in the order of the description."""
        return [each["name"] for each in (self.spec or {}).get("programs", ())]

    @property
    def series_names(self) -> list[str]:
        """Names of the series that programs of kind flent measured: ``bulk: TCP upload BE``."""
        return list(self.meta.get("series_names", ()))

    @property
    def plot(self) -> RunPlots:
        """Its figures, one call each, as in ``run.plot.queue()``; see `dumbbell.plots.RunPlots`."""
        # By name, as pandas loads what draws for it: tables know nothing of figures, and who draws
        # none loads no plotting library.
        plots: RunPlots = import_module("dumbbell.plots").RunPlots(self)
        return plots

    def queue(self, queue: str | int) -> int:
        """Index of a queue given by name or index.

        Raises:
            TableError: There is none.
        """
        return _index("queue", queue, self._queue_names)

    def flow(self, flow: str | int) -> int:
        """Index of a flow given by name or index.

        Raises:
            TableError: There is none.
        """
        return _index("flow", flow, self._flow_names)

    def probe(self, probe: str | int) -> int:
        """Index of a probe given by name or index.

        Raises:
            TableError: There is none.
        """
        return _index("probe", probe, self.probe_names)

    def columns(self, table: str) -> Table:
        """A table's columns by name.

        Raises:
            TableError: The run does not have that table.
        """
        if table not in self.tables:
            raise TableError("table", table, self.tables)
        return self.tables[table]

    def column(self, table: str, column: str, **equals: str | int) -> Array:
        """Values of a column, in the table's order, shape (rows that match,).

        Args:
            table: Such as ``queues``.
            column: Such as ``sojourn_mean_s``.
            **equals: Keep rows where these columns equal a value. ``queue``, ``flow``,
                ``probe`` and ``program`` take a name or an index; ``quantity``, ``event`` and
                ``reason`` a name or a code; others a number.

        Raises:
            TableError: There is no such table, column or name.
        """
        columns = self.columns(table)
        values = _of(columns, column, table)
        keep = None
        for key, wanted in equals.items():
            here = _of(columns, key, table) == self._code(table, key, wanted)
            keep = here if keep is None else keep & here
        return values if keep is None else values[keep]

    def table(self, name: str) -> pl.DataFrame:
        """A table as a Polars frame; indices and codes get a column of names beside them."""
        import polars as pl

        return pl.DataFrame(self.named_columns(name))

    def to_pandas(self, name: str) -> Any:
        """A table as a pandas frame.

        Raises:
            TableError: The run does not have that table.
            MissingExtraError: The extra ``pandas`` is not installed.
        """
        frame = self.table(name)
        try:
            return frame.to_pandas()
        except ImportError as error:
            raise MissingExtraError("to_pandas()", "pandas") from error

    def named_columns(self, table: str) -> dict[str, Array]:
        """A table's columns, each index or code followed by a column of names.

        A row without a flow or probe (-1) has the empty name.
        """
        out: dict[str, Array] = {}
        for key, values in self.columns(table).items():
            out[key] = values
            names = self._names_of(table, key)
            if names is not None:
                labels = [names.get(int(code), "") for code in values]
                out[f"{key}_name"] = np.array(labels, dtype=np.str_)
        return out

    def _names(self, key: str, imported: str) -> list[str]:
        if self.spec is None:
            return list(self.meta.get(imported, []))
        return [each["name"] for each in self.spec[key]]

    def _names_of(self, table: str, key: str) -> Mapping[int, str] | None:
        if (table, key) in _CODES:
            return _CODES[table, key]
        lists = {
            "queue": self.queue_names,
            "flow": self.flow_names,
            "probe": self.probe_names,
            "program": self.program_names,
            "series": self.series_names,
        }
        return dict(enumerate(lists[key])) if key in lists else None

    def _code(self, table: str, key: str, wanted: str | int) -> int:
        match key:
            case "queue":
                return self.queue(wanted)
            case "flow":
                return self.flow(wanted)
            case "probe":
                return self.probe(wanted)
            case "program" | "series":
                is_program = key == "program"
                return _index(key, wanted, self.program_names if is_program else self.series_names)
        if isinstance(wanted, str):
            names = _CODES.get((table, key), {})
            codes = {name: code for code, name in names.items()}
            if wanted not in codes:
                raise TableError(key, wanted, codes)
            return codes[wanted]
        return wanted


def _index(what: str, asked: str | int, names: list[str]) -> int:
    if isinstance(asked, str):
        if asked not in names:
            raise TableError(what, asked, names)
        return names.index(asked)
    if not 0 <= asked < len(names):
        raise TableError(what, asked, names)
    return asked


def _of(columns: Table, column: str, table: str) -> Array:
    if column not in columns:
        raise TableError(f"column of {table}", column, columns)
    return columns[column]


def check_schema(tables: Mapping[str, Table]) -> None:
    """Refuse tables that do not match `SCHEMA`: a fault of the code that made them.

    A table may be missing (an import); one that is there has every column, of equal length.

    Raises:
        TableError: A table or column has a name that is not defined, or is missing.
        ValueError: A column has another type or length.
    """
    for name, columns in tables.items():
        if name not in SCHEMA:
            raise TableError("definition of table", name, SCHEMA)
        defined = {column.name: column for column in SCHEMA[name]}
        for extra in columns.keys() - defined.keys():
            raise TableError(f"definition of column of {name}", extra, defined)
        for column in defined.values():
            values = _of(columns, column.name, name)
            if values.dtype != column.numpy:
                raise ValueError(f"{name}.{column.name} is {values.dtype}, not {column.dtype}")
        if len({values.shape for values in columns.values()}) > 1:
            raise ValueError(f"the columns of {name} differ in length")

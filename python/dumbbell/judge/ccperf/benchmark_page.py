"""CCPerf's tables with a column for each controller, on one page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dumbbell import __version__
from dumbbell.compare import Measured, MeasureSubject
from dumbbell.compare.page import number_cell
from dumbbell.compare.quantity import Quantity
from dumbbell.judge.ccperf.network import CCPERF
from dumbbell.judge.ccperf.rows import TITLES, ccperf_frame, cell_name, columns_of, rows_of
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.figures import outcome_bars
from dumbbell.judge.tables import csv_text
from dumbbell.judge.words import FAILS, HOLDS, OPEN
from dumbbell.metrics.ccperf import ROWS
from dumbbell.report import (
    Cell,
    Figure,
    IntervalRow,
    Report,
    Topology,
    ValueRow,
    ValueTable,
    points_with_interval,
)

BENCHMARK = "ccperf-benchmark"
"""Name of the page's study."""
_OUTCOMES = "outcomes"
_DRAWN = (("agg_throughput_l4", "throughput, all flows"), ("mean_flow_srtt_l4", "smoothed RTT"))


@dataclass(frozen=True, slots=True)
class _Tested:
    """A controller on a backend.

    Attributes:
        name: Its name, and that of the backend if there are several.
        dossier: Its results.
        backend: The backend.
    """

    name: str
    dossier: Dossier
    backend: str

    def section(self, reference: str) -> SectionResult:
        """Results of a scenario."""
        return next(each for each in self.dossier.found if each.section.reference == reference)

    def measured(self, reference: str, cell: str, quantity: Quantity) -> Measured | None:
        """A number of a cell by its name in figures; None if the cell failed there."""
        found = self.section(reference)
        for label, name, _ in columns_of(found, self.backend, quantity.of):
            if (cell_name(found, label), name) == (cell, quantity.name):
                return found.checked.comparison.measured(quantity, label, self.backend)
        return None


def question(dossiers: Sequence[Dossier]) -> str:
    """Title of the page."""
    return CCPERF.league_question.format(len(dossiers))


def answer(dossiers: Sequence[Dossier]) -> str:
    """How many expectations each holds at least and at most, and that this is no order."""
    held = [sum(len(found.holds) for found in each.found) for each in dossiers]
    asked = max(len(each.judged) for each in dossiers)
    return (
        f"Each of them holds between {min(held)} and {max(held)} of {asked} expectations of ours. "
        "CCPerf has no thresholds, and its metrics pull in different directions: the tables give "
        "no order."
    )


def benchmark_report(dossiers: Sequence[Dossier]) -> Report:
    """The page, with all numbers in ``metrics.csv``.

    Args:
        dossiers: Finished dossiers of the suite ``ccperf``, one for each controller.
    """
    n = dossiers[0].request.depth.replications
    several = len(dossiers[0].backends) > 1
    tested = [
        _Tested(f"{each.request.name}, {backend}" if several else each.request.name, each, backend)
        for each in dossiers
        for backend in each.backends
    ]
    frame = ccperf_frame(dossiers)
    first = dossiers[0].found[0].checked.comparison.cells[0]
    return Report(
        study=BENCHMARK,
        title=question(dossiers),
        summary=f"{answer(dossiers)} {CCPERF.caution}",
        answer=answer(dossiers),
        measured=f"{CCPERF.caution} {n} runs of each cell, 95 % intervals.",
        done=f"{CCPERF.network.format(controller='the same controller')} Each scenario is run "
        "for each controller, with the same seeds.",
        hero=_OUTCOMES,
        source=CCPERF.source,
        source_url=CCPERF.source_url,
        topologies=[Topology.of(CCPERF.drawn, first.experiment)],
        values=[table for place in _places(tested[0]) for table in _tables(tested, *place)],
        figures=[_overview(tested), *_figures(tested)],
        notes=[
            f"{found.section.heading} does not cover: {found.section.not_covered}"
            for found in dossiers[0].found
        ],
        meta={
            "controllers": [each.request.controller for each in dossiers],
            "depth": dossiers[0].request.depth.name.lower(),
            "replications": n,
            "backends": list(dossiers[0].backends),
            "dumbbell": __version__,
        },
        files={} if frame is None else {"metrics.csv": csv_text(frame)},
    )


def _places(first: _Tested) -> Iterator[tuple[str, str]]:
    """Every scenario's reference, with the name of each of its cells."""
    for found in first.dossier.found:
        for label in dict.fromkeys(found.written.labels):
            yield found.section.reference, cell_name(found, label)


def _tables(tested: Sequence[_Tested], reference: str, cell: str) -> Iterator[ValueTable]:
    """The tables of flows, links and the network of a cell, with a column for each controller."""
    for of, title in TITLES.items():
        names = dict.fromkeys(
            name
            for each in tested
            for label, name, _ in columns_of(each.section(reference), each.backend, of)
            if cell_name(each.section(reference), label) == cell
        )
        for name in names:
            rows = [
                ValueRow(
                    row.name,
                    row.unit,
                    [_cell(quantity, each.measured(reference, cell, quantity)) for each in tested],
                )
                for row in rows_of(of)
                for quantity in [Quantity(of, name, row.name)]
            ]
            of_flow = f", {name}" if of is MeasureSubject.FLOW and len(names) > 1 else ""
            yield ValueTable(
                title=f"{reference}, {cell}: {title.lower()}{of_flow}",
                columns=[each.name for each in tested],
                rows=rows,
                caption="Means over the runs, with 95 % intervals; the definitions are on the page "
                "of metrics.",
                is_folded=True,
            )


def _cell(quantity: Quantity, number: Measured | None) -> Cell:
    return Cell(words="–") if number is None else number_cell(quantity, number)


def _overview(tested: Sequence[_Tested]) -> Figure:
    """Outcomes of the expectations by controller."""
    counts = {
        each.name: {
            word: sum(
                judged.backend == each.backend
                for found in each.dossier.found
                for judged in getattr(found, attribute)
            )
            for word, attribute in ((HOLDS, "holds"), (FAILS, "fails"), (OPEN, "open"))
        }
        for each in tested
    }
    return Figure(
        _OUTCOMES,
        *outcome_bars(counts, "controller"),
        caption="Expectations of ours in all scenarios: how many hold, do not hold, and are not "
        "decided.",
        title="What holds, by controller",
    )


def _figures(tested: Sequence[_Tested]) -> Iterator[Figure]:
    """Throughput and round trip of each controller, in the first cell of each scenario."""
    first_cells: dict[str, str] = {}
    for reference, cell in _places(tested[0]):
        first_cells.setdefault(reference, cell)
    for reference, cell in first_cells.items():
        for name, told in _DRAWN:
            quantity = Quantity(MeasureSubject.NETWORK, "", name)
            rows = [
                _interval_row(each.name, number)
                for each in tested
                for number in [each.measured(reference, cell, quantity)]
                if number is not None and math.isfinite(number.value)
            ]
            if rows:
                yield Figure(
                    f"{reference}-{name}",
                    *points_with_interval(
                        rows,
                        x_title=f"{told} ({ROWS[name].unit})",
                        interval_title="95 % interval of the mean",
                    ),
                    caption=f"{name} of each controller: {cell}.",
                    title=f"{reference}: {told}",
                    family="Scenario by scenario",
                )


def _interval_row(name: str, number: Measured) -> IntervalRow:
    ends = (number.low, number.high) if number.has_ends else (None, None)
    return IntervalRow(name, number.value, *ends)

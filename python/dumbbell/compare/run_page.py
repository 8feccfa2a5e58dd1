"""The page of one run: description, the main figure, further figures, all numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from dumbbell import metrics
from dumbbell.compare.measures import MeasureSubject, measures_of
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary, summary_of
from dumbbell.plots import (
    NothingToDrawError,
    bottleneck,
    completion_by_size,
    cwnd_over_time,
    delay_cdf,
    ping_cdf,
    queue_over_time,
    rtt_over_time,
    throughput_over_time,
)
from dumbbell.plots.default_choice import tcp_flows
from dumbbell.plots.over_time import NO_SAMPLES
from dumbbell.report import Cell, Figure, LoadRow, Report, Topology, ValueRow, ValueTable
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.tables import Run

RUN = "run"
"""Name of the page's study."""
MOST_COLUMNS = 12
"""Most flows, queues or probes in one table; the files have all."""

_MANY_TRANSFERS = 20
_TITLES: Mapping[MeasureSubject, str] = {
    MeasureSubject.FLOWS: "Equal flows together",
    MeasureSubject.FLOW: "Flows",
    MeasureSubject.QUEUE: "Queues",
    MeasureSubject.PROBE: "Pings",
    MeasureSubject.PROGRAM: "Programs",
    MeasureSubject.NETWORK: "All flows",
}


def run_report(
    run: Run, experiment: Experiment, notes: Sequence[str] = (), summary: Summary | None = None
) -> Report:
    """The page of a run.

    Args:
        run: The run.
        experiment: The experiment.
        notes: Caveats for the reader.
        summary: Its summary, if already computed.
    """
    numbers = summary or summary_of(run)
    has_samples = bool(len(run.column("queue_samples", "t_ns")))
    return Report(
        study=RUN,
        title=experiment.name,
        summary=_words(run, numbers),
        topologies=[Topology.of(experiment.name, experiment)],
        values=list(value_tables(numbers)),
        figures=list(figures_of(run)),
        loads=[
            LoadRow(each.what, each.asked, each.measured, each.unit, each.note)
            for each in metrics.asked_and_measured(run)
        ],
        commands={experiment.name: list(testbed_lines(experiment))},
        notes=[*notes, *([] if has_samples else [f"No figure over time: {NO_SAMPLES}."])],
        meta={"experiment": experiment.resolved(), **run.meta},
        provenance=run.provenance,
    )


def figures_of(run: Run) -> Iterator[Figure]:
    """The figures that the run has data for, the main one first.

    The main figure shows completion times if there are transfers; otherwise the queue with its
    drops if packets waited; otherwise whatever is available.
    """
    drawn: dict[str, Figure] = {}
    makers: Mapping[str, Callable[[Run], Figure]] = {
        "queue": queue_over_time,
        "throughput": throughput_over_time,
        "cwnd": cwnd_over_time,
        "delay-cdf": delay_cdf,
        "completion": completion_by_size,
        "rtt": rtt_over_time,
        "ping-cdf": ping_cdf,
    }
    for name, make in makers.items():
        try:
            drawn[name] = make(run)
        except NothingToDrawError:
            continue
    first = [name for name in _heroes(run) if name in drawn][:1]
    for name in [*first, *(name for name in drawn if name not in first)]:
        yield drawn[name]


def value_tables(summary: Summary) -> Iterator[ValueTable]:
    """All defined numbers of a run: flows, queues, pings and the network.

    Queues without waiting or dropped packets are left out.
    """
    for of, title in _TITLES.items():
        names = summary.names(of)
        if of is MeasureSubject.QUEUE:
            names = [name for name in names if _is_waited_in(summary.of(of, name))]
        shown = names[:MOST_COLUMNS]
        rows = list(_rows(summary, of, shown))
        if rows:
            yield ValueTable(
                title,
                [name or "total" for name in shown],
                rows,
                caption=f"The first {len(shown)} of {len(names)}; the tables have all."
                if len(names) > len(shown)
                else "",
            )


def _rows(summary: Summary, of: MeasureSubject, names: Sequence[str]) -> Iterator[ValueRow]:
    for measure in measures_of(of):
        if measure.of_recorded:
            continue
        unit, factor = measure.shown_unit
        values = [summary.values.get(Quantity(of, name, measure.name), math.nan) for name in names]
        if not all(map(math.isnan, values)):
            words = measure.words[:1].upper() + measure.words[1:]
            yield ValueRow(words, unit, [Cell(factor * each, digits=4) for each in values])


def _is_waited_in(numbers: Mapping[str, float]) -> bool:
    return numbers["max_sojourn_s"] > 0 or numbers["loss_ratio"] > 0


def _heroes(run: Run) -> list[str]:
    transfers = (
        int((run.column("transfers", "completed_ns") >= 0).sum())
        if "transfers" in run.tables
        else 0
    )
    if transfers >= _MANY_TRANSFERS:
        return ["completion"]
    # A queue over time is informative if a congestion window drives it; for random arrivals its
    # distribution is.
    return ["queue", "delay-cdf"] if tcp_flows(run) else ["delay-cdf", "queue"]


def _words(run: Run, summary: Summary) -> str:
    queue = bottleneck(run)
    sentences = []
    if queue is None:
        sentences.append("No packet waited in any queue.")
    else:
        numbers = summary.of(MeasureSubject.QUEUE, queue)
        p50, p95 = (1e3 * numbers[f"sojourn_p{percent}_s"] for percent in (50, 95))
        sentences.append(
            f"Sojourn time in {queue}: median {p50:.3g} ms, 95th percentile {p95:.3g} ms; "
            f"{100 * numbers['loss_ratio']:.2g} % of packets were dropped."
        )
        sentences.append(f"Its link was busy for {100 * numbers['utilization']:.3g} % of the time.")
    sentences.append(
        f"One run (replication {run.replication}), so numbers have no intervals; "
        "--replications 10 adds them."
    )
    return " ".join(sentences)

"""The page of one run: what was run, one figure that says most, the others, all numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dumbbell import metrics
from dumbbell.plots.chosen import bottleneck, tcp_flows
from dumbbell.plots.distributions import completion_by_size, delay_cdf, ping_cdf
from dumbbell.plots.errors import NothingToDrawError
from dumbbell.plots.over_time import (
    NO_SAMPLES,
    cwnd_over_time,
    queue_over_time,
    rtt_over_time,
    throughput_over_time,
)
from dumbbell.report import Cell, Figure, LoadRow, Report, Topology, ValueRow, ValueTable
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.tables import Run

RUN = "run"
"""What a run's page calls its study."""
MOST_COLUMNS = 12
"""Flows, queues or probes side by side; the tables have all."""

_MANY_TRANSFERS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of flows, queues or probes.

    Attributes:
        name: Of what was measured.
        unit: Of its cells.
        of: From a run and the name of a flow, queue or probe to the number.
    """

    name: str
    unit: str
    of: Callable[[Run, str], float]

    def cell(self, run: Run, name: str) -> Cell:
        """Four digits of it."""
        return Cell(float(self.of(run, name)), digits=4)


def run_report(run: Run, experiment: Experiment, notes: Sequence[str] = ()) -> Report:
    """The page of a run.

    Args:
        run: What happened.
        experiment: What was run.
        notes: What a reader should know before trusting a number.
    """
    figures = list(figures_of(run))
    has_samples = bool(len(run.column("queue_samples", "t_ns")))
    return Report(
        study=RUN,
        title=experiment.name,
        summary=_summary(run),
        topologies=[Topology.of(experiment.name, experiment)],
        values=list(_values(run)),
        figures=figures,
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
    """The figures there can be, the one that says most first.

    Completion times where there are transfers; else the queue with its drops where packets waited;
    else whatever there is.
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


def _heroes(run: Run) -> list[str]:
    transfers = (
        int((run.column("transfers", "completed_ns") >= 0).sum())
        if "transfers" in run.tables
        else 0
    )
    if transfers >= _MANY_TRANSFERS:
        return ["completion"]
    # A queue over time tells a story where a window moves it; of random arrivals the law does.
    return ["queue", "delay-cdf"] if tcp_flows(run) else ["delay-cdf", "queue"]


def _summary(run: Run) -> str:
    queue = bottleneck(run)
    sentences = []
    if queue is None:
        sentences.append("No packet waited in any queue.")
    else:
        p50, p95 = 1e3 * metrics.sojourn_quantile_s(run, queue, (0.5, 0.95))
        loss = 100 * metrics.loss_ratio(run, queue)
        sentences.append(
            f"Packets waited in {queue}: half of them were through within {p50:.3g} ms, 95 % "
            f"within {p95:.3g} ms, and {loss:.2g} % were dropped."
        )
        busy = 100 * metrics.utilization(run, queue)
        sentences.append(f"It was busy for {busy:.3g} % of the time.")
    sentences.append(
        f"One run, replication {run.replication}: numbers without an interval. With "
        "--replications 10 there are some."
    )
    return " ".join(sentences)


def _values(run: Run) -> Iterator[ValueTable]:
    yield from _side_by_side("Flows", run, run.flow_names, _FLOW_ROWS)
    passed = [name for name in run.queue_names if metrics.max_sojourn_s(run, name) > 0]
    yield from _side_by_side("Queues", run, passed, _QUEUE_ROWS)
    yield from _side_by_side("Pings", run, run.probe_names, _PING_ROWS)


def _rtt_ms(level: float) -> Callable[[Run, str], float]:
    return lambda run, name: float(metrics.ping_rtt_quantiles_ms(run, (level,), [name])[0])


def _sojourn_ms(level: float) -> Callable[[Run, str], float]:
    return lambda run, name: 1e3 * float(metrics.sojourn_quantile_s(run, name, (level,))[0])


_FLOW_ROWS: Sequence[Row] = (
    Row("Goodput", "Mbit/s", lambda run, name: metrics.goodput_bps(run, name) / 1e6),
    Row("Lost", "%", lambda run, name: 100 * metrics.flow_loss_ratio(run, name)),
    Row("Mean delay", "ms", lambda run, name: 1e3 * metrics.mean_delay_s(run, name)),
    Row("Largest delay", "ms", lambda run, name: 1e3 * metrics.max_delay_s(run, name)),
)
_QUEUE_ROWS: Sequence[Row] = (
    Row("Busy", "%", lambda run, name: 100 * metrics.utilization(run, name)),
    Row("Dropped", "%", lambda run, name: 100 * metrics.loss_ratio(run, name)),
    Row("Waiting, mean", "packets", metrics.mean_backlog_pkts),
    Row("Median delay", "ms", _sojourn_ms(0.5)),
    Row("95th percentile", "ms", _sojourn_ms(0.95)),
    Row("99th percentile", "ms", _sojourn_ms(0.99)),
    Row("Largest delay", "ms", lambda run, name: 1e3 * metrics.max_sojourn_s(run, name)),
)
_PING_ROWS: Sequence[Row] = (
    Row("Lost", "%", lambda run, name: 100 * metrics.ping_loss_ratio(run, [name])),
    Row("Mean round trip", "ms", lambda run, name: metrics.mean_ping_rtt_ms(run, [name])),
    Row("Median", "ms", _rtt_ms(0.5)),
    Row("95th percentile", "ms", _rtt_ms(0.95)),
    Row("99th percentile", "ms", _rtt_ms(0.99)),
)


def _side_by_side(
    title: str, run: Run, names: Sequence[str], rows: Sequence[Row]
) -> Iterator[ValueTable]:
    shown = names[:MOST_COLUMNS]
    if shown:
        yield ValueTable(
            title,
            shown,
            [ValueRow(row.name, row.unit, [row.cell(run, each) for each in shown]) for row in rows],
            caption=f"The first {len(shown)} of {len(names)}; the tables have all."
            if len(names) > len(shown)
            else "",
        )

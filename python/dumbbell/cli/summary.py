"""What one run did, in numbers for a person or a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell import metrics
from dumbbell.tables import Run

_QUANTILES = (0.5, 0.95, 0.99)
Cells = Sequence[str]


def summary_numbers(run: Run) -> dict[str, Any]:
    """The run's meta, and its queues, flows and probes as lists of objects with units in names."""
    return {
        "meta": dict(run.meta),
        "load": [asdict(each) for each in metrics.asked_and_measured(run)],
        "queues": [_queue(run, name) for name in run.queue_names],
        "flows": [_flow(run, name) for name in run.flow_names],
        "probes": [_probe(run, name) for name in run.probe_names],
    }


def _queue(run: Run, name: str) -> dict[str, Any]:
    p50, p95, p99 = metrics.sojourn_quantile_s(run, name, _QUANTILES).tolist()
    return {
        "queue": name,
        "arrival_rate_pps": metrics.arrival_rate_pps(run, name),
        "throughput_bps": metrics.throughput_bps(run, name),
        "utilization": metrics.utilization(run, name),
        "loss_ratio": metrics.loss_ratio(run, name),
        "mean_system_pkts": metrics.mean_system_pkts(run, name),
        "mean_backlog_pkts": metrics.mean_backlog_pkts(run, name),
        "mean_sojourn_s": metrics.mean_sojourn_s(run, name),
        "mean_wait_s": metrics.mean_wait_s(run, name),
        "sojourn_p50_s": p50,
        "sojourn_p95_s": p95,
        "sojourn_p99_s": p99,
        "max_sojourn_s": metrics.max_sojourn_s(run, name),
    }


def _flow(run: Run, name: str) -> dict[str, Any]:
    return {
        "flow": name,
        "sending_rate_pps": metrics.sending_rate_pps(run, name),
        "sending_rate_bps": metrics.sending_rate_bps(run, name),
        "goodput_bps": metrics.goodput_bps(run, name),
        "loss_ratio": metrics.flow_loss_ratio(run, name),
        "mean_delay_s": metrics.mean_delay_s(run, name),
        "max_delay_s": metrics.max_delay_s(run, name),
    }


def _probe(run: Run, name: str) -> dict[str, Any]:
    low, p25, p50, p75, high = metrics.ping_rtt_quantiles_ms(
        run, (0, 0.25, 0.5, 0.75, 1), [name]
    ).tolist()
    return {
        "probe": name,
        "sent": len(run.column("probes", "seq", probe=name)),
        "loss_ratio": metrics.ping_loss_ratio(run, [name]),
        "mean_rtt_ms": metrics.mean_ping_rtt_ms(run, [name]),
        "min_rtt_ms": low,
        "rtt_p25_ms": p25,
        "rtt_p50_ms": p50,
        "rtt_p75_ms": p75,
        "max_rtt_ms": high,
    }


def print_summary(run: Run, console: Console) -> None:
    """The same as tables; queues that nobody waited in are left out."""
    numbers = summary_numbers(run)
    console.print(Text(_headline(run)))
    _print_load(numbers["load"], console)
    passed = [each for each in numbers["queues"] if each["arrival_rate_pps"] > 0]
    waited = [each for each in passed if each["max_sojourn_s"] > 0 or each["loss_ratio"] > 0]
    if waited:
        _print(console, "Queues", _QUEUE_HEAD, [_queue_cells(each) for each in waited])
    unseen = [each for each in passed if each not in waited and math.isnan(each["max_sojourn_s"])]
    left_out = len(passed) - len(waited) - len(unseen)
    if left_out:
        console.print(Text(f"{left_out} more that packets pass without waiting", style="dim"))
    if unseen:
        names = ", ".join(each["queue"] for each in unseen)
        console.print(Text(f"not known how long packets wait at: {names}", style="dim"))
    if numbers["flows"]:
        _print(console, "Flows", _FLOW_HEAD, [_flow_cells(each) for each in numbers["flows"]])
    if numbers["probes"]:
        _print(console, "Probes", _PROBE_HEAD, [_probe_cells(each) for each in numbers["probes"]])


def _headline(run: Run) -> str:
    from dumbbell.spec import Resolved
    from dumbbell.units import format_time

    asked = Resolved(run.spec or {})
    parts = [
        f"{asked.name}: {format_time(asked.duration_ns)}",
        f"the first {format_time(asked.warm_up_ns)} left out" if asked.warm_up_ns else "",
        f"seed {asked.seed}, replication {run.replication}",
        f"{run.meta['events']} events",
        f"digest {run.meta['digest'][:12]}",
    ]
    return ", ".join(part for part in parts if part)


def _print_load(load: Sequence[dict[str, Any]], console: Console) -> None:
    if not load:
        return
    rows = []
    differing = []
    for each in load:
        comparison = metrics.LoadComparison(**each)
        percent = f"{100 * (comparison.ratio - 1):+.2g} %"
        rows.append((each["what"], _n(each["asked"]), _n(each["measured"]), each["unit"], percent))
        if comparison.differs and comparison.note:
            differing.append(f"{each['what']}: {comparison.note}")
    head = ("", "asked", "measured", "unit", "difference")
    _print(console, "Asked and measured load (unit 1: load over rate)", head, rows)
    for line in dict.fromkeys(differing):
        console.print(Text(line, style="yellow"))


_QUEUE_HEAD = (
    "",
    "packets/s",
    "busy",
    "dropped",
    "N",
    "T ms",
    "W ms",
    "p50",
    "p95",
    "p99",
    "max",
)
_FLOW_HEAD = ("", "sent /s", "sent Mbit/s", "goodput Mbit/s", "lost", "delay ms", "max ms")
_PROBE_HEAD = ("", "sent", "lost", "mean ms", "min", "p25", "p50", "p75", "max")


def _queue_cells(each: dict[str, Any]) -> Cells:
    times = ("mean_sojourn_s", "mean_wait_s", "sojourn_p50_s", "sojourn_p95_s", "sojourn_p99_s")
    return (
        each["queue"],
        _n(each["arrival_rate_pps"]),
        _percent(each["utilization"]),
        _percent(each["loss_ratio"]),
        _n(each["mean_system_pkts"]),
        *(_ms(each[key]) for key in (*times, "max_sojourn_s")),
    )


def _flow_cells(each: dict[str, Any]) -> Cells:
    return (
        each["flow"],
        _n(each["sending_rate_pps"]),
        _n(each["sending_rate_bps"] / 1e6),
        _n(each["goodput_bps"] / 1e6),
        _percent(each["loss_ratio"]),
        _ms(each["mean_delay_s"]),
        _ms(each["max_delay_s"]),
    )


def _probe_cells(each: dict[str, Any]) -> Cells:
    keys = ("mean_rtt_ms", "min_rtt_ms", "rtt_p25_ms", "rtt_p50_ms", "rtt_p75_ms", "max_rtt_ms")
    lost = _percent(each["loss_ratio"])
    return (each["probe"], str(each["sent"]), lost, *(_n(each[key]) for key in keys))


def _print(console: Console, title: str, head: Cells, rows: Sequence[Cells]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    table.title = Text(title, style="bold")
    for index, name in enumerate(head):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _n(value: float) -> str:
    """Four significant digits, never in powers of ten while that is readable."""
    if math.isnan(value):
        return "-"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3e}"
    text = f"{value:#.4g}".rstrip(".")
    return text if "e" not in text else f"{value:.0f}"


def _ms(seconds: float) -> str:
    return _n(1e3 * seconds)


def _percent(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{100 * ratio:.3g} %"

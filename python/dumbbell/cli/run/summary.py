"""The numbers of one run, for a terminal or as JSON."""

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
from dumbbell.cli.terminal.consoles import print_sentence
from dumbbell.cli.terminal.tables import print_table
from dumbbell.compare import MeasureSubject, Summary, summary_of
from dumbbell.compare.held_flows import HeldFlow, held_flow_sentences, held_flows
from dumbbell.tables import Run

Cells = Sequence[str]


def summary_numbers(run: Run, summary: Summary | None = None) -> dict[str, Any]:
    """The run's metadata, and its queues, flows and probes as lists of objects with units in names.

    Args:
        run: The run.
        summary: Its summary, if already computed.
    """
    found = summary or summary_of(run)
    return {
        "meta": dict(run.meta),
        "load": [asdict(each) for each in metrics.asked_and_measured(run)],
        "network": found.of(MeasureSubject.NETWORK),
        "queues": _listed(found, MeasureSubject.QUEUE),
        "flows": _listed(found, MeasureSubject.FLOW),
        "equal_flows": _listed(found, MeasureSubject.FLOWS),
        "probes": _listed(found, MeasureSubject.PROBE),
        "held_flows": [
            {**asdict(each), "by": each.by.value, "needed_bytes": each.needed_bytes}
            for each in _held(run, found)
        ],
        **_programs(run),
    }


def _programs(run: Run) -> dict[str, Any]:
    """Summary numbers of each program; empty without programs."""
    if "programs" not in run.tables:
        return {}
    columns = run.columns("programs")
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    said = [dict(zip(columns, row, strict=True)) for row in rows]
    return {"programs": [{**each, "program": run.program_names[each["program"]]} for each in said]}


def _listed(summary: Summary, of: MeasureSubject) -> list[dict[str, Any]]:
    key = "flow" if of is MeasureSubject.FLOWS else of.value
    return [{key: name, **summary.of(of, name)} for name in summary.names(of)]


def print_summary(run: Run, console: Console, summary: Summary | None = None) -> None:
    """The same as tables, without queues in which no packet waited."""
    numbers = summary_numbers(run, summary)
    console.print(Text(_headline(run)))
    if reason := run.meta.get("guest_reason"):
        sentence = f"a process, not the kernel's module, sends and receives: {reason}"
        print_sentence(Text(sentence, style="dim"), console)
    # If only programs send, the description defines no load.
    if numbers["flows"] or "programs" not in numbers:
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
        console.print(Text(f"sojourn times are unknown at: {names}", style="dim"))
    _print_flows(numbers, console)
    if numbers["probes"]:
        _print(console, "Probes", _PROBE_HEAD, [_probe_cells(each) for each in numbers["probes"]])
    if "programs" in numbers:
        rows = [_program_cells(each) for each in numbers["programs"]]
        _print(console, "Programs, as they say", _PROGRAM_HEAD, rows)
    notes = [*_own_queue_notes(run), *held_flow_sentences(_held(run, summary or summary_of(run)))]
    for note in notes:
        print_sentence(Text(note, style="yellow"), console)


def _print_flows(numbers: dict[str, Any], console: Console) -> None:
    flows, groups = numbers["flows"], numbers["equal_flows"]
    if flows:
        rows, sums = [_flow_cells(each) for each in flows], [_group_cells(each) for each in groups]
        _print(console, "Flows", _FLOW_HEAD, rows, sums)
    jain = numbers["network"]["jain_index"]
    if not math.isnan(jain):
        console.print(Text(f"Jain's index of the greedy flows' goodputs: {_n(jain)}"))
    rows, sums = (
        [_transfer_cells(each) for each in all_ if "begun_transfers" in each]
        for all_ in (flows, groups)
    )
    if rows:
        _print(console, "Transfers", _TRANSFER_HEAD, rows, sums)


def _own_queue_notes(run: Run) -> Sequence[str]:
    from dumbbell.cli.run.own_queue import own_queue_notes
    from dumbbell.spec import Resolved

    return own_queue_notes(Resolved(run.spec)) if run.spec is not None else ()


def _held(run: Run, summary: Summary) -> list[HeldFlow]:
    from dumbbell.spec import Resolved

    return list(held_flows(summary, Resolved(run.spec))) if run.spec is not None else []


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
        f"sent by a {run.meta['guest']}" if "guest" in run.meta else "",
    ]
    return ", ".join(part for part in parts if part)


def _print_load(load: Sequence[dict[str, Any]], console: Console) -> None:
    if not load:
        return
    rows = []
    differing = []
    for each in load:
        comparison = metrics.LoadComparison(**each)
        # There is no percentage of a zero load.
        percent = f"{100 * (comparison.ratio - 1):+.2g} %" if comparison.asked else "-"
        rows.append((each["what"], _n(each["asked"]), _n(each["measured"]), each["unit"], percent))
        if comparison.differs and comparison.note:
            differing.append(f"{each['what']}: {comparison.note}")
    head = ("", "asked", "measured", "unit", "difference")
    _print(console, "Asked and measured load (unit 1: load over rate)", head, rows)
    for line in dict.fromkeys(differing):
        console.print(Text(line, style="yellow"))


MOST_ROWS = 100
"""Most rows of a table: thousands take seconds to lay out."""
_QUEUE_HEAD = (
    "",
    "packets/s",
    "busy",
    "dropped",
    "queued",
    "wait ms",
    "sojourn ms",
    "p50",
    "p95",
    "p99",
    "max",
)
_FLOW_HEAD = (
    "",
    "sent packets/s",
    "sent Mbit/s",
    "goodput Mbit/s",
    "of capacity",
    "lost",
    "delay ms",
    "p50",
    "p95",
    "p99",
    "max",
)
_DELAYS = ("mean_delay_s", "delay_p50_s", "delay_p95_s", "delay_p99_s", "max_delay_s")
_TRANSFER_HEAD = ("", "begun", "completed", "completion time s", "p50", "p95", "p99")
_PROBE_HEAD = ("", "sent", "lost", "mean ms", "min", "p25", "p50", "p75", "p95", "p99", "max")


def _queue_cells(each: dict[str, Any]) -> Cells:
    times = ("mean_wait_s", "mean_sojourn_s", "sojourn_p50_s", "sojourn_p95_s", "sojourn_p99_s")
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
        _percent(each["capacity_share"]),
        _percent(each["loss_ratio"]),
        *(_ms(each[key]) for key in _DELAYS),
    )


def _group_cells(each: dict[str, Any]) -> Cells:
    return (
        f"{each['flow']}, together",
        "",
        "",
        _n(each["total_goodput_bps"] / 1e6),
        _percent(each["capacity_share"]),
        _percent(each["loss_ratio"]),
        *(_ms(each[key]) for key in _DELAYS),
    )


def _transfer_cells(each: dict[str, Any]) -> Cells:
    times = [each[f"completion_time_p{percent}_s"] for percent in (50, 95, 99)]
    return (
        each["flow"] if "goodput_bps" in each else f"{each['flow']}, together",
        f"{each['begun_transfers']:.0f}",
        f"{each['completed_transfers']:.0f}",
        _n(each["mean_completion_time_s"]),
        *(_n(time) for time in times),
    )


def _probe_cells(each: dict[str, Any]) -> Cells:
    percents = [f"rtt_p{percent}_ms" for percent in (25, 50, 75, 95, 99)]
    keys = ("mean_rtt_ms", "min_rtt_ms", *percents, "max_rtt_ms")
    lost = _percent(each["loss_ratio"])
    return (each["probe"], f"{each['sent']:.0f}", lost, *(_n(each[key]) for key in keys))


_PROGRAM_HEAD = ("", "status", "sent", "received", "lost", "Mbit/s", "round trip ms", "delay ms")


def _program_cells(each: dict[str, Any]) -> Cells:
    counts = ("exit_status", "sent_pkts", "received_pkts", "lost_pkts")
    return (
        each["program"],
        *("-" if each[key] < 0 else str(each[key]) for key in counts),
        _n(each["throughput_bps"] / 1e6),
        _ms(each["rtt_mean_s"]),
        _ms(each["delay_mean_s"]),
    )


def _print(
    console: Console, title: str, head: Cells, rows: Sequence[Cells], sums: Sequence[Cells] = ()
) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    table.title = Text(title, style="bold")
    for index, name in enumerate(head):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in (*rows[:MOST_ROWS], *sums):
        table.add_row(*(Text(cell) for cell in row))
    print_table(table, console)
    if len(rows) > MOST_ROWS:
        console.print(Text(f"{len(rows) - MOST_ROWS} more: --json has them all", style="dim"))


def _n(value: float) -> str:
    """Four significant digits, without an exponent where that is readable."""
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

"""What holds of every run, whatever was run: each check gives sentences about what does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dumbbell.tables import SCHEMA, Run
from dumbbell.tables.codes import EVENT_NAMES, REASON_NAMES

_EVENT = {name: code for code, name in EVENT_NAMES.items()}
_REASON = {name: code for code, name in REASON_NAMES.items()}

_MAY_BE_ABSENT = {
    "flows": {
        "duplicated_pkts", "duplicated_bytes", "first_sent_ns", "last_received_ns", "delay_min_ns",
        "delay_max_ns", "retransmitted_pkts", "rto_count",
    },
    "queues": {"sojourn_min_ns", "sojourn_max_ns", "wait_max_ns"},
    "queue_samples": {"delay_estimate_ns"},
    "flow_samples": {
        "cwnd_pkts", "ssthresh_pkts", "inflight_pkts", "srtt_ns", "rttvar_ns", "min_rtt_ns",
        "retransmitted_pkts", "sent_payload_bytes", "pacing_rate_bps", "delivery_rate_bps",
    },
    "transfers": {"bytes", "completed_ns", "first_received_ns", "last_received_ns"},
    "probes": {"received_ns", "rtt_ns"},
    "packets": {"flow", "probe", "sojourn_ns"},
    "captured_flows": {"flow", "probe"},
}  # fmt: skip
"""Columns in which -1 stands for what there is not."""
_NAN_WITHOUT = {
    ("flows", "delay_mean_s"): "delay_count",
    ("flows", "delay_sd_s"): "delay_count",
    ("queues", "sojourn_mean_s"): "sojourn_count",
    ("queues", "sojourn_sd_s"): "sojourn_count",
    ("queues", "wait_mean_s"): "sojourn_count",
    ("queues", "wait_sd_s"): "sojourn_count",
}
"""Moments, which there are not of nothing, and the number of what they are of."""
_CUMULATIVE = {
    "queue_samples": (
        "queue",
        ("departed_pkts", "departed_bytes", "dropped_pkts", "sojourn_sum_s", "marked_pkts",
         "system_integral_pkt_s"),
    ),
    "flow_samples": (
        "flow",
        ("delivered_pkts", "delivered_payload_bytes", "dropped_pkts", "delay_sum_s",
         "retransmitted_pkts", "sent_payload_bytes"),
    ),
}  # fmt: skip
_DROPPED = ("dropped_overlimit", "dropped_aqm", "policed")

_Columns = Mapping[str, np.ndarray[Any, Any]]


def violations(run: Run) -> list[str]:
    """What does not hold of a run; nothing when all is well."""
    checks = (
        _values,
        _flows,
        _delays,
        _queues,
        _queues_and_records,
        _drops,
        _samples,
        _transfers,
        _probes,
    )
    return [fault for check in checks for fault in check(run)]


def _values(run: Run) -> Iterator[str]:
    """Nothing negative, nothing that is not finite."""
    for table, columns in run.tables.items():
        for column in SCHEMA[table]:
            values = columns[column.name]
            name = f"{table}.{column.name}"
            if column.dtype == "float64":
                yield from _reals(name, values, _may_be_nan(table, column.name, columns))
            else:
                least = -1 if column.name in _MAY_BE_ABSENT.get(table, ()) else 0
                if (values < least).any():
                    yield f"{name} is {values.min()} at row {int(values.argmin())}"


def _may_be_nan(table: str, column: str, columns: _Columns) -> np.ndarray[Any, Any]:
    rows = len(columns[column])
    counted = _NAN_WITHOUT.get((table, column))
    if counted is not None:
        # The deviation of one number is none either.
        return columns[counted] < (2 if column.endswith("_sd_s") else 1)
    return np.full(rows, (table, column) == ("queue_samples", "drop_probability"))


def _reals(
    name: str, values: np.ndarray[Any, Any], may_be_nan: np.ndarray[Any, Any]
) -> Iterator[str]:
    wrong = ~np.isfinite(values) & ~(np.isnan(values) & may_be_nan) | (values < 0)
    if wrong.any():
        row = int(wrong.argmax())
        yield f"{name} is {values[row]} at row {row}"


# --- packets and bytes ----------------------------------------------------------------------


def _flows(run: Run) -> Iterator[str]:
    """What was made has arrived, was dropped, or is on its way."""
    flows = run.tables["flows"]
    for unit in ("pkts", "bytes"):
        made = flows[f"created_{unit}"] + flows[f"duplicated_{unit}"]
        ended = flows[f"delivered_{unit}"] + flows[f"dropped_{unit}"] + flows[f"in_network_{unit}"]
        for flow in np.flatnonzero(made != ended):
            yield f"flow {flow}: {made[flow]} {unit} were made, {ended[flow]} are accounted for"


def _delays(run: Run) -> Iterator[str]:
    """A flow's histogram has every packet that has a delay, between the least and the greatest."""
    flows, bins = run.tables["flows"], run.tables["flow_delays"]
    counts = np.bincount(bins["flow"], weights=bins["pkts"], minlength=len(flows["flow"]))
    for flow in np.flatnonzero(counts != flows["delay_count"]):
        yield f"{flows['delay_count'][flow]} delays of flow {flow}, {counts[flow]} in its histogram"
    same_flow = np.diff(bins["flow"]) == 0
    apart = bins["high_ns"][:-1] <= bins["low_ns"][1:]
    if (np.diff(bins["flow"]) < 0).any() or (same_flow & ~apart).any():
        yield "flow_delays is not in the order of flows and delays"
    # Extremes are cut to whole nanoseconds.
    least, greatest = (flows[f"delay_{which}_ns"][bins["flow"]] for which in ("min", "max"))
    if (bins["high_ns"] <= least).any() or (bins["low_ns"] >= greatest + 1).any():
        yield "a bin of flow_delays lies beyond the extremes"


def _queues(run: Run) -> Iterator[str]:
    """Times and capacities of queues."""
    assert run.spec is not None
    queues = run.tables["queues"]
    if (queues["busy_s"] > queues["measured_s"] * (1 + 1e-9)).any():
        yield "a queue was busy for longer than it was measured"
    if (queues["marked_pkts"] > queues["arrived_pkts"] + queues["system_max_pkts"]).any():
        yield "more packets were marked than arrived"
    ends = [link[side] for link in run.spec["links"] for side in ("forward", "reverse")]
    for queue, end in enumerate(ends):
        sent_bits = 8 * queues["departed_bytes"][queue]
        largest_bits = 8 * (end["mtu_bytes"] + end["overhead_bytes"] + 65_536)
        room_bits = end["rate_bps"] * queues["measured_s"][queue] + largest_bits
        if end["rate_bps"] and not end["changes"] and sent_bits > room_bits:
            yield f"queue {queue} sent {sent_bits} bits where {room_bits:.0f} fit"
    rows = run.tables["distributions"]
    for quantity, expected in ((0, "sojourn_count"), (1, "sojourn_count"), (2, "measured_s")):
        is_it = rows["quantity"] == quantity
        found = np.bincount(
            rows["queue"][is_it], weights=rows["weight"][is_it], minlength=len(ends)
        )
        # A queue that no packet passed may have no row.
        wrong = ~np.isclose(found, queues[expected], rtol=1e-9) & (queues["arrived_pkts"] > 0)
        for queue in np.flatnonzero(wrong):
            yield (
                f"distribution {quantity} of queue {queue} holds {found[queue]}, "
                f"{expected} is {queues[expected][queue]}"
            )


def _queues_and_records(run: Run) -> Iterator[str]:
    """Counts of queues are those of their packets' records, and what is missing is inside."""
    if run.spec is None or "packets" not in run.tables:
        return
    packets, queues = run.tables["packets"], run.tables["queues"]
    ends = [link[side] for link in run.spec["links"] for side in ("forward", "reverse")]
    for queue, end in enumerate(ends):
        if not end["record_packets"]:
            continue
        rows = packets["queue"] == queue
        measured = rows & (packets["t_ns"] >= run.spec["warm_up_ns"])
        dropped = measured & (packets["event"] == _EVENT["drop"])
        on_purpose = dropped & (packets["reason"] == _REASON["netem loss"])
        left = measured & (packets["event"] == _EVENT["dequeue"])
        lost = measured & (packets["event"] == _EVENT["lost"])
        counted = {name: values[queue] for name, values in queues.items()}
        before = packets["system_pkts"][rows & (packets["t_ns"] < run.spec["warm_up_ns"])]
        after = packets["system_pkts"][rows]
        grown = (after[-1] if after.size else 0) - (before[-1] if before.size else 0)
        sums = {unit: sum(counted[f"{kind}_{unit}"] for kind in _DROPPED) for unit in _UNITS}
        refused = dropped & ~on_purpose
        for what, found, recorded in (
            ("departed_pkts", counted["departed_pkts"], left.sum()),
            ("departed_bytes", counted["departed_bytes"], packets["bytes"][left].sum()),
            ("dropped packets", sums["pkts"], refused.sum()),
            ("dropped bytes", sums["bytes"], packets["bytes"][refused].sum()),
            ("lost_pkts", counted["lost_pkts"], on_purpose.sum() + lost.sum()),
            ("arrived_pkts", counted["arrived_pkts"], left.sum() + dropped.sum() + grown),
        ):
            if found != recorded:
                yield f"queue {queue}: {what} is {found}, and {recorded} by its records"


_UNITS = ("pkts", "bytes")


def _drops(run: Run) -> Iterator[str]:
    """Where every packet is a flow's, queues drop and lose what flows miss."""
    assert run.spec is not None
    is_tcp = any(flow["transport"] == "tcp" for flow in run.spec["flows"])
    if is_tcp or run.spec["probes"] or run.spec["warm_up_ns"]:
        return
    queues = run.tables["queues"]
    dropped = sum(int(queues[f"{kind}_pkts"].sum()) for kind in (*_DROPPED, "lost"))
    missed = int(run.tables["flows"]["dropped_pkts"].sum())
    if dropped != missed:
        yield f"queues dropped or lost {dropped} packets, flows miss {missed}"
    on_way = int(run.tables["flows"]["in_network_pkts"].sum())
    if not run.tables.get("queue_samples"):
        return
    samples = run.tables["queue_samples"]
    at_end = samples["t_ns"] == run.spec["duration_ns"]
    inside = int(samples["system_pkts"][at_end].sum())
    if inside > on_way:
        yield f"{inside} packets are in queues, {on_way} are on their way"


# --- samples, transfers, probes -------------------------------------------------------------


def _samples(run: Run) -> Iterator[str]:
    """Sums only grow."""
    for table, (key, names) in _CUMULATIVE.items():
        columns = run.tables.get(table)
        if not columns:
            continue
        for each in np.unique(columns[key]):
            rows = columns[key] == each
            if (np.diff(columns["t_ns"][rows]) <= 0).any():
                yield f"{table}: instants of {key} {each} do not grow"
            for name in names:
                if (np.diff(columns[name][rows]) < 0).any():
                    yield f"{table}.{name} of {key} {each} shrinks"


def _transfers(run: Run) -> Iterator[str]:
    """A flow's packets are those of its transfers."""
    flows, transfers = run.tables["flows"], run.tables.get("transfers")
    if not transfers:
        return
    for flow in np.unique(transfers["flow"]):
        mine = transfers["flow"] == flow
        for name in ("created_pkts", "retransmitted_pkts", "dropped_pkts"):
            total = transfers[name][mine].sum()
            if total != flows[name][flow]:
                yield f"transfers of flow {flow} have {total} {name}, it {flows[name][flow]}"
    done = transfers["completed_ns"] >= 0
    if (transfers["completed_ns"] < transfers["started_ns"])[done].any():
        yield "a transfer was complete before it began"
    if (transfers["retransmitted_pkts"] > transfers["created_pkts"]).any():
        yield "more of a transfer was sent again than was sent"


def _probes(run: Run) -> Iterator[str]:
    """A round trip is from sending to the answer."""
    probes = run.tables.get("probes")
    if not probes:
        return
    answered = probes["received_ns"] >= 0
    took = probes["received_ns"] - probes["sent_ns"]
    # Each of the three is rounded from picoseconds.
    if (np.abs(took - probes["rtt_ns"])[answered] > 1).any():
        yield "a round-trip time is not the time from request to answer"
    if (answered != (probes["rtt_ns"] >= 0)).any():
        yield "an answer without a round-trip time, or the other way round"

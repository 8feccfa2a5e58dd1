from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.tables import (
    EVENT_NAMES,
    FLENT_ONLY,
    IMPORTED_ONLY,
    PROGRAMS_ONLY,
    QUANTITY_NAMES,
    REASON_NAMES,
    SCHEMA,
    TABLE_DOCS,
    Run,
    TableError,
    check_schema,
    empty_table,
    tables_markdown,
)

DOCS = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_engine_makes_exactly_the_defined_columns_in_their_order(full_run: Run) -> None:
    made = {
        name: [(key, str(values.dtype)) for key, values in columns.items()]
        for name, columns in full_run.tables.items()
    }
    defined = {
        name: [(column.name, column.dtype) for column in columns]
        for name, columns in SCHEMA.items()
        if name not in IMPORTED_ONLY | PROGRAMS_ONLY | FLENT_ONLY
    }
    assert made == defined


def test_the_sample_run_fills_every_table_but_that_of_tcp(full_run: Run) -> None:
    tables = full_run.tables.items()
    filled = {name for name, columns in tables if len(next(iter(columns.values())))}
    elsewhere = IMPORTED_ONLY | PROGRAMS_ONLY | FLENT_ONLY
    assert filled == SCHEMA.keys() - elsewhere - {"transfers", "flow_writes"}


@pytest.mark.parametrize("table", SCHEMA)
def test_a_suffix_is_the_unit(table: str) -> None:
    units = {"_ns": "ns", "_pkts": "packets", "_bytes": "bytes", "_datagrams": "datagrams"}
    for column in SCHEMA[table]:
        for suffix, unit in units.items():
            if column.name.endswith(suffix):
                assert column.unit == unit, column.name
        if column.name.endswith("_s") and not column.name.endswith("pkt_s"):
            assert column.unit == "s", column.name
        assert column.doc.endswith("."), column.name
        assert column.numpy == np.dtype(column.dtype)


def test_only_levels_are_sampled() -> None:
    sampled = {
        (table, column.name)
        for table, columns in SCHEMA.items()
        for column in columns
        if column.kind == "sampled"
    }
    levels = ("system_pkts", "backlog_pkts", "backlog_bytes")
    estimates = ("drop_probability", "delay_estimate_ns")
    of_tcp = ("cwnd_pkts", "ssthresh_pkts", "inflight_pkts", "srtt_ns", "rttvar_ns", "min_rtt_ns")
    rates = ("pacing_rate_bps", "delivery_rate_bps")
    delays = ("peak_delay_ns", "mean_delay_ns", "base_delay_ns")
    of_tins = (*delays, "backlog_bytes", "sparse_flows", "bulk_flows", "unresponsive_flows")
    assert sampled == {("queue_samples", name) for name in (*levels, *estimates)} | {
        ("flow_samples", name) for name in (*of_tcp, *rates)
    } | {("program_intervals", name) for name in ("cwnd_bytes", "rtt_ns")} | {
        ("tin_samples", name) for name in of_tins
    } | {
        ("sfb_samples", name)
        for name in ("longest_bin_pkts", "largest_probability", "mean_probability")
    }


def test_codes_that_occur_have_names(full_run: Run) -> None:
    assert set(full_run.column("packets", "event").tolist()) == {0, 1, 2, 4} <= EVENT_NAMES.keys()
    assert set(full_run.column("packets", "reason").tolist()) == {0, 1, 2} <= REASON_NAMES.keys()
    assert set(full_run.column("distributions", "quantity").tolist()) == QUANTITY_NAMES.keys()


def test_what_the_definitions_promise_of_each_other(full_run: Run) -> None:
    def flow(name: str) -> np.ndarray:
        return full_run.column("flows", name)

    for unit in ("pkts", "bytes"):
        decided = flow(f"delivered_{unit}") + flow(f"dropped_{unit}") + flow(f"in_network_{unit}")
        assert (flow(f"created_{unit}") == decided).all()

    def total(event: str) -> int:
        return len(full_run.column("packets", "t_ns", queue="router->receiver", event=event))

    # A dropped packet is not enqueued; one that the link loses has been dequeued as well.
    assert total("drop") > 0
    assert 0 < total("lost") < total("dequeue")
    assert 0 <= total("enqueue") - total("dequeue") <= 21


def test_distributions_weigh_what_the_queue_counted(full_run: Run) -> None:
    queue = "router->receiver"

    def weight(quantity: str) -> float:
        found = full_run.column("distributions", "weight", queue=queue, quantity=quantity)
        return float(found.sum())

    count = full_run.column("queues", "sojourn_count", queue=queue)[0]
    assert weight("sojourn") == weight("wait") == count
    assert weight("system") == pytest.approx(4.0, abs=1e-9)


def test_flow_delays_hold_every_delivered_packet(full_run: Run) -> None:
    for flow in range(len(full_run.flow_names)):
        counted = full_run.column("flow_delays", "pkts", flow=flow).sum()
        assert counted == full_run.column("flows", "delay_count", flow=flow)[0] > 0


def test_the_page_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == tables_markdown(), (
        "python -m dumbbell.tables > docs/tables.md"
    )


def test_the_page_has_every_column() -> None:
    page = tables_markdown()
    for name, columns in SCHEMA.items():
        assert TABLE_DOCS[name] in page
        for column in columns:
            assert f"| `{column.name}` | {column.dtype} |" in page


def test_check_schema_refuses_what_is_not_defined() -> None:
    good = {name: empty_table(name) for name in SCHEMA}
    check_schema(good)
    check_schema({"probes": good["probes"]})
    with pytest.raises(TableError, match="did you mean 'probes'"):
        check_schema({"probe": good["probes"]})
    with pytest.raises(TableError, match="rtt_ms"):
        check_schema({"probes": {**good["probes"], "rtt_ms": np.empty(0)}})
    with pytest.raises(TableError, match="rtt_ns"):
        check_schema({"probes": {k: v for k, v in good["probes"].items() if k != "rtt_ns"}})
    with pytest.raises(ValueError, match="is float64, not int64"):
        check_schema({"probes": {**good["probes"], "rtt_ns": np.empty(0)}})
    with pytest.raises(ValueError, match="differ in length"):
        check_schema({"probes": {**good["probes"], "rtt_ns": np.zeros(1, np.int64)}})

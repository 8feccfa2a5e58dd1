"""The rows of the tables of flows, links and networks, by arithmetic and on a run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.errors import DumbbellError
from dumbbell.metrics import ccperf
from dumbbell.metrics.ccperf import ROWS, Table, Trace, recovery_times_ms, tcp_series
from dumbbell.metrics.ccperf.series import base_rtt_s, peak_rate_bps, policing_rate_bps
from dumbbell.spec.ccperf import BOTTLENECK, SOURCE_SETTINGS, PolicedFlow, Policing
from dumbbell.tables import Run

RENO = {**SOURCE_SETTINGS, "congestion_control": "reno"}
POLICED = Policing(flows=(PolicedFlow(tcp=RENO),))


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(POLICED.experiment())


@pytest.fixture(scope="module")
def values(run: Run) -> dict[str, float]:
    return {name: of[0] for table in ccperf.tables(run) for name, of in table.values.items()}


def test_every_published_row_has_a_value(values: dict[str, float]) -> None:
    published = [name for name, row in ROWS.items() if row.is_published]
    assert len(published) == 26
    assert all(math.isfinite(values[name]) for name in published)


def test_rates_delays_and_bottleneck_of_the_description(run: Run) -> None:
    queue = ccperf.bottleneck(run, "flow_1")
    assert run.queue_names[queue] == BOTTLENECK
    assert (policing_rate_bps(run, queue), peak_rate_bps(run, queue)) == (4e6, 1e9)
    assert base_rtt_s(run, "flow_1") == pytest.approx(0.015)


def test_sampled_rates_add_up_to_the_exact_totals(run: Run, values: dict[str, float]) -> None:
    received = run.column("flows", "received_payload_bytes")[0]
    assert values["mean_throughput_l7"] == pytest.approx(8e-6 * received / 15, rel=1e-9)
    series = tcp_series(run, "flow_1")
    sent = run.column("flows", "sent_payload_bytes")[0]
    resent = 1448 * run.column("flows", "retransmitted_pkts")[0]
    total = float((series.sending_rate_mbps * series.interval_s).sum()) / 8e-6
    assert total == pytest.approx(sent + resent, rel=1e-9)
    assert series.t_s.size == 150


def test_relations_between_rows(values: dict[str, float]) -> None:
    assert values["mean_est_qdelay_l4"] == pytest.approx(values["mean_srtt_l4"] - 15)
    assert values["mean_sending_rate_l7"] == pytest.approx(
        values["mean_throughput_l7"] + 8 * 4.0 / 15
    )
    assert values["mean_utilization_bw_l4"] == pytest.approx(values["mean_throughput_l4"] / 1000)
    assert values["mean_utilization_policing_bw_l4"] == pytest.approx(
        values["mean_throughput_l4"] / 4
    )
    # 15 ms at 4 Mbit/s are five full packets.
    assert values["mean_utilization_policing_bdp_l4"] == pytest.approx(
        values["mean_in_flight_l4"] / 5
    )
    assert values["agg_qdisc_drops_l2"] == values["total_qdisc_drops_l2"] > 0
    assert values["jain_index_l4"] == pytest.approx(1)
    # Jensen: the logarithm is concave.
    assert values["mean_utility_pf_l4"] < math.log(values["mean_throughput_l4"])


def test_the_delay_to_the_application_is_that_of_a_full_buffer(values: dict[str, float]) -> None:
    """4 MB at the measured rate, on a ramp while the first buffer drains (written at t = 0)."""
    full_s = 8 * 4.0 / values["mean_throughput_l7"]
    # The first full_s bytes wait t, the rest full_s: mean over 15 s, loosely.
    expected = (full_s**2 / 2 + (15 - full_s) * full_s) / 15
    assert values["mean_one_way_delay_l7"] == pytest.approx(1e3 * expected, rel=0.03)


def test_fairness_of_two_flows_and_the_best_value() -> None:
    first = POLICED.flows[0]
    second = replace(first, source="src_1", destination="dst_1", rtt_ns=120_000_000)
    found = simulate(replace(POLICED, flows=(first, second)).experiment())
    flows, _, network = ccperf.tables(found)
    x, y = flows.values["mean_throughput_l4"]
    assert network.values["jain_index_l4"][0] == pytest.approx((x + y) ** 2 / 2 / (x**2 + y**2))
    assert network.values["agg_throughput_l4"][0] == pytest.approx(x + y)
    # The long path gets less: window growth is by round trips.
    assert x > y
    assert flows.best("mean_throughput_l4") == {0}
    assert flows.best("mean_cwnd_l4") == frozenset()


def test_best_of_values_that_are_not_known() -> None:
    table = Table("flow", ["a", "b", "c"], {"mean_srtt_l4": [math.nan, 2.0, 1.0]})
    assert table.best("mean_srtt_l4") == {2}
    assert Table("flow", ["a"], {"mean_srtt_l4": [1.0]}).best("mean_srtt_l4") == frozenset()


def test_a_recovery_lasts_until_all_that_was_sent_before_it_is_acknowledged() -> None:
    """Segments 1 2 3 4, 2 again at 10 ms, 5; acknowledged: 2 (three times), then all."""
    ms = 1_000_000
    trace = Trace(
        sent_ns=np.array([0, 1, 2, 3, 10, 11]) * ms,
        sent_seq=np.array([1, 2, 3, 4, 2, 5]),
        acked_ns=np.array([7, 8, 9, 10, 25, 26]) * ms,
        acked_seq=np.array([2, 2, 2, 2, 5, 6]),
    )
    assert recovery_times_ms(trace).tolist() == [15.0]
    unfinished = replace(trace, acked_ns=trace.acked_ns[:4], acked_seq=trace.acked_seq[:4])
    assert recovery_times_ms(unfinished).size == 0


def test_rows_that_need_recorded_packets_are_empty_without() -> None:
    bare = simulate(replace(POLICED, record_packets=False).experiment())
    flows = ccperf.tables(bare)[0]
    assert math.isnan(flows.values["mean_recovery_time_l4"][0])
    assert math.isnan(flows.values["mean_idt_ewma_l4"][0])


def test_a_flow_without_samples_or_without_tcp_is_refused(lab_run: Run) -> None:
    with pytest.raises(DumbbellError, match="does not go over TCP"):
        tcp_series(lab_run, "testbed")
    bare = simulate(replace(POLICED, sample_interval="0s").experiment())
    with pytest.raises(DumbbellError, match="sample_interval"):
        tcp_series(bare, "flow_1")

"""Runs as Flent data files: series, samples and metadata."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from flent_samples import NETWORK, file_of, run_of

from dumbbell.errors import SpecError
from dumbbell.formats.flent import (
    FlentFile,
    flent_bytes,
    flent_file,
    flent_file_name,
    flent_test_of,
    imported_run,
    read_flent,
    summary_rows,
    summary_text,
    write_flent,
)
from dumbbell.spec import flent


@pytest.mark.parametrize("name", flent.TEST_NAMES)
def test_round_trip_to_the_last_digit(name: str, tmp_path: Path) -> None:
    file = file_of(name)
    path = write_flent(file, tmp_path / flent_file_name(file))
    assert read_flent(path) == file
    _, test = run_of(name)
    assert set(test.series) <= set(file.results)
    assert {len(values) for values in file.results.values()} == {len(file.x_values)}
    assert file.x_values[-1] == test.total_s
    again = flent_test_of(file)
    assert (again.series, again.total_s, again.delay_s) == (test.series, test.total_s, 1)


def test_the_same_seed_writes_the_same_bytes() -> None:
    run, test = run_of("tcp_1up")
    once = flent_bytes(flent_file(run, test, title="a"))
    run_of.cache_clear()
    run, test = run_of("tcp_1up")
    assert flent_bytes(flent_file(run, test, title="a")) == once
    other, _ = run_of("tcp_1up", seed=2)
    assert flent_bytes(flent_file(other, test, title="a")) != once
    assert once[4:8] == b"\0\0\0\0"  # RFC 1952: no time of modification


def test_throughput_is_what_the_receiver_got_in_each_step() -> None:
    run, _ = run_of("rrul")
    values = file_of().results["TCP download CS5"]
    flow = "tcp-download-CS5"
    total = run.column("flow_samples", "delivered_payload_bytes", flow=flow)[-1]
    # Little arrives after the sender has stopped.
    got = sum(v for v in values if v is not None) * 0.2e6 / 8
    assert got == pytest.approx(total, rel=0.01)
    at = [x for x, v in zip(file_of().x_values, values, strict=True) if v is not None]
    assert (at[0], at[-1]) == (1.2, 5.0)


def test_latencies_are_those_of_the_probes() -> None:
    run, _ = run_of("rrul")
    file = file_of()
    for series, probe in (("Ping (ms) UDP EF", "ping-udp-EF"), ("Ping (ms) ICMP", "ping-icmp")):
        rtts = run.column("probes", "rtt_ns", probe=probe)
        answered = [s["val"] for s in file.raw_values[series] if "val" in s]
        assert sorted(answered) == (np.sort(rtts[rtts >= 0]) / 1e6).tolist()
        assert [v for v in file.results[series] if v is not None] == (
            rtts[rtts >= 0] / 1e6
        ).tolist()
        assert file.series_meta(series)["MEAN_VALUE"] == pytest.approx(np.mean(answered))


def test_a_lost_probe_has_no_value_and_irtt_says_so() -> None:
    network = flent.Network(rate="2mbit", qdisc="pfifo limit 5", rtts=("5ms",))
    import dumbbell

    test = flent.flent_test("rrul_be", length_s=5, delay_s=1)
    run = dumbbell.simulate(test.experiment(network))
    file = flent_file(run, test)
    for series, probe in (("Ping (ms) UDP BE1", "ping-udp-BE1"), ("Ping (ms) ICMP", "ping-icmp")):
        rtts = run.column("probes", "rtt_ns", probe=probe)
        lost = int((rtts < 0).sum())
        assert lost
        assert file.results[series].count(None) == lost
        marked = sum(sample.get("lost", False) for sample in file.raw_values[series])
        assert marked == (lost if "UDP" in series else 0)


def test_sums_and_averages_are_over_what_is_there() -> None:
    results = file_of().results
    ups = [results[f"TCP upload {label}"] for label in ("BE", "BK", "CS5", "EF")]
    for total, mean, *parts in zip(
        results["TCP upload sum"], results["TCP upload avg"], *ups, strict=True
    ):
        there = [part for part in parts if part is not None]
        assert (total is None) == (not there)
        if total is not None and mean is not None:
            assert total == pytest.approx(sum(there))
            assert mean == pytest.approx(total / len(there))


def test_fairness_is_jains() -> None:
    results = file_of("rtt_fair").results
    names = [s for s in results if s.startswith("TCP upload B") and "::" not in s]
    assert len(names) == 4
    row = [results[name][10] for name in names]
    there = [value for value in row if value is not None]
    expected = sum(there) ** 2 / (4 * sum(value**2 for value in there))
    assert results["TCP upload fairness"][10] == pytest.approx(expected)


def test_queue_statistics_are_those_of_tc() -> None:
    run, _ = run_of("rrul")
    file = file_of()
    samples = file.raw_values["qdisc_stats_router"]
    queue = "router->gateway"
    dropped = run.column("queue_samples", "dropped_pkts", queue=queue)
    assert dropped[-1] > 0
    assert sum(sample["dropped"] for sample in samples) == dropped[-1]
    assert (
        samples[-1]["sent_bytes"] == run.column("queue_samples", "departed_bytes", queue=queue)[-1]
    )
    delays = run.column("queue_samples", "delay_estimate_ns", queue=queue) / 1e6
    assert file.results["qdisc_stats_router::delay"] == delays.tolist()
    parameters = file.metadata["TEST_PARAMETERS"]
    assert parameters["qdisc_stats_hosts"] == "router,gateway"
    assert parameters["qdisc_stats_interfaces"] == "eth2,eth1"


def test_queues_get_the_names_that_were_asked_for() -> None:
    given = {"qdisc_stats_hosts": "pg@192.168.20.2", "qdisc_stats_interfaces": "enx1220"}
    test = flent.flent_test("ping", length_s=2, parameters=given)
    import dumbbell

    file = flent_file(dumbbell.simulate(test.experiment(NETWORK)), test)
    assert [s for s in file.raw_values if s.startswith("qdisc")] == ["qdisc_stats_pg@192.168.20.2"]
    assert file.metadata["TEST_PARAMETERS"] == given


def test_windows_are_the_senders() -> None:
    run, _ = run_of("rrul")
    file = file_of()
    windows = run.column("flow_samples", "cwnd_pkts", flow="tcp-upload-EF")
    raw = [s["tcp_cwnd"] for s in file.raw_values["TCP upload EF"] if "tcp_cwnd" in s]
    assert raw == [float(w) for w in windows if w >= 0]
    assert len(raw) >= 19


def test_what_is_not_its_run_is_refused() -> None:
    run, test = run_of("tcp_1up")
    with pytest.raises(SpecError, match="no such flow"):
        flent_file(run, flent.flent_test("tcp_1down"))
    with pytest.raises(SpecError, match="step"):
        flent_file(run, flent.flent_test("tcp_1up", step_s=0.1))
    with pytest.raises(SpecError, match="one of client->router"):
        flent_file(run, test, queues=["nowhere"])


def test_an_imported_run_has_the_same_numbers() -> None:
    run, _ = run_of("rrul")
    found = imported_run(file_of())
    assert found.origin == "imported"
    assert found.flow_names[:2] == ["TCP upload BE", "TCP upload BK"]
    assert found.probe_names[-1] == "Ping (ms) ICMP"
    assert found.queue_names == ["router", "gateway"]
    ours = run.column("probes", "rtt_ns", probe="ping-icmp")
    theirs = found.column("probes", "rtt_ns", probe="Ping (ms) ICMP")
    assert np.array_equal(theirs[theirs >= 0], ours[ours >= 0])
    # A file has what was answered only.
    sent = found.column("probes", "sent_ns", probe="Ping (ms) ICMP")[theirs >= 0]
    ours_sent = run.column("probes", "sent_ns", probe="ping-icmp")[ours >= 0]
    assert np.abs(sent - ours_sent).max() < 1000
    for column in ("dropped_pkts", "backlog_bytes", "departed_bytes", "t_ns"):
        assert np.array_equal(
            found.column("queue_samples", column, queue="router"),
            run.column("queue_samples", column, queue="router->gateway"),
        )
    payload = found.column("flow_samples", "delivered_payload_bytes", flow="TCP upload BE")
    measured = run.column("flow_samples", "delivered_payload_bytes", flow="tcp-upload-BE")
    assert payload[-1] == pytest.approx(measured[24], abs=2)


def test_the_summary_is_flents() -> None:
    file = file_of()
    rows = {row.series: row for row in summary_rows(file)}
    upload = [v for v in file.results["TCP upload sum"] if v is not None]
    row = rows["TCP upload sum"]
    assert row.mean == pytest.approx(math.fsum(upload) / len(upload))
    assert row.points == len(upload)
    assert row.p99 == pytest.approx(np.percentile(upload, 99))
    windows = rows["TCP upload BE::tcp_cwnd"]
    assert (windows.unit, windows.least) == ("packets", min(
        sample["tcp_cwnd"] for sample in file.raw_values["TCP upload BE"] if "tcp_cwnd" in sample
    ))  # fmt: skip
    assert {rows[f"qdisc_stats_router::{each}"].unit for each in ("dropped", "backlog_bytes")} == {
        "packets",
        "bytes",
    }
    assert rows.keys() == file.results.keys()
    text = summary_text(file)
    assert "Title: 'pie t20'" in text
    assert f"{row.mean:.2f}" in text
    assert "TCP upload::1 " in summary_text(file_of("tcp_nup"))


@pytest.mark.parametrize(
    ("told", "mean"),
    [(1.5, 1.5), (None, 6.0), (0, 6.0), (0.0, 6.0), ("1.5", 6.0), (True, 6.0), (1e300, 6.0)],
)
def test_the_mean_is_the_programs_own_where_it_gave_one(told: object, mean: float) -> None:
    """Of 10 Mbit/s for a second and 2 Mbit/s for 17 the mean is not 6, as netperf knows."""
    samples = [{"t": 1.0, "dur": 1.0, "val": 10.0}, {"t": 18.0, "dur": 17.0, "val": 2.0}]
    meta = {"TCP upload": {"UNITS": "Mbits/s", "MEAN_VALUE": told}}
    file = FlentFile([1.0], {"TCP upload": [10.0]}, {"TCP upload": samples}, {"SERIES_META": meta})
    (row,) = summary_rows(file)
    assert (row.mean, row.median, row.least, row.greatest, row.points) == (mean, 6, 2, 10, 2)

"""What became of transfers, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

NS_A_BYTE = 800
SYN, ACK, SEGMENT = 74, 66, 1514


def run_of(source: dict[str, Any], **link: Any) -> Run:
    ends = {"a": "a", "b": "b", "rate": "10mbit", "delay": "20ms"}
    flow = {"name": "f", "from": "a", "to": "b", "source": source}
    return simulate(
        Experiment.read({"duration": "30s", "links": [{**ends, **link}], "flows": [flow]})
    )


@pytest.fixture(scope="module")
def ten() -> Run:
    """Ten full segments: the initial window."""
    return run_of({"kind": "sized", "size": "14480B"})


def test_a_transfer_of_one_window(ten: Run) -> None:
    # The SYN and its answer, the acknowledgement and ten segments behind it.
    taken_s = 60e-3 + NS_A_BYTE * 1e-9 * (2 * SYN + ACK + 10 * SEGMENT)
    assert metrics.completion_time_s(ten) == pytest.approx([taken_s], abs=1e-8)
    least_s = 60e-3 + NS_A_BYTE * 1e-9 * 14480
    assert metrics.slowdown(ten) == pytest.approx([taken_s / least_s], abs=1e-6)
    assert metrics.base_rtts_s(ten) == pytest.approx([0.04])


def test_what_a_capture_behind_the_queue_shows(ten: Run) -> None:
    (row,) = ten.table("transfers").to_dicts()
    # SYN, acknowledgement, ten segments, FIN, the other FIN's acknowledgement; nothing again.
    assert row["created_pkts"] == row["received_pkts"] == 14
    assert row["retransmitted_pkts"] == row["received_again_pkts"] == row["dropped_pkts"] == 0
    assert row["received_bytes"] == 60 + 3 * 52 + 10 * 1500
    duration_s = (row["last_received_ns"] - row["first_received_ns"]) / 1e9
    assert metrics.throughput_at_receiver_bps(ten) == pytest.approx(
        [8 * row["received_bytes"] / duration_s]
    )
    assert metrics.repeated_share(ten) == [0]
    assert metrics.transfer_loss_ratio(ten) == [0]


def test_losses_are_seen_as_what_is_sent_again() -> None:
    run = run_of({"kind": "sized", "size": "3mb"}, forward={"loss": 0.05})
    (dropped,), (again,) = metrics.transfer_loss_ratio(run), metrics.repeated_share(run)
    assert dropped == pytest.approx(0.05, abs=0.015)
    assert again == pytest.approx(dropped, rel=0.2)
    (row,) = run.table("transfers").to_dicts()
    assert row["created_pkts"] == row["received_pkts"] + row["dropped_pkts"]


def test_one_packet_has_no_duration_and_nothing_no_share() -> None:
    run = run_of({"kind": "sized", "size": "1mb"}, forward={"rate": "1mbit", "loss": 1.0})
    assert np.isnan(metrics.repeated_share(run)).all()
    assert metrics.transfer_loss_ratio(run) == [1]
    cut = run_of({"kind": "sized", "size": "1mb"}, reverse={"loss": 1.0})
    # SYNs only, sent again; the receiver sees each.
    assert cut.column("transfers", "received_pkts")[0] > 1
    assert np.isnan(metrics.completion_time_s(cut)).all()
    assert np.isnan(metrics.slowdown(cut)).all()


def test_a_flow_by_name_and_without_an_end() -> None:
    run = run_of({"kind": "greedy"})
    assert run.column("transfers", "bytes") == [-1]
    assert metrics.throughput_at_receiver_bps(run, "f") == pytest.approx(
        [10e6 * 1500 / 1514], rel=0.02
    )
    assert np.isnan(metrics.completion_time_s(run, "f")).all()

"""What applications write over TCP: recorded where it is asked for, beside everything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.tables import Run

RATE_MBPS = 10
SEGMENT_BYTES = 1448


def experiment(*, source: dict[str, Any] | None = None, **tcp: Any) -> Experiment:
    """A flow over 10 Mbit/s and 40 ms, and datagrams beside it."""
    return Experiment.read(
        {
            "name": "writes",
            "duration": "20s",
            "sample_interval": "100ms",
            "links": [
                {
                    "a": "a",
                    "b": "b",
                    "rate": f"{RATE_MBPS}mbit",
                    "delay": "20ms",
                    "qdisc": "pfifo limit 30",
                }
            ],
            "flows": [
                {
                    "name": "bulk",
                    "from": "a",
                    "to": "b",
                    "source": source or {"kind": "greedy"},
                    "tcp": {"congestion_control": "cubic", **tcp},
                },
                {
                    "name": "beside",
                    "from": "a",
                    "to": "b",
                    "source": {
                        "kind": "cbr",
                        "rate": "10pps",
                        "size": "200B",
                        "size_at": "payload",
                    },
                },
            ],
        }
    )


def recorded(**of: Any) -> Run:
    return simulate(experiment(**of).with_(record_writes=True))


def written(run: Run) -> np.ndarray[Any, Any]:
    return run.column("flow_writes", "written_payload_bytes", flow="bulk")


def test_it_is_there_only_where_it_is_asked_for_and_changes_no_digest() -> None:
    without, with_ = simulate(experiment()), recorded()
    assert "flow_writes" not in without.tables
    assert with_.meta["digest"] == without.meta["digest"]
    again = Experiment.from_resolved(experiment().with_(record_writes=True).resolved())
    assert again.record_writes and "record_writes" not in experiment().resolved()


def test_a_row_a_flow_over_tcp_and_sample() -> None:
    run = recorded()
    samples = run.column("flow_samples", "t_ns", flow="bulk")
    assert run.column("flow_writes", "t_ns", flow="bulk").tolist() == samples.tolist()
    assert written(run).size == samples.size
    assert run.column("flow_writes", "t_ns", flow="beside").size == 0


def test_what_is_written_is_sent_or_waits_in_the_buffer() -> None:
    run = recorded()
    arrived = run.column("flow_samples", "delivered_payload_bytes", flow="bulk")
    cwnd_pkts = run.column("flow_samples", "cwnd_pkts", flow="bulk")
    waiting = written(run) - arrived
    assert (np.diff(written(run)) >= 0).all() and (waiting >= 0).all()
    # Two windows of packets of 4352 bytes, of which each takes its payload at least; a burst more.
    largest = max(10, int(cwnd_pkts.max())) * 2 * 4352 / SEGMENT_BYTES + 2
    assert waiting.max() <= largest * SEGMENT_BYTES * 1.5  # between samples it is larger
    assert waiting[50:].min() > 0


def test_it_comes_in_pieces_of_a_third_of_the_buffer() -> None:
    """A larger buffer is written to in larger pieces, and by as much in the mean."""
    small, large = recorded(packet_memory="2304B"), recorded()
    steps = [np.diff(written(run))[50:] for run in (small, large)]
    payload = small.column("flow_samples", "delivered_payload_bytes", flow="bulk")
    arrived = np.diff(payload)[50:]
    for each in steps:
        assert each.mean() == pytest.approx(arrived.mean(), rel=0.02)
    assert arrived.std() < steps[0].std() < steps[1].std()
    # A step of 0.1 s has one piece or none of the larger buffer, which comes evenly.
    piece = steps[1].max()
    assert {0, 1} == set(np.round(steps[1] / piece, 1))


def test_a_transfer_is_written_once() -> None:
    run = recorded(source={"kind": "sized", "size": "1000000B"})
    assert written(run)[-1] == 1_000_000


@pytest.mark.parametrize("burst_pkts", [1, 65535])
@pytest.mark.parametrize("buffer_bytes", [5_000, 20_000, 100_000])
def test_what_a_full_buffer_refuses_of_a_write_is_written_later(
    burst_pkts: int, buffer_bytes: int
) -> None:
    """However full it was: no byte of a transfer is lost."""
    source = {"kind": "sized", "size": "1234567B"}
    run = recorded(source=source, send_buffer=f"{buffer_bytes}B", gso_max_segs=burst_pkts)
    arrived = run.column("flow_samples", "delivered_payload_bytes", flow="bulk")
    # Twice what was asked for holds structures too; the last sk_buff may be beyond it.
    assert (written(run) - arrived).max() <= 2 * buffer_bytes + 65_536
    assert written(run)[-1] == arrived[-1] == 1_234_567


def test_the_memory_of_a_packet_is_kept_in_a_description() -> None:
    plain, other = experiment(), experiment(packet_memory="2304B")
    assert plain.resolved()["flows"][0]["tcp"]["packet_memory_bytes"] == 4352
    assert other.resolved()["flows"][0]["tcp"]["packet_memory_bytes"] == 2304
    assert Experiment.from_resolved(other.resolved()).resolved() == other.resolved()
    assert experiment(packet_memory="4352B").resolved() == plain.resolved()


@pytest.mark.parametrize("size", ["1kb", "1mb", "many"])
def test_a_memory_that_no_packet_has_is_refused(size: str) -> None:
    with pytest.raises(SpecError, match=r"tcp\.packet_memory"):
        experiment(packet_memory=size)

"""What programs said: round trips, throughput of the whole and of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.compare import MeasureSubject, Quantity, summary_of
from dumbbell.compare.measures import MEASURES
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, programs
from dumbbell.spec.programs import MODELS, ProgramQuantities
from dumbbell.tables import SCHEMA, Run

BETWEEN = {"from": "a", "to": "b"}
PROGRAMS = [
    {"kind": "ping", "name": "pings", **BETWEEN, "count": 5},
    {"kind": "iperf3", "name": "up", **BETWEEN, "duration": "2s", "parallel": 2},
    {"kind": "iperf3", "name": "down", **BETWEEN, "duration": "2s", "reverse": True},
    {"kind": "any", "name": "by-hand", "host": "a", "command": ["true"]},
    {"kind": "curl", "name": "pages", **BETWEEN, "count": 3, "size": "10kB"},
    {"kind": "curl", "name": "none", **BETWEEN, "count": 1, "size": "10kB"},
]
LINKS = [{"a": "a", "b": "b", "rate": "10mbit", "delay": "5ms"}]


def table(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        column.name: np.array([row.get(column.name, -1) for row in rows], dtype=column.numpy)
        for column in SCHEMA[name]
    }


def interval(program: int, side: int, stream: int, end_s: float, size: int) -> dict[str, Any]:
    times = {"start_ns": int(1e9 * end_s) - 10**9, "end_ns": int(1e9 * end_s)}
    return {"program": program, "side": side, "stream": stream, "bytes": size, **times}


@pytest.fixture(scope="module")
def run() -> Run:
    """A run with tables as the kernel would have made them."""
    described = Experiment(duration="5s", links=LINKS, programs=PROGRAMS)
    quiet = simulate(Experiment(duration="5s", links=LINKS))
    trips = [{"program": 0, "seq": k + 1, "rtt_ns": rtt} for k, rtt in enumerate(RTT_NS)]
    intervals = [
        # Two streams; the receiver is the answering side, and the last interval is half a one.
        *(interval(1, side, stream, end, size)
          for side, size in ((0, 900), (1, 500)) for stream in (5, 7) for end in (1.0, 2.0)),
        {"program": 1, "side": 1, "stream": 5, "bytes": 9}
        | {"start_ns": 2 * 10**9, "end_ns": 25 * 10**8},
        # Reversed: the asking side reads.
        interval(2, 0, 5, 1.0, 1000), interval(2, 0, 5, 2.0, 3000), interval(2, 1, 5, 1.0, 9999),
    ]  # fmt: skip
    said = [
        {"program": 0, "sent_pkts": 5, "lost_pkts": 1, "throughput_bps": np.nan},
        {"program": 1, "throughput_bps": 8000.0},
        {"program": 2, "throughput_bps": 16000.0},
        {"program": 3, "throughput_bps": np.nan},
        {"program": 4, "throughput_bps": 80_000.0},
        {"program": 5, "throughput_bps": np.nan},
    ]  # fmt: skip
    return Run(
        origin="kernel",
        replication=0,
        spec={**described.resolved()},
        tables={
            **quiet.tables,
            "programs": table("programs", said),
            "program_round_trips": table("program_round_trips", trips),
            "program_intervals": table("program_intervals", intervals),
            "program_transfers": table("program_transfers", TRANSFERS),
        },
    )


TRANSFERS = [
    {"program": 4, "number": k + 1, "bytes": size, "total_s": total_s}
    for k, (size, total_s) in enumerate([(10_000, 0.5), (10_000, 1.0), (5_000, 1.0)])
]
RTT_NS = [10_000_000, 11_000_000, -1, 12_000_000, 15_000_000]


def test_round_trips_are_those_that_were_answered(run: Run) -> None:
    assert metrics.program_rtt_ms(run, "pings").tolist() == [10.0, 11.0, 12.0, 15.0]
    assert metrics.mean_program_rtt_ms(run, 0) == pytest.approx(12.0)
    assert metrics.program_rtt_quantiles_ms(run, "pings", [0, 0.5, 1]).tolist() == [10, 11.5, 15]
    assert metrics.program_loss_ratio(run, "pings") == pytest.approx(0.2)
    assert np.isnan(metrics.program_rtt_quantiles_ms(run, "up", 0.5))


def test_intervals_are_of_all_streams_by_who_reads(run: Run) -> None:
    assert metrics.program_interval_throughputs_bps(run, "up").tolist() == [8000.0, 8000.0]
    assert metrics.program_interval_throughputs_bps(run, "down").tolist() == [8000.0, 24000.0]
    assert metrics.program_counted_bytes(run, "up", [0, 0.5, 1, 2]).tolist() == [0, 500, 1000, 2000]
    assert metrics.program_counted_bytes(run, "up", 2, side=0) == 3600
    assert np.isnan(metrics.program_counted_bytes(run, "pings", 1.0))


def test_transfers_are_those_of_curl(run: Run) -> None:
    """``time_total``, ``size_download``, and the one over the other."""
    assert metrics.program_transfer_times_s(run, "pages").tolist() == [0.5, 1.0, 1.0]
    assert metrics.mean_program_transfer_time_s(run, "pages") == pytest.approx(2.5 / 3)
    assert metrics.program_transfer_time_quantiles_s(run, 4, [0, 0.5]).tolist() == [0.5, 1.0]
    assert metrics.program_transferred_bytes(run, "pages") == 25_000
    goodputs = metrics.program_transfer_goodputs_bps(run, "pages")
    assert goodputs.tolist() == [160_000.0, 80_000.0, 40_000.0]
    assert metrics.program_transfer_goodput_quantiles_bps(run, "pages", 0.5) == 80_000.0
    assert metrics.program_transferred_bytes(run, "none") == 0
    assert np.isnan(metrics.mean_program_transfer_time_s(run, "none"))
    assert np.isnan(metrics.program_transfer_goodput_quantiles_bps(run, "none", 0.5))


def test_a_summary_has_what_each_kind_of_program_says(run: Run) -> None:
    summary = summary_of(run)
    assert summary.names(MeasureSubject.PROGRAM) == ["pings", "up", "down", "pages", "none"]
    assert summary["program[pings].rtt_p50_ms"] == pytest.approx(11.5)
    assert summary["program[down].interval_throughput_p95_bps"] == pytest.approx(23_200)
    assert summary["program[up].throughput_bps"] == 8000.0
    assert summary["program[pages].bytes"] == 25_000
    assert summary["program[pages].time_total_p50_s"] == 1.0
    assert summary["program[pages].goodput_p50_bps"] == 80_000.0
    assert "mean_rtt_ms" not in summary.of(MeasureSubject.PROGRAM, "up")
    with pytest.raises(SpecError, match="rtt_p95_ms"):
        Quantity.parse("program[pings].rtt_p59_ms")


def test_kinds_of_measures_are_kinds_of_programs() -> None:
    for (of, _), measure in MEASURES.items():
        assert measure.of_kinds <= MODELS.keys()
        assert bool(measure.of_kinds) == (of is MeasureSubject.PROGRAM)


def test_a_kind_that_says_a_quantity_has_its_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new kind is one file and one line: nothing else names it."""

    class FetchProgram(MODELS["curl"]):  # type: ignore[name-defined,misc]
        SAYS = frozenset({ProgramQuantities.TRANSFERS})

    monkeypatch.setattr(programs, "MODELS", {**MODELS, "fetch": FetchProgram})
    assert programs.kinds_that_say(ProgramQuantities.TRANSFERS) == {"curl", "fetch"}
    assert "fetch" not in programs.kinds_that_say(ProgramQuantities.THROUGHPUT)
    for says in ProgramQuantities:
        of = programs.kinds_that_say(says)
        assert any(measure.of_kinds == of for measure in MEASURES.values()), says

"""The reference grid and its files: balanced, whole, and what they were made with is recorded."""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import reference_grid as grid

from dumbbell.backends import simulate
from dumbbell.backends.kernel import find_kernel
from dumbbell.backends.kernel.recipe import recipe_for
from dumbbell.tables import Run

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import reference_runs

LEVELS = {
    "queue": grid.QUEUES,
    "controller": grid.CONTROLLERS,
    "rate_mbps": grid.RATES_MBPS,
    "rtt_ms": grid.RTTS_MS,
    "flows": grid.FLOWS,
}
CELLS = grid.cells()
RUNS = [(cell, replication) for cell in CELLS for replication in range(grid.REPLICATIONS)]


def test_there_are_sixty_different_cells() -> None:
    assert len(CELLS) == len(set(CELLS)) == len({cell.name for cell in CELLS}) == 60


@pytest.mark.parametrize("factor", LEVELS)
def test_levels_are_evenly_present(factor: str) -> None:
    counts = Counter(getattr(cell, factor) for cell in CELLS)
    assert set(counts) == set(LEVELS[factor])
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("factors", list(itertools.combinations(LEVELS, 2)))
def test_pairs_of_levels_are_evenly_present(factors: tuple[str, str]) -> None:
    counts = Counter(tuple(getattr(cell, factor) for factor in factors) for cell in CELLS)
    pairs = list(itertools.product(*(LEVELS[factor] for factor in factors)))
    assert all(abs(counts[pair] - 60 / len(pairs)) <= 2 for pair in pairs)
    assert all(counts[pair] > 0 for pair in pairs)


def test_queues_are_as_long_as_their_names_say() -> None:
    def qdisc(queue: str, rate_mbps: int = 10, rtt_ms: int = 20) -> str:
        return grid.Cell(queue, "reno", rate_mbps, rtt_ms, 1).qdisc()

    # 10 Mbit/s for 20 ms are 25,000 bytes: 16.5 packets.
    assert qdisc("pfifo-half") == "pfifo limit 9"
    assert qdisc("pfifo-one") == "pfifo limit 17"
    assert qdisc("pfifo-five") == "pfifo limit 83"
    assert qdisc("tbf") == "tbf rate 10mbit burst 10kb limit 35240b"
    assert "min 8333b max 25000b" in qdisc("red")
    assert qdisc("pie") == "pie"


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, int], grid.Row]:
    return grid.read_runs()


def test_every_run_is_there_with_every_number(runs: dict[tuple[str, int], grid.Row]) -> None:
    assert list(runs) == [(cell.name, replication) for cell, replication in RUNS]
    for row in runs.values():
        assert set(row) == {"cell", "replication", *grid.RUN_COLUMNS, "digest"}
        assert all(np.isfinite(row[name]) for name in grid.RUN_COLUMNS)
        assert re.fullmatch(r"[0-9a-f]{64}", row["digest"])


def test_every_flow_is_there(runs: dict[tuple[str, int], grid.Row]) -> None:
    flows = grid.read_flows()
    assert flows.keys() == runs.keys()
    for cell, replication in RUNS:
        found = flows[cell.name, replication]
        assert [row["flow"] for row in found] == list(range(cell.flows))
        assert all(np.isfinite(row[name]) for row in found for name in grid.FLOW_COLUMNS)
        total = sum(row["goodput_mbps"] for row in found)
        assert total == pytest.approx(runs[cell.name, replication]["goodput_mbps"], rel=1e-5)


def test_numbers_are_possible(runs: dict[tuple[str, int], grid.Row]) -> None:
    for cell, replication in RUNS:
        row = runs[cell.name, replication]
        # A shaper's bucket may be full when the window begins.
        assert 0.3 < row["utilization"] < 1.001, cell.name
        assert row["goodput_mbps"] < row["utilization"] * cell.rate_mbps
        assert 1 / cell.flows <= row["jain"] <= 1 + 1e-6
        if match := re.fullmatch(r"pfifo limit (\d+)", cell.qdisc()):
            assert row["backlog_mean_pkts"] <= int(match[1])
    for rows in grid.read_flows().values():
        assert all(row["srtt_mean_ms"] > 19 for row in rows)


def test_curves_are_whole() -> None:
    curves = grid.read_series()
    assert len(curves) == sum(1 + cell.flows for cell, _ in RUNS)
    for cell, replication in RUNS:
        for flow in (grid.BACKLOG, *range(cell.flows)):
            values = curves[cell.name, replication, flow]
            assert len(values) >= grid.DURATION_S * 1000 // grid.SERIES_MS
            assert values.min() >= (0 if flow == grid.BACKLOG else -1)


def test_replications_of_several_flows_are_not_one_sample_path(
    runs: dict[tuple[str, int], grid.Row],
) -> None:
    for cell in CELLS:
        digests = {runs[cell.name, n]["digest"] for n in range(grid.REPLICATIONS)}
        assert len(digests) == grid.REPLICATIONS, cell.name


def test_what_they_were_made_with_is_recorded() -> None:
    meta = grid.read_meta()
    versions = meta["versions"]
    assert versions["kernel"].startswith("6.1.")
    assert versions["kernel_hz"] == 1000
    hashes = [versions[name] for name in ("kernel_sha256", "guest_sha256", "tc_sha256")]
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in hashes)
    # Later ones: the time stamp counter, which the guest does not read, and what makes it cheaper.
    later = {
        "0007-the-time-stamp-counter-is-virtual.patch",
        "0009-the-clock-is-read-without-a-call.patch",
        "0010-registers-that-stay.patch",
        "0011-changes-of-memory-together.patch",
        "0012-faults-without-a-question.patch",
        "0013-idle-without-a-call.patch",
        "0014-no-registers-of-a-timer.patch",
        "0015-interrupts-without-a-call.patch",
        "0016-the-clock-moves-without-an-event.patch",
    }
    patches = {patch.name for patch in recipe_for().patches}
    assert patches - later <= set(meta["patches_sha256"]) <= patches
    assert (Path(grid.__file__).parents[2] / meta["command"].split()[1]).is_file()


def test_the_files_are_small() -> None:
    assert sum(file.stat().st_size for file in grid.FOLDER.iterdir()) < 2_000_000


def steady_run(cell: grid.Cell) -> Run:
    """Tables of a run in which nothing changes: 50 packets queued, 8 Mbit/s, windows of 40."""
    times = np.arange(1, grid.DURATION_S * 1000 // grid.SAMPLE_MS + 1) * grid.SAMPLE_MS
    queue = np.full(len(times), grid.BOTTLENECK)
    queues = {
        "t_ns": times * 10**6,
        "queue": queue,
        "backlog_bytes": np.full(len(times), 50 * grid.PACKET_BYTES),
        "backlog_pkts": np.full(len(times), 50),
        "departed_bytes": times * 1000,
        "dropped_pkts": times // 1000,
        "marked_pkts": 0 * times,
    }
    flows = {
        "t_ns": np.repeat(times * 10**6, cell.flows),
        "flow": np.tile(np.arange(cell.flows), len(times)),
        "delivered_payload_bytes": np.repeat(times * 900 // cell.flows, cell.flows),
        "retransmitted_pkts": np.repeat(times // 1000, cell.flows),
        "cwnd_pkts": np.full(len(times) * cell.flows, 40),
        "srtt_ns": np.full(len(times) * cell.flows, 60_000_000),
    }
    tables = {"queue_samples": queues, "flow_samples": flows}
    return Run("simulated", 0, {}, tables, {"digest": "0" * 64}, {})


def test_the_summary_of_a_run_in_which_nothing_changes() -> None:
    cell = grid.Cell("pie", "reno", 10, 20, 2)
    row, flows = grid.summary(cell, steady_run(cell))
    assert row["utilization"] == pytest.approx(0.8)
    assert row["goodput_mbps"] == pytest.approx(7.2)
    assert row["queueing_delay_mean_ms"] == pytest.approx(50 * 1514 * 8 / 10e3)
    assert row["dropped_pkts"] == grid.DURATION_S - grid.FROM_S
    assert row["retransmitted_pkts"] == 2 * row["dropped_pkts"]
    assert row["jain"] == pytest.approx(1)
    assert [flow["cwnd_mean_pkts"] for flow in flows] == [40, 40]
    assert flows[0]["srtt_mean_ms"] == pytest.approx(60)
    curves = grid.series(cell, steady_run(cell))
    assert [flow for flow, _ in curves] == [grid.BACKLOG, 0, 1]
    assert [len(values) for _, values in curves] == [300] * 3


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    cell = CELLS[0]
    row, flows = grid.summary(cell, steady_run(cell))
    kept = {
        "run": {"cell": cell.name, "replication": 0, **row},
        "flows": flows,
        "series": grid.series(cell, steady_run(cell)),
        "digest": "0" * 64,
    }
    for name in ("one", "two"):
        reference_runs.write(iter([kept]), {"kernel": "6.1"}, tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    folder = tmp_path / "one"
    assert grid.read_runs(folder)[cell.name, 0]["goodput_mbps"] == pytest.approx(7.2)
    assert len(grid.read_flows(folder)[cell.name, 0]) == cell.flows
    assert set(grid.read_series(folder)[cell.name, 0, grid.BACKLOG]) == {50}
    assert grid.read_meta(folder)["versions"] == {"kernel": "6.1"}


@pytest.mark.kernel
def test_the_kernel_that_is_built_still_does_this() -> None:
    """Also of another point release, and with another compiler."""
    if find_kernel() is None:
        pytest.skip("the kernel in virtual time is not built")
    cell = next(cell for cell in CELLS if cell.queue == "pfifo-half" and cell.flows == 1)
    row, _ = grid.summary(cell, simulate(cell.experiment(), 0, backend="kernel"))
    recorded = grid.read_runs()[cell.name, 0]
    assert row["goodput_mbps"] == pytest.approx(recorded["goodput_mbps"], rel=0.02)
    assert row["queueing_delay_mean_ms"] == pytest.approx(
        recorded["queueing_delay_mean_ms"], rel=0.05
    )

"""How flows share a link, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from metrics_samples import by_hand

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.compare.capacity import possible_bps
from dumbbell.compare.quantity import Quantity
from dumbbell.metrics.path import capacity_bits
from dumbbell.spec import Experiment, Resolved
from dumbbell.tables import Run

GREEDY: dict[str, Any] = {"kind": "greedy"}
CBR: dict[str, Any] = {"kind": "cbr", "rate": "10pps", "size": "100B", "size_at": "payload"}


def spec(*sources: dict[str, Any], **link: Any) -> dict[str, Any]:
    flows = [
        {"name": f"f{index}", "from": "a", "to": "c", "source": source}
        for index, source in enumerate(sources)
    ]
    links = [
        {"a": "a", "b": "b", "rate": "40mbit"},
        {"a": "b", "b": "c", "rate": "10mbit", "delay": "1ms", **link},
    ]
    described = {"duration": "10s", "warm_up": "2s", "links": links, "flows": flows}
    return Experiment.read(described).resolved()


def run_of(received_bytes: Sequence[int], described: dict[str, Any]) -> Run:
    flows = {"flow": [*range(len(received_bytes))], "received_payload_bytes": [*received_bytes]}
    return by_hand({"flows": flows}, described)


def test_jains_index_by_hand() -> None:
    run = run_of([3000, 1000, 999_999], spec(GREEDY, GREEDY, CBR))
    # (3 + 1)^2 / (2 (9 + 1)); the stream of constant rate takes what it offers.
    assert metrics.jain_index(run) == pytest.approx(0.8)
    assert metrics.jain_index(run, ["f0", "f1"]) == pytest.approx(0.8)
    assert metrics.jain_index(run_of([7, 7], spec(GREEDY, GREEDY))) == pytest.approx(1)
    assert metrics.jain_index(run_of([7, 0], spec(GREEDY, GREEDY))) == pytest.approx(0.5)
    assert math.isnan(metrics.jain_index(run_of([7, 7], spec(GREEDY, CBR))))
    assert math.isnan(metrics.jain_index(run_of([0, 0], spec(GREEDY, GREEDY))))


def test_the_share_is_of_the_narrowest_link() -> None:
    run = run_of([1_000_000, 4_000_000], spec(GREEDY, GREEDY))
    assert metrics.path_capacity_bps(run, 0) == 10e6
    # 1 MB in the 8 s after the warm-up.
    assert metrics.capacity_share(run, 0) == pytest.approx(0.1)
    assert metrics.capacity_share(run, [0, 1]) == pytest.approx(0.5)
    assert metrics.total_goodput_bps(run) == pytest.approx(5e6)


def test_a_rate_that_changes_is_integrated() -> None:
    run = run_of([1], spec(GREEDY, changes=[{"at": "6s", "rate": "2mbit"}]))
    # From 2 s to 6 s at 10, then 4 s at 2 Mbit/s.
    assert metrics.path_capacity_bps(run, 0) == pytest.approx(6e6)


@pytest.mark.parametrize(
    ("link", "bps"),
    [
        ({"police": "police rate 4mbit burst 20kb drop"}, 4e6),
        ({"police": "police rate 40mbit burst 20kb drop"}, 10e6),
        ({"qdisc": "tbf rate 3mbit burst 5kb limit 50kb"}, 3e6),
        (
            {
                "qdisc": "tbf rate 3mbit burst 5kb limit 50kb",
                "police": "police rate 2mbit burst 20kb drop",
            },
            2e6,
        ),
        # From 2 s to 6 s at 4, then 4 s at 1 Mbit/s.
        (
            {
                "police": "police rate 4mbit burst 20kb drop",
                "changes": [{"at": "6s", "rate": "1mbit"}],
            },
            2.5e6,
        ),
        ({"rate": "inf", "police": "police rate 4mbit burst 20kb drop"}, 4e6),
    ],
)
def test_what_polices_or_shapes_is_the_narrowest_place_too(
    link: dict[str, Any], bps: float
) -> None:
    described = spec(GREEDY, **link)
    run = run_of([1_000_000], described)
    assert metrics.path_capacity_bps(run, 0) == pytest.approx(bps)
    assert metrics.capacity_share(run, 0) == pytest.approx(1e6 / bps)
    if "changes" not in link:
        # What a margin is a share of is the same rate.
        of_it = Quantity.parse("flow[f0].goodput_bps")
        assert possible_bps(of_it, Resolved(described)) == pytest.approx(bps)
    if "police" in link and link.get("rate") != "inf":
        # The link itself can send as much as ever.
        assert capacity_bits(run, "b->c") >= 8 * 2e6


def test_nothing_to_share_where_nothing_limits() -> None:
    run = run_of([1], {**spec(CBR), "links": spec(CBR, rate="inf")["links"][1:]})
    run.spec["links"][0]["a"] = "a"  # type: ignore[index]
    assert metrics.path_capacity_bps(run, 0) == math.inf
    assert math.isnan(metrics.capacity_share(run, 0))


def test_completion_times_leave_out_what_was_not_completed() -> None:
    s = 1_000_000_000
    transfers = {
        "flow": [0, 0, 1, 1, 2],
        "bytes": [100, 100, 100, 100, -1],
        "started_ns": [0, s, 0, s, 0],
        "completed_ns": [s, 4 * s, 5 * s, -1, -1],
    }
    sized = {"kind": "sized", "size": "100B"}
    run = by_hand({"transfers": transfers}, spec(sized, sized, GREEDY))
    assert metrics.begun_transfers(run) == 4
    assert metrics.completed_transfers(run) == 3
    assert metrics.mean_completion_time_s(run) == pytest.approx(3)
    assert metrics.mean_completion_time_s(run, "f0") == pytest.approx(2)
    assert metrics.mean_completion_time_s(run, ["f0", "f1"]) == pytest.approx(3)
    assert metrics.completion_time_quantiles_s(run, [0, 0.5, 1]).tolist() == [1, 3, 5]
    assert metrics.completion_time_quantiles_s(run, 0.5, [0]) == pytest.approx(2)
    assert math.isnan(metrics.mean_completion_time_s(run, 2))
    assert math.isnan(metrics.completion_time_quantiles_s(run, 0.5, 2))


def test_flows_together_weigh_each_packet_the_same() -> None:
    flows = {
        "flow": [0, 1],
        "delivered_pkts": [30, 10],
        "dropped_pkts": [10, 0],
        "delay_count": [30, 10],
        "delay_mean_s": [0.1, 0.5],
        "delay_max_ns": [int(2e8), int(6e8)],
    }
    run = by_hand({"flows": flows}, spec(GREEDY, GREEDY))
    assert metrics.flow_loss_ratio(run, [0, 1]) == pytest.approx(0.2)
    assert metrics.mean_delay_s(run, [0, 1]) == pytest.approx(0.2)
    assert metrics.max_delay_s(run, [0, 1]) == pytest.approx(0.6)


def test_quantiles_of_delays_by_hand() -> None:
    tables = {
        "flows": {"flow": [0, 1, 2], "delay_max_ns": [int(3.9e8), int(2e8), -1]},
        "flow_delays": {
            "flow": [0, 0, 1],
            "low_ns": [1e8, 2e8, 1e8],
            "high_ns": [2e8, 4e8, 2e8],
            "pkts": [10, 30, 20],
        },
    }
    run = by_hand(tables, spec(GREEDY, GREEDY, GREEDY))
    quarters = [0, 0.25, 0.625, 1]
    # The greatest delay is known exactly, the last bin's end lies beyond it.
    assert metrics.delay_quantile_s(run, "f0", quarters) == pytest.approx([0.1, 0.2, 0.3, 0.39])
    assert metrics.delay_quantile_s(run, 1, 0.5) == pytest.approx(0.15)
    assert metrics.delay_quantile_s(run, 1, 0.5).shape == ()
    # Together the flows have 30 in each bin.
    assert metrics.delay_quantile_s(run, [0, 1], quarters) == pytest.approx([0.1, 0.15, 0.25, 0.39])
    assert metrics.delay_quantile_s(run, [2, 1], 0.5) == pytest.approx(0.15)
    assert np.isnan(metrics.delay_quantile_s(run, "f2", [0.5, 1])).all()
    # A run of an earlier version has no such table.
    earlier = Run(run.origin, 0, run.spec, {"flows": run.tables["flows"]})
    assert math.isnan(metrics.delay_quantile_s(earlier, 0, 0.5))


def test_names_stand_beside_numbers_in_a_file_of_transfers(tmp_path: object) -> None:
    import polars as pl

    from dumbbell.tables import read_parquet, write_parquet

    described = spec({"kind": "sized", "size": "10kb"}, {"kind": "sized", "size": "20kb"})
    run = simulate(Experiment.from_resolved(described))
    folder = write_parquet(run, f"{tmp_path}/run")
    frame = pl.read_parquet(folder / "transfers.parquet")
    assert frame["flow_name"].to_list() == ["f0", "f1"]
    again = read_parquet(folder)
    assert again.tables["transfers"].keys() == run.tables["transfers"].keys()

"""Buffer sizing by iperf, tcpdump and tshark: what tshark's fields are reduced to; the table."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.studies import own_programs
from dumbbell.studies.buffer_sizing import own, published
from dumbbell.sweep import Replications


def fields(tmp_path: Path, packets: list[tuple[float, int, int, bool]]) -> Path:
    """What tshark would print of (seconds, port, bytes, retransmission), answers among them."""
    path = tmp_path / "fields.csv"
    lines = []
    for at_s, port, size, is_again in packets:
        lines.append(f"{1.7e9 + at_s:.6f},10.0.0.1,10.0.0.2,{port},5001,{size},{'1' * is_again}")
        lines.append(f"{1.7e9 + at_s + 0.001:.6f},10.0.0.2,10.0.0.1,5001,{port},66,")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_flows_are_measured_as_the_source_measured_them(tmp_path: Path) -> None:
    """Bits from the first to the last packet, retransmissions over packets, 100 kB are large."""
    mouse = [(1.0, 1001, 1000, False), (1.5, 1001, 1000, True), (2.0, 1001, 2000, False)]
    persistent = [(0.1 * k, 1002, 1500, k % 10 == 9) for k in range(100)]
    alone = [(3.0, 1003, 1500, False)]
    seen = own.Seen.by_tshark(fields(tmp_path, [*mouse, *persistent, *alone]))
    assert seen.is_large.tolist() == [False, True]
    assert seen.throughput_kbps == pytest.approx([8 * 4000 / 1.0 / 1e3, 8 * 150_000 / 9.9 / 1e3])
    assert seen.loss == pytest.approx([1 / 3, 0.1])


def seen(large_kbps: list[float], small_kbps: list[float], loss: list[float]) -> own.Seen:
    rates = np.array([*large_kbps, *small_kbps])
    return own.Seen(rates, np.array(loss), np.arange(rates.size) < len(large_kbps))


def test_what_is_told_of_two_buffers() -> None:
    """Three of four persistent flows get more with 500 packets, and one of two mice."""
    small = seen([10.0, 20.0, 30.0, 100.0], [5.0, 9.0], [0.1] * 4 + [0.0, 0.5])
    large = seen([20.0, 30.0, 40.0, 90.0], [6.0, 8.0], [0.02, 0.03, 0.03, 0.04, 0.0, 0.0])
    of = own.told({"small": small, "large": large})
    assert of.levels.large_better_with_large == pytest.approx(0.75)
    assert of.levels.small_better_with_small == pytest.approx(0.5)
    assert of.levels.large_loss == pytest.approx(0.03)
    assert of.levels.small_without_loss_small == 0.5
    assert of.levels.small_without_loss_large == 1.0
    assert of.spread > 1
    nothing = own.told({"small": seen([], [], []), "large": seen([], [], [])})
    assert np.isnan(nothing.levels.large_better_with_large)


def test_every_level_of_the_experiment_has_a_row_and_every_side_a_column() -> None:
    one = own.told(
        {
            "small": seen([10.0, 20.0], [5.0], [0.1, 0.2, 0.0]),
            "large": seen([20.0, 30.0], [4.0], [0.02, 0.03, 0.0]),
        }
    )
    many = Replications({own._ARM: (one, one, one)}, 3, "")
    part = own.OwnPrograms(own.Amount(3), 1)
    (table,) = part.tables({own_programs.COLUMN: many, "simulator": many})
    assert list(table.columns) == ["printed", "own programs", "simulator"]
    levels = len(own.published.PersistentLevels.__dataclass_fields__)
    assert len(table.rows) == levels + 1
    first = table.rows[0].cells
    assert first[0] == f"{100 * published.PERSISTENT['testbed'].large_better_with_large:g}"
    assert first[1].value == pytest.approx(100.0)
    assert "20 s in place of 150" in table.caption


def test_our_senders_send_what_the_script_does() -> None:
    """As many persistent flows of each node, and mice as large with as long a pause."""
    flows = own.our_senders(18, 1).resolved()["flows"]
    script = own.script(own.FIRST_PORT)
    (parallel,) = re.findall(r"-P (\d+)", script)
    (size,) = re.findall(r"-n (\d{4,})", script)
    mice = [flow for flow in flows if flow["name"].startswith("mice-")]
    assert len(flows) == len(mice) * (1 + int(parallel))
    assert {flow["source"]["size"]["value"] for flow in mice} == {int(size)}


@pytest.mark.kernel
@pytest.mark.usefixtures("real_kernel")
def test_tshark_sees_the_flows_of_iperf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four seconds behind 500 packets: all persistent flows, some mice, a bottleneck in use."""
    monkeypatch.setattr(own, "DURATION_S", 4)
    monkeypatch.setattr(own, "SENDING_S", 3)
    experiment = own.commands(500, 1)
    if missing := own_programs.missing_programs([experiment]):
        why = f"missing: {', '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    run = simulate(experiment, backend="kernel")
    of = own.Seen.by_tshark(run.files[f"{own.FIELDS}.tshark.csv"].path)
    assert of.throughput_kbps.size > own.LOAD.hosts * own.PERSISTENT
    assert of.is_large.sum() > own.LOAD.hosts * own.PERSISTENT / 2
    assert 0 < of.throughput_kbps.sum() < 2 * published.BOTTLENECK_BPS / 1e3

"""The arithmetic behind the table."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import paired
import run


def sample(packets: int = 1000, mean_s: float = 0.04, cpu_s: float = 1e-3) -> run.Sample:
    return run.Sample("x", packets, mean_s, cpu_s, 0)


def row(ours: run.Sample, other: run.Sample, target: float | None = 100) -> run.Row:
    return run.Row("other", target, "", [ours] * 9, [other] * 9)


def test_order_statistic_interval_of_nine_values() -> None:
    interval = paired.median_interval([9, 1, 8, 2, 7, 3, 6, 4, 5])
    assert (interval.median, interval.low, interval.high) == (5, 2, 8)
    assert interval.level == pytest.approx(1 - 2 * (1 + 9) / 512)


def test_median_of_an_even_number_is_between_the_middle_two() -> None:
    assert paired.median_interval([1, 2, 3, 10]).median == 2.5


def test_few_values_say_what_level_they_have() -> None:
    interval = paired.median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.high, interval.level) == (1.0, 3.0, 0.75)


def test_interval_covers_the_median_as_often_as_it_says() -> None:
    draw = random.Random(1)
    hits = 0
    for _ in range(2000):
        interval = paired.median_interval([draw.expovariate(1) for _ in range(9)])
        hits += interval.low <= 0.6931 <= interval.high
    # The level of nine values is 0.961; four standard deviations of 2,000 trials are 0.017.
    assert 0.944 < hits / 2000 < 0.978


def test_ratio_is_the_other_s_cost_per_packet_over_ours() -> None:
    compared = row(sample(packets=1000, cpu_s=1e-3), sample(packets=1010, cpu_s=0.202))
    assert compared.ratio().median == pytest.approx(200)
    assert compared.verdict() == "met"


def test_missed_and_open_targets() -> None:
    assert row(sample(), sample(cpu_s=0.05)).verdict() == "missed"
    split = run.Row("o", 100, "", [sample()] * 9, [sample(cpu_s=c / 100) for c in range(5, 14)])
    assert split.verdict().startswith("open")


def test_other_work_is_not_counted_however_fast() -> None:
    assert row(sample(), sample(packets=900)).verdict() == "not counted: packets -10.0%"
    assert "mean sojourn +12.5%" in row(sample(), sample(mean_s=0.045, cpu_s=9)).verdict()
    assert row(sample(), sample(packets=960, cpu_s=1)).verdict() == "met"


def test_means_are_pooled_by_packets() -> None:
    samples = [sample(packets=100, mean_s=1.0), sample(packets=300, mean_s=2.0)]
    assert run.pooled_mean_s(samples) == pytest.approx(1.75)


def test_table_names_both_sides() -> None:
    text = run.table([row(sample(), sample(cpu_s=0.2))])
    assert "9,000 / 9,000" in text
    assert ">= 100" in text
    assert "met" in text

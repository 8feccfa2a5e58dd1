"""Uploads counted as netperf counts them: by what its send calls took."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.claims import Verdict
from dumbbell.replication import Replications
from dumbbell.studies.pie_rrul import arms, claims, measures, published, text
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.measures import Measured, RunsBySetting
from dumbbell.studies.pie_rrul.printed_numbers import centres

FIELDS = [name for name in Measured.__slots__ if name != "written_mbps"]


def measured_with(
    got: tuple[float, float], wrote: tuple[float, float], settings: list[Setting], n: int = 10
) -> Replications[Setting, Measured]:
    """Runs whose uploads have these means and standard deviations, at the receiver and sender."""
    draw = np.random.default_rng(1)

    def one() -> Measured:
        numbers = dict.fromkeys(FIELDS, 1.0)
        numbers |= {"upload_mbps": got[0], "upload_sd_mbps": got[1] + draw.normal(0, 0.1)}
        numbers["written_mbps"] = wrote[0] + draw.normal(0, 0.1)
        numbers["written_sd_mbps"] = wrote[1] + draw.normal(0, 0.3)
        return Measured(**numbers)

    runs = {setting: tuple(one() for _ in range(n)) for setting in settings}
    return Replications(runs, n, "enough")


def test_what_is_sent_varies_more_than_what_arrives_and_has_the_same_mean() -> None:
    test = arms.rrul(length_s=8, delay_s=1)
    found = []
    for memory in (arms.SMALL_HEADERS, None):
        made = arms.experiment(
            Setting().qdisc(), test=test, packet_memory=memory, record_writes=True
        )
        found.append(measures.measured(simulate(made), test))
    small, large = found
    assert small.upload_sd_mbps < small.written_sd_mbps < large.written_sd_mbps
    for each in found:
        # A send buffer more is written than has arrived.
        assert each.written_mbps == pytest.approx(each.upload_mbps, rel=0.03)
    without = simulate(arms.experiment(Setting().qdisc(), test=test))
    assert np.isnan(measures.measured(without, test).written_mbps)


def test_the_way_to_count_that_gives_the_range_is_named() -> None:
    setting = Setting()
    low, high = (claims.printed_at(setting, name) for name in ("throughput-low", "throughput-high"))
    mean, sd = (low + high) / 2, (high - low) / 4
    alone = RunsBySetting((measured_with((mean, 1.0), (mean, 3.0), [setting]),))
    (judged,) = claims.written(alone, measured_with((mean, 1.0), (mean, sd), [setting]))
    assert judged.claim.id == claims.written_id(setting)
    assert judged.verdict is Verdict.EXPLAINED_AT
    assert judged.decision.at == ({"counted": claims.SMALL_HEADERS},)
    (judged,) = claims.written(alone, measured_with((mean, 1.0), (mean, 3.0), [setting]))
    assert judged.verdict is Verdict.NOT_EXPLAINED


def test_all_settings_are_held_together_where_all_were_run() -> None:
    settings = list(arms.SETTINGS)
    alone = RunsBySetting((measured_with((91.5, 1.0), (91.5, 3.0), settings),))
    ids = [one.claim.id for one in claims.written(alone, alone.groups[0])]
    assert ids == [*map(claims.written_id, settings), claims.WRITTEN_TOGETHER]
    table = text.written_table(alone, alone.groups[0])
    assert len(table.columns) == len(settings) and len(table.rows) == 8


def test_printed_averages_are_often_the_middles_of_printed_ranges() -> None:
    assert centres() == {"latency": 7, "throughput": 4}
    assert published.TABLES["tupdate", 30] == published.TABLES["target", 20]

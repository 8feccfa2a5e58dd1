"""Readings beyond the grid, what is judged of them, and the state of every printed number."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from test_buffer_sizing_claims import USUAL, changed

from dumbbell.backends import simulate
from dumbbell.claims import State, Verdict
from dumbbell.metrics import base_rtts_s
from dumbbell.replication import Replications
from dumbbell.spec import Resolved
from dumbbell.studies.buffer_sizing import arms, explaining, printed_levels, published, readings
from dumbbell.studies.buffer_sizing.explaining import (
    ATTEMPTS,
    Readings,
    judge_attempts,
    judge_beyond,
    label,
)
from dumbbell.studies.buffer_sizing.measures import (
    BufferComparison,
    Flows,
    by_the_law_kbps,
    under_the_law,
)
from dumbbell.studies.buffer_sizing.printed_numbers import PRINTED
from dumbbell.studies.buffer_sizing.readings import GUEST, READINGS, Reading
from dumbbell.studies.shape import Amount

N = 10
NOISE = np.linspace(-0.01, 0.01, N)
SMALL = Reading(workload="persistent", stack="testbed", per_host=1, sizes="constant 9000B")


def of(reading: Reading, buffer_packets: int = 18) -> Resolved:
    made = readings.experiment(reading, buffer_packets, seed=1, duration_s=1)
    return Resolved(made.resolved())


def found(seen: BufferComparison = USUAL) -> explaining.Found:
    """All readings, each with the same replications."""
    return Replications(
        {reading: tuple(changed(seen, noise) for noise in NOISE) for reading in READINGS}, N, ""
    )


def test_every_reading_is_run_once_and_asked_by_an_attempt() -> None:
    assert len(set(READINGS)) == len(READINGS)
    asked = {reading for attempt in ATTEMPTS for reading in attempt.readings}
    assert asked == set(READINGS)
    labels = [label(reading) for reading in READINGS]
    assert len(set(labels)) == len(labels)
    for attempt in ATTEMPTS:
        assert {each.workload for each in attempt.readings} == {attempt.workload}
        stack = printed_levels.STACK_OF[attempt.platform]
        assert {each.stack for each in attempt.readings} == {stack}


def test_the_plain_reading_is_the_studys_own_network() -> None:
    case = arms.Case(arms.Point(load="light"), "persistent")
    ours = of(replace(SMALL, per_host=5, sizes=arms.pareto(1.2, arms.MEAN_MOUSE_BYTES)), 500)
    theirs = arms.experiment(case.point, case.workload, 500, seed=1, duration_s=1)
    assert ours.mapping["links"] == Resolved(theirs.resolved()).mapping["links"]
    assert ours.mapping["flows"] == Resolved(theirs.resolved()).mapping["flows"]


def test_delays_one_way_halve_the_round_trips() -> None:
    both, one = (
        base_rtts_s(
            simulate(
                readings.experiment(replace(SMALL, is_one_way=is_one_way), 18, seed=1, duration_s=1)
            )
        )
        for is_one_way in (False, True)
    )
    assert one == pytest.approx(both / 2)
    rounded = set(np.rint(1e3 * one).astype(int).tolist())
    assert rounded == set(published.ONE_WAY_RTT_GROUPS_MS.values())


def test_a_shaper_below_stands_behind_the_guests_buffer() -> None:
    below = of(replace(SMALL, host_queue_packets=100), 18)
    shaper, guest = below.queue(arms.BOTTLENECK), below.queue(f"{GUEST}->target2")
    assert shaper.rate_bps == published.BOTTLENECK_BPS
    assert shaper.qdisc.mapping == {"kind": "pfifo", "limit_packets": 100}
    assert guest.rate_bps == published.LINK_BPS
    assert guest.qdisc.mapping == {"kind": "pfifo", "limit_packets": 18}


def test_readings_are_judged_by_the_rule_of_the_grid() -> None:
    judged = {one.claim.id: one for one in judge_attempts(found())}
    assert list(judged) == [attempt.claim for attempt in ATTEMPTS]
    assert judged["levels-persistent-paper-one-size"].verdict is Verdict.EXPLAINED_AT
    bursts = judged["levels-persistent-testbed-bursts"]
    assert bursts.verdict is Verdict.NOT_EXPLAINED
    assert {each.level for each in bursts.decision.missed} == {
        "(2) small flows better with B_s",
        "(5) small flows without loss, B_s",
    }
    assert all(one.claim.amended for one in judged.values())
    without = judged["levels-closed-loop-testbed-without-7"].claim
    assert "(7)" not in without.statement and "(6)" in without.statement


def test_small_flows_and_the_law_are_judged_over_the_readings() -> None:
    judged = {one.claim.id: one for one in judge_beyond(found())}
    assert judged["observation-03-small"].verdict is Verdict.REPRODUCED
    assert judged["observation-08-small"].found.value == pytest.approx(1.5)
    # ns-2's small packets: 1.05 of full ones are 1.5 of theirs.
    law = judged["square-root-law-18"]
    assert law.verdict is Verdict.DEPENDS_ON
    failing = next(t for t in law.decision.turns if t.verdict is Verdict.NOT_REPRODUCED)
    assert [setting["largest packet (bytes)"] for setting in failing.settings] == [1040]
    some = Replications({READINGS[0]: found().of(READINGS[0])}, N, "")
    assert not list(judge_beyond(some))


def test_readings_that_were_not_run_are_not_judged() -> None:
    one = READINGS[0]
    some = Replications({one: found().of(one)}, N, "")
    assert not [judged for judged in judge_attempts(some) if judged.claim.id.endswith("-one-size")]


def test_the_tables_have_what_was_not_asked_for_too() -> None:
    tables = list(Readings(Amount(N)).tables(found()))
    assert len(tables) == len(printed_levels.EXPERIMENTS) * len(published.PLATFORMS)
    rows = {row.name: row.filled for row in tables[0].rows}
    assert rows["(2) small flows better with B_s"][0].value == 0.40
    ratio = rows["(3, 8) spread of large flows, B_s over B_l"][1]
    assert ratio.value == pytest.approx(4 / 3, rel=0.01) and ratio.low is not None


def test_every_printed_number_has_a_state() -> None:
    accounts = PRINTED.account(judge_attempts(found()))
    assert len(accounts.rows) == 19
    states = {row.number.key: row.state for row in accounts.rows}
    assert states["persistent-paper-large_loss"] is State.EXPLAINED
    assert states["persistent-testbed-large_loss"] is State.NOT_EXPLAINED
    assert Counter(states.values())[State.NOT_JUDGED] == 0
    assert {row.state for row in PRINTED.account([]).rows} == {State.NOT_JUDGED}


def test_the_law_speaks_of_persistent_flows_that_lost_something() -> None:
    nothing = np.zeros(4)
    flows = Flows(
        throughput_kbps=np.full(4, 100.0),
        loss=nothing,
        dropped=np.array([0.01, 0.04, 0.0, 0.01]),
        is_large=np.ones(4, dtype=bool),
        base_rtt_s=np.full(4, 0.09),
        bytes=np.array([-1, -1, -1, 200_000]),
        completion_s=nothing,
        slowdown=nothing,
        end_to_end_kbps=nothing,
        left_out=0,
        mean_wait_s=0.01,
    )
    these = under_the_law(flows)
    assert these.tolist() == [True, True, False, False]
    # 0.87 / (0.1 s * 0.1) packets a second of 1514 bytes; four times the loss, half of it.
    rates = by_the_law_kbps(flows, these)
    assert rates == pytest.approx([1049, 524], rel=0.005)

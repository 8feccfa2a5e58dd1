"""Sections whose paths or applications vary: the cells have what their statements say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dumbbell.backends import simulate
from dumbbell.compare import Summary, summary_of
from dumbbell.judge.description import QUEUE
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.section import Section
from dumbbell.judge.sections.app_limited import APP_LIMITED
from dumbbell.judge.sections.jitter import JITTER
from dumbbell.judge.sections.sudden import SUDDEN
from dumbbell.judge.sections.varying_rate import VARYING_RATE
from dumbbell.spec import Experiment, Setting, settings_applied

CAPACITY = "flow[bulk].path_capacity_bps"


def run_cell(
    section: Section,
    expectation: str,
    controller: str = "reno",
    *,
    replication: int = 0,
    changed: Mapping[str, Any] | None = None,
) -> Summary:
    """The numbers of an expectation's cell, with some settings changed."""
    trial = section.trial(JudgeRequest(controller, depth=Depth.FULL))
    assert trial is not None
    where = next(each.where for each in trial.expectations if each.id == expectation)
    settings = [Setting(path, value) for path, value in {**where, **(changed or {})}.items()]
    document = settings_applied({"name": "cell", **trial.document}, settings)
    return summary_of(simulate(Experiment.read(document), replication=replication))


@pytest.mark.parametrize(("resumes_s", "silent_from"), [(20, "8s"), (5, "4s")])
def test_a_sender_is_silent_until_it_resumes(resumes_s: int, silent_from: str) -> None:
    cell = f"resumed-goodput-{resumes_s}s"
    silent = run_cell(
        APP_LIMITED, cell, changed={"warm_up": silent_from, "duration": f"{resumes_s}s"}
    )
    assert silent[f"queue[{QUEUE}].arrival_rate_pps"] == 0
    assert run_cell(APP_LIMITED, cell)["flow[bulk].goodput_bps"] > 5e6


def test_an_application_writes_less_than_the_link_carries() -> None:
    for cell, written_bps in (
        ("steady-goodput", 700 * 1448 * 8),
        ("bursty-goodput", 10 * 64_000 * 8),
    ):
        numbers = [
            run_cell(APP_LIMITED, cell, replication=number)["flow[bulk].goodput_bps"]
            for number in range(4)
        ]
        assert sum(numbers) / 4 == pytest.approx(written_bps, rel=0.1)


def test_packets_overtake_each_other_only_where_the_section_says_so() -> None:
    changed = {
        "links[router->receiver].forward.qdisc": "bfifo limit 10000000",
        "flows[bulk].tcp.rack": False,
        "flows[bulk].tcp.profile": "rfc",
    }
    in_order = run_cell(JITTER, "in-order-5ms", "vegas", changed=changed)
    assert in_order["flow[bulk].retransmitted_share"] == 0
    overtaking = run_cell(JITTER, "overtaking-5ms", "vegas", changed=changed)
    assert overtaking["flow[bulk].retransmitted_share"] > 0


@pytest.mark.parametrize("kilobytes", [10, 50])
def test_bursts_of_service_add_up_to_the_lines_rate(kilobytes: int) -> None:
    found = run_cell(JITTER, f"aggregated-{kilobytes}kb", changed={"warm_up": "0s"})
    assert found[CAPACITY] == pytest.approx(20e6, rel=0.15)


def test_each_replication_has_its_own_rates() -> None:
    for cell, least, most in (
        ("busy-mobile", 4e6, 20e6),
        ("busy-handover-outage", 9e6, 40e6),
        ("busy-on-off", 14e6, 20e6),
    ):
        found = {run_cell(VARYING_RATE, cell, replication=n)[CAPACITY] for n in range(3)}
        assert len(found) == 3
        assert all(least <= each <= most for each in found)


def test_a_path_changes_its_rate_and_its_delay() -> None:
    worse, better = (run_cell(SUDDEN, cell, "reno") for cell in ("worse-path", "better-path"))
    assert worse[CAPACITY] == 5e6
    assert better[CAPACITY] == 20e6
    # Vegas keeps the smallest round trip of the old path, and takes the new one for a queue.
    vegas = run_cell(SUDDEN, "worse-path", "vegas")
    busy = f"queue[{QUEUE}].utilization"
    assert vegas[busy] < worse[busy] / 2

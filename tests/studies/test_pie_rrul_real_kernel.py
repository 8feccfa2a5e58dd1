"""PIE under rrul on the real kernel: the simulator agrees within margins fixed beforehand."""

from __future__ import annotations

import os
from functools import cache

import pytest

from dumbbell.backends.kernel.cache import KernelMissingError, require_kernel
from dumbbell.backends.kernel.programs import irtt_is_installed
from dumbbell.claims import Verdict
from dumbbell.studies import StudyOptions
from dumbbell.studies.pie_rrul import arms, claims, published
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.measures import RunsBySetting
from dumbbell.studies.pie_rrul.parts import run_settings
from dumbbell.studies.shape import Amount, Runner

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("real_kernel")]

TEST = arms.rrul(10, 1)
RUNS = {"alone": 5, "bursts": 12}
"""A side: fewer decide nothing. Where bursts of UDP come, latencies differ more from run to run."""


@cache
def runs_of(setting: Setting, backend: str, **of: object) -> RunsBySetting:
    """Runs of one setting; on the kernel five of them are minutes of CPU time."""
    amount = Amount(RUNS[str(of.get("scenario", "alone"))], over=(setting,))
    runner = Runner(StudyOptions())
    done = run_settings(
        runner, amount, "test", edition=arms.ESTIMATOR, backend=backend, test=TEST, **of
    )
    return RunsBySetting((done,))


@pytest.mark.parametrize(
    ("setting", "timer_hz", "scenario"),
    [
        (Setting(), published.TIMER_HZ, "alone"),
        pytest.param(Setting(target_ms=5), 1000, "alone", marks=pytest.mark.long),
        pytest.param(Setting(), published.TIMER_HZ, "bursts", marks=pytest.mark.long),
    ],
)
def test_delay_drops_and_throughput_agree(setting: Setting, timer_hz: int, scenario: str) -> None:
    """Bursts where no queue is at its own sender."""
    try:
        require_kernel(timer_hz)
    except KernelMissingError as error:
        pytest.skip(str(error))
    how = {"timer_hz": timer_hz, "scenario": scenario, "gateway": scenario == "bursts"}
    kernel, sim = (runs_of(setting, backend, **how) for backend in ("kernel", "sim"))
    judged = {
        one.claim.id.removeprefix("agreement-test-").removesuffix(f"-{setting.name}"): one
        for one in claims.agreement(kernel, sim, setting, "test", "pie")
    }
    said = [f"{name}: {one.verdict} {one.found} {one.note}" for name, one in judged.items()]
    wrong = [name for name, one in judged.items() if one.verdict is Verdict.NOT_REPRODUCED]
    assert not wrong, said
    agreed = {name for name, one in judged.items() if one.verdict is Verdict.REPRODUCED}
    assert {"queue-delay", "latency", "upload"} <= agreed, said


@pytest.mark.long
def test_irtt_agrees_with_our_own_prober() -> None:
    if not irtt_is_installed():
        why = "irtt is not installed (Debian: apt-get install irtt)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    setting = Setting(target_ms=5)
    # The first are those of the comparison above.
    by_us = runs_of(setting, "kernel", timer_hz=1000, scenario="alone", gateway=False)
    by_irtt = runs_of(setting, "kernel", timer_hz=1000, irtt=True)
    own, irtt = (each.values(setting, "latency_udp_ms") for each in (by_us, by_irtt))
    judged = claims.irtt(own, irtt, setting.qdisc(arms.ESTIMATOR))
    assert judged.verdict is Verdict.REPRODUCED, judged

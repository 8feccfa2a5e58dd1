"""PIE under rrul on the real kernel: the simulator within the spread of the kernel's own seeds."""

from __future__ import annotations

import os

import pytest

from dumbbell.backends.kernel.cache import KernelMissingError, require_kernel
from dumbbell.backends.kernel.programs import irtt_is_installed
from dumbbell.claims.legacy import Verdict
from dumbbell.studies import StudyOptions
from dumbbell.studies.pie_rrul import arms, judging, published
from dumbbell.studies.pie_rrul.campaigns import Arm, collect

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("real_kernel")]

TEST = arms.rrul(10, 1)
RUNS = 3


def both(setting: arms.Setting, timer_hz: int, scenario: str) -> dict[str, Arm]:
    """The same description on both backends; bursts where no queue is at its own sender."""
    qdisc = setting.qdisc(arms.ESTIMATOR)
    gateway = scenario == "bursts"
    arm = arms.experiment(qdisc, scenario, test=TEST, timer_hz=timer_hz, gateway=gateway)
    experiments = {"any": arm}
    return {
        backend: collect(StudyOptions(), experiments, TEST, RUNS, task="test", backend=backend)[
            "any"
        ]
        for backend in ("kernel", "sim")
    }


@pytest.mark.parametrize(
    ("setting", "timer_hz", "scenario"),
    [
        (arms.Setting(), published.TIMER_HZ, "alone"),
        (arms.Setting(target_ms=5), 1000, "alone"),
        (arms.Setting(), published.TIMER_HZ, "bursts"),
    ],
)
def test_delay_drops_and_throughput_are_within_the_kernels_band(
    setting: arms.Setting, timer_hz: int, scenario: str
) -> None:
    try:
        require_kernel(timer_hz)
    except KernelMissingError as error:
        pytest.skip(str(error))
    found = both(setting, timer_hz, scenario)
    judged = judging.judge_agreement(found["kernel"], found["sim"], "pie", "test")
    wrong = [one for one in judged if one.verdict is not Verdict.REPRODUCED]
    assert not wrong, [f"{one.claim.id}: {one.measured} {one.low} {one.high}" for one in wrong]
    # A band of three runs can be wide: the means must be near as well.
    for measure, within in (("queue_delay_ms", 2.0), ("upload_mbps", 1.0), ("latency_ms", 3.0)):
        ours, kernels = (float(found[key].values[measure].mean()) for key in ("sim", "kernel"))
        assert ours == pytest.approx(kernels, abs=within), measure


def test_irtt_agrees_with_our_own_prober() -> None:
    if not irtt_is_installed():
        why = "irtt is not installed (Debian: apt-get install irtt)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    qdisc = arms.Setting(target_ms=5).qdisc(arms.ESTIMATOR)
    own, irtt = (
        collect(
            StudyOptions(),
            {"any": arms.experiment(qdisc, test=TEST, timer_hz=1000, irtt=with_irtt)},
            TEST,
            RUNS,
            task="test",
            backend="kernel",
        )["any"]
        for with_irtt in (False, True)
    )
    judged = judging.judge_irtt(own, irtt, qdisc)
    assert judged.verdict is Verdict.REPRODUCED, judged
    apart = irtt.values["latency_udp_ms"].mean() - own.values["latency_udp_ms"].mean()
    assert abs(apart) < 1.0

from __future__ import annotations

import math

import pytest

import dumbbell
from dumbbell import metrics

# Packets of 1250 bytes on the wire: 50 and then 100 a second of the 100 that 1 Mbit/s carries.
TWO_RATES = """
duration = "10s"
warm_up = "6s"
sample_interval = "500ms"
links = [{ a = "here", b = "there", forward = { rate = "1mbit", overhead = "none" } }]
[[flows]]
name = "slow"
from = "here"
to = "there"
source = { kind = "cbr", rate = "50pps", size = "1222B" }
[[flows]]
name = "later"
from = "here"
to = "there"
start = "4s"
source = { kind = "cbr", rate = "50pps", size = "1222B" }
"""


def test_it_is_the_end_of_the_first_interval_that_carries_as_much() -> None:
    run = dumbbell.simulate(dumbbell.Experiment.from_toml(TWO_RATES))
    assert metrics.time_to_rate_s(run, "here->there") == pytest.approx(4.5)
    # The first interval lacks the packet that is in transmission at its end.
    assert metrics.time_to_rate_s(run, "here->there", 0.45) == pytest.approx(0.5)
    assert math.isnan(metrics.time_to_rate_s(run, "there->here"))


@pytest.mark.parametrize("share", [0, -0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(share: float) -> None:
    run = dumbbell.simulate(dumbbell.Experiment.from_toml(TWO_RATES))
    with pytest.raises(ValueError, match="share"):
        metrics.time_to_rate_s(run, "here->there", share)

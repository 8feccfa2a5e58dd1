"""Numbers of TCP senders: what they send again, and the round trip that they reckon with."""

from __future__ import annotations

import numpy as np
import pytest

import dumbbell
from dumbbell import metrics

LINE = """
duration = "20s"
warm_up = "5s"
sample_interval = "100ms"
links = [{{ a = "here", b = "there", delay = "20ms", forward = {{ rate = "10mbit", {more} }} }}]
[[flows]]
name = "bulk"
count = 2
from = "here"
to = "there"
source = {{ kind = "greedy" }}
[[flows]]
name = "calm"
from = "here"
to = "there"
source = {{ kind = "cbr", rate = "1pps", size = "100B" }}
"""


def run_of(more: str) -> dumbbell.Run:
    """Two greedy flows, and one that is not over TCP."""
    return dumbbell.simulate(dumbbell.Experiment.from_toml(LINE.format(more=more)))


def test_what_is_sent_again_is_about_what_is_lost() -> None:
    run = run_of('qdisc = "pfifo limit 1000", loss = 0.01')
    bulk = ["bulk-1", "bulk-2"]
    assert metrics.retransmitted_share(run, bulk) == pytest.approx(0.01, rel=0.3)
    again = [run.column("flows", "retransmitted_pkts", flow=each)[0] for each in bulk]
    sent = [run.column("flows", "created_pkts", flow=each)[0] for each in bulk]
    assert metrics.retransmitted_share(run, bulk) == sum(again) / sum(sent)
    assert metrics.retransmitted_share(run, "bulk-1") == again[0] / sent[0]
    assert np.isnan(metrics.retransmitted_share(run, ["bulk-1", "calm"]))


def test_a_full_queue_is_in_the_smoothed_round_trip() -> None:
    """100 packets of 1514 bytes wait 121 ms at 10 Mbit/s, at the most; a CUBIC flow leaves 70 %."""
    run = run_of('qdisc = "pfifo limit 100"')
    bulk = ["bulk-1", "bulk-2"]
    low, middle, high = metrics.srtt_quantile_s(run, bulk, [0.0, 0.5, 1.0])
    assert 0.04 < low < middle < high < 0.04 + 100 * 1514 * 8 / 10e6 + 0.001
    one = np.concatenate([run.column("flow_samples", "srtt_ns", flow=each) for each in bulk])
    times = np.concatenate([run.column("flow_samples", "t_ns", flow=each) for each in bulk])
    assert middle == pytest.approx(1e-9 * np.median(one[times >= 5_000_000_000]))
    assert np.isnan(metrics.srtt_quantile_s(run, "calm", 0.5))

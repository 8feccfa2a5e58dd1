"""Flows limited by a window or buffer are reported, with the setting that raises the limit."""

from __future__ import annotations

import pytest

from dumbbell.backends import simulate
from dumbbell.compare import summary_of
from dumbbell.compare.held_flows import (
    GROWN_BUFFER_BYTES,
    HeldBy,
    HeldFlow,
    held_flow_sentences,
    held_flows,
)
from dumbbell.spec import Experiment, Resolved

LINE = """
duration = "2s"
warm_up = "1s"
[[links]]
a = "a"
b = "r"
[[links]]
a = "r"
b = "b"
delay = "10ms"
rate = "{rate}"
[[flows]]
name = "download"
from = "a"
to = "b"
source = {{ kind = "greedy" }}
tcp = {{ {tcp} }}
"""


def held(rate: str, tcp: str) -> list[HeldFlow]:
    experiment = Experiment.from_toml(LINE.format(rate=rate, tcp=tcp))
    summary = summary_of(simulate(experiment))
    return list(held_flows(summary, Resolved(experiment.resolved())))


def test_what_linux_grows_a_buffer_to_holds_a_flow_on_a_fast_line() -> None:
    """1.1 of 10 Gbit/s: 2.7 MB, the payload of 4 MB of memory, in 20 ms."""
    (found,) = held("10gbit", "")
    assert found.by is HeldBy.SEND_BUFFER
    assert found.in_flight_bytes == pytest.approx(GROWN_BUFFER_BYTES, rel=0.04)
    assert found.goodput_bps == pytest.approx(8 * GROWN_BUFFER_BYTES / 0.0203, rel=0.04)
    assert found.needed_bytes == pytest.approx(25e6, rel=0.03)
    assert found.words.startswith("download: its send buffer limits it to 1.1")
    assert "of 10 Gbit/s" in found.words
    assert "flows[download].tcp.send_buffer sets it" in found.words


@pytest.mark.parametrize(
    ("rate", "tcp", "by"),
    [
        ("200mbit", 'receive_window = "100kB"', HeldBy.RECEIVE_WINDOW),
        ("200mbit", 'send_buffer = "100kB"', HeldBy.SEND_BUFFER),
        ("10gbit", 'send_buffer = "50MB"', HeldBy.RECEIVE_WINDOW),
    ],
)
def test_the_setting_that_holds_is_named(rate: str, tcp: str, by: HeldBy) -> None:
    (found,) = held(rate, tcp)
    assert found.by is by


@pytest.mark.parametrize(
    ("rate", "tcp"),
    [
        ("10mbit", ""),
        ("10mbit", 'congestion_control = "bbr"'),
        ("200mbit", 'congestion_control = "reno"'),
        # The window is more than the line takes: it fills the queue, and the line is busy.
        ("10mbit", 'receive_window = "100kB"'),
    ],
)
def test_a_flow_that_the_line_limits_is_not_held(rate: str, tcp: str) -> None:
    assert held(rate, tcp) == []


def test_many_held_flows_are_counted() -> None:
    (one,) = held("200mbit", 'receive_window = "100kB"')
    assert held_flow_sentences([one] * 5) == [one.words] * 3 + [
        "2 more flows are limited likewise."
    ]

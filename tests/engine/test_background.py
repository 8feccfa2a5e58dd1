"""LEDBAT++ beside others: it gives way to those who fill the queue, and shares with its like."""

from __future__ import annotations

import pytest

from dumbbell.backends import simulate
from dumbbell.metrics.sharing import goodput_share
from dumbbell.spec import Experiment

SPEC = """
duration = "90s"
warm_up = "30s"
sample_interval = "1s"

[[links]]
a = "server"
b = "router"
rate = "1gbit"

[[links]]
a = "router"
b = "home"
rate = "20mbit"
delay = "15ms"
qdisc = "pfifo limit 400"

[[flows]]
name = "background"
from = "server"
to = "home"
source = { kind = "greedy" }
tcp = { congestion_control = "ledbat++" }

[[flows]]
name = "other"
from = "server"
to = "home"
start = "10s"
source = { kind = "greedy" }
tcp = { congestion_control = "OTHER" }
"""


def _share(other: str, seed: int) -> float:
    """Of what both carry, the part of the first, 0 to 1."""
    text = f"seed = {seed}\n" + SPEC.replace("OTHER", other)
    return goodput_share(simulate(Experiment.from_toml(text)), "background")


@pytest.mark.parametrize("other", ["reno", "cubic"])
def test_it_gives_way(other: str) -> None:
    shares = [_share(other, seed) for seed in range(1, 4)]
    assert max(shares) < 0.1, shares


def test_who_comes_later_gets_as_much() -> None:
    shares = [_share("ledbat++", seed) for seed in range(1, 4)]
    assert 0.35 < min(shares) <= max(shares) < 0.65, shares


def test_bbr_leaves_it_what_is_below_its_target() -> None:
    # BBR keeps about a bandwidth-delay product in the queue, 30 ms here: less than 60 ms.
    assert 0.3 < _share("bbr", 1) < 0.6

"""The bench of captures does the work it says it does."""

from __future__ import annotations

from captures import experiment, least_cpu_s

from dumbbell.backends import simulate
from dumbbell.formats import read_capture


def test_both_runs_are_the_same_but_for_the_capture() -> None:
    plain = simulate(experiment(0.1, capture=False))
    cost_s, captured = least_cpu_s(lambda: simulate(experiment(0.1, capture=True)), 2)
    assert cost_s > 0
    assert captured.meta["digest"] == plain.meta["digest"]
    found = read_capture(captured.files["capture.pcapng"].path)
    arrived = captured.column("queues", "arrived_pkts").sum()
    departed = captured.column("queues", "departed_pkts").sum()
    assert found.meta["read"]["pkts"] > arrived + departed

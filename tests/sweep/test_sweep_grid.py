from __future__ import annotations

import threading

from sweep_samples import measure, queue

from dumbbell.spec import Experiment
from dumbbell.sweep import Progress, grid, replicate_grid


def test_every_combination_the_last_axis_fastest() -> None:
    points = grid(rate=["1mbit", "2mbit"], pps=[10, 20, 30])
    assert len(points) == 6
    assert points[:3] == [
        {"rate": "1mbit", "pps": 10},
        {"rate": "1mbit", "pps": 20},
        {"rate": "1mbit", "pps": 30},
    ]
    assert grid() == [{}]
    assert grid(rate=[]) == []


def make(rate: str, pps: float) -> Experiment:
    experiment: Experiment = queue(rate=rate, pps=pps)
    return experiment


def test_a_grid_is_replicated_point_by_point() -> None:
    told: list[Progress] = []
    points = grid(rate=["1mbit", "4mbit"], pps=[50, 150])
    done = list(replicate_grid(points, make, measure, at_least=3, on_progress=told.append))
    assert [each.parameters for each in done] == points
    means = [each.replications.estimate("run").value for each in done]
    assert means[0] > means[2]
    assert means[1] > means[3]
    assert told[0].task == "grid 1 of 4"
    assert told[-1].task == "grid 4 of 4"
    assert told[-1].detail == "rate = 4mbit, pps = 150"


def test_points_share_their_random_numbers() -> None:
    points = grid(pps=[100, 100])
    one, two = replicate_grid(points, lambda pps: queue(pps=pps), measure, at_least=2)
    assert one.replications.values["run"].tolist() == two.replications.values["run"].tolist()


def test_after_an_interruption_no_further_point_is_begun() -> None:
    stop = threading.Event()
    points = replicate_grid(
        grid(pps=[50, 60, 70]), lambda pps: queue(pps=pps), measure, at_least=2, cancel=stop
    )
    assert not next(points).replications.interrupted
    stop.set()
    assert [each.replications.interrupted for each in points] == [True]

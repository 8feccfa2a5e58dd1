"""``comparison.plot``: the figures of the page, one method each."""

from __future__ import annotations

import pytest

from dumbbell.compare import Cell, Comparison, compare
from dumbbell.plots import NothingToDrawError
from dumbbell.spec import Experiment
from small_networks import sampled_queue

SPEC = sampled_queue("experiment", "3s")


def found(*queues: str, keep: int = 1) -> Comparison:
    experiments = {each: SPEC.replace("pfifo limit 20", each) for each in queues}
    cells = [Cell(name, Experiment.from_toml(text)) for name, text in experiments.items()]
    return compare(cells, replications=3, keep=keep)


def test_each_figure_is_one_call() -> None:
    plot = found("pfifo limit 20", "fq_codel").plot
    points = plot.operating_points().to_dict()
    assert points["config"]["font"].startswith("Helvetica")
    assert [each["what"] for each in next(iter(points["datasets"].values()))] == [
        "pfifo limit 20",
        "fq_codel",
    ]
    for chart in (plot.delay_cdf(), plot.ping_cdf(), plot.queue(), plot.numbers("rates")):
        assert chart.to_dict()["datasets"]


def test_what_cannot_be_drawn_says_what_would_help() -> None:
    alone = found("pfifo limit 20", keep=0).plot
    with pytest.raises(NothingToDrawError, match="keep=1"):
        alone.ping_cdf()
    with pytest.raises(NothingToDrawError, match="operating points"):
        alone.operating_points()
    with pytest.raises(NothingToDrawError, match="there are delays, rates"):
        alone.numbers("losses")

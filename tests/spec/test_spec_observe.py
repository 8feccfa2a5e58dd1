"""Statistics on demand: which queues are observed, and what is not known of the others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dumbbell
from dumbbell import _engine, metrics
from dumbbell.errors import SpecError
from dumbbell.metrics.ccperf.link import max_qdisc_length_l2
from dumbbell.spec import Experiment
from dumbbell.tables import Run

COUNTED = 14
"""Columns of `queues` that every queue has: its number, packets, bytes, the window's length."""
TEXT = """
duration = "5s"
warm_up = "1s"
sample_interval = "500ms"
links = [
  { a = "client", b = "router", rate = "100mbit" },
  { a = "router", b = "server", forward = { rate = "3mbit", qdisc = "pfifo limit 9" } },
  { a = "router", b = "other", forward = { qdisc = "tbf rate 1mbit burst 5kb limit 30kb" } },
]
[[flows]]
name = "bulk"
from = "client"
to = "server"
source = { kind = "greedy" }
[[flows]]
name = "beside"
from = "client"
to = "other"
source = { kind = "poisson", rate = "100pps", size = "900B" }
[[probes]]
name = "ping"
from = "client"
to = "server"
interval = "100ms"
"""
NAMES = Experiment.from_toml(TEXT).queue_names


def experiment(observe: str | None = None) -> Experiment:
    return Experiment.from_toml(TEXT if observe is None else f"observe = {observe}\n{TEXT}")


def run(observe: str | None = None) -> Run:
    ((_, done),) = dumbbell.run_many([(experiment(observe), 0)])
    return done


def is_unknown(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.isnan(values) if values.dtype.kind == "f" else values == -1


def test_all_is_the_default_and_says_nothing() -> None:
    assert experiment('"all"').resolved_json() == experiment().resolved_json()
    assert "observe" not in experiment().resolved()


def test_the_bottleneck_is_that_of_each_flow_and_probe() -> None:
    resolved = experiment('"bottleneck"').resolved()
    assert resolved["observe"] == ["router->server", "router->other"]


@pytest.mark.parametrize("observe", ['"bottleneck"', '["other->router", "client->router"]', "[]"])
def test_a_resolved_description_is_written_again(observe: str) -> None:
    resolved = experiment(observe).resolved()
    assert Experiment.from_resolved(resolved).resolved() == resolved
    _engine.check(json.dumps(resolved))


def test_what_is_observed_is_the_same_and_what_is_not_is_unknown() -> None:
    whole, part = run(), run('["router->server"]')
    observed = np.array([name == "router->server" for name in NAMES])
    for name, column in whole.columns("queues").items():
        values = np.asarray(column)
        found = np.asarray(part.columns("queues")[name])
        np.testing.assert_array_equal(found[observed], values[observed])
        if list(whole.columns("queues")).index(name) < COUNTED:
            np.testing.assert_array_equal(found, values)
        else:
            assert is_unknown(found[~observed]).all(), name
    queue = NAMES.index("router->server")
    assert set(part.column("distributions", "queue")) == {queue}
    for column in ("low", "high", "weight"):
        np.testing.assert_array_equal(
            part.column("distributions", column),
            whole.column("distributions", column, queue="router->server"),
        )
    for name in ("system_pkts", "backlog_bytes", "departed_pkts", "marked_pkts"):
        np.testing.assert_array_equal(
            part.column("queue_samples", name), whole.column("queue_samples", name)
        )
    for name in ("sojourn_sum_s", "system_integral_pkt_s"):
        values = part.column("queue_samples", name)
        unknown = part.column("queue_samples", "queue") != queue
        assert (np.isnan(values) == unknown).all()
    for table in ("flows", "flow_samples", "flow_delays", "transfers", "probes", "packets"):
        for name, values in whole.columns(table).items():
            np.testing.assert_array_equal(part.columns(table)[name], values)


def test_what_is_said_of_a_queue_that_is_not_observed_is_not_a_number() -> None:
    done = run("[]")
    assert np.isnan(metrics.mean_sojourn_s(done, "router->server"))
    assert np.isnan(metrics.mean_wait_s(done, "router->server"))
    assert np.isnan(metrics.sojourn_quantile_s(done, "router->server", [0.5, 0.99])).all()
    assert np.isnan(max_qdisc_length_l2(done, "router->server"))
    lost = metrics.loss_ratio(done, "router->server")
    assert lost == metrics.loss_ratio(run(), "router->server") > 0


@pytest.mark.parametrize(
    ("observe", "message"),
    [
        ('"botleneck"', "observe: 'botleneck'.*did you mean 'bottleneck'"),
        ('["router->serve"]', r"observe\[0\]: 'router->serve'.*did you mean 'router->server'"),
        ('["router->server", "router->server"]', r"observe\[1\].*each queue once"),
        ("[3]", r"observe\[0\].*the name of a queue"),
        ("3", "observe.*a list of names of queues"),
    ],
)
def test_errors_say_where_and_what(observe: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        experiment(observe)


@pytest.mark.parametrize(
    ("names", "path"),
    [(["nobody->server"], "observe[0]"), (["router->server"] * 2, "observe[1]")],
)
def test_the_engine_refuses_the_same(names: list[str], path: str) -> None:
    resolved = {**experiment().resolved(), "observe": names}
    with pytest.raises(_engine.SpecInvalid) as refused:
        _engine.check(json.dumps(resolved))
    assert path in str(refused.value)

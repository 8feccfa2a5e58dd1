from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from metrics_samples import BOTTLENECK, experiment

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.errors import DumbbellError
from dumbbell.metrics.path import resolved_of
from dumbbell.spec import Experiment
from dumbbell.spec.resolved import Law
from dumbbell.tables import Run, TableError


def test_asked_is_what_the_parameters_say(lab_run: Run) -> None:
    for flow in ("testbed", "ideal"):
        assert metrics.asked_rate_pps(lab_run, flow) == pytest.approx(110, rel=1e-6)
        assert metrics.asked_load_bps(lab_run, flow) == pytest.approx(110 * 512 * 8, rel=1e-6)
    # One flow is on for 100 s of the measured window, the other for 90 of those.
    asked = 110 * 512 * 8 * (100 + 90) / 100
    assert metrics.asked_load_at_queue_bps(lab_run, BOTTLENECK) == pytest.approx(asked, rel=1e-6)
    assert metrics.asked_utilization(lab_run, BOTTLENECK) == pytest.approx(asked / 1e6, rel=1e-6)
    assert metrics.asked_load_at_queue_bps(lab_run, "receiver->router") == 0.0


def test_measured_counts_headers_and_pings_over_the_time_flows_are_on(lab_run: Run) -> None:
    rows = {(row.what, row.unit): row for row in metrics.asked_and_measured(lab_run)}
    assert list(rows) == [
        ("testbed", "packets/s"),
        ("ideal", "packets/s"),
        (BOTTLENECK, "Mbit/s"),
        (BOTTLENECK, "1"),
    ]
    assert rows["testbed", "packets/s"].ratio == pytest.approx(1, abs=0.03)
    queue = rows[BOTTLENECK, "Mbit/s"]
    arrived = lab_run.column("queues", "arrived_bytes", queue=BOTTLENECK)[0]
    assert queue.measured == pytest.approx(8e-6 * arrived / 100)
    assert queue.differs
    assert "headers" in queue.note
    assert "pings" in queue.note
    assert rows[BOTTLENECK, "1"].measured == pytest.approx(queue.measured)
    assert metrics.offered_utilization(lab_run, BOTTLENECK) == pytest.approx(8e-6 * arrived / 120)


def test_an_ideal_source_has_nothing_to_explain() -> None:
    alone = experiment(flows=[experiment().flows[1]], probes=[])
    rows = metrics.asked_and_measured(simulate(alone))
    assert [row.note for row in rows] == ["", "", ""]


def test_the_ratio_without_an_asked_load() -> None:
    assert metrics.LoadComparison("q", 0, 0, "1").ratio == 1
    assert not metrics.LoadComparison("q", 0, 0, "1").differs
    assert metrics.LoadComparison("q", 0, 2, "1").ratio == math.inf
    assert metrics.LoadComparison("q", 0, 2, "1").differs
    assert not metrics.LoadComparison("q", 1, 1.009, "1").differs


LAWS = {
    "exponential 512B": 512.0,
    "constant 512B": 512.0,
    "uniform 100B 300B": 200.0,
    "pareto 3 200B": 300.0,
    "normal 700B 10B": 700.0,
    "gamma 4 100B": 400.0,
    "weibull 2 100B": 100 * math.sqrt(math.pi) / 2,
    "lognormal 6 0.5": math.exp(6.125),
}


@pytest.mark.parametrize(("law", "mean"), LAWS.items())
def test_the_mean_of_every_law_is_what_the_engine_draws(law: str, mean: float) -> None:
    described = Experiment.read(
        {
            "duration": "2000s",
            "links": [{"a": "a", "b": "b"}],
            "flows": [
                {
                    "name": "stream",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "renewal", "gap": "constant 100pps", "size": law},
                }
            ],
        }
    )
    run = simulate(described)
    size = resolved_of(run).flow("stream").source.size
    assert size is not None
    assert metrics.law_mean(size) == pytest.approx(mean, rel=1e-9)
    created = run.column("flows", "created_bytes")[0] / run.column("flows", "created_pkts")[0]
    assert created == pytest.approx(mean, rel=0.03)


def test_a_pareto_law_without_a_mean() -> None:
    assert metrics.law_mean(Law({"law": "pareto", "shape": 1.0, "scale": 3.0})) == math.inf


def test_a_replayed_trace_asks_for_what_it_holds_in_the_window() -> None:
    described = Experiment.read(
        {
            "duration": "10s",
            "warm_up": "2s",
            "links": [{"a": "a", "b": "b"}],
            "flows": [
                {
                    "name": "trace",
                    "from": "a",
                    "to": "b",
                    "start": "1s",
                    "source": {
                        "kind": "replay",
                        "times": ["0s", "1s", "2s", "20s"],
                        "sizes": ["100B", "200B", "300B", "400B"],
                    },
                }
            ],
        }
    )
    run = simulate(described)
    assert metrics.asked_rate_pps(run, "trace") == 2 / 8
    assert metrics.asked_load_bps(run, "trace") == 8 * 500 / 8
    assert metrics.sending_rate_pps(run, "trace") == 2 / 8


@pytest.mark.parametrize("seed", range(4))
def test_routes_are_those_the_engine_takes(seed: int) -> None:
    random = np.random.default_rng(seed)
    hosts = [f"h{i}" for i in range(8)]
    pairs = {(min(a, b), max(a, b)) for a, b in itertools.pairwise(hosts)}
    while len(pairs) < 13:
        a, b = random.choice(hosts, 2, replace=False).tolist()
        pairs.add((min(a, b), max(a, b)))
    links = [{"a": a, "b": b} for a, b in sorted(pairs)]
    random.shuffle(links)
    described = Experiment.read(
        {
            "duration": "1s",
            "links": links,
            "flows": [
                {
                    "name": "flow",
                    "from": "h0",
                    "to": "h7",
                    "source": {"kind": "cbr", "rate": "10pps", "size": "100B"},
                }
            ],
        }
    )
    run = simulate(described)
    passed = np.flatnonzero(run.column("queues", "arrived_pkts"))
    asked = [
        queue for queue in range(2 * len(links)) if metrics.asked_load_at_queue_bps(run, queue) > 0
    ]
    assert asked == passed.tolist()


def test_flows(lab_run: Run) -> None:
    def total(column: str, flow: str) -> float:
        return float(lab_run.column("flows", column, flow=flow)[0])

    sent = total("sent_datagrams", "ideal")
    assert metrics.sending_rate_pps(lab_run, "ideal") == sent / 90
    payload = total("sent_payload_bytes", "ideal")
    assert metrics.sending_rate_bps(lab_run, 1) == pytest.approx(8 * payload / 90)
    got = total("received_payload_bytes", "testbed")
    assert metrics.goodput_bps(lab_run, "testbed") == pytest.approx(8 * got / 100)
    dropped, delivered = total("dropped_pkts", "testbed"), total("delivered_pkts", "testbed")
    assert 0 < metrics.flow_loss_ratio(lab_run, "testbed") == dropped / (dropped + delivered)
    assert 0.004 < metrics.mean_delay_s(lab_run, "ideal") < metrics.max_delay_s(lab_run, "ideal")


def test_losses_that_nobody_saw_are_no_number(lab_run: Run) -> None:
    """As those of a flow over a link with losses on the kernel."""
    flows = lab_run.tables["flows"]
    unseen = {**flows, "dropped_pkts": np.full_like(flows["dropped_pkts"], -1)}
    run = dataclasses.replace(lab_run, tables={**lab_run.tables, "flows": unseen})
    assert math.isnan(metrics.flow_loss_ratio(run, "testbed"))
    assert math.isnan(metrics.flow_loss_ratio(run, [0, 1]))


def test_a_flow_outside_the_window_has_no_rate() -> None:
    early = experiment().with_flow("testbed", stop="5s")
    run = simulate(early)
    assert math.isnan(metrics.sending_rate_pps(run, "testbed"))
    assert math.isnan(metrics.mean_delay_s(run, "testbed"))
    assert math.isnan(metrics.max_delay_s(run, "testbed"))


def test_what_an_imported_run_cannot_say() -> None:
    imported = Run("imported", 0, None, {}, {"queue_names": ["eth1"]})
    with pytest.raises(DumbbellError, match="needs the description"):
        metrics.asked_and_measured(imported)
    with pytest.raises(TableError):
        metrics.mean_sojourn_s(imported, "eth1")

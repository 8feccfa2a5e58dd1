"""What cake counts by tin: ours beside the guest's kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_qdisc_agreement import DETERMINISTIC, QUEUE, arrivals, experiment

from dumbbell.backends import simulate
from dumbbell.formats import read_tc, tc_text
from dumbbell.spec import Experiment
from dumbbell.tables import SCHEMA, Run

US = 1000
NEAR = {"target_ns": US, "interval_ns": US} | {
    f"{name}_delay_ns": 4 * US for name in ("peak", "mean", "base")
}
"""The kernel has whole microseconds; of one packet the two departures are within two of them."""


@pytest.mark.usefixtures("kernel", "linux_6_1")
@pytest.mark.parametrize("name", ["cake ingress", "cake, eight tins"])
def test_tins_count_the_same(name: str, tmp_path: Path) -> None:
    described = sampled(experiment(*arrivals(), DETERMINISTIC[name]))
    ours, theirs = simulate(described), simulate(described, backend="kernel")
    for table in ("cake_samples", "tin_samples"):
        for column in SCHEMA[table]:
            expected = ours.column(table, column.name, queue=QUEUE)
            found = theirs.column(table, column.name, queue=QUEUE)
            near = NEAR.get(column.name, 0)
            assert np.abs(expected - found).max() <= near, column.name
    dropped = ours.column("tin_samples", "dropped_pkts", queue=QUEUE)
    assert dropped.max() > 10
    file = tmp_path / "tc.txt"
    file.write_text(tc_text(theirs, QUEUE))
    assert read_tc(file).column("queue_samples", "dropped_pkts")[-1] > 10


def sampled(described: Experiment) -> Experiment:
    """With samples at instants at which no packet comes or goes, for it could be on either side."""
    return described.with_(sample_interval="1.0000005s")


@pytest.mark.usefixtures("kernel", "linux_6_1")
@pytest.mark.parametrize("words", ["no-ack-filter", "ack-filter", "ack-filter-aggressive"])
def test_the_filter_drops_as_many_acknowledgements(words: str) -> None:
    """Behind an uplink of 400 kbit/s, which acknowledgements of 30 Mbit/s fill."""
    up, down = {"qdisc": f"cake bandwidth 400kbit {words}"}, {"rate": "30mbit", "qdisc": "fq_codel"}
    flow = {"name": "download", "from": "server", "to": "home", "source": {"kind": "greedy"}}
    described = Experiment.model_validate(
        {
            "duration": "10s",
            "warm_up": "3s",
            "sample_interval": "1s",
            "links": [
                {"a": "server", "b": "provider", "delay": "10ms"},
                {"a": "provider", "b": "home", "delay": "5ms", "forward": down, "reverse": up},
            ],
            "flows": [flow],
        }
    )
    ours, theirs = simulate(described), simulate(described, backend="kernel")
    for of in (received, acknowledgements, filtered):
        assert of(ours) == pytest.approx(of(theirs), rel=0.05), of.__name__
    assert (filtered(ours) > 1000) == (words != "no-ack-filter")


def received(run: Run) -> int:
    return int(run.column("flows", "received_payload_bytes", flow="download")[0])


def acknowledgements(run: Run) -> int:
    return int(run.column("tin_samples", "arrived_pkts", queue="home->provider").max())


def filtered(run: Run) -> int:
    return int(run.column("tin_samples", "ack_dropped_pkts", queue="home->provider").max())

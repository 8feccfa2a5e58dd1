"""What cake counts by tin, and how tc prints it: ours beside the guest's kernel and its ``tc``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from kernel_samples import network
from test_qdisc_agreement import DETERMINISTIC, QUEUE, arrivals, experiment

from dumbbell.backends import simulate
from dumbbell.backends.kernel import launch
from dumbbell.formats import read_tc, tc_json, tc_text
from dumbbell.spec import Experiment
from dumbbell.tables import SCHEMA, Run

CAKES = (
    "cake bandwidth 20mbit docsis",
    "cake bandwidth 2mbit diffserv4 ack-filter",
    "cake unlimited besteffort wash ack-filter-aggressive",
    "cake bandwidth 10mbit diffserv8 rtt 20ms ingress",
    "cake bandwidth 300kbit precedence memlimit 100kb atm overhead 40 mpu 96",
    "cake bandwidth 3gbit rtt 3ms no-split-gso flows",
)
_SCRIPT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -n -t tmpfs tmpfs /run || exit 2
mount -n -t proc proc /proc && mount -n -t sysfs sysfs /sys || exit 2
cd "$1" || exit 2
ip link add d0 type dummy && ip link set d0 up || exit 3
while read -r line; do
  tc qdisc replace dev d0 root handle 1: $line || exit 4
  { tc -s -d qdisc show dev d0; echo "$line"; } >>text.txt
  { tc -s -d -j qdisc show dev d0; echo; } >>json.txt
  tc qdisc del dev d0 root
done <cakes.txt
"""
US = 1000
NEAR = {"target_ns": US, "interval_ns": US} | {
    f"{name}_delay_ns": 4 * US for name in ("peak", "mean", "base")
}
"""The kernel has whole microseconds; of one packet the two departures are within two of them."""


def idle(qdisc: str) -> Run:
    return simulate(network(link={"qdisc": qdisc}, duration="1s", sample_interval="1s"))


def test_text_and_json_are_those_of_the_guests_tc(kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "cakes.txt").write_text("".join(f"{line}\n" for line in CAKES))
    init = tmp_path / "init"
    init.write_text(_SCRIPT)
    init.chmod(0o700)
    result = launch(
        kernel,
        init,
        run_dir=tmp_path,
        seed=1,
        wall_limit_s=300.0,
        memory_mb=128,
        args=[str(tmp_path)],
    )
    assert result.ok, result.why()
    text = (tmp_path / "text.txt").read_text()
    lists = [line for line in (tmp_path / "json.txt").read_text().splitlines() if line]
    for line, as_json in zip(CAKES, lists, strict=True):
        run = idle(line)
        shown, _, text = text.partition(f"{line}\n")
        assert tc_text(run, QUEUE) == shown
        ours, theirs = json.loads(tc_json(run, QUEUE)), json.loads(as_json)
        assert ours == theirs
        assert [list(each) for each in ours] == [list(each) for each in theirs]
    assert text == ""


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

"""What sfb, and the RED of sfq, count by themselves, and how tc prints that and what cake counts:
ours beside the guest's kernel and its ``tc``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from kernel_samples import network
from test_cake_tins import sampled
from test_qdisc_agreement import DETERMINISTIC, QUEUE, without_ties

from dumbbell.backends import simulate
from dumbbell.backends.kernel import launch
from dumbbell.formats import read_tc, tc_json, tc_text
from dumbbell.spec import Experiment
from dumbbell.tables import SCHEMA, Run

LINES = (
    "cake bandwidth 20mbit docsis",
    "cake bandwidth 2mbit diffserv4 ack-filter",
    "cake unlimited besteffort wash ack-filter-aggressive",
    "cake bandwidth 10mbit diffserv8 rtt 20ms ingress",
    "cake bandwidth 300kbit precedence memlimit 100kb atm overhead 40 mpu 96",
    "cake bandwidth 3gbit rtt 3ms no-split-gso flows",
    "sfb",
    "sfb rehash 4295000 db 3 limit 50 max 7 increment 0.123456789 decrement 1",
    "sfb target 3 max 2 increment 0 penalty_rate 4294967295 penalty_burst 0",
    "sfq redflowlimit 100000 min 6000 max 60000 probability 0.1 ecn headdrop perturb 10",
    "sfq redflowlimit 100000 harddrop limit 50",
    "sfq redflowlimit 100000 probability 0.00005 ecn harddrop",
    "sfq perturb 3",
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
done <lines.txt
"""


def idle(qdisc: str) -> Run:
    return simulate(network(link={"qdisc": qdisc}, duration="1s", sample_interval="1s"))


def test_text_and_json_are_those_of_the_guests_tc(kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in LINES))
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
    for line, as_json in zip(LINES, lists, strict=True):
        run = idle(line)
        shown, _, text = text.partition(f"{line}\n")
        assert tc_text(run, QUEUE) == shown
        ours, theirs = json.loads(tc_json(run, QUEUE)), json.loads(as_json)
        assert ours == theirs
        for mine, there in zip(ours, theirs, strict=True):
            assert list(mine) == list(there)
            assert list(mine["options"]) == list(there["options"])
    assert text == ""


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("sfb, full bins", "bin_dropped_pkts"),
        ("sfb, limited", "limit_dropped_pkts"),
        ("sfb, no penalty rate", "penalty_dropped_pkts"),
        ("sfb over bfifo", "child_dropped_pkts"),
        ("tbf over sfb", "penalty_dropped_pkts"),
    ],
)
def test_bins_count_the_same(name: str, counted: str, tmp_path: Path) -> None:
    """All but what depends on which bins flows share."""
    described = sampled(without_ties(DETERMINISTIC[name]))
    ours, theirs = simulate(described), simulate(described, backend="kernel")
    for column in SCHEMA["sfb_samples"]:
        expected = ours.column("sfb_samples", column.name, queue=QUEUE)
        found = theirs.column("sfb_samples", column.name, queue=QUEUE)
        if column.kind != "sampled":
            np.testing.assert_array_equal(found, expected, column.name)
    assert ours.column("sfb_samples", counted, queue=QUEUE).max() > 10
    file = tmp_path / "tc.txt"
    file.write_text(tc_text(theirs, QUEUE))
    dropped = theirs.column("queue_samples", "dropped_pkts", queue=QUEUE)[-1]
    assert read_tc(file).column("queue_samples", "dropped_pkts")[-1] == dropped


RED_QUEUES = {
    "drops": ("sfq redflowlimit 100000 min 3000 max 12000 probability 0.1", False),
    "marks the arriving": ("sfq redflowlimit 100000 min 3000 max 12000 ecn", True),
    "marks the oldest": ("sfq redflowlimit 100000 min 3000 max 12000 ecn headdrop", True),
    "drops from max on": (
        "sfq redflowlimit 100000 min 3000 max 12000 probability 0.3 ecn harddrop",
        True,
    ),
}
NEAR, FEW = 0.1, 40
"""Chance decides which packets, and so a little how many."""


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", RED_QUEUES)
def test_red_in_flows_counts_the_same(name: str) -> None:
    """Of two floods, one of them ECN-capable where anything is marked.

    Sizes of payload, for those on the wire the kernel's devices, and so their quantum, are larger.
    """
    qdisc, is_capable = RED_QUEUES[name]
    source = {"kind": "poisson", "rate": "150pps", "size": "958B", "size_at": "payload"}
    described = Experiment.model_validate(
        {
            "duration": "20s",
            "sample_interval": "10s",
            "links": [
                {"a": "a", "b": "b", "forward": {"rate": "1mbit", "qdisc": qdisc}},
            ],
            "flows": [
                {"name": "plain", "from": "a", "to": "b", "source": source},
                {"name": "capable", "from": "a", "to": "b", "source": source}
                | ({"ecn": "ect0"} if is_capable else {}),
            ],
        }
    )
    ours, theirs = simulate(described), simulate(described, backend="kernel")
    names = [each.name for each in SCHEMA["sfq_red_samples"] if each.kind == "exact"]
    counts = {
        column: [float(run.column("sfq_red_samples", column)[-1]) for run in (ours, theirs)]
        for column in names
    }
    assert all(
        mine == pytest.approx(there, rel=NEAR, abs=FEW) for mine, there in counts.values()
    ), counts
    assert sum(mine for mine, _ in counts.values()) > 1000
    marked = {column: mine for column, (mine, _) in counts.items() if "marked" in column}
    assert (sum(marked.values()) > FEW) == is_capable
    at_oldest = sum(value for column, value in marked.items() if "oldest" in column)
    assert (at_oldest > FEW) == ("headdrop" in qdisc)

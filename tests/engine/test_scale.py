"""Many flows, many hosts: they run, all of them, within bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dumbbell.studies.buffer_sizing import arms

MOST_MB = 300
"""Resident, of a whole process with Python and its libraries."""

_MEASURED = """
import json, pathlib, re, sys
from dumbbell.backends import simulate
from dumbbell.spec import Experiment
described = json.load(sys.stdin)
if "resolved" in described:
    experiment = Experiment.from_resolved(described["resolved"])
else:
    experiment = Experiment.read(described)
run = simulate(experiment)
# Not getrusage: that has the peak of the process that started this one, too.
status = pathlib.Path("/proc/self/status").read_text()
print(json.dumps({
    "peak_mb": int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]) / 1024,
    "packets": int(run.column("queues", "departed_pkts").sum()),
    "starved": int((run.column("flows", "received_payload_bytes") == 0).sum()),
    "transfers": len(run.column("transfers", "flow")),
    "flows": len(run.column("flows", "flow")),
}))
"""


def measured(described: dict[str, Any]) -> dict[str, float]:
    """The experiment in a process of its own: peak memory, packets sent by all links."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED],
        input=json.dumps(described),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def many_flows(count: int) -> dict[str, Any]:
    """Greedy flows at one bottleneck of 10 Gbit/s, a buffer of 40 ms."""
    link = {"a": "a", "b": "b", "rate": "10gbit", "delay": "10ms", "qdisc": "pfifo limit 33000"}
    flow = {"from": "a", "to": "b", "start_jitter": "100ms", "source": {"kind": "greedy"}}
    flows = [{"name": f"f{number}", **flow} for number in range(count)]
    return {"duration": "2s", "links": [link], "flows": flows}


def big_tree(hosts: int) -> dict[str, Any]:
    """A binary tree of `hosts` hosts below a bottleneck; each leaf has a user."""
    links: list[dict[str, Any]] = [
        {"a": "0", "b": "sink", "rate": "100mbit", "delay": "1ms", "qdisc": "pfifo limit 100"}
    ]
    links += [
        {"a": str(host), "b": str((host - 1) // 2), "rate": "1gbit", "delay": "1ms"}
        for host in range(1, hosts - 1)
    ]
    loop = {"kind": "closed_loop", "size": "20kb", "think": "exponential 500ms"}
    leaves = range((hosts - 1) // 2, hosts - 1)
    flows = [{"name": f"u{h}", "from": str(h), "to": "sink", "source": loop} for h in leaves]
    return {"duration": "10s", "links": links, "flows": flows}


@pytest.mark.slow
def test_ten_thousand_flows_at_once() -> None:
    found = measured(many_flows(10_000))
    assert found["flows"] == 10_000
    # All have begun; behind a tail drop some wait for their SYN's timeout.
    assert found["transfers"] == 10_000
    assert found["starved"] < 5_000
    assert found["packets"] > 1_500_000
    assert found["peak_mb"] < MOST_MB


def test_a_tree_of_a_thousand_hosts() -> None:
    found = measured(big_tree(1000))
    # An overloaded tail drop: some lose their SYN again and again.
    assert found["starved"] < 50
    assert found["packets"] > 500_000
    assert found["peak_mb"] < MOST_MB


@pytest.mark.slow
@pytest.mark.parametrize("workload", arms.WORKLOADS)
def test_a_heavy_run_of_the_buffer_study_stays_small(workload: arms.Workload) -> None:
    point = arms.Point(load="heavy")
    experiment = arms.experiment(point, workload, 500, seed=1, duration_s=60)
    found = measured({"resolved": json.loads(experiment.resolved_json())})
    assert found["transfers"] > 2000
    assert found["peak_mb"] < MOST_MB

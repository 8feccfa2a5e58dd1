"""What a guest is told; no kernel is needed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_samples import EXPONENTIAL, network, ping

from dumbbell.backends import get_backend
from dumbbell.backends.base import Job
from dumbbell.backends.kernel.backend import kernel_seed
from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.job import check_kernel_can, job, links_of_hosts
from dumbbell.backends.kernel.tables import read_result
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment

TOOLS = {"ip": "/sbin/ip", "tc": "/sbin/tc"}


def lines(experiment: Experiment) -> list[str]:
    told = json.loads(job(experiment.resolved_json(), 0, Path("/out"), TOOLS))
    assert all(step["tool"] == TOOLS["tc"] for step in told["steps"])
    return [f"h{step['host']}: {line}" for step in told["steps"] for line in step["lines"]]


def test_a_finite_rate_is_a_shaper_without_credit_with_the_qdisc_as_leaf() -> None:
    link = {"rate": "10mbit", "delay": "7ms", "qdisc": "pfifo limit 50", "overhead": "wire"}
    found = lines(network(link=link, probes=[ping()]))
    assert found == [
        "h0: qdisc add dev eth1 root handle 10: pfifo limit 1000",
        "h1: qdisc add dev eth1 root handle 10: pfifo limit 1000",
        "h1: qdisc add dev eth2 root handle 1: stab overhead 24 htb default 1",
        "h1: class add dev eth2 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit"
        " burst 1b cburst 1b quantum 65535",
        "h1: qdisc add dev eth2 parent 1:1 handle 10: pfifo limit 50",
        "h2: qdisc add dev eth1 root handle 10: pfifo limit 1000",
        "h2: qdisc add dev ifb-eth1 root handle 1: stab overhead 24"
        " netem limit 1000000000 delay 7ms rate 10mbit",
        "h2: qdisc add dev eth1 clsact",
        "h2: filter add dev eth1 ingress matchall action mirred egress redirect dev ifb-eth1",
    ]


def test_an_infinite_rate_leaves_the_qdisc_as_root() -> None:
    found = lines(network(link={"qdisc": "netem rate 1mbit"}, probes=[ping()]))
    assert "h1: qdisc add dev eth2 root handle 10: netem limit 1000 rate 1mbit" in found
    assert not [line for line in found if "ifb" in line]


def test_routes_lead_there_and_back_and_neighbours_are_known() -> None:
    text = network(probes=[ping()]).resolved_json()
    pairs, links = links_of_hosts(text)
    assert pairs[0].line == (
        "link add name eth1 netns h0 address 02:00:00:00:00:01 mtu 1500"
        " type veth peer name eth1 netns h1 address 02:00:00:00:00:02 mtu 1500"
    )
    assert "route replace 10.10.2.2/32 via 10.10.1.2 dev eth1" in [each.line for each in links[0]]
    last = [each.line for each in links[2]]
    assert "route replace 10.10.1.1/32 via 10.10.2.1 dev eth1" in last
    assert "neigh replace 10.10.2.1 lladdr 02:00:00:00:00:03 dev eth1 nud permanent" in last


def test_the_guest_is_given_the_values_of_the_lines_of_ip() -> None:
    tcp = {"initial_window": 3, "min_rto": "50ms"}
    flow = {
        **{"name": "flow", "from": "sender", "to": "receiver", "tcp": tcp},
        "source": {"kind": "greedy"},
    }
    text = network(flows=[flow]).resolved_json()
    told = json.loads(job(text, 0, Path("/out"), TOOLS))
    pairs, links = links_of_hosts(text)
    assert [len(of) for of in told["host_links"]] == [len(of) for of in links]
    assert told["pairs"][0]["near"] == {
        **{"host": 0, "device": "eth1", "mac": "02:00:00:00:00:01", "mtu_bytes": 1500},
    }
    assert len(told["pairs"]) == len(pairs)
    assert told["host_links"][0] == [
        {"kind": "address", "device": "eth1", "address": "10.10.1.1", "prefix_bits": 24},
        {"kind": "device_up", "device": "eth1", "gso_max_segs": 65535},
        {
            **{"kind": "neighbour", "device": "eth1"},
            **{"address": "10.10.1.2", "mac": "02:00:00:00:00:02"},
        },
        {
            **{"kind": "route", "network": "10.10.2.2", "prefix_bits": 32, "device": "eth1"},
            "via": "10.10.1.2",
            "options": {
                **{"initial_window_pkts": 3, "min_rto_ms": 50},
                **{"quick_ack": None, "mtu_bytes": None},
            },
        },
    ]


PIE_IN_A_CLASS = """root handle 1: htb default 1
class add parent 1: classid 1:1 htb rate 1mbit
parent 1:1 pie linux_3_14"""
PIE_IN_A_BAND = """root handle 1: tbf rate 1mbit burst 2kb limit 1
parent 1:1 handle 2: prio
parent 2:2 pie linux_3_14"""


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"link": {"rate": "1mbit", "qdisc": "netem delay 1ms"}}, "links[1].forward.qdisc"),
        ({"link": {"overhead": "wire"}}, "links[1].forward.overhead"),
        ({"link": {"rate": "1mbit", "qdisc": "noqueue"}}, "links[1].forward.qdisc"),
        ({"link": {"rate": "1mbit", "qdisc": "pie linux_3_14"}}, "links[1].forward.qdisc"),
        ({"link": {"rate": "1mbit", "qdisc": "dualpi2"}}, "links[1].forward.qdisc"),
        ({"link": {"qdisc": PIE_IN_A_CLASS}}, "links[1].forward.qdisc"),
        ({"link": {"qdisc": PIE_IN_A_BAND}}, "links[1].forward.qdisc"),
        ({"link": {"gro": "50us"}}, "links[1].forward.gro"),
        ({"link": {"gro": "0s", "rate": "1mbit"}}, "links[1].forward.gro"),
        ({"link": {"gro": "0s", "tso": True}}, "links[1].forward.tso"),
        ({"link": {"gro": "0s", "loss": 0.1}}, "links[1].forward.loss"),
        (
            {"link": {"tso": True, "rate": "1mbit", "overhead": "wire"}},
            "links[1].forward.overhead",
        ),
    ],
)
def test_what_the_kernel_does_not_do_yet_is_refused(changes: dict[str, Any], path: str) -> None:
    experiment = network(source=EXPONENTIAL, **changes)
    with pytest.raises(SpecError) as refused:
        check_kernel_can(experiment.resolved())
    assert refused.value.path == path


def test_devices_have_the_offloads_that_links_ask_for() -> None:
    hops: list[dict[str, Any]] = [{}, {"forward": {"tso": True}, "reverse": {"gro": "0s"}}]
    experiment = network(hops=hops, probes=[ping()])
    told = json.loads(job(experiment.resolved_json(), 0, Path("/out"), TOOLS))
    found = [(queue["host"], queue["tso"], queue["gro"]) for queue in told["queues"]]
    # What comes back over the second link is merged where its way ends: at the router.
    assert found == [(0, False, False), (1, False, False), (1, True, True), (2, False, False)]


def test_sizes_on_the_wire_and_payloads_do_not_share_a_link() -> None:
    payload = {**EXPONENTIAL, "size_at": "payload"}
    second = {"name": "other", "from": "sender", "to": "router", "source": payload}
    resolved = network(source=EXPONENTIAL).resolved()
    resolved["flows"].append(
        {**network(source=payload).resolved()["flows"][0], "name": "other", "to": second["to"]}
    )
    with pytest.raises(SpecError, match=r"flows\[1\]\.source\.size_at"):
        check_kernel_can(resolved)


def test_the_kernels_seed_follows_from_seed_and_replication() -> None:
    text = network(probes=[ping()]).resolved_json()
    other = network(probes=[ping()], seed=2).resolved_json()
    seeds = {kernel_seed(Job(text, 0)), kernel_seed(Job(text, 1)), kernel_seed(Job(other, 0))}
    assert len(seeds) == 3
    assert kernel_seed(Job(text, 0)) == kernel_seed(Job(text, 0))
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_columns_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_result(tmp_path) is None
    numbers = np.array([1, -1], "<i8")
    (tmp_path / "columns.bin").write_bytes(numbers.tobytes())
    result = {
        "digest": "d", "events": 3, "latest_ns": 0, "release": "6.1", "unknown_queues": [],
        "columns": [["probes", "seq", "int64", 16]],
    }  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(result))
    read = read_result(tmp_path)
    assert read is not None
    assert read.tables["probes"]["seq"].tolist() == [1, -1]


def test_the_backend_has_a_name_and_an_origin() -> None:
    backend = get_backend("kernel")
    assert (backend.name, backend.origin) == ("kernel", "kernel")


def test_folders_of_killed_processes_are_removed_and_those_in_use_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "dumbbell-kernel-left"
    left.mkdir()
    (left / "lock").touch()
    in_use = RunFolder()
    remove_left_folders()
    assert list(tmp_path.iterdir()) == [in_use.path]
    in_use.remove()
    assert list(tmp_path.iterdir()) == []

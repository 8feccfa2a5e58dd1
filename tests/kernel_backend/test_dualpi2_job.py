"""What a kernel that has DualPI2, Prague and accurate ECN is given, and what is refused there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.backends.kernel import capabilities
from dumbbell.backends.kernel.cache import KernelInfo
from dumbbell.backends.kernel.capabilities import USUAL, Capabilities, Dualpi2Options
from dumbbell.backends.kernel.job import check_kernel_can, job
from dumbbell.backends.kernel.observed_queues import watched_queues
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Resolved

L4S = Capabilities(frozenset({"prague"}), True, Dualpi2Options.BEFORE_LINUX)
LINUX = Capabilities(frozenset(), True, Dualpi2Options.LINUX)
AS_ITS_QUEUE = "dualpi2 min_qlen_step 2"


def network(link: dict[str, Any] | None = None, tcp: dict[str, Any] | None = None) -> Experiment:
    given = {"a": "a", "b": "b", "rate": "10mbit", "delay": "10ms", "qdisc": AS_ITS_QUEUE}
    flow = {"name": "f", "from": "a", "to": "b", "source": {"kind": "greedy"}, "tcp": tcp or {}}
    return Experiment.read(
        {"name": "l4s", "duration": "2s", "links": [{**given, **(link or {})}], "flows": [flow]}
    )


def test_what_the_kernel_has_is_not_refused() -> None:
    prague = network(tcp={"congestion_control": "prague"}).resolved()
    check_kernel_can(prague, L4S)
    check_kernel_can(network(tcp={"ecn": "accurate"}).resolved(), LINUX)
    with pytest.raises(SpecError) as refused:
        check_kernel_can(prague, LINUX)
    assert refused.value.path == "flows[0].tcp.congestion_control"


@pytest.mark.parametrize(
    ("link", "tcp", "path"),
    [
        ({}, {}, "links[0].forward.qdisc"),
        ({"qdisc": "pfifo limit 9"}, {"ecn": "accurate"}, "flows[0].tcp.ecn"),
        (
            {"qdisc": "pfifo limit 9"},
            {"congestion_control": "prague"},
            "flows[0].tcp.congestion_control",
        ),
    ],
)
def test_the_usual_kernel_has_none_of_them(
    link: dict[str, Any], tcp: dict[str, Any], path: str
) -> None:
    with pytest.raises(SpecError) as refused:
        check_kernel_can(network(link, tcp).resolved(), USUAL)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("qdisc", "said"),
    [
        ("dualpi2", "min_qlen_step 2 on this kernel"),
        (f"{AS_ITS_QUEUE} memlimit 1000000", "no memlimit"),
        (f"{AS_ITS_QUEUE} step_thresh 5p", "a step_thresh that is a time"),
        ("root handle 1: prio\nparent 1:1 dualpi2 min_qlen_step 2", "dualpi2 by itself"),
    ],
)
def test_options_that_an_older_dualpi2_lacks_are_refused_by_name(qdisc: str, said: str) -> None:
    resolved = network({"qdisc": qdisc}).resolved()
    with pytest.raises(SpecError, match=said):
        check_kernel_can(resolved, L4S)
    if "prio" not in qdisc:
        check_kernel_can(resolved, LINUX)


@pytest.mark.parametrize(("rate", "below"), [("10mbit", 0x10001), ("inf", 0xFFFF_FFFF)])
def test_the_guest_sets_it_up_where_tc_would(rate: str, below: int) -> None:
    tools = {"ip": "/sbin/ip", "tc": "/sbin/tc"}
    experiment = network({"reverse": {"qdisc": "pfifo limit 9"}, "rate": rate})
    told = json.loads(job(experiment.resolved_json(), 0, Path("/out"), tools))
    assert [queue.get("set_up_below") for queue in told["queues"]] == [below, None]
    lines = [line for step in told["steps"] for line in step["lines"]]
    assert not any("dualpi2" in line for line in lines)
    assert any("class add" in line for line in lines) == (rate != "inf")


def test_accurate_ecn_is_a_setting_of_the_hosts() -> None:
    tools = {"ip": "/sbin/ip", "tc": "/sbin/tc"}
    experiment = network(tcp={"ecn": "accurate"})
    told = json.loads(job(experiment.resolved_json(), 0, Path("/out"), tools))
    for host in told["host_sysctl"]:
        assert {"path": "net/ipv4/tcp_ecn", "value": "3"} in host


def sending(*settings: dict[str, Any]) -> Experiment:
    """A flow with each of these settings of TCP, from one host to another."""
    ends = {"from": "a", "to": "b", "source": {"kind": "greedy"}}
    flows = [{"name": f"f{index}", **ends, "tcp": tcp} for index, tcp in enumerate(settings)]
    link = {"a": "a", "b": "b", "rate": "10mbit", "delay": "10ms", "qdisc": AS_ITS_QUEUE}
    return Experiment.read({"name": "l4s", "duration": "2s", "links": [link], "flows": flows})


def settings_of(experiment: Experiment) -> tuple[dict[str, str], list[dict[str, str]]]:
    """What the guest sets for all hosts, and for each of them."""
    tools = {"ip": "/sbin/ip", "tc": "/sbin/tc"}
    told = json.loads(job(experiment.resolved_json(), 0, Path("/out"), tools))
    named = [{each["path"]: each["value"] for each in one} for one in told["host_sysctl"]]
    return {each["path"]: each["value"] for each in told["sysctl"]}, named


@pytest.mark.parametrize(("ecn", "value"), [(False, "0"), (True, "1"), ("accurate", "3")])
def test_prague_leaves_ecn_to_the_other_flows(ecn: bool | str, value: str) -> None:
    """It uses accurate ECN whatever its own key says, so that the hosts have what others ask."""
    prague, cubic = {"congestion_control": "prague"}, {"ecn": ecn}
    for flows in ((prague, cubic), (cubic, prague)):
        experiment = sending(*flows)
        check_kernel_can(experiment.resolved(), L4S)
        for host in settings_of(experiment)[1]:
            assert host["net/ipv4/tcp_ecn"] == value
            assert host["net/ipv4/tcp_ecn_option"] == "0"


def test_the_option_of_accurate_ecn_is_that_of_the_description() -> None:
    for tcp in ({"congestion_control": "prague"}, {"ecn": "accurate"}):
        full = sending({**tcp, "ecn_option": "full"})
        check_kernel_can(full.resolved(), L4S)
        _, (host, _) = settings_of(full)
        assert host["net/ipv4/tcp_ecn_option"] == "2"
        assert "net/ipv4/tcp_ecn_option_beacon" not in host
        _, (host, _) = settings_of(
            sending({**tcp, "ecn_option": "minimum", "ecn_option_beacon": 1})
        )
        assert host["net/ipv4/tcp_ecn_option"] == "1"
        assert host["net/ipv4/tcp_ecn_option_beacon"] == "1"
    # Kernels without accurate ECN have no such file.
    _, (host, _) = settings_of(sending({"ecn": True}))
    assert "net/ipv4/tcp_ecn_option" not in host
    with pytest.raises(SpecError) as refused:
        two = sending({"ecn": "accurate"}, {"ecn": "accurate", "ecn_option": "full"})
        check_kernel_can(two.resolved(), L4S)
    assert refused.value.path == "flows[1].tcp.ecn_option"


def test_rtt_independence_is_a_parameter_of_its_module() -> None:
    file = "/sys/module/tcp_prague/parameters/prague_rtt_scaling"
    prague = {"congestion_control": "prague"}
    assert file not in settings_of(sending(prague))[0]
    off = sending({**prague, "rtt_independence": False}, {"congestion_control": "cubic"})
    check_kernel_can(off.resolved(), L4S)
    assert settings_of(off)[0][file] == "0"
    with pytest.raises(SpecError, match="all flows share it") as refused:
        check_kernel_can(sending(prague, {**prague, "rtt_independence": False}).resolved(), L4S)
    assert refused.value.path == "flows[1].tcp.rtt_independence"


def test_the_least_burst_is_a_setting_of_the_sender() -> None:
    sender, receiver = settings_of(sending({"min_tso_segs": 3}))[1]
    assert sender["net/ipv4/tcp_min_tso_segs"] == "3"
    assert "net/ipv4/tcp_min_tso_segs" not in receiver
    assert "net/ipv4/tcp_min_tso_segs" not in settings_of(sending({}))[1][0]
    with pytest.raises(SpecError) as refused:
        check_kernel_can(sending({}, {"min_tso_segs": 3}).resolved(), L4S)
    assert refused.value.path == "flows[1].tcp.min_tso_segs"


@pytest.mark.parametrize(
    ("ecn", "rate", "is_watched"),
    [
        ("not-ect", "100pps", False),
        ("ect0", "100pps", True),
        ("ect1", "100pps", True),
        ("ect1", "20kpps", True),
    ],
)
def test_marks_of_datagrams_are_seen_at_the_queue(ecn: str, rate: str, is_watched: bool) -> None:
    """A counter of the discipline counts what is marked by p' and by the step twice."""
    source = {"kind": "cbr", "rate": rate, "size": "512B"}
    flow = {"name": "f", "from": "a", "to": "b", "ecn": ecn, "source": source}
    link = {"a": "a", "b": "b", "rate": "10mbit", "delay": "10ms", "qdisc": AS_ITS_QUEUE}
    experiment = Experiment.read({"duration": "2s", "links": [link], "flows": [flow]})
    assert watched_queues(Resolved(experiment.resolved())) == ({0} if is_watched else set())


def _info(folder: Path) -> KernelInfo:
    return KernelInfo(folder / "linux", "k", "5.15.72", 1000, "", 0, "", "", "", "", "", 0.0, "l4s")


def test_a_kernel_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(kernel: KernelInfo) -> dict[str, Any]:
        asked.append(kernel)
        controllers = ["reno", "cubic", "prague"]
        return {"controllers": controllers, "accurate_ecn": True, "dualpi2": "before_linux"}

    monkeypatch.setattr(capabilities, "_ask", ask)
    for _ in range(2):
        assert capabilities.capabilities_of(_info(tmp_path)) == L4S
    assert len(asked) == 1
    # What another version of the guest was told is asked again.
    kept = tmp_path / "capabilities.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "asked_by": "0.1"}))
    capabilities.capabilities_of(_info(tmp_path))
    assert len(asked) == 2


def test_a_description_that_needs_no_more_asks_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "find_kernel", lambda *_: pytest.fail("it was asked"))
    assert capabilities.capabilities_for(network({"qdisc": "codel"}).resolved()) is USUAL

"""What process 1 makes of links, addresses and routes, beside what the lines of ``ip`` make."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dumbbell.backends.kernel import launch
from dumbbell.backends.kernel.confinement import SYSTEM
from dumbbell.backends.kernel.job import job, links_of_hosts
from dumbbell.backends.kernel.login import Login
from dumbbell.backends.kernel.programs import host_tools
from dumbbell.backends.kernel.session import Session
from dumbbell.backends.kernel.session_orders import AdvanceTime, TerminalPlace, TypeLine
from dumbbell.spec import Experiment

pytestmark = [pytest.mark.kernel, pytest.mark.programs]

NETWORK = """
name = "every-kind-of-link"
duration = "1s"
seed = 3

[[links]]
a = "client"
b = "router"
mtu = "9000B"
forward = { delay = "3ms", rate = "20mbit" }
reverse = { loss = 0.01 }

[[links]]
a = "router"
b = "server"
mtu = "1400B"
forward = { rate = "10mbit", qdisc = "pfifo limit 20" }
reverse = { delay = "3ms" }

[[links]]
a = "router"
b = "far"
forward = { overhead = "wire", rate = "5mbit" }

[[flows]]
name = "upload"
from = "client"
to = "server"
source = { kind = "greedy" }
tcp = { initial_window = 3, min_rto = "50ms", gso_max_segs = 4, delayed_ack = false }

[[probes]]
name = "ping"
from = "client"
to = "far"
kind = "ping"
"""
HOSTS = ("client", "router", "server", "far")
SHOWN = ("ip -d -o link show", "ip -o addr show", "ip route show table all", "ip neigh show")
_SCRIPT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
mount -n -t tmpfs tmpfs /run || exit 2
mount -n -t proc proc /proc && mount -n -t sysfs sysfs /sys || exit 2
cd "$1" || exit 2
for host in h0 h1 h2 h3 h4; do
  ip netns add $host || exit 3
  # A kernel of one's own may have IPv6.
  ip netns exec $host sh -c '
    for file in /proc/sys/net/ipv6/conf/*/disable_ipv6; do [ ! -e $file ] || echo 1 >$file; done'
done
ip -n h4 -batch pairs || exit 4
for host in h0 h1 h2 h3; do
  ip -n $host -batch $host && ip -n $host link set lo up || exit 5
  tc -n $host -batch tc-$host || exit 6
done
sleep 2  # until the kernel has seen that both ends of each link are up
for host in h0 h1 h2 h3; do
  {shown}
done
"""


_DRAWN = re.compile(r"(?<=link/ether )[0-9a-f:]+(?=.*\b(ifb|dummy)\b)")
"""An Ethernet address that the kernel draws."""
_NAMESPACE = re.compile(r" link-netns(id)? \w+")
"""Of the other end of a pair: by name or by number."""


def the_same(lines: list[str]) -> list[str]:
    """Without what differs from guest to guest."""
    same = (_NAMESPACE.sub("", _DRAWN.sub("drawn", line)) for line in lines)
    return sorted(" ".join(line.split()) for line in same)


def of_process_1() -> dict[str, list[str]]:
    """What is printed in the hosts of a session."""
    printed = dict.fromkeys(HOSTS, "")
    with Session(Experiment.from_toml(NETWORK).resolved_json()) as session:
        list(session.events())
        for index, host in enumerate(HOSTS):
            place = TerminalPlace(host=index)
            session.give([TypeLine(place, "; ".join(["sleep 2", *SHOWN])), AdvanceTime()])
            events = [each for each in session.events() if each["event"] == "printed"]
            printed[host] = "".join(each["text"] for each in events)
    return {host: the_same(text.splitlines()) for host, text in printed.items()}


def of_lines(kernel: Path, tmp_path: Path) -> dict[str, list[str]]:
    folder = tmp_path / "guest"
    folder.mkdir()
    text = Experiment.from_toml(NETWORK).resolved_json()
    login = Login(tmp_path / "homes")
    pairs, links = links_of_hosts(text, login)
    for step in json.loads(job(text, 0, folder, host_tools(), login=login))["steps"]:
        lines = "".join(f"{line}\n" for line in step["lines"])
        (folder / f"tc-h{step['host']}").write_text(lines, encoding="utf-8")
    (folder / "pairs").write_text("".join(f"{pair.line}\n" for pair in pairs), encoding="utf-8")
    for host, of in enumerate(links):
        lines = "".join(f"{link.line}\n" for link in of)
        (folder / f"h{host}").write_text(lines, encoding="utf-8")
    shown = "\n  ".join(f"ip netns exec $host {line} >>shown-$host || exit 7" for line in SHOWN)
    init = folder / "init"
    init.write_text(_SCRIPT.replace("{shown}", shown), encoding="utf-8")
    init.chmod(0o755)
    ended = launch(
        kernel, init, run_dir=folder, seed=1, wall_limit_s=300, args=[str(folder)], readable=SYSTEM
    )
    assert ended.ok, ended.why()
    return {
        host: the_same((folder / f"shown-h{index}").read_text(encoding="utf-8").splitlines())
        for index, host in enumerate(HOSTS)
    }


def test_hosts_are_as_the_lines_of_ip_make_them(kernel: Path, tmp_path: Path) -> None:
    ours, theirs = of_process_1(), of_lines(kernel, tmp_path)
    for host in HOSTS:
        assert ours[host] == theirs[host]
    # What is compared is there.
    everything = "\n".join(line for lines in ours.values() for line in lines)
    for words in (
        *("ifb-eth1", "mtu 9000", "mtu 1400", "gso_max_segs 4", "PERMANENT"),
        *("initcwnd 3", "rto_min lock 50ms", "quickack 1", "10.10.3.0/24 via 10.10.1.2"),
    ):
        assert words in everything
    assert re.search(r"gso_max_segs 1\b", everything)

"""The lines for a testbed: as the published experiment types them, and as tc reads them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from spec_samples import EXAMPLES, SMALL, bent

from dumbbell.backends.kernel.job import job
from dumbbell.spec import Experiment, testbed_lines

TWO_QUEUES = next(path for path in EXAMPLES if path.name == "two-queues.toml")
SNAPSHOT = Path(__file__).with_name("two-queues.testbed.txt")


def lines(host: str, **changes: object) -> list[str]:
    experiment = Experiment.read(bent(**changes))
    return [command for name, command in testbed_lines(experiment) if name == host]


def source(**keys: object) -> str:
    """The ITGSend line, or the comment, for a source."""
    return lines("left", flows__0__source=keys, probes=[])[-1]


def test_the_lines_of_the_example_are_as_kept() -> None:
    found = testbed_lines(Experiment.from_toml(TWO_QUEUES))
    assert "".join(f"{host}: {command}\n" for host, command in found) == SNAPSHOT.read_text()


def test_they_are_those_of_the_published_experiment() -> None:
    """Fund's statistical multiplexing experiment (witestlab blog, 2016), name of the log apart."""
    found = testbed_lines(Experiment.from_toml(TWO_QUEUES))
    assert ("sender-1", "ITGSend -a receiver-1 -E 110 -e 512 -T UDP -t 600000") in found
    assert ("sender-2", "ITGSend -a receiver-1 -E 110 -e 512 -T UDP -t 600000") in found
    assert ("receiver-1", "ITGRecv") in found
    shaper = "sudo tc qdisc add dev eth3 root handle 10: netem limit 1000 rate 1mbit"
    assert ("router", shaper) in found
    ping = "ping -i 0.2 -c 1000 receiver-1 | tee pingtimes-ping-1.txt"
    assert ("sender-1", ping) in found


def test_a_finite_rate_is_a_shaper_without_credit_over_the_queue() -> None:
    found = lines("left", links__0__rate="1mbit", links__0__qdisc="pfifo limit 7")
    assert [line for line in found if "dev eth1 " in line and " tc " in line][:3] == [
        "sudo tc qdisc add dev eth1 root handle 1: htb default 1",
        "sudo tc class add dev eth1 parent 1: classid 1:1 htb rate 1mbit ceil 1mbit"
        " burst 1b cburst 1b quantum 65535",
        "sudo tc qdisc add dev eth1 parent 1:1 handle 10: pfifo limit 7",
    ]


def test_the_page_and_the_kernel_are_told_the_same() -> None:
    """Of every link end: what is typed on a testbed is what the guest is given.

    But for what it needs to look at packets, which changes nothing.
    """
    chain = "root handle 1: tbf rate 1mbit burst 10kb limit 1mb; parent 1:1 pfifo limit 20"
    experiment = Experiment.read(
        bent(
            links__0__forward={"rate": "1mbit", "qdisc": "pfifo limit 7", "delay": "20ms"},
            links__0__reverse={"delay": "20ms", "loss": 0.01, "qdisc": "bfifo limit 9kb"},
            links__1__forward={"qdisc": chain, "overhead": "wire"},
            links__1__reverse={"qdisc": "bfifo limit 9kb"},
        )
    )
    typed = {
        (host, line.removeprefix("tc "))
        for host, line in testbed_lines(experiment, sudo=False)
        if line.startswith("tc ")
    }
    told = json.loads(job(experiment.resolved_json(), 0, Path("/out"), {"ip": "ip", "tc": "tc"}))
    hosts = list(experiment.topology.hosts)
    steps = [step for step in told["steps"] if step["tool"] == "tc"]
    given = {(hosts[step["host"]], line) for step in steps for line in step["lines"]}

    def queues(lines: set[tuple[str, str]]) -> set[tuple[str, str]]:
        return {(h, line) for h, line in lines if "mirror" not in line and "clsact" not in line}

    assert queues(typed) == queues(given)


def test_the_default_queue_without_a_rate_is_left_alone() -> None:
    assert not [line for line in lines("left") if "tc qdisc" in line]
    (line,) = [x for x in lines("left", links__0__qdisc="pfifo limit 7") if "tc qdisc" in x]
    assert line == "sudo tc qdisc add dev eth1 root handle 10: pfifo limit 7"


@pytest.mark.parametrize(("overhead", "more"), [("wire", "24"), ("none", "-14"), ("ppp", "-12")])
def test_overhead_is_told_to_tc(overhead: str, more: str) -> None:
    (line,) = [
        x
        for x in lines("left", links__0__qdisc="bfifo limit 9kb", links__0__overhead=overhead)
        if "tc qdisc" in x
    ]
    assert f"root handle 10: stab overhead {more} bfifo" in line


def test_delay_is_after_the_queue_and_never_drops() -> None:
    """Delay from left to middle lies on what arrives at middle; the queue of left has none."""
    delayed = bent(links__0__forward={"delay": "20ms", "loss": 0.01})
    netem = [(h, c) for h, c in testbed_lines(Experiment.read(delayed)) if "netem" in c]
    expected = "sudo tc qdisc add dev ifb-eth1 root handle 1: netem limit 1000000000"
    assert netem == [("middle", f"{expected} delay 20ms loss 1%")]


def test_a_delay_that_tc_cannot_read_is_cut_off_and_said() -> None:
    """iproute2 6.1 refuses ``delay 1500ns``."""
    changes = [{"at": "1s", "delay": "7ns"}]
    found = lines("middle", links__0__forward={"delay": "1500ns", "changes": changes})
    assert not any(
        time in line for line in found if "tc qdisc" in line for time in ("1.5us", "ns ")
    )
    assert any("limit 1000000000 delay 1us" in line for line in found)
    assert any("sleep 1; tc qdisc change" in line and "delay 0s" in line for line in found)
    remarks = [line for line in found if line.startswith("#")]
    assert [any(time in line for line in remarks) for time in ("1.5us", "7ns")] == [True, True]


def test_changes_wait() -> None:
    changes = [{"at": "2.5s", "rate": "500kbit"}, {"at": "3s", "delay": "1ms"}]
    found = lines("left", links__0__forward={"rate": "1mbit", "changes": changes})
    assert (
        "sudo sh -c 'sleep 2.5; tc class change dev eth1 parent 1: classid 1:1 htb rate 500kbit"
        " ceil 500kbit burst 1b cburst 1b quantum 65535' &"
    ) in found
    found = lines("middle", links__0__forward={"rate": "1mbit", "changes": changes})
    assert any("sleep 3; tc qdisc change dev ifb-eth1" in line for line in found)


def test_routes_lead_there_and_back() -> None:
    assert "sudo ip route replace 10.10.2.2/32 via 10.10.1.2 dev eth1" in lines("left")
    assert "sudo ip route replace 10.10.1.1/32 via 10.10.2.1 dev eth1" in lines("right")
    assert "sudo sysctl -w net.ipv4.ip_forward=1" in lines("middle")
    assert "sudo sysctl -w net.ipv4.ip_forward=1" not in lines("left")


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({"kind": "ditg", "gap": "1000pps", "size": "512B"}, "-C 1000 -c 512"),
        (
            {"kind": "ditg", "gap": "exponential 110pps", "size": "exponential 512B"},
            "-E 110 -e 512",
        ),
        (
            {"kind": "ditg", "gap": "uniform 1ms 2ms", "size": "uniform 9B 99B"},
            "-U 500 1000 -u 9 99",
        ),
        ({"kind": "ditg", "gap": "pareto 2 5ms", "size": "pareto 2 90B"}, "-V 2 5 -v 2 90"),
        ({"kind": "ditg", "gap": "normal 5ms 1ms", "size": "normal 90B 9B"}, "-N 5 1 -n 90 9"),
        ({"kind": "ditg", "gap": "gamma 2 5ms", "size": "gamma 2 90B"}, "-G 2 5 -g 2 90"),
        ({"kind": "ditg", "gap": "weibull 2 5ms", "size": "weibull 2 90B"}, "-W 2 5 -w 2 90"),
        ({"kind": "cbr", "gap": "20ms", "size": "160B", "size_at": "payload"}, "-C 50 -c 160"),
    ],
)
def test_laws_as_options(keys: dict, options: str) -> None:
    assert source(**keys) == f"ITGSend -a right {options} -T UDP -t 10000"


def test_what_no_line_says_is_said_in_a_comment() -> None:
    assert "no option" in source(kind="ditg", gap="lognormal -5 1", size="9B")
    assert "a recorded trace" in source(kind="replay", times=["0s"], sizes=["9B"])
    found = lines("left")
    assert found[-3].startswith("# stream: sizes are those on the wire")


def test_start_marks_and_ports() -> None:
    flow = SMALL["flows"][0]
    second = flow | {"name": "second", "start": "2s", "stop": "5s", "dscp": "EF", "ecn": "ect0"}
    probe = SMALL["probes"][0] | {"start": "1s", "payload": "1kb", "dscp": "EF"}
    found = lines("left", flows=[flow, second], probes=[probe])
    options = "-T UDP -t 3000 -d 2000 -rp 9000 -b 186"
    assert f"ITGSend -a right -E 110 -e 512 {options}" in found
    assert found[-1] == "sleep 1; ping -i 1 -w 9 -s 1024 -Q 184 right | tee pingtimes-ping.txt"


def test_irtt_is_told_what_flent_tells_it() -> None:
    probe = {"name": "latency", "kind": "irtt", "from": "a", "to": "b", "dscp": "CS5"}
    experiment = Experiment.read(
        {
            "duration": "10s",
            "links": [{"a": "a", "b": "b"}],
            "probes": [{**probe, "interval": "200ms", "start": "1s"}, {**probe, "name": "again"}],
        }
    )
    lines = [line for line in testbed_lines(experiment) if "irtt" in line[1]]
    # irtt's --dscp is the whole byte of the IP header: 40 << 2.
    assert lines == [
        ("b", "irtt server -i 0 &"),
        ("a", "sleep 1; irtt client -Q -i 200ms -d 9s -l 60 --dscp=0xa0 -o irtt-latency.json b"),
        ("a", "irtt client -Q -i 1000ms -d 10s -l 60 --dscp=0xa0 -o irtt-again.json b"),
    ]


def test_without_sudo() -> None:
    assert not any(
        "sudo" in command for _, command in testbed_lines(Experiment.read(SMALL), sudo=False)
    )


def _works_in_a_network_of_its_own() -> bool:
    if not (shutil.which("tc") and shutil.which("ip") and shutil.which("unshare")):
        return False
    probe = "ip link add eth1 type veth peer name eth2 && tc qdisc add dev eth1 root pfifo"
    done = subprocess.run(["unshare", "-n", "sh", "-c", probe], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(
    not _works_in_a_network_of_its_own(), reason="needs root, iproute2 and network namespaces"
)
def test_tc_takes_the_queues_and_keeps_the_limit_over_a_change() -> None:
    """On the kernel at hand, without waiting."""
    changes = [{"at": "1s", "rate": "4mbit"}]
    end = {"rate": "10mbit", "qdisc": "bfifo limit 100kb", "overhead": "wire", "changes": changes}
    experiment = Experiment.read(bent(links__0__forward=end))
    commands = [
        c for h, c in testbed_lines(experiment, sudo=False) if h == "left" and " tc " in f" {c}"
    ]
    script = "\n".join(re.sub(r"sleep \S+; |&$", "", command) for command in commands)
    setup = "set -e; ip link add eth1 type veth peer name eth2; ip link set eth1 up\n"
    shown = subprocess.run(
        [
            "unshare",
            "-n",
            "sh",
            "-c",
            f"{setup}{script}\ntc class show dev eth1; tc -d qdisc show dev eth1",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "rate 4Mbit" in shown
    assert "overhead 24" in shown
    assert "bfifo 10: parent 1:1 limit 100Kb" in shown

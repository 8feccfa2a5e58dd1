"""What ``tc -s qdisc`` before and after says: which discipline holds packets, or that none does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_lines import UP, measured

from dumbbell.errors import SpecError
from dumbbell.spec.flent import Network
from dumbbell.twin import DisciplineClass, Way, estimate, read_measurements
from dumbbell.twin.queue_counters import queue_counters

SHAPED = """\
qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 4Kb lat 300ms
 Sent {bytes} bytes {pkts} pkt (dropped {dropped}, overlimits {over} requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 10: dev eth0 parent 1:1 limit 10240p flows 1024 target 5ms interval 100ms
 Sent {bytes} bytes {pkts} pkt (dropped {dropped}, overlimits 0 requeues 0)
 backlog {backlog}b {backlog}p requeues 0
"""
PORT = """\
qdisc mq 0: dev eth0 root
 Sent {bytes} bytes {pkts} pkt (dropped {dropped}, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024
 Sent {bytes} bytes {pkts} pkt (dropped {dropped}, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
"""


def printed(layout: str, pkts: int, dropped: int = 0, over: int = 0, backlog: int = 0) -> str:
    """The output of one call."""
    return layout.format(bytes=1000 * pkts, pkts=pkts, dropped=dropped, over=over, backlog=backlog)


def files(folder: Path, *calls: str) -> list[Path]:
    """A file for each call."""
    paths = [folder / f"{k}.txt" for k in range(len(calls))]
    for path, call in zip(paths, calls, strict=True):
        path.write_text(call)
    return paths


def test_the_discipline_below_a_shaper_holds_the_packets(tmp_path: Path) -> None:
    paths = files(tmp_path, printed(SHAPED, 10), printed(SHAPED, 5010, dropped=7, over=900))
    found = queue_counters(Way.UP, paths)
    assert (found.kind, found.sent_pkts, found.dropped_pkts) == ("fq_codel", 5000, 7)
    assert found.is_bottleneck and found.class_ is DisciplineClass.FLOW_QUEUEING
    assert "flow queueing" in found.sentence


def test_a_port_where_nothing_waits_says_nothing_about_the_line(tmp_path: Path) -> None:
    found = queue_counters(Way.UP, files(tmp_path, printed(PORT, 10), printed(PORT, 5010)))
    assert (found.kind, found.sent_pkts) == ("fq_codel", 5000)
    assert found.class_ is None and "elsewhere" in found.sentence


def test_drops_of_a_port_with_several_transmit_queues_count(tmp_path: Path) -> None:
    paths = files(tmp_path, printed(PORT, 10), printed(PORT, 5010, dropped=3))
    assert queue_counters(Way.DOWN, paths).class_ is DisciplineClass.FLOW_QUEUEING


def test_a_backlog_in_between_is_a_queue(tmp_path: Path) -> None:
    calls = [printed(SHAPED, n, backlog=b) for n, b in ((10, 0), (900, 12), (1800, 0))]
    (path,) = files(tmp_path, "\n---\n".join(calls))
    assert queue_counters(Way.UP, [path]).backlog_pkts == 12


def test_json_has_the_same_numbers(tmp_path: Path) -> None:
    def call(pkts: int, dropped: int) -> str:
        row = {
            "kind": "cake",
            "handle": "8001:",
            "dev": "eth0",
            "root": True,
            "bytes": pkts * 1000,
            "packets": pkts,
            "drops": dropped,
            "overlimits": dropped,
            "requeues": 0,
            "backlog": 0,
            "qlen": 0,
        }
        return json.dumps([row])

    found = queue_counters(Way.UP, files(tmp_path, call(5, 0), call(105, 4)))
    assert (found.kind, found.sent_pkts, found.dropped_pkts) == ("cake", 100, 4)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    first, second = printed(SHAPED, 10), printed(SHAPED, 5010, dropped=7)
    with pytest.raises(SpecError, match="went back"):
        queue_counters(Way.UP, files(tmp_path, second, first))
    with pytest.raises(SpecError, match="before and after"):
        queue_counters(Way.UP, files(tmp_path, first))
    with pytest.raises(SpecError, match="same device"):
        queue_counters(Way.UP, files(tmp_path, first, second.replace("eth0", "eth1")))
    both = [each + each.replace("eth0", "eth1") for each in (first, second)]
    with pytest.raises(SpecError, match="one device"):
        queue_counters(Way.UP, files(tmp_path, *both))
    with pytest.raises(SpecError, match="two files"):
        queue_counters(Way.UP, files(tmp_path, first, second, second))


@pytest.mark.slow
def test_a_discipline_that_tc_names_is_the_only_one_that_is_fitted(tmp_path: Path) -> None:
    network = Network(rate="5mbit", rate_down="8mbit", qdisc="bfifo limit 30000b", rtts=["25ms"])
    flent = measured(tmp_path, UP, network, length_s=8)
    paths = files(tmp_path, printed(SHAPED, 10), printed(SHAPED, 5010, dropped=7, over=900))
    read = read_measurements([flent], {}, counted={Way.UP: paths})
    assert read.queues[0].sentence in read.notes
    decision = estimate(read).decisions[Way.UP]
    assert {each.model.class_ for each in decision.candidates} == {DisciplineClass.FLOW_QUEUEING}


def test_other_logs_are_refused_by_name(tmp_path: Path) -> None:
    ping = Path(__file__).parents[1] / "formats" / "logs" / "ping.txt"
    with pytest.raises(SpecError, match="tc -s qdisc"):
        queue_counters(Way.UP, [ping, ping])

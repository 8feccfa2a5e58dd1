"""What packetdrill prints, as verdicts; how the fuzzer names what differs."""

from __future__ import annotations

import pytest

from dumbbell.backends.kernel.packetdrill import Conditions, DifferenceKind
from dumbbell.backends.kernel.packetdrill.fuzz import kind_of
from dumbbell.backends.kernel.packetdrill.reports import report_of

TIMING = """a.pkt:27: error handling packet: timing error: expected outbound packet at 0.2 sec but \
happened at 0.4 sec; tolerance 0.004000 sec
script packet:  0.202105 . 1:1001(1000) ack 1{script}
actual packet:  0.401664 . {actual} ack 1 win 502
"""


def failed(said: str) -> dict[str, object]:
    report = report_of(said, status=1, record=None)
    assert report["verdict"] == "failed"
    return report


def test_packets_stand_below_each_other() -> None:
    report = failed(TIMING.format(script=" ", actual="1:1001(1000)"))
    assert report["line"] == 27
    assert report["difference"] == {
        "kind": "packet",
        "expected": "0.202105 > . 1:1001(1000) ack 1",
        "found": "0.401664 > . 1:1001(1000) ack 1 win 502",
        "reason": "timing error: expected outbound packet at 0.2 sec but happened at 0.4 sec; "
        "tolerance 0.004000 sec",
    }


def test_calls_and_lengths_have_two_sides() -> None:
    said = "a.pkt:9: runtime error in read call: Expected result 5 but got -1 with errno 11 (x)\n"
    assert failed(said)["difference"] == {
        "kind": "call",
        "name": "read",
        "expected": "5",
        "found": "-1 with errno 11 (x)",
    }
    said = "a.pkt:9: error handling packet: live packet payload: expected 9 bytes vs actual 8 bytes"
    difference = failed(said)["difference"]
    assert isinstance(difference, dict)
    assert (difference["expected"], difference["found"]) == ("9 bytes", "8 bytes")


@pytest.mark.parametrize(
    "said",
    [
        "a.pkt:4: syntax error at '`sysctl`'\n",
        "a.pkt:4: semantic error: bad ICMP type packet_too_big\n",
        "error: socket: Address family not supported by protocol\n",
        "sh: ethtool: not found\na.pkt: error executing init command: non-zero status 127\n",
    ],
)
def test_what_it_cannot_do_is_unsupported(said: str) -> None:
    report = report_of(said, status=1, record=None)
    assert report["verdict"] == "unsupported"
    assert len(report["missing"]) == 1


def test_assertions_are_judged_by_their_record() -> None:
    record = (
        "sys.excepthook = excepthook\n\nTCP_ESTABLISHED = 1\ntcpi_snd_cwnd = 10\n\n"
        "_file = 'a.pkt'\n_line = 12\n assert tcpi_snd_cwnd == {cwnd}, tcpi_snd_cwnd \n\n"
    )
    assert report_of("", status=0, record=record.format(cwnd=10)) == {"verdict": "passed"}
    report = report_of("", status=0, record=record.format(cwnd=11))
    assert (report["verdict"], report["line"]) == ("failed", 12)
    assert report["difference"]["found"] == [["tcpi_snd_cwnd", 10.0]]


def test_kinds_of_differences() -> None:
    timing = failed(TIMING.format(script=" ", actual="1:1001(1000)"))
    assert kind_of(timing, None) is DifferenceKind.TIME
    assert kind_of(timing, 27) is DifferenceKind.NEAR_TIMER
    assert kind_of(timing, 28) is DifferenceKind.TIME
    other = failed(TIMING.format(script=" ", actual="1001:2001(1000)"))
    assert kind_of(other, None) is DifferenceKind.PACKET
    push = timing | {
        "difference": {
            "kind": "packet",
            "expected": "0.1 > P. 1:2(1) ack 1",
            "found": "0.1 > . 1:2(1) ack 1",
            "reason": "live packet field tcp_psh: expected: 1 (0x1) vs actual: 0 (0x0)",
        }
    }
    assert kind_of(push, None) is DifferenceKind.PUSH
    assert kind_of({"verdict": "passed"}, 3) is DifferenceKind.AGREES
    ending = timing | {"difference": {"kind": "ending", "expected": "its end", "found": "x"}}
    assert kind_of(ending, 1) is DifferenceKind.ENDING


def test_conditions_are_told() -> None:
    assert str(Conditions(gso_max_segs=1, offloads=False)) == (
        "6.1, HZ=1000, offloads off, gso_max_segs 1"
    )

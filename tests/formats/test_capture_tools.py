"""Our captures in tshark, capinfos and tcptrace, compared with our own counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from capture_samples import NAME, QUEUE, capture_of, captured, tool
from random_conversations import write_conversations

from dumbbell.formats import read_capture, read_tshark_csv, write_view
from dumbbell.formats.tshark import CSV_FIELDS
from dumbbell.metrics.captured import captured_flows
from dumbbell.tables import Run

pytestmark = pytest.mark.slow

FLAGS = {
    "retransmission_pkts": "retransmission",
    "fast_retransmission_pkts": "fast_retransmission",
    "spurious_retransmission_pkts": "spurious_retransmission",
    "out_of_order_pkts": "out_of_order",
    "lost_segment_pkts": "lost_segment",
    "duplicate_ack_pkts": "duplicate_ack",
    "keep_alive_pkts": "keep_alive",
}
ARMS = {
    "cubic": captured,
    "no SACK": lambda: captured(tcp="{ sack = false }"),
    "rfc profile": lambda: captured(tcp='{ profile = "rfc", congestion_control = "reno" }'),
    "no timestamps": lambda: captured(tcp="{ timestamps = false }"),
    "two packets of room": lambda: captured("pfifo limit 2"),
    "marks": lambda: captured("codel ecn", tcp="{ ecn = true }"),
    "loss after the queue": lambda: captured(more="loss = 0.03"),
}


@pytest.fixture(scope="module", params=list(ARMS))
def run(request: pytest.FixtureRequest) -> Run:
    return ARMS[request.param]()


def view(run: Run, folder: Path, place: int, style: str = "pcap") -> Path:
    path = folder / f"{place}.{style}"
    assert write_view(capture_of(run), path, queue=QUEUE, place=place) > 1000
    return path


def flags_of(path: Path) -> dict[tuple[int, int], Counter[str]]:
    """tshark's flags by source and destination port."""
    fields = ["tcp.srcport", "tcp.dstport", *(f"tcp.analysis.{flag}" for flag in FLAGS.values())]
    options = [each for name in fields for each in ("-e", name)]
    style = ["-T", "fields", "-E", "separator=,", "-E", "occurrence=f"]
    said = tool("tshark", "-n", "-r", str(path), "-Y", "tcp", *style, *options)
    found: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for line in said.splitlines():
        source, destination, *flags = line.split(",")
        counted = found[int(source), int(destination)]
        counted.update(column for column, flag in zip(FLAGS, flags, strict=True) if flag)
        counted["pkts"] += 1
    return found


def assert_flagged_alike(table: Mapping[str, np.ndarray], rows: Iterable[int], path: Path) -> int:
    """Every flag of every flow; our own rule counts the same segments. Returns how many of them."""
    theirs = flags_of(path)
    again = 0
    for row in rows:
        ports = (int(table["source_port"][row]), int(table["destination_port"][row]))
        counted = theirs.pop(ports)
        ours = {name: int(table[name][row]) for name in ("pkts", *FLAGS)}
        assert ours == {name: counted[name] for name in ours}, ports
        again += counted["retransmission_pkts"] + counted["out_of_order_pkts"]
    assert not theirs
    return again


@pytest.mark.parametrize("place", [0, 1])
def test_tshark_flags_what_we_count(run: Run, tmp_path: Path, place: int) -> None:
    """Before and after the queue, and our own rule beside them."""
    table = run.columns("captured_flows")
    keep = (table["queue"] == run.queue(QUEUE)) & (table["place"] == place)
    keep &= table["protocol"] == 6
    rows = np.flatnonzero(keep).tolist()
    again = assert_flagged_alike(table, rows, view(run, tmp_path, place))
    assert again == (table["repeated_pkts"] + table["late_pkts"])[rows].sum()
    assert again > 10 or run.column("queues", "dropped_overlimit_pkts").sum() == 0


@pytest.mark.parametrize("seed", range(3))
def test_tshark_flags_what_we_count_in_conversations_that_nobody_has(
    tmp_path: Path, seed: int
) -> None:
    path = write_conversations(tmp_path / "random.pcap", seed=seed, count=600)
    table = read_capture(path).columns("captured_flows")
    again = assert_flagged_alike(table, range(len(table["pkts"])), path)
    assert again > 1000
    assert all(table[name].sum() > 0 for name in FLAGS)


def test_tshark_reads_the_counters_of_accurate_ecn(tmp_path: Path) -> None:
    """RFC 9768 section 3.2.3: bytes received as ECT(0) and with CE, on the way back."""
    tcp = '{ ecn = "accurate", ecn_option = "full" }'
    run = captured("codel target 2ms interval 20ms ecn", tcp=tcp)
    path = tmp_path / "back.pcap"
    write_view(capture_of(run), path, queue="receiver->router", place=0)
    names = ["tcp.flags.syn", "tcp.ack", "tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb"]
    fields = [each for name in names for each in ("-e", name)]
    said = tool(
        "tshark", "-n", "-r", str(path), "-Y", "tcp.options.acc_ecn", "-T", "fields", *fields
    )
    rows = [[int(each or 0) for each in line.split("\t")] for line in said.splitlines()]
    assert rows[0][2:] == [1, 0]
    assert rows[0][0] == 1
    # Nothing is lost or sent twice: the counters are the bytes acknowledged. A FIN counts as one.
    counted = [(ack - 1, ect0 - 1 + marked) for _, ack, ect0, marked in rows[1:]]
    assert len(counted) > 100
    assert {acked - told for acked, told in counted} <= {0, 1}
    assert rows[-1][3] > 0
    bad = tool("tshark", "-n", "-r", str(path), "-Y", "_ws.malformed")
    assert bad == ""


BEFORE_IP = {
    "ppp": (9, "ff03 0021"),
    "raw, BSD": (12, ""),
    "raw": (101, ""),
    "IPv4": (228, ""),
    "BSD loopback": (0, "02000000"),
    "OpenBSD loopback": (108, "00000002"),
    "any": (113, "0000 0001 0006 000000000000 0000 0800"),
    "any, a VLAN": (113, "0000 0001 0006 000000000000 0000 8100 0005 0800"),
    "any, version 2": (276, "0800 0000 00000003 0001 00 06 0000000000000000"),
    "two VLANs": (1, 24 * "0" + "88a8 0005 8100 0007 0800"),
    "MPLS": (1, 24 * "0" + "8847 00010040 00020140"),
    "PPPoE": (1, 24 * "0" + "8864 11000001 0600 0021"),
}


@pytest.mark.parametrize("name", BEFORE_IP)
def test_tshark_finds_the_same_flows_in_other_frames(tmp_path: Path, name: str) -> None:
    link_type, head = BEFORE_IP[name]
    before_ip = bytes.fromhex(head)
    path = write_conversations(
        tmp_path / "wrapped.pcap", seed=1, count=20, link_type=link_type, before_ip=before_ip
    )
    run = read_capture(path)
    table = run.columns("captured_flows")
    assert not run.meta["problems"]
    assert assert_flagged_alike(table, range(len(table["pkts"])), path) > 50


def test_tshark_finds_every_checksum_right_and_nothing_malformed(run: Run) -> None:
    checks = [
        each for name in ("ip", "tcp", "udp") for each in ("-o", f"{name}.check_checksum:TRUE")
    ]
    wrong = "ip.checksum.status==0 || tcp.checksum.status==0 || udp.checksum.status==0"
    path = str(capture_of(run))
    # Only whole segments can be checked: those without payload.
    assert tool("tshark", "-n", "-r", path, *checks, "-Y", wrong) == ""
    assert tool("tshark", "-n", "-r", path, "-Y", "_ws.malformed || tcp.bogus_header_length") == ""
    good = tool("tshark", "-n", "-r", path, *checks, "-Y", "tcp.checksum.status==1")
    assert good.count("\n") > 1000


def test_capinfos_and_tcptrace_find_nothing_wrong(run: Run, tmp_path: Path) -> None:
    for place, style in ((0, "pcap"), (1, "pcapng")):
        path = view(run, tmp_path, place, style)
        told = tool("capinfos", "-T", "-r", "-o", str(path)).split()
        assert told[-1] == "True"  # in the order of time
    path = view(run, tmp_path, 1)
    said = tool("tcptrace", "-n", "-l", str(path))
    assert "WARNING" not in said
    table = run.columns("captured_flows")
    keep = (table["queue"] == run.queue(QUEUE)) & (table["place"] == 1) & (table["protocol"] == 6)
    connections = len(
        set(zip(table["flow"][keep].tolist(), table["connection"][keep].tolist(), strict=True))
    )
    assert f"{connections} TCP connections traced" in said
    late = [
        int(line.split("outoforder pkts:")[1].split()[0])
        for line in said.splitlines()
        if "outoforder pkts:" in line
    ]
    again = [
        int(line.split("rexmt data pkts:")[1].split()[0])
        for line in said.splitlines()
        if "rexmt data pkts:" in line
    ]
    forward = keep & (table["is_reply"] == 0)
    # tcptrace counts neither SYN nor FIN.
    difference = table["late_pkts"][forward].sum() + table["repeated_pkts"][forward].sum()
    assert 0 <= difference - sum(late) - sum(again) <= 0.1 * difference + 3


def test_the_fields_that_tshark_prints_give_the_same_flows(run: Run, tmp_path: Path) -> None:
    path = view(run, tmp_path, 1)
    options = [each for name in CSV_FIELDS for each in ("-e", name)]
    text = tool("tshark", "-n", "-r", str(path), "-T", "fields", "-E", "separator=,", *options)
    printed = tmp_path / "fields.csv"
    printed.write_text(text)
    imported = captured_flows(read_tshark_csv(printed), 0, "")
    simulated = captured_flows(run, QUEUE, "after", protocol=6)
    for column in ("pkts", "bytes", "duration_s", "throughput_bps", "loss_by_flag"):
        ours, theirs = getattr(simulated, column), getattr(imported, column)
        np.testing.assert_allclose(np.sort(ours), np.sort(theirs), err_msg=column)


def test_a_capture_that_is_read_gives_the_table_of_the_run(run: Run) -> None:
    imported, table = read_capture(capture_of(run)), run.columns("captured_flows")
    assert imported.meta["queue_names"] == [QUEUE, "receiver->router"]
    other = imported.columns("captured_flows")
    fields = ("place", "is_reply", "protocol", "source_port", "destination_port", "pkts", "bytes")
    fields += (*FLAGS, "repeated_pkts", "late_pkts", "new_bytes", "payload_bytes")

    def rows(columns: dict[str, np.ndarray], first_queue: int, t0: int) -> list[tuple[int, ...]]:
        columns = {**columns, "queue": columns["queue"] - first_queue}
        times = [columns[name] + t0 for name in ("first_ns", "last_ns")]
        all_of = [columns["queue"], *(columns[name] for name in fields), *times]
        return sorted(zip(*(each.tolist() for each in all_of), strict=True))

    t0 = imported.meta["t0_epoch_ns"]
    assert rows(dict(other), 0, t0) == rows(dict(table), run.queue(QUEUE), 0)
    assert imported.meta["read"]["format"] == "pcapng"
    assert run.meta["files"][NAME]["bytes"] == imported.meta["read"]["bytes"]

"""Captures of the real kernel's packets, before and after a queue."""

from __future__ import annotations

import gc
import hashlib
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from kernel_samples import EXPONENTIAL, blocks, missed_in, network, ping

from dumbbell.backends import simulate
from dumbbell.backends.kernel.job import check_kernel_can
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.tables import Run, read_parquet, write_parquet

QUEUE = "router->receiver"
NAME = "capture.pcapng"
ENQUEUE, DEQUEUE = 0, 1
ETHERNET_BYTES, IP_BYTES = 14, 20
UDP, ICMP = 17, 1


@dataclass
class Frame:
    interface: int
    at_ns: int
    length: int
    data: bytes


def frames(path: Path) -> list[Frame]:
    found = []
    for kind, body in blocks(path):
        if kind == 6:
            interface, high, low, kept, length = struct.unpack_from("<5I", body)
            found.append(Frame(interface, high << 32 | low, length, body[20 : 20 + kept]))
    return found


def checksum(words: bytes) -> int:
    """RFC 1071; 0 over what contains its own."""
    total: int = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def check_headers(frame: Frame) -> None:
    """Lengths and checksums; what was not kept is zeros."""
    assert len(frame.data) == min(frame.length, 128)
    assert frame.data[12:14] == b"\x08\x00"
    header = frame.data[ETHERNET_BYTES : ETHERNET_BYTES + IP_BYTES]
    assert checksum(header) == 0
    assert struct.unpack_from(">H", header, 2)[0] == frame.length - ETHERNET_BYTES
    rest = frame.data[ETHERNET_BYTES + IP_BYTES :]
    if header[9] != ICMP:  # RFC 768, RFC 9293: with the addresses, the protocol and the length
        length = frame.length - ETHERNET_BYTES - IP_BYTES
        rest = header[12:] + struct.pack(">HH", header[9], length) + rest
    assert checksum(rest + b"\0" * (len(rest) % 2)) == 0


def loaded(**link: object) -> Experiment:
    """UDP and pings through a queue that fills; nothing is under way at the end."""
    link = {"rate": "1mbit", "qdisc": "pfifo limit 10", "delay": "5ms", "capture": True, **link}
    flow = {
        "name": "stream",
        "from": "sender",
        "to": "receiver",
        "stop": "4s",
        "source": {**EXPONENTIAL, "size": "uniform 64B 1000B", "rate": "250pps"},
    }
    probe = ping(count=20)
    return network(link=link, flows=[flow], probes=[probe], duration="5s")


@pytest.fixture(scope="module")
def run(kernel: Path) -> Run:
    return simulate(loaded(record_packets=True), backend="kernel")


def test_the_kernel_says_that_it_counts_no_flows() -> None:
    with pytest.raises(SpecError, match="analyze") as refused:
        check_kernel_can(loaded(capture_flows=True).resolved())
    assert refused.value.path == "links[1].forward.capture_flows"


@pytest.mark.kernel
def test_as_many_packets_as_the_queue_counted_at_the_same_instants(run: Run) -> None:
    found = frames(run.files[NAME].path)
    counted = {
        column: run.column("queues", column, queue=QUEUE)[0]
        for column in ("arrived_pkts", "departed_pkts", "dropped_overlimit_pkts")
    }
    assert counted["dropped_overlimit_pkts"] > 20
    before = [frame for frame in found if frame.interface == 0]
    after = [frame for frame in found if frame.interface == 1]
    assert len(before) == counted["arrived_pkts"]
    assert len(after) == counted["departed_pkts"]
    times = [frame.at_ns for frame in found]
    assert times == sorted(times)
    # The kernel's own record of arrivals and drops. The capture shows when the device took a
    # packet: it leaves when it has been sent, and the one before it too, since the shaper lets a
    # packet go up to the time of a byte before that.
    kinds = run.column("packets", "event", queue=QUEUE)
    recorded = run.column("packets", "t_ns", queue=QUEUE)
    came = np.sort(recorded[kinds != DEQUEUE])
    np.testing.assert_array_equal([frame.at_ns for frame in before], came)
    left = []
    for frame in after:
        begins = max(frame.at_ns, left[-1] if left else 0)
        assert begins - frame.at_ns <= 8 * 1000
        left.append(begins + frame.length * 8 * 1000)
    np.testing.assert_array_equal(left, recorded[kinds == DEQUEUE])


@pytest.mark.kernel
def test_pings_are_captured_when_they_were_sent(run: Run) -> None:
    found = frames(run.files[NAME].path)
    requests = [
        frame for frame in found if frame.interface == 0 and frame.data[ETHERNET_BYTES + 9] == ICMP
    ]
    sent = run.column("probes", "sent_ns")
    assert len(requests) == len(sent) == 20
    late = np.array([frame.at_ns for frame in requests]) - sent
    assert 0 <= late.min() <= late.max() < 3_000


@pytest.mark.kernel
def test_frames_are_the_kernels_with_valid_headers(run: Run) -> None:
    found = frames(run.files[NAME].path)
    assert {frame.data[ETHERNET_BYTES + 9] for frame in found} == {UDP, ICMP}
    for frame in found:
        check_headers(frame)


@pytest.mark.kernel
def test_interfaces_are_named_and_say_that_none_was_missed(run: Run) -> None:
    found = list(blocks(run.files[NAME].path))
    names = [body[12 : 12 + body[10]].decode() for kind, body in found if kind == 1]
    assert names == [f"{QUEUE} before", f"{QUEUE} after"]
    assert missed_in(run.files[NAME].path) == [0, 0]


@pytest.mark.kernel
def test_it_is_written_beside_the_tables_and_read_with_them(run: Run, tmp_path: Path) -> None:
    folder = write_parquet(run, tmp_path / "run")
    content = (folder / NAME).read_bytes()
    described = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert run.meta["files"] == {NAME: described}
    again = read_parquet(folder)
    assert again.files[NAME].path == folder / NAME
    assert (write_parquet(again, tmp_path / "copy") / NAME).read_bytes() == content


@pytest.mark.kernel
def test_it_repeats_to_the_byte_and_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    again = simulate(loaded(record_packets=True), backend="kernel")
    assert again.meta["files"] == run.meta["files"]
    assert again.meta["digest"] == run.meta["digest"]
    other = simulate(loaded(record_packets=True), 1, backend="kernel")
    assert other.meta["files"] != run.meta["files"]
    assert len(list(tmp_path.iterdir())) == 2
    del again, other
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_tcp_at_both_ends_of_a_link() -> None:
    """Acknowledgements come back through the reverse queue; options fit in what is kept."""
    flow = {
        "name": "bulk",
        "from": "sender",
        "to": "receiver",
        "transport": "tcp",
        "source": {"kind": "sized", "size": "200kB"},
    }
    hops = [{}, {"rate": "5mbit", "delay": "10ms", "capture": True}]
    run = simulate(network(hops=hops, flows=[flow], duration="3s"), backend="kernel")
    found = frames(run.files[NAME].path)
    assert {frame.interface for frame in found} == {0, 1, 2, 3}
    assert len(found) > 400
    for frame in found:
        check_headers(frame)
        header_bytes = (frame.data[ETHERNET_BYTES + IP_BYTES + 12] >> 4) * 4
        assert len(frame.data) >= ETHERNET_BYTES + IP_BYTES + header_bytes
    for direction, queue in ((0, QUEUE), (2, "receiver->router")):
        passed = sum(frame.interface == direction + 1 for frame in found)
        assert passed == run.column("queues", "departed_pkts", queue=queue)[0]


@pytest.mark.kernel
def test_wiresharks_tools_count_the_same(run: Run) -> None:
    path = run.files[NAME].path
    if not shutil.which("capinfos") or not shutil.which("tshark"):
        pytest.skip("capinfos and tshark are not installed (Debian: apt-get install tshark)")
    command = ["capinfos", "-T", "-r", "-c", str(path)]
    counted = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = frames(path)
    assert counted.split("\t")[-1].strip() == str(len(found))
    fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "frame.time_epoch"]
    command = ["tshark", "-r", str(path), "-o", "ip.check_checksum:TRUE", *fields]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = (f"{QUEUE} before", f"{QUEUE} after")
    expected = [
        f"{names[frame.interface]}\t{frame.at_ns // 10**9}.{frame.at_ns % 10**9:09}"
        for frame in found
    ]
    assert told.splitlines() == expected

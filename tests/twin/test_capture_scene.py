"""From a capture at one end of a line to its loads: directions, delivered bytes, round trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell import Experiment, simulate
from dumbbell.errors import DumbbellError, SpecError
from dumbbell.formats.capture import write_view
from dumbbell.tables import Run
from dumbbell.twin import Scene, Way, estimate, read_measurements
from dumbbell.twin.result import Quantity, Trust

UP_MBPS, DOWN_MBPS, RTT_MS = 2.0, 5.0, 20.0
BUFFER_BYTES = 60_000
PAYLOAD_SHARE = 1448 / 1514


def line(load_s: int, *, has_pings: bool = True) -> Run:
    """Two uploads, then a download, with pings; captured at both ends of the line."""
    pings = """
[[probes]]
name = "ping"
from = "laptop"
to = "server"
interval = "50ms"
"""
    return simulate(
        Experiment.from_toml(f"""
duration = "{2 * load_s + 6}s"
seed = 3
[[links]]
a = "server"
b = "isp"
delay = "{RTT_MS / 2}ms"
capture = true
[[links]]
a = "isp"
b = "modem"
forward = {{ rate = "{DOWN_MBPS}mbit", qdisc = "bfifo limit {BUFFER_BYTES}b" }}
reverse = {{ rate = "{UP_MBPS}mbit", qdisc = "bfifo limit {BUFFER_BYTES}b" }}
[[links]]
a = "laptop"
b = "modem"
rate = "1gbit"
capture = true
[[flows]]
name = "up"
count = 2
from = "laptop"
to = "server"
start = "1s"
stop = "{load_s + 1}s"
start_jitter = "10ms"
source = {{ kind = "greedy" }}
[[flows]]
name = "down"
from = "server"
to = "laptop"
start = "{load_s + 4}s"
stop = "{2 * load_s + 4}s"
source = {{ kind = "greedy" }}
{pings if has_pings else ""}""")
    )


@pytest.fixture(scope="module")
def run() -> Run:
    """Short loads, enough to read."""
    return line(10)


def captured(run: Run, folder: Path, queue: str, *, is_without_pings: bool = False) -> Path:
    """One interface of a run's capture, as tcpdump on that port writes it."""
    path = folder / "one.pcap"
    write_view(run.files["capture.pcapng"].path, path, queue=queue, place=1)
    if is_without_pings:
        path.write_bytes(without_pings(path.read_bytes()))
    return path


def without_pings(pcap: bytes) -> bytes:
    """A little-endian pcap without its packets of ICMP over IPv4."""
    kept, at = [pcap[:24]], 24
    while at < len(pcap):
        size = 16 + int.from_bytes(pcap[at + 8 : at + 12], "little")
        if pcap[at + 16 + 14 + 9] != 1:
            kept.append(pcap[at : at + size])
        at += size
    return b"".join(kept)


def scenes(path: Path) -> dict[Way, Scene]:
    """The scenes of a capture by the direction of their load."""
    read = read_measurements([path], {})
    return {way: scene for scene in read.scenes for way in scene.ways}


def test_a_capture_at_home_has_its_loads_and_pings(run: Run, tmp_path: Path) -> None:
    found = scenes(captured(run, tmp_path, "laptop->modem"))
    assert found[Way.UP].count(Way.UP) == 2 and found[Way.UP].count(Way.DOWN) == 0
    assert found[Way.DOWN].count(Way.DOWN) == 1 and found[Way.DOWN].count(Way.UP) == 0
    probes = run.columns("probes")
    rtt_ms = probes["rtt_ns"][probes["rtt_ns"] < 2**62] / 1e6
    for scene in found.values():
        assert scene.has_pings and scene.interval_s == pytest.approx(0.05, rel=0.02)
        assert scene.rtt_ms.min() == pytest.approx(rtt_ms.min(), abs=0.05)
        # Means over intervals of 64 ms, which hold one or two answers.
        assert np.median(scene.rtt_ms) == pytest.approx(np.median(rtt_ms), rel=0.05)
    up, down = (found[way].between(0.0, 1.0).goodput_mbps(way) for way in Way)
    assert up == pytest.approx(UP_MBPS * PAYLOAD_SHARE, rel=0.01)
    assert down == pytest.approx(DOWN_MBPS * PAYLOAD_SHARE, rel=0.01)


def test_at_home_the_senders_round_trips_include_the_queue(run: Run, tmp_path: Path) -> None:
    found = scenes(captured(run, tmp_path, "laptop->modem"))
    full_ms = RTT_MS + 8e-3 * BUFFER_BYTES / UP_MBPS
    up = found[Way.UP].between(0.0, 1.0)
    assert 0.7 * full_ms < up.srtt_ms(Way.UP) < 1.1 * full_ms
    # The capture is beside the receiver: acknowledgements follow at once.
    assert np.isnan(found[Way.DOWN].between(0.0, 1.0).srtt_ms(Way.DOWN))


def test_a_capture_at_the_server_has_the_same_directions(run: Run, tmp_path: Path) -> None:
    path = captured(run, tmp_path, "server->isp")
    found = scenes(path)
    # The server opened the connection of the download, as it does here only: nearer is "home".
    assert found[Way.DOWN].count(Way.DOWN) == 2
    uploads_alone = tmp_path / "uploads.pcap"
    uploads_alone.write_bytes(until(path.read_bytes(), 12))
    (scene,) = read_measurements([uploads_alone], {}).scenes
    assert scene.ways == {Way.UP}


def until(pcap: bytes, end_s: int) -> bytes:
    """The packets of a little-endian pcap up to a time since 1970."""
    at = 24
    while at < len(pcap) and int.from_bytes(pcap[at : at + 4], "little") < end_s:
        at += 16 + int.from_bytes(pcap[at + 8 : at + 12], "little")
    return pcap[:at]


def test_without_pings_round_trips_are_those_of_segments(run: Run, tmp_path: Path) -> None:
    path = captured(run, tmp_path, "laptop->modem", is_without_pings=True)
    read = read_measurements([path], {})
    assert any("no pings" in note for note in read.notes)
    up, down = read.scenes
    assert not up.has_pings
    assert up.rtt_ms.min() == pytest.approx(RTT_MS, abs=1.0)
    assert not len(down.rtt_ms)


@pytest.mark.slow
@pytest.mark.parametrize("has_pings", [True, False])
def test_the_twin_of_a_capture_is_the_line(tmp_path: Path, has_pings: bool) -> None:
    path = captured(line(20, has_pings=has_pings), tmp_path, "laptop->modem")
    twin = estimate(read_measurements([path], {}))
    assert twin.trust is Trust.PREDICTS, twin.misses
    rates = {Way.UP: UP_MBPS, Way.DOWN: DOWN_MBPS}
    for way, mbps in rates.items():
        rate = twin.parameter(Quantity.RATE, way)
        assert rate is not None and rate.value == pytest.approx(mbps, rel=0.02)
    delay = twin.parameter(Quantity.BASE_ROUND_TRIP)
    assert delay is not None and delay.value == pytest.approx(RTT_MS, abs=1.0)
    buffer = twin.parameter(Quantity.BUFFER, Way.UP)
    assert buffer is not None and not buffer.unidentifiable
    assert buffer.value == pytest.approx(BUFFER_BYTES / 1e3, rel=0.10)


def test_several_interfaces_are_refused_with_the_command_for_one(run: Run) -> None:
    with pytest.raises(SpecError, match="--view"):
        read_measurements([run.files["capture.pcapng"].path], {})


@pytest.mark.parametrize("cut", [24, 60, 1000, 20_000, 200_000])
def test_a_truncated_capture_is_read_or_refused(run: Run, tmp_path: Path, cut: int) -> None:
    path = captured(run, tmp_path, "laptop->modem")
    path.write_bytes(path.read_bytes()[:cut])
    try:
        read = read_measurements([path], {})
    except DumbbellError:
        return
    assert all(np.isfinite(scene.length_s) for scene in read.scenes)


def test_damaged_headers_are_read_or_refused(run: Run, tmp_path: Path) -> None:
    whole = captured(run, tmp_path, "laptop->modem").read_bytes()
    random = np.random.default_rng(5)
    for _ in range(12):
        damaged = bytearray(whole[:400_000])
        for at in random.integers(24, len(damaged), size=200):
            damaged[at] = int(random.integers(256))
        path = tmp_path / "damaged.pcap"
        path.write_bytes(damaged)
        try:
            read = read_measurements([path], {})
        except DumbbellError:
            continue
        for scene in read.scenes:
            assert all((np.diff(flow.payload_bytes) >= 0).all() for flow in scene.flows)

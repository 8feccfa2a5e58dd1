"""From files to scenes: directions, loads, and what a file does not say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from made_lines import UP, measured

from dumbbell.errors import DumbbellError, SpecError
from dumbbell.spec.flent import Network
from dumbbell.twin import Way, read_measurements
from dumbbell.twin.result import Quantity
from dumbbell.twin.typed import RoundTripLogs, TypedNumbers, twin_of_numbers

LOGS = Path(__file__).parents[1] / "formats" / "logs"


def test_a_data_file_of_flents_has_its_flows_and_pings(tmp_path: Path) -> None:
    network = Network(rate="5mbit", qdisc="pfifo limit 50", rtts=["25ms"])
    read = read_measurements([measured(tmp_path, UP, network, length_s=10)], {})
    (scene,) = read.scenes
    assert scene.count(Way.UP) == 2 and scene.count(Way.DOWN) == 0
    assert scene.controller(Way.UP) == "cubic"
    assert scene.length_s == pytest.approx(10.0, abs=0.5)
    assert scene.rtt_ms.min() == pytest.approx(25.2, abs=0.2)


def test_iperf3_sends_up_and_reversed_down() -> None:
    (sent,) = read_measurements([LOGS / "iperf3-tcp.json"], {}).scenes
    (received,) = read_measurements([LOGS / "iperf3-reverse.json"], {}).scenes
    assert sent.ways == {Way.UP}
    assert received.ways == {Way.DOWN}


def test_intervals_that_iperf3_omits_are_left_out(tmp_path: Path) -> None:
    document = json.loads((LOGS / "iperf3-tcp.json").read_text())
    omitted = json.loads(json.dumps(document["intervals"][:2]))
    for interval in omitted:
        for stream in interval["streams"]:
            stream |= {"omitted": True, "bytes": 10**9}
    document["intervals"] = [*omitted, *document["intervals"]]
    path = tmp_path / "omitted.json"
    path.write_text(json.dumps(document))
    (plain,) = read_measurements([LOGS / "iperf3-tcp.json"], {}).scenes
    (found,) = read_measurements([path], {}).scenes
    assert len(found.flows) == len(plain.flows)
    for flow, expected in zip(found.flows, plain.flows, strict=True):
        assert flow.payload_bytes.tolist() == expected.payload_bytes.tolist()


def test_datagrams_at_a_rate_of_their_own_are_no_load() -> None:
    with pytest.raises(SpecError, match="TCP"):
        read_measurements([LOGS / "iperf3-udp.json"], {})


def test_a_ping_says_no_load_unless_somebody_does() -> None:
    with pytest.raises(SpecError, match="--idle"):
        read_measurements([LOGS / "ping.txt"], {})
    with pytest.raises(SpecError, match="throughput"):
        read_measurements([LOGS / "iperf3-tcp.json"], {"--during-down": [LOGS / "ping.txt"]})
    both = read_measurements(
        [LOGS / "iperf3-tcp.json"],
        {"--idle": [LOGS / "ping.txt"], "--during-up": [LOGS / "ping.txt"]},
    )
    assert [scene.load for scene in both.scenes] == ["upload", "idle"]
    assert len(both.scenes[0].rtt_ms) == len(both.scenes[1].rtt_ms) > 0


def test_tests_of_several_hosts_are_refused(tmp_path: Path) -> None:
    network = Network(rate="5mbit", qdisc="pfifo limit 50", rtts=["25ms"])
    path = measured(tmp_path, UP, network, length_s=10)
    document = json.loads(gzip.decompress(path.read_bytes()))
    document["metadata"]["HOSTS"] = ["near", "far"]
    other = tmp_path / "two.flent"
    other.write_text(json.dumps(document))
    with pytest.raises(SpecError, match="one host"):
        read_measurements([other], {})


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["raw_values"].clear(),
        lambda d: d["results"].clear(),
        lambda d: d["metadata"].update(HOSTS=7, SERIES_META=[]),
        lambda d: d["raw_values"].update({"Ping (ms) ICMP": [{"t": 1e300, "val": -1}]}),
        lambda d: d["raw_values"].update({"TCP upload::1": [{"t": 5, "val": 1e19}] * 9}),
        lambda d: d["metadata"].update(NAME="\x1b[31m", T0="never", STEP_SIZE=-1),
    ],
)
def test_damaged_files_are_read_or_refused(tmp_path: Path, change: object) -> None:
    network = Network(rate="5mbit", qdisc="pfifo limit 50", rtts=["25ms"])
    path = measured(tmp_path, UP, network, length_s=10)
    document = json.loads(gzip.decompress(path.read_bytes()))
    change(document)  # type: ignore[operator]
    other = tmp_path / "other.flent"
    other.write_text(json.dumps(document))
    try:
        read = read_measurements([other], {})
    except DumbbellError as error:
        assert "\x1b" not in str(error)
        return
    assert all("\x1b" not in scene.source for scene in read.scenes)


def test_typed_speeds_get_headers_and_waits_become_a_buffer() -> None:
    twin = twin_of_numbers(
        TypedNumbers(10_000_000, 50_000_000, 20_000_000, 320_000_000, 24_000_000), seed=1
    )
    # 1514 bytes of 1448 of payload: 10 becomes 10.456 Mbit/s, of which 300 ms are 392 kB.
    assert twin.line.up.rate_bps == pytest.approx(10_456_000, rel=1e-3)
    assert twin.line.up.size == pytest.approx(392_000, rel=2e-3)
    down = twin.parameter(Quantity.BUFFER, Way.DOWN)
    assert down is not None and "too little queueing" in down.unidentifiable
    with pytest.raises(SpecError, match="--loaded-up"):
        twin_of_numbers(TypedNumbers(10**7, 10**7, 20_000_000, 10_000_000, None), seed=1)


def test_iperf3s_own_round_trips_stand_in_for_a_ping() -> None:
    (scene,) = read_measurements([LOGS / "iperf3-tcp.json"], {}).scenes
    assert not scene.has_pings and len(scene.rtt_ms)
    pinged = read_measurements(
        [LOGS / "iperf3-tcp.json"], {"--during-up": [LOGS / "ping.txt"]}
    ).scenes[0]
    assert pinged.has_pings


def test_pings_replace_typed_round_trips(tmp_path: Path) -> None:
    def log(name: str, rtts_ms: list[float]) -> Path:
        path = tmp_path / name
        lines = [
            f"64 bytes from 192.0.2.1: icmp_seq={k} ttl=64 time={rtt:.1f} ms"
            for k, rtt in enumerate(rtts_ms, start=1)
        ]
        path.write_text("\n".join(["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.", *lines]))
        return path

    idle = log("idle.txt", [21.0, 20.0, 25.0, 22.0, 23.0, 20.5])
    loaded = log("up.txt", [320.0] * 60)
    logs = RoundTripLogs.of({"--idle": [idle], "--during-up": [loaded], "--during-down": []})
    assert logs.times == {"--rtt": "20ms", "--loaded-up": "320ms", "--loaded-down": None}
    assert logs.sources == ("idle.txt", "up.txt")
    with pytest.raises(SpecError, match="--during-up"):
        RoundTripLogs.of({"--during-both": [loaded]})
